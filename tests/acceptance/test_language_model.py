"""The whole house with a language model: what it costs, what is streamed, and what happens when it fails."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import asyncpg
import pytest

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.cli.doctor import probe
from app.domain.principal import Principal
from app.events import TextDelta
from app.main import Services
from app.main.services import _flow_limits
from app.reasoning.llm import ModelReasoner, TimeLimits
from app.reasoning.llm.reasoner import AnswerMode
from app.settings import Settings
from app.storage.tenants import Own
from tests.acceptance.asking import Told, ask
from tests.fakes.house_mind import STAGES, house_mind, stage_of
from tests.fakes.model_server import Asked, Fault, ModelServer, Reply, scripted_model_server
from tests.fakes.round_trips import round_trips, slow_house_mind
from tests.limits import limit
from tests.samples import size
from tests.warm import planted

DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
SEEDS = size(0, 20)
"""0 = every fault at one stage, once; `make chaos` plays every fault at every stage with 20."""
FAULTS = (
    Fault.RATE_LIMITED, Fault.RATE_LIMITED_FOR_A_DAY, Fault.SERVER_ERROR, Fault.BAD_GATEWAY, Fault.UNAUTHORIZED,
    Fault.REJECTS_JSON_SCHEMA, Fault.RESET_BEFORE_HEADERS, Fault.RESET_MIDWAY, Fault.HANG_BEFORE_HEADERS,
    Fault.HANG_AFTER_HEADERS, Fault.STALL_MIDWAY, Fault.CUT_WITHOUT_FINISH, Fault.DONE_WITHOUT_FINISH, Fault.NO_DONE,
    Fault.ERROR_AT_ONCE, Fault.ERROR_MIDWAY, Fault.SSE_GARBAGE, Fault.INVALID_UTF8, Fault.LENGTH, Fault.CONTENT_FILTER,
    Fault.REFUSAL, Fault.EMPTY, Fault.UNKNOWN_TOOL, Fault.MANY_TOOL_CALLS, Fault.BROKEN_JSON, Fault.DUPLICATE_KEYS,
    Fault.NOT_A_NUMBER, Fault.WRONG_TYPE, Fault.MISSING_FIELD,
)  # fmt: skip
GRACE_SECONDS = 2.0
DEADLINE_MS = 12_000 if limit(1) == 1 else 60_000
"""Nothing waits for it: what hangs ends by `LITTLE_PATIENCE`. A crowded machine needs ten seconds for a dozen runs."""
SIDE_BY_SIDE = 12
MARK = re.compile(r"(?P<fault>[a-z_0-9]+)-\d+(?=-xyz)")
LITTLE_PATIENCE = TimeLimits(first_token=0.4, between_tokens=0.3, call=1.5)
MOST_PROMPT_TOKENS, MOST_COMPLETION_TOKENS, MOST_SMALL_TOKENS = 4_500, 700, 1_200
"""Of a standard question, as the scripted server counts (three bytes a token): twelve passages, where quotes alone took
3,500."""


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ModelServer]:
    async with scripted_model_server(house_mind) as opened:
        yield opened


@pytest.fixture(scope="module")
async def house(scratch: Path, small_seed: Path, server: ModelServer) -> AsyncIterator[Services]:
    """The small company with a model that is asked for everything."""
    settings = Settings(
        _env_file=None, data_dir=await planted(scratch / "model", small_seed), seed_dir=small_seed,
        llm_base_url=server.base_url, llm_model="scripted", llm_answer_mode="model",
        task_deadline_ms=DEADLINE_MS, enable_caching=False, task_token_budget=60_000,
        llm_prompt_price=2.0, llm_completion_price=10.0, task_call_budget=60,
    )  # fmt: skip
    opened = await Services.open(settings)
    yield opened
    await opened.aclose()


@pytest.fixture(autouse=True)
async def mended(server: ModelServer, house: Services) -> None:
    """Every test begins with a sound model whose circuit is closed."""
    await server.mend()
    server.forget()
    server.respond = house_mind
    for rung in house.ladder.rungs:
        rung.breaker.reset()


def streamed(told: Told) -> str:
    return "".join(event.text for event in told.events if isinstance(event, TextDelta))


class TestRoundTrips:
    """A standard question: one call to plan, one to write; answers of single queries, if asked for, side by side."""

    @pytest.mark.parametrize(("mode", "most_trips"), [("model", 2), ("strict", 2)])
    async def test_are_few_and_small(
        self, mode: AnswerMode, most_trips: int, house: Services, server: ModelServer
    ) -> None:
        mind = house.rooms.flow.ports.reasoner
        assert isinstance(mind, ModelReasoner)
        server.respond = slow_house_mind
        mind.answer_mode = mode
        try:
            told = await ask(house, "acme/lan", DEMO)
        finally:
            mind.answer_mode = "model"
        usage = told.answer["execution_metadata"]["model_usage"]
        assert round_trips(server.requests) == most_trips
        assert sum(stage_of(asked) in ("plan", "compose") for asked in server.requests) == (2 if mode == "model" else 1)
        if mode == "model":
            assert usage["calls"] == 2
            assert usage["prompt_tokens"] <= MOST_PROMPT_TOKENS
            assert usage["completion_tokens"] <= MOST_COMPLETION_TOKENS


class TestSmallModels:
    """One of a few billion weights on a CPU reads some hundred tokens a second."""

    async def test_get_one_short_prompt(
        self, house: Services, server: ModelServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(house.rooms.flow.ports.reasoner, "_is_small", True)
        for question in (DEMO, "Nghỉ phép năm, nghỉ ốm và nghỉ thai sản khác nhau thế nào, ai duyệt, cần giấy tờ gì?"):
            server.forget()
            told = await ask(house, "acme/lan", question)
            assert [stage_of(asked) for asked in server.requests] == ["compose"]
            assert server.requests[0].prompt_tokens <= MOST_SMALL_TOKENS
            assert told.answer["support"]


class TestModes:
    """Where a tenant or an agent wants quotes, the model that writes for others quotes for them."""

    async def test_of_a_tenant(self, house: Services, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = house.rooms.flow.ports.clock
        monkeypatch.setattr(clock, "own", AsyncMock(return_value=Own(is_strict=True)))
        told = await ask(house, "acme/lan", "Mỗi năm được nghỉ bao nhiêu ngày phép?")
        assert "answer" in [stage_of(asked) for asked in server.requests]
        assert "compose" not in [stage_of(asked) for asked in server.requests]
        assert "support" not in told.answer

    async def test_of_an_agent(self, house: Services, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
        agents = house.rooms.flow.ports.agents
        stored = agents.spec
        strict = {"answer_mode": "strict"}
        monkeypatch.setattr(
            type(agents), "spec", lambda _, name: stored(name).model_copy(update=strict if name == "hr" else {})
        )
        told = await ask(house, "acme/lan", "Mỗi năm được nghỉ bao nhiêu ngày phép?", agents={"hr": {"desc": ""}})
        assert "support" not in told.answer
        server.forget()
        told = await ask(house, "acme/lan", "Giá trị cốt lõi là gì?", agents={"general": {"desc": ""}})
        assert told.answer["support"]


class TestStandardQuestion:
    async def test_counts_what_the_model_counted(self, house: Services, server: ModelServer) -> None:
        told = await ask(house, "acme/lan", DEMO)
        stages = [stage_of(asked) for asked in server.requests]
        assert stages[0] == "plan"
        assert stages[-1] == "compose"
        assert stages.count("plan") == stages.count("compose") == 1
        usage = told.answer["execution_metadata"]["model_usage"]
        assert usage["calls"] == len(server.requests)
        assert usage["prompt_tokens"] == sum(asked.prompt_tokens for asked in server.requests)
        assert usage["models"] == ["scripted"]
        assert usage["cost"] == pytest.approx(
            (usage["prompt_tokens"] * 2.0 + usage["completion_tokens"] * 10.0) / 1e6, abs=1e-6
        )
        assert "degraded" not in told.answer["execution_metadata"]

    async def test_the_answer_is_what_was_streamed_and_cites_its_evidence(self, house: Services) -> None:
        told = await ask(house, "acme/lan", DEMO)
        assert told.answer["outcome"] in ("answered", "conflict", "partial")
        assert streamed(told) == told.answer["answer"]
        assert "[1]" in told.answer["answer"]
        assert f"[{len(told.answer['evidence']) + 1}]" not in told.answer["answer"]

    async def test_a_letter_made_of_the_last_answer_rests_on_its_sources(
        self, house: Services, server: ModelServer
    ) -> None:
        question = "Mỗi năm được nghỉ bao nhiêu ngày phép?"
        first = await ask(house, "acme/lan", question)

        def edits(asked: Asked) -> Reply:
            said = house_mind(asked).content or ""
            if stage_of(asked) == "plan":
                agents = [{"agent": "hr", "queries": [question], "tools": ["rag_tool"]}]
                return Reply.json({**json.loads(said), "kind": "edit", "agents": agents})
            return Reply(f"Kính gửi chị,\n\n{said}\n\nTrân trọng" if stage_of(asked) == "compose" else said)

        server.respond = edits
        told = await ask(house, "acme/lan", "Viết thành email gửi quản lý", session_id=first.answer["session_id"])
        kinds = [one["kind"] for one in told.answer["support"]]
        assert (kinds[0], kinds[-1]) == ("draft", "draft")
        assert "quote" in kinds
        assert told.answer["answer"].startswith("Kính gửi chị,")
        assert told.answer["evidence"]

    async def test_chitchat_takes_one_call(self, house: Services, server: ModelServer) -> None:
        told = await ask(house, "acme/lan", "Xin chào!")
        assert told.answer["outcome"] == "chitchat"
        assert len(server.requests) == 1

    async def test_every_call_is_a_row_with_its_agent_and_step(self, house: Services) -> None:
        told = await ask(house, "acme/lan", DEMO)
        rows = await _rows(house, told)
        by_purpose = {row["purpose"]: row for row in rows}
        assert {"plan", "compose"} <= by_purpose.keys()
        assert (by_purpose["plan"]["agent"], by_purpose["plan"]["task_id"]) == ("", None)
        assert all(row["outcome"] == "done" and row["cost_micros"] > 0 for row in rows)


class TestCompactInstructions:
    async def test_steps_are_sent_within_their_limit_and_find_their_context(self, house: Services) -> None:
        told = await ask(house, "acme/lan", DEMO)
        principal = (await house.claims_of("acme/lan")).principal()
        steps = await house.rooms.registry.children(principal, told.task.task_id)
        assert steps
        for step in steps:
            assert len(step.description.encode()) / 3 <= 500
            assert f"Context: {step.request['context_hash']}" in step.description

    async def test_the_agents_instructions_reach_the_model(self, house: Services, server: ModelServer) -> None:
        await ask(house, "acme/lan", DEMO)
        [told] = [asked.system for asked in server.requests if stage_of(asked) == "compose"]
        assert "Answer from the human resources documents" in told
        assert "Context: " not in told, "what differs from run to run keeps a provider from keeping the beginning"


class TestDeadModel:
    async def test_documents_still_answer(self, house: Services, server: ModelServer) -> None:
        server.fail(Fault.CONNECTION_REFUSED)
        told = await ask(house, "acme/lan", DEMO)
        await server.mend()
        assert told.answer["outcome"] in ("answered", "conflict", "partial")
        assert "Khách hàng trước tiên" in told.answer["answer"]
        degraded = told.answer["execution_metadata"]["degraded"]
        assert "plan: unreachable, done by rules" in degraded
        assert any(note.startswith("compose: ") for note in degraded)

    async def test_a_downgrade_in_the_middle_keeps_what_was_done(self, house: Services, server: ModelServer) -> None:
        server.fail(Fault.SERVER_ERROR, when=lambda asked: stage_of(asked) == "compose")
        told = await ask(house, "acme/lan", DEMO)
        assert sum(stage_of(asked) == "plan" for asked in server.requests) == 1
        assert told.answer["execution_metadata"]["degraded"] == ["compose: provider_error, done by rules"]
        assert told.answer["answer"].strip()

    async def test_a_refusal_is_told_as_one(self, house: Services, server: ModelServer) -> None:
        server.fail(Fault.REFUSAL, when=lambda asked: stage_of(asked) == "plan")
        told = await ask(house, "acme/lan", DEMO)
        assert told.answer["outcome"] == "refused"
        assert told.answer["evidence"] == []
        assert told.answer["confidence_score"] == 0


class TestCancel:
    async def test_stops_the_model_within_a_second(self, house: Services, server: ModelServer) -> None:
        def slow(asked: Asked) -> Reply:
            reply = house_mind(asked)
            return replace(reply, between_seconds=0.2, piece_chars=3) if stage_of(asked) == "compose" else reply

        server.respond = slow
        principal = (await house.claims_of("acme/lan")).principal()
        run = await start_run(house.rooms, principal, ChatBody(query=DEMO), None)
        while not any(stage_of(call.asked) == "compose" for call in server.open_calls):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await house.rooms.registry.cancel(principal, run.task_id)
        await server.settled(1.0)
        assert [stage_of(closed.asked) for closed in server.closed_early] == ["compose"]
        entries = [entry async for entry in house.rooms.journal.follow(principal, run.task_id)]
        assert entries[-1].event.type == "task_cancelled"


class TestBudgets:
    async def test_a_spent_quota_leaves_it_to_the_rules(self, house: Services, server: ModelServer) -> None:
        ledger = house.rooms.flow.ports.ledger
        limits: Any = ledger
        before = limits.limits
        limits.limits = replace(before, user_tokens_per_day=1)
        try:
            told = await ask(house, "acme/lan", DEMO)
        finally:
            limits.limits = before
        assert server.requests == []
        assert "plan: budget, done by rules" in told.answer["execution_metadata"]["degraded"]
        assert told.answer["outcome"] in ("answered", "conflict", "partial")


def struck(stage: str, strikes: dict[str, int]) -> Callable[[Asked], Reply]:
    """A mind whose replies at one stage break as the mark in the question says, so many times a mark."""

    def mind(asked: Asked) -> Reply:
        reply, mark = house_mind(asked), MARK.search(asked.text)
        if stage_of(asked) != stage or mark is None or strikes[mark[0]] <= 0:
            return reply
        strikes[mark[0]] -= 1
        return replace(reply, fault=Fault(mark["fault"]))

    return mind


def played_at(stage: str) -> list[tuple[Fault, int]]:
    if SEEDS:
        return [(fault, seed) for fault in FAULTS for seed in range(SEEDS)]
    return [(fault, 0) for fault in FAULTS[STAGES.index(stage) :: len(STAGES)]]


class TestFaults:
    """Each at every stage: exactly one terminal event (`ask` checks it), in time, and nothing cut called complete."""

    @pytest.mark.parametrize("stage", [*STAGES])
    async def test_end_in_one_terminal_event(self, stage: str, house: Services, server: ModelServer) -> None:
        for rung in house.ladder.rungs:
            rung.breaker.threshold = 10**9  # runs side by side must not spoil each other's tries
            rung.endpoint.limits = LITTLE_PATIENCE
        floor = asyncio.Semaphore(SIDE_BY_SIDE)
        strikes: dict[str, int] = {}
        server.respond = struck(stage, strikes)
        try:
            await asyncio.gather(
                *(self._play(house, strikes, stage, fault, seed, floor) for fault, seed in played_at(stage))
            )
        finally:
            for rung in house.ladder.rungs:
                rung.breaker.threshold = 5
                rung.endpoint.limits = TimeLimits()

    async def _play(
        self, house: Services, strikes: dict[str, int], stage: str, fault: Fault, seed: int, floor: asyncio.Semaphore
    ) -> None:
        where = f"{fault} at {stage}, seed {seed}"
        strikes[f"{fault}-{seed}"] = random.Random(where).choice((1, 2, 1_000))
        async with floor:
            clock = asyncio.get_running_loop().time()
            told = await ask(house, "acme/lan", f"Tính 2 + 3 và cho biết đi muộn ảnh hưởng gì (mã {fault}-{seed}-xyz)?")
            took = asyncio.get_running_loop().time() - clock
        assert took <= DEADLINE_MS / 1000 + limit(GRACE_SECONDS), where
        assert "answer" in told.answer, where
        assert streamed(told) == told.answer["answer"], where
        assert told.answer["answer"].strip(), where
        calls = [row for row in await _rows(house, told) if row["purpose"] == stage]
        assert all(row["outcome"] for row in calls), where
        most = 3 * (2 if stage != "compose" else 1) * max(1, len({row["task_id"] for row in calls}))
        assert len(calls) <= most * 3, where


async def _rows(house: Services, told: Told) -> list[Any]:
    principal: Principal = (await house.claims_of("acme/lan")).principal()
    async with house.database.principal_scope(principal) as tx:
        rows: list[asyncpg.Record] = await tx.driver.fetch(
            "select * from model_calls where run_id = $1", told.task.task_id
        )
    return rows


class TestDoctor:
    async def test_asks_every_model_one_word(self, house: Services, server: ModelServer) -> None:
        principal = (await house.claims_of("acme/lan")).principal()
        server.respond = lambda asked: Reply("ready")
        assert await probe(house.ladder, principal) == {"scripted": "done"}
        server.fail(Fault.UNAUTHORIZED)
        assert await probe(house.ladder, principal) == {"scripted": "rejected"}


def test_limits_reach_the_flow(house: Services) -> None:
    assert _flow_limits(house.settings).task_deadline_ms == DEADLINE_MS
