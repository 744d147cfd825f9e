"""The reasoner over a real llama.cpp server: the answers of so small a model are poor, the protocol is everybody's."""

import asyncio
from contextlib import aclosing

import pytest

from app.domain.knowledge import Finding
from app.reasoning import AnswerRequest, ComposeRequest
from app.reasoning.llm import TimeLimits
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.llm.shapes import AnswerShape, PlanShape
from app.reasoning.llm.structured import parse, schema_of
from app.reasoning.local import LocalReasoner
from app.reasoning.sentences import load
from tests import factories
from tests.conformance.asking_models import composed, ladder_to, paid, reasoner_to
from tests.fakes.llama import LlamaServer
from tests.limits import limit

PATIENT = TimeLimits(first_token=60, between_tokens=30, call=100)
LEAVE = factories.passage("Every employee has 12 days of annual leave a year.", document="leave", language="en")
FOUND = factories.finding(LEAVE, query="How many days of leave do I get?")
TOLD = '{"question": "How many days of leave do I get?"}'


@pytest.mark.usefixtures("brief")
class TestContract:
    @pytest.mark.parametrize(("purpose", "shape"), [("plan", PlanShape), ("answer", AnswerShape)])
    async def test_replies_are_of_the_schema(
        self, purpose: str, shape: type[PlanShape] | type[AnswerShape], llama: LlamaServer
    ) -> None:
        ladder = ladder_to((llama.base_url, llama.model), limits=PATIENT)
        request = Request(load(purpose, "en").messages(TOLD), 60, schema_of(shape), purpose)
        with paid(110) as account:
            try:
                text = await ladder.text(purpose, request)
            except ModelFailed as failure:
                assert failure.outcome is CallOutcome.LENGTH  # it talks on: a named outcome, not half a reply
            else:
                assert parse(text).keys() == shape.model_fields.keys()
        await ladder.aclose()
        assert ladder.rungs[0].endpoint.abilities.schema == "json_schema"
        [spent] = account.doings.calls
        assert spent.prompt_tokens > 100
        assert spent.completion_tokens > 0

    async def test_an_answer_streams_and_is_grounded_or_the_rules(
        self, llama: LlamaServer, reasoner: LocalReasoner
    ) -> None:
        request = ComposeRequest(
            query="How many days of leave do I get?", language="en", findings=(FOUND,), evidence=FOUND.evidence
        )
        async with reasoner_to(reasoner, (llama.base_url, llama.model), limits=PATIENT) as mind:
            with paid(110) as account:
                told, composition = await composed(mind, request)
        assert told == composition.answer
        assert composition.outcome in ("answered", "partial", "not_found")
        assert account.doings.calls
        assert not {"[2]", "[3]"} & set(told.split())

    async def test_a_finding_comes_back_whatever_the_model_says(
        self, llama: LlamaServer, reasoner: LocalReasoner
    ) -> None:
        request = AnswerRequest(
            query=FOUND.query, language="en", agent="hr", index=1, passages=(LEAVE,), min_relevance_score=0.7
        )
        async with reasoner_to(reasoner, (llama.base_url, llama.model), mode="strict", limits=PATIENT) as mind:
            with paid(110):
                found = await mind.answer(request)
        assert isinstance(found, Finding)
        assert all(quote.text in LEAVE.text for quote in found.quotes)


class TestCancel:
    async def test_stops_the_model_within_a_second(self, llama: LlamaServer) -> None:
        ladder = ladder_to((llama.base_url, llama.model), limits=PATIENT)
        story = [{"role": "user", "content": "Tell me a very long story about a river, with many people in it."}]
        heard = asyncio.Event()

        async def listen() -> None:
            async with aclosing(ladder.stream("compose", Request(story, 3_000))) as pieces:
                async for _ in pieces:
                    heard.set()

        with paid(110) as account:
            listening = asyncio.create_task(listen())
            await heard.wait()
            assert await llama.busy_slots() == 1
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            assert await llama.idle_after(limit(5.0)) < limit(1.0)
        await ladder.aclose()
        assert [spent.outcome for spent in account.doings.calls] == ["cancelled"]
