"""Models that think before they answer: thoughts count as life and cost their room, and are never part of a reply."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.llm import TimeLimits
from app.reasoning.llm.endpoint import Endpoint, Thoughts
from app.reasoning.llm.request import CallOutcome, ModelFailed, Request, Thinking, Usage
from app.reasoning.local import LocalReasoner
from tests.conformance.asking_models import CALLS, MODES, QUICK, composed, paid, reasoner_to
from tests.fakes.house_mind import house_mind, stage_of
from tests.fakes.model_server import Asked, ModelServer, Reply, scripted_model_server

_REQUEST = Request(({"role": "user", "content": "?"},), 60)
THOUGHT = '{"kind": "chitchat"} Nhân viên có 99 ngày phép năm.'
"""What may not be taken for a reply."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with scripted_model_server(house_mind) as opened:
        yield opened


async def said(server: ModelServer, thinking: Thinking, limits: TimeLimits = QUICK) -> tuple[str, Usage]:
    endpoint, usage = Endpoint.at(server.base_url, "m", limits=limits, thinking=thinking), Usage()
    try:
        until = asyncio.get_running_loop().time() + 20
        return "".join([piece async for piece in endpoint.stream(_REQUEST, usage, until)]), usage
    finally:
        await endpoint.aclose()


def without(text: str, *cuts: int) -> str:
    thoughts, start, out = Thoughts(), 0, ""
    for at in (*sorted({min(cut, len(text)) for cut in cuts}), len(text)):
        out += thoughts.without(text[start:at])
        start = at
    return out


class TestTags:
    @pytest.mark.parametrize("lead", ["<think>", "  \n<think>", "<think>\n"])
    def test_what_stands_between_them_is_no_reply(self, lead: str) -> None:
        assert without(f"{lead}{THOUGHT}</think>\n\nCó 12 ngày.").strip() == "Có 12 ngày."

    @pytest.mark.parametrize("text", ["Có 12 ngày <think>", "<b>12</b>", "<thinks> so", "<", "Có </think> 12"])
    def test_elsewhere_they_are_text(self, text: str) -> None:
        assert without(text) == text or text == "<"

    @given(st.lists(st.integers(0, 80), max_size=8), st.sampled_from([f"<think>{THOUGHT}</think> Có 12.", "<i>12</i>"]))
    def test_where_the_stream_is_cut_changes_nothing(self, cuts: list[int], text: str) -> None:
        assert without(text, *cuts) == without(text)


class TestStreams:
    async def test_thoughts_count_as_life(self, server: ModelServer) -> None:
        """Ten thoughts, each within the pause between two tokens, together far beyond it and the first one."""
        server.respond = lambda _: Reply("Có 12 ngày.", thinking=("hmm ",) * 10, between_seconds=0.1)
        told, _ = await said(server, Thinking(400), TimeLimits(first_token=0.4, between_tokens=0.4, call=10))
        assert told == "Có 12 ngày."

    async def test_a_model_that_only_thinks_said_nothing(self, server: ModelServer) -> None:
        for reply in (Reply("", thinking=(THOUGHT,)), Reply(f"<think>{THOUGHT}"), Reply("<think></think>")):
            server.respond = lambda _, reply=reply: reply  # type: ignore[misc]
            with pytest.raises(ModelFailed) as failed:
                await said(server, Thinking(400))
            assert failed.value.outcome is CallOutcome.EMPTY

    async def test_thoughts_have_a_room_of_their_own_and_an_end(self, server: ModelServer) -> None:
        server.respond = lambda _: Reply("Có 12 ngày.", thinking=("x" * 500,) * 4, keeps_limit=False)
        told, _ = await said(server, Thinking(200))
        assert told == "Có 12 ngày."
        assert server.requests[-1].body["max_tokens"] == 260
        with pytest.raises(ModelFailed) as failed:
            await said(server, Thinking())
        assert failed.value.outcome is CallOutcome.FLOOD

    async def test_the_operators_fields_are_sent(self, server: ModelServer) -> None:
        server.respond = lambda _: Reply("Có 12 ngày.")
        await said(server, Thinking(10, "low", {"chat_template_kwargs": {"enable_thinking": True}}))
        body = server.requests[-1].body
        assert body["reasoning_effort"] == "low"
        assert body["chat_template_kwargs"] == {"enable_thinking": True}


@pytest.mark.parametrize("form", ["tags", "field"])
async def test_every_stage_reads_what_stands_behind_the_thoughts(
    form: str, server: ModelServer, reasoner: LocalReasoner
) -> None:
    def mind(asked: Asked) -> Reply:
        reply = house_mind(asked)
        if form == "field":
            return Reply(reply.content, thinking=(THOUGHT,) * 3)
        return Reply(f"<think>{THOUGHT}</think>\n{reply.content}", keeps_limit=False)

    plain, results = await _results(server, reasoner, house_mind), await _results(server, reasoner, mind)
    assert results == plain


async def _results(server: ModelServer, reasoner: LocalReasoner, mind: object) -> list[object]:
    server.respond = mind  # type: ignore[assignment]
    found: list[object] = []
    for stage, call in CALLS.items():
        async with reasoner_to(reasoner, (server.base_url, "m"), mode=MODES.get(stage, "model")) as model:
            with paid() as account:
                found.append(await call(model))
        assert account.doings.downgrades == [], stage
    return found


async def test_a_thought_that_never_ends_leaves_it_to_the_rules(server: ModelServer, reasoner: LocalReasoner) -> None:
    server.respond = lambda asked: Reply(f"<think>{THOUGHT}") if stage_of(asked) == "compose" else house_mind(asked)
    async with reasoner_to(reasoner, (server.base_url, "m")) as model:
        with paid() as account:
            told, _ = await composed(model)
    assert "99" not in told
    assert account.doings.downgrades == ["compose: empty, done by rules"]
