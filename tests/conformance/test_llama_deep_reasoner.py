"""The deep flow's minds over a real llama.cpp server: the answers of so small a model are poor, the protocol is
everybody's."""

from typing import Any

import pytest

from app.domain.deep import Asked
from app.reasoning.llm import TimeLimits
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request
from app.reasoning.llm.shapes import ACTIONS, CritiqueShape, DeepPlanShape
from app.reasoning.llm.structured import Shape, parse, schema_of
from app.reasoning.sentences import load
from tests.conformance import deep_calls as calls
from tests.conformance.asking_models import ladder_to, paid
from tests.conformance.deep_calls import DEEP_RESULTS, deep_reasoner_to
from tests.fakes.llama import LlamaServer

PATIENT = TimeLimits(first_token=60, between_tokens=30, call=100)
ASKED = Asked(question="What is 4 * 50000?", language="en")


@pytest.mark.usefixtures("brief")
class TestContract:
    @pytest.mark.parametrize(
        ("purpose", "shape"),
        [("deep_plan", DeepPlanShape), ("deep_research", ACTIONS["researcher", True]), ("deep_review", CritiqueShape)],
    )
    async def test_replies_are_of_the_schema(self, purpose: str, shape: type[Shape], llama: LlamaServer) -> None:
        ladder = ladder_to((llama.base_url, llama.model), limits=PATIENT)
        told = '{"question": "What is 4 * 50000?", "task": "4 * 50000", "calls_left": 1}'
        request = Request(load(purpose, "en").messages(told), 60, schema_of(shape), purpose)
        with paid(110):
            try:
                text = await ladder.text(purpose, request)
            except ModelFailed as failure:
                assert failure.outcome is CallOutcome.LENGTH  # it talks on: a named outcome, not half a reply
            else:
                read = parse(text)
                assert read.keys() == shape.model_fields.keys()
                assert shape is not ACTIONS["researcher", True] or read["action"]["kind"] in ("tool", "found")
        await ladder.aclose()
        assert ladder.rungs[0].endpoint.abilities.schema == "json_schema"

    async def test_every_stage_ends_in_its_result_whatever_the_model_says(self, llama: LlamaServer) -> None:
        async with deep_reasoner_to((llama.base_url, llama.model), limits=PATIENT) as mind:
            with paid(110) as account:
                results: dict[str, Any] = {
                    "deep_review": await mind.criticise(calls.critique_request(asked=ASKED)),
                    "deep_plan": await mind.decompose(calls.decompose_request(asked=ASKED)),
                }
        assert all(isinstance(result, DEEP_RESULTS[stage]) for stage, result in results.items())
        assert account.doings.calls
