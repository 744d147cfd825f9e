"""A conversation: follow-ups go to the agent that spoke last, which hands over what is not its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.agents.run import StepRunner
from app.domain.knowledge import DocumentDraft
from app.domain.plan import Plan
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, Session
from app.events import EndProcess, Handover, PlanReady, Progress, StartProcess, TextDelta
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.main.services import now
from app.sessions.session import HISTORY_TURNS
from app.tasks.worker import Worker
from app.tools.base import Tool, ToolCall, ToolResult
from tests.acceptance.asking import Told, ask
from tests.chaos.machines import until
from tests.limits import limit

VPN = """\
# Hướng dẫn sử dụng VPN

## Ai cần VPN?

Bạn cần VPN khi làm việc ngoài văn phòng và phải vào ERP hoặc GitLab. Email và Teams dùng được không cần VPN.

## VPN trên điện thoại

Điện thoại cá nhân không được cài VPN. Chỉ điện thoại đã ghi danh mới được dùng VPN.

## Kết nối từ nước ngoài

Kết nối VPN từ ngoài Việt Nam bị chặn mặc định; muốn mở, gửi đơn IT-VPN-02 trước 3 ngày làm việc.
"""
LATE = "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?"
CONVERSATIONS = {
    "vi": (LATE, "còn quên chấm công thì sao?", "còn VPN thì sao?", "thế dùng trên điện thoại cá nhân được không?"),
    "unaccented": (
        "Di muon lan thu 5 trong thang bi xu ly the nao?", "con quen cham cong thi sao?", "con VPN thi sao?",
        "the dung tren dien thoai ca nhan duoc khong?",
    ),
    "en": (
        "What happens if I am late for work five times in a month?", "what about forgetting to clock in?",
        "what about VPN?", "and on a personal phone?",
    ),
}  # fmt: skip


def vpn_guide() -> DocumentDraft:
    return DocumentDraft(
        title="Hướng dẫn sử dụng VPN", text=VPN, url="https://intra.acme.example/it/vpn", department="it",
        scope="internal", created_at=datetime(2026, 5, 4, tzinfo=UTC), external_id="acme-it-vpn", lang="vi",
    )  # fmt: skip


@pytest.fixture(scope="module")
async def company(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a guide of the IT department."""
    admin = (await small_services.claims_of("acme/admin")).principal()
    await small_services.ingestion.ingest(admin, [vpn_guide()])
    yield small_services
    found, _ = await small_services.catalogue.page(admin, department="it", status=None, cursor=None, limit=50)
    for document in found:
        await small_services.catalogue.delete(admin, document.document_id)


@asynccontextmanager
async def working(services: Services, flow: DepartmentFlow) -> AsyncIterator[Services]:
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": flow.run})
    await worker.start()
    yield services
    await worker.stop()


@pytest.fixture
async def house(company: Services) -> AsyncIterator[Services]:
    """The company at work, with nothing remembered of other tests."""
    flow = company.rooms.flow
    async with working(company, DepartmentFlow(flow.ports, flow.limits)):
        yield company


class Blind:
    """A search that finds nothing for some agents."""

    def __init__(self, inner: Tool, agents: frozenset[str]):
        self._inner, self._agents = inner, agents
        self.name, self.alternative = inner.name, inner.alternative

    async def __call__(self, call: ToolCall) -> ToolResult:
        found = await self._inner(call)
        if call.agent not in self._agents:
            return found
        nothing = {"found": False, "answer": "", "confidence": 0.0, "quotes": (), "evidence": ()}
        return ToolResult(text="", findings=tuple(one.model_copy(update=nothing) for one in found.findings))


@asynccontextmanager
async def changed(services: Services, *blind: str, **limits: Any) -> AsyncIterator[Services]:
    """The company at work with other limits, and with agents that find nothing."""
    flow = services.rooms.flow
    toolbox = {**flow.ports.steps.toolbox}
    toolbox["rag_tool"] = Blind(toolbox["rag_tool"], frozenset(blind))
    steps = StepRunner(services.rooms.registry, toolbox, flow.ports.reasoner, now)
    own = DepartmentFlow(replace(flow.ports, steps=steps), flow.limits.model_copy(update=limits))
    async with working(services, own):
        yield services


async def lan_of(services: Services) -> Principal:
    return (await services.claims_of("acme/lan")).principal()


async def talk(services: Services, *questions: str, user: str = "acme/lan", **body: Any) -> list[Told]:
    """Ask one question after another in one session."""
    told = [await ask(services, user, questions[0], **body)]
    for question in questions[1:]:
        told.append(await ask(services, user, question, session_id=told[0].answer["session_id"], **body))
    return told


async def session_of(services: Services, told: Told) -> Session:
    await services.rooms.flow.ports.memory.settled()
    return await services.rooms.sessions.get(await lan_of(services), told.task.session_id)


def agents_of(told: Told) -> list[str]:
    return list(told.answer["execution_metadata"]["agents_invoked"])


def handovers_of(told: Told) -> list[tuple[str, str, str]]:
    """Who handed over to whom and why; events and flow_action must agree."""
    events = [event for event in told.events if isinstance(event, Handover)]
    passed = [(event.from_agent, event.to_agent, event.reason) for event in events if event.reason != "next_stage"]
    actions = [action["metadata"] for action in told.answer["flow_action"] if action["type"] == "handover"]
    assert passed == [(one["from_agent"], one["to_agent"], one["reason"]) for one in actions]
    return passed


class TestAConversation:
    @pytest.mark.parametrize("language", sorted(CONVERSATIONS))
    async def test_goes_to_whoever_spoke_last_until_that_agent_hands_over(self, house: Services, language: str) -> None:
        first, second, third, fourth = await talk(house, *CONVERSATIONS[language])
        assert [agents_of(told)[0] for told in (first, second, third, fourth)] == ["hr", "hr", "it", "it"]
        assert [handovers_of(told) for told in (first, second, fourth)] == [[], [], []]
        assert handovers_of(third) == [("hr", "it", "better_match")]
        assert "VPN khi làm việc ngoài văn phòng" in third.answer["answer"]
        assert "Điện thoại cá nhân không được cài VPN" in fourth.answer["answer"]
        for told, active in ((second, "hr"), (third, "hr"), (fourth, "it")):
            assert told.answer["flow_action"][0]["metadata"]["active_agent"] == active
        session = await session_of(house, first)
        assert (session.active_agent, session.speaking) == ("it", ())

    async def test_tells_who_has_the_floor_and_who_speaks(self, house: Services) -> None:
        *_, third = await talk(house, *CONVERSATIONS["vi"][:3])
        floor = [
            (event.type, event.agent, event.active) if not isinstance(event, Handover) else (event.type, event.speaking)
            for event in third.events
            if isinstance(event, StartProcess | EndProcess | Handover)
        ]
        assert floor == [
            ("start_process", "hr", True), ("end_process", "hr", False), ("handover", {"hr": False, "it": True}),
            ("start_process", "it", True), ("end_process", "it", False),
        ]  # fmt: skip
        pieces = [event for event in third.events if isinstance(event, TextDelta)]
        assert {(piece.agent, piece.metadata["streaming"]) for piece in pieces} == {("it", True)}
        assert "".join(piece.text for piece in pieces) == third.answer["answer"]

    async def test_a_question_of_its_own_is_routed_as_ever(self, house: Services) -> None:
        first, second = await talk(house, LATE, "Hóa đơn nhà cung cấp được thanh toán trong bao nhiêu ngày?")
        assert "21 ngày" in second.answer["answer"]
        assert "active_agent" not in second.answer["flow_action"][0]["metadata"]
        assert (await session_of(house, first)).active_agent == "finance"

    async def test_small_talk_changes_nothing(self, house: Services) -> None:
        first, _, third = await talk(house, LATE, "cảm ơn nhé", "còn quên chấm công thì sao?")
        assert agents_of(third) == ["hr"]
        session = await session_of(house, first)
        assert session.active_agent == "hr"
        assert "cảm ơn" not in str(session.summary)


class TestLimits:
    async def test_nothing_is_handed_over_where_that_is_turned_off(self, company: Services) -> None:
        async with changed(company, max_handovers=0):
            *_, last = await talk(company, LATE, "còn VPN thì sao?")
        assert (agents_of(last), handovers_of(last)) == (["hr"], [])

    async def test_only_agents_on_offer_get_the_floor(self, house: Services) -> None:
        *_, last = await talk(house, LATE, "còn VPN thì sao?", agents={"hr": {}, "general": {}})
        assert "it" not in agents_of(last)
        assert handovers_of(last) == []

    async def test_an_agent_that_finds_nothing_hands_over(self, company: Services) -> None:
        """What the next agent is asked becomes a further tier of the plan."""
        async with changed(company, "general"):
            told = await ask(company, "acme/lan", "Giá trị cốt lõi của công ty là gì?")
        assert handovers_of(told) == [("general", "hr", "no_evidence")]
        plan = Plan.model_validate(told.task.plan)
        assert [[step.agent for step in tier] for tier in plan.tiers] == [["general"], ["hr"]]
        assert [step.step.status for step in plan.steps] == ["completed"] * len(plan.steps)
        searched = [action["node_id"] for action in told.answer["flow_action"] if action["type"] == "agent_tool"]
        assert searched == [step.node_id for step in plan.steps]
        assert len([event for event in told.events if isinstance(event, PlanReady)]) == 1
        shown = [event.output["progress_percentage"] for event in told.events if isinstance(event, Progress)]
        assert shown == sorted(shown)
        assert (shown[0], shown[-1]) == (75, 95)

    @pytest.mark.parametrize("most", [1, 2])
    async def test_a_question_nobody_answers_goes_the_same_way_and_not_on_for_ever(
        self, company: Services, most: int
    ) -> None:
        everybody = company.rooms.flow.ports.agents.names
        async with changed(company, *everybody, max_handovers=most, min_relevance_score=0.001, enable_caching=False):
            told = [await ask(company, "acme/lan", LATE) for _ in range(2)]
        ways = [handovers_of(one) for one in told]
        assert ways[0] == ways[1] == [("hr", "general", "no_evidence"), ("general", "finance", "no_evidence")][:most]
        assert [one.answer["outcome"] for one in told] == ["not_found", "not_found"]


class TestALongConversation:
    async def test_recalls_what_lies_beyond_the_last_turns(self, house: Services) -> None:
        first = await ask(house, "acme/lan", LATE)
        session = first.answer["session_id"]
        for number in range(HISTORY_TURNS + 1):
            await ask(house, "acme/lan", f"Kết nối VPN từ nước ngoài lần thứ {number} thì sao?", session_id=session)
        known = await house.rooms.flow.ports.memory.recall(await lan_of(house), first.task.session_id, LATE)
        assert LATE not in [message.content for message in known.history if not message.is_recalled]
        assert LATE in [message.content for message in known.history if message.is_recalled]

    async def test_is_summarised_and_erased(self, house: Services) -> None:
        first, *_ = await talk(house, *CONVERSATIONS["vi"])
        last = "VPN: dùng trên điện thoại cá nhân được không? → Không — Điện thoại cá nhân không"

        async def is_summarised() -> bool:  # a turn is remembered behind its answer
            return last in ((await session_of(house, first)).summary or "")

        await until(is_summarised, limit(10))
        session = await session_of(house, first)
        await house.rooms.sessions.delete(await lan_of(house), session.session_id)
        known = await house.rooms.flow.ports.memory.recall(await lan_of(house), session.session_id, LATE)
        assert (known.history, known.active_agent) == ((), None)


class TestPlans:
    async def test_show_who_would_be_asked(self, house: Services) -> None:
        """The dry run knows the conversation as well."""
        first = await ask(house, "acme/lan", LATE)
        flow, lan = house.rooms.flow, await lan_of(house)
        for question, agent in (("còn quên chấm công thì sao?", "hr"), ("còn VPN thì sao?", "it")):
            request = ChatRequest(query=question)
            known = await flow.recall(lan, first.task.session_id, request)
            plan = await flow.dry_run(lan, request, known)
            assert isinstance(plan, Plan)
            assert list(plan.agents) == [agent]
