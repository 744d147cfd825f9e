"""The deep flow over the whole house: real documents, tools, rights, journal and worker, with a scripted mind."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.agents.registry import Solvers
from app.agents.run import StepRunner
from app.domain.deep import Critique, DeepPlan, Report, Working
from app.domain.plan import ChitchatPlan, Plan
from app.domain.tasks import ChatRequest
from app.events import FinalReport, ToolRequest
from app.flow.deep.context import DeepPorts
from app.flow.deep.graph import DeepFlow
from app.flow.deep.state import DeepLimits
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.main.services import now
from app.main.working import worker_of
from app.reasoning.deep import (
    Action,
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    Found,
    Solved,
    TellRequest,
    ToolWish,
)
from app.tasks.run import TaskRun
from app.tasks.worker import Worker
from tests.acceptance.asking import Told, ask
from tests.fakes.deep_checkpoints import MemoryCheckpoints
from tests.fakes.deep_mind import REJECTED, ScriptedDeepMind, approving, refusing, told

QUESTION = "Nhân viên đi muộn 6 lần trong tháng thì bị khấu trừ tổng cộng bao nhiêu phụ cấp chuyên cần?"
FACTS = (
    "Mỗi lần đi muộn bị khấu trừ bao nhiêu phụ cấp chuyên cần?",
    "Đi muộn bị khấu trừ phụ cấp chuyên cần kể từ lần thứ mấy?",
)


def plan(request: DecomposeRequest) -> DeepPlan:
    """At first without the second fact."""
    facts = FACTS if request.feedback else FACTS[:1]
    return DeepPlan(question=request.asked.question, research=facts, logic=("Nhân số lần với mức khấu trừ",))


def act(request: ActRequest) -> Action:
    """Searches and concludes; calculates, at first with a figure that nobody stated."""
    if request.role == "researcher":
        if len(request.observations) < (2 if request.feedback else 1):
            return ToolWish(tool="rag_tool", query=request.task)
        texts = [one.text for one in request.observations if not one.failed]
        known = sum(len(one.findings) for one in request.observations)
        return Found(text=texts[-1] if texts else "", found=any(texts), findings=tuple(range(known)))
    if len(request.observations) < (2 if request.feedback else 1):
        expression = "50000 * (6 - 2)" if request.feedback else "987654 * 4"
        return ToolWish(
            tool="math_tool", query=f"tính {expression}", arguments={"expression": expression, "unit": "VND"}
        )
    last = request.observations[-1]
    if last.failed:
        return Solved(working=Working(answer="", text=last.text, solved=False))
    findings = (*(finding for one in request.research for finding in one.findings), *last.findings)
    return Solved(
        working=Working(answer="200.000 đồng", text=last.text, solved=True, confidence=0.9, findings=findings)
    )


def judge(request: CritiqueRequest) -> Critique:
    """Refuses once at each stage."""
    match request.of:
        case "planner":
            approved = len(request.plan.research) > 1
        case "researcher":
            assert request.research is not None
            approved = request.research.step > 1 or len(request.research.observations) > 1
        case "expert":
            assert request.working is not None
            approved = request.working.solved
    return Critique(of=request.of, approved=approved, feedback="" if approved else REJECTED[request.of])


def tell(request: TellRequest) -> Report:
    report = told(request)
    if not report.solved:
        return report
    return report.model_copy(update={"answer": f"Tổng cộng {report.answer} theo https://evil.example/x."})


def mind(**changes: Any) -> ScriptedDeepMind:
    return ScriptedDeepMind(**{"planner": plan, "actor": act, "critic": judge, "finalizer": tell, **changes})


@asynccontextmanager
async def house(
    services: Services, thinking: ScriptedDeepMind, is_dependent: Callable[[str, str], bool] | None = None
) -> AsyncIterator[DeepFlow]:
    """A worker with both flows; the deep one thinks as it is told."""
    rooms = services.rooms
    ports, limits = rooms.flow.ports, rooms.flow.limits
    runner = StepRunner(rooms.registry, ports.steps.toolbox, ports.reasoner, now)
    deep_ports = DeepPorts(thinking, Solvers.load(runner.toolbox), runner, MemoryCheckpoints(), services.attachments)
    deep = DeepFlow(ports, deep_ports, limits, DeepLimits(max_plan_tries=2, max_research_tries=2, max_expert_tries=2))
    department = DepartmentFlow(ports, limits, deep, cast("Any", is_dependent))

    async def run(task: TaskRun) -> None:
        await (deep if task.task.request["mode"] == "deep" else department).run(task)

    worker = Worker(services.database, rooms.registry, rooms.journal, {"chat": run})
    await worker.start()
    yield deep
    await worker.stop()


async def asked(services: Services, thinking: ScriptedDeepMind, **body: Any) -> Told:
    async with house(services, thinking):
        return await ask(services, "acme/lan", QUESTION, **{"mode": "deep", **body})


class TestOneRejectionAtEachStage:
    async def test_answers_from_the_documents_with_its_whole_trace(self, small_services: Services) -> None:
        told = await asked(small_services, mind())
        assert told.answer["outcome"] == "answered"
        assert told.answer["answer"].startswith("Tổng cộng 200.000 đồng")
        visits = [node for node in told.nodes if node != "orchestrator"]
        assert visits == [
            "Router", "PermissionCheck", "planner", "critic:planner", "planner", "critic:planner",
            "researcher#rag:1", "researcher:1", "critic:researcher:1",
            "researcher#rag:2", "researcher:1", "critic:researcher:1",
            "researcher#rag:3", "researcher:2", "critic:researcher:2",
            "expert#math:1", "expert", "critic:expert", "expert#math:2", "expert", "critic:expert", "finalizer",
        ]  # fmt: skip
        refused = [one["metadata"] for one in told.answer["flow_action"] if one["type"] == "critic"]
        assert [one["feedback"] for one in refused if not one["approved"]] == list(REJECTED.values())

    async def test_a_figure_nobody_stated_is_refused_by_the_tool_and_the_right_one_is_traced(
        self, small_services: Services
    ) -> None:
        told = await asked(small_services, mind())
        sums = [one for one in told.answer["flow_action"] if one["node_id"].startswith("expert#math")]
        assert [one["status"] for one in sums] == ["failed", "done"]
        assert "https://intra.acme.example/policies/punctuality" in {one["url"] for one in told.answer["evidence"]}

    async def test_no_strange_address_leaves_the_house(self, small_services: Services) -> None:
        told = await asked(small_services, mind())
        assert "evil" not in told.text
        assert "[đã gỡ liên kết]" in told.answer["answer"]

    async def test_is_stored_like_any_answer(self, small_services: Services) -> None:
        told = await asked(small_services, mind())
        assert told.task.status == "completed"
        assert told.task.metadata["outcome"] == "answered"
        metrics = told.task.metadata["performance_metrics"]
        assert metrics["tool_usage_stats"]["rag_tool"]["calls"] == 3
        principal = (await small_services.claims_of("acme/lan")).principal()
        steps = await small_services.rooms.registry.children(principal, told.task.task_id)
        assert sorted(step.assignee_agent_id or "" for step in steps) == ["expert"] * 2 + ["researcher"] * 3
        assert sorted(str(step.status) for step in steps) == ["completed"] * 4 + ["failed"]
        assert told.task.plan is not None
        assert sorted(told.task.plan["agents"]) == ["expert", "researcher"]
        report = told.events[-1]
        assert isinstance(report, FinalReport)

    async def test_is_not_remembered_as_an_answer(self, small_services: Services) -> None:
        thinking = mind()
        first = await asked(small_services, thinking)
        planned = len(thinking.plans)
        second = await asked(small_services, thinking)
        assert first.answer["answer"] == second.answer["answer"]
        assert len(thinking.plans) == 2 * planned
        assert "cached" not in second.answer["execution_metadata"]


class TestRights:
    async def test_what_the_asker_may_not_read_is_not_found(self, small_services: Services) -> None:
        """The rules on lateness are private to hr."""
        async with house(small_services, mind(critic=approving)):
            told = await ask(small_services, "acme/minh", QUESTION, mode="deep")
        assert "50.000" not in told.text
        assert not any("punctuality" in one["url"] for one in told.answer["evidence"])

    async def test_a_narrowed_request_reads_only_there(self, small_services: Services) -> None:
        told = await asked(small_services, mind(critic=approving), agents={"general": {}})
        assert "50.000" not in told.text

    async def test_tools_that_are_off_are_never_called(self, small_services: Services) -> None:
        def web(request: ActRequest) -> Action:
            if request.role == "researcher" and not request.observations:
                return ToolWish(tool="web_tool", query="https://evil.example/x")
            return act(request)

        told = await asked(small_services, mind(actor=web, critic=approving))
        assert not any(isinstance(event, ToolRequest) and event.tool == "web_tool" for event in told.events)


class TestHonesty:
    async def test_tries_used_up_are_told_with_what_was_tried(self, small_services: Services) -> None:
        told = await asked(small_services, mind(critic=refusing("researcher")))
        assert told.answer["outcome"] == "not_found"
        assert told.answer["evidence"] == []
        assert told.nodes.count("researcher:1") == 2
        assert told.task.status == "completed"


class TestAuto:
    async def test_goes_deep_where_steps_depend_on_one_another(self, small_services: Services) -> None:
        async with house(small_services, mind(), lambda _query, _language: True):
            told = await ask(small_services, "acme/lan", QUESTION)
            plain = await ask(small_services, "acme/lan", QUESTION, mode="department")
        assert told.nodes[-1] == "finalizer"
        assert told.answer["answer"].startswith("Tổng cộng 200.000 đồng")
        assert "finalizer" not in plain.nodes

    async def test_stays_where_it_was_otherwise(self, small_services: Services) -> None:
        async with house(small_services, mind(), lambda _query, _language: False):
            told = await ask(small_services, "acme/lan", QUESTION)
        assert "finalizer" not in told.nodes

    @pytest.mark.parametrize("query", ["Xin chào", "Hello"])
    async def test_small_talk_stays_small(self, small_services: Services, query: str) -> None:
        async with house(small_services, mind(), lambda _query, _language: True):
            told = await ask(small_services, "acme/lan", query)
            deep = await ask(small_services, "acme/lan", query, mode="deep")
        assert told.answer["outcome"] == deep.answer["outcome"] == "chitchat"


@pytest.fixture(scope="module")
async def by_rules(small_services: Services) -> AsyncIterator[Services]:
    """The house as it is opened, with its own worker: flows, minds and kept states are those of the service."""
    rooms = small_services.rooms
    steps = cast("Any", SimpleNamespace(run=None))
    worker = worker_of(
        small_services.settings, small_services.storage, rooms, small_services.ingestion, steps, ("chat",)
    )
    await worker.start()
    yield small_services
    await worker.stop()


class TestByRules:
    async def test_quotes_the_rule_of_a_plain_question(self, by_rules: Services) -> None:
        told = await ask(by_rules, "acme/lan", FACTS[0], mode="deep")
        assert told.answer["outcome"] == "answered"
        assert "50.000" in told.answer["answer"]
        assert "punctuality" in told.answer["evidence"][0]["url"]
        assert all(question.endswith("?") for question in told.answer["follow_up_questions"])

    async def test_shows_the_rule_but_answers_no_sum_that_only_thinking_finds(self, by_rules: Services) -> None:
        told = await ask(by_rules, "acme/lan", QUESTION.replace("6", "9"), mode="deep")
        assert told.answer["outcome"] == "not_found"
        assert "50.000" in told.answer["answer"]

    async def test_says_honestly_what_is_not_known(self, by_rules: Services) -> None:
        told = await ask(
            by_rules, "acme/lan", "Thuê xe 7 chỗ đi Đà Lạt 4 ngày hết tổng cộng bao nhiêu tiền?", mode="deep"
        )
        assert told.answer["outcome"] == "not_found"
        assert told.answer["evidence"] == []
        assert told.answer["reasoning"]

    async def test_small_talk_and_the_department_flow_are_as_ever(self, by_rules: Services) -> None:
        told = await ask(by_rules, "acme/lan", "Giá trị cốt lõi của công ty là gì?")
        assert told.answer["outcome"] == "answered"
        assert told.nodes[-1] == "AnswerFormatter"

    async def test_the_plan_can_be_seen_before(self, by_rules: Services) -> None:
        principal = (await by_rules.claims_of("acme/lan")).principal()
        plan = await by_rules.rooms.deep.dry_run(principal, ChatRequest(query=QUESTION, mode="deep"))
        assert isinstance(plan, Plan)
        assert list(plan.agents) == ["researcher", "expert"]
        assert plan.agents["researcher"].tools == ("rag_tool",)
        greeted = await by_rules.rooms.deep.dry_run(principal, ChatRequest(query="Xin chào", mode="deep"))
        assert isinstance(greeted, ChitchatPlan)
