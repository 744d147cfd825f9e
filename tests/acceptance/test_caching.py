"""A repeated question is answered from memory, and never with what its asker may not read or what no longer holds."""

import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from itertools import product
from typing import Any

import pytest

from app.domain.answer import FinalAnswer
from app.domain.knowledge import DocumentDraft
from app.domain.plan import Plan
from app.domain.principal import Principal, Scope
from app.errors import ToolFailed, ToolRetry
from app.events import PlanReady, Progress, TextDelta, ToolRequest
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.storage import tenants
from app.tasks.worker import Worker
from tests.acceptance.asking import Told, ask
from tests.acceptance.test_failing_agents import house_with

LATE = "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?"
RULE_URL = "https://intra.acme.example/policies/punctuality"
DEMO = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
SCOPES: tuple[tuple[Scope, ...], ...] = (("public",), ("public", "internal"), ("public", "internal", "private"))
DEPARTMENTS = (("hr",), ("finance",), ("general",), ("hr", "finance"))


def is_remembered(told: Told) -> bool:
    """Whether the answer came from memory; all that tells it must agree."""
    said = bool(told.answer["execution_metadata"].get("cached"))
    assert ("AnswerCache" in told.nodes) == said
    assert not (said and [event for event in told.events if isinstance(event, ToolRequest)])
    return said


def story(*told: Told) -> str:
    """All that decides whether an answer is remembered, for the line of a test that fails."""
    return "\n".join(
        f"{one.answer['outcome']}, attempt {one.task.attempt}, {one.answer['execution_metadata']}, {one.nodes}"
        for one in told
    )


def hit_ratio(told: Told) -> float:
    ratio: float = told.task.metadata["performance_metrics"]["cache_hit_ratio"]
    return ratio


def content(told: Told) -> dict[str, Any]:
    """What the asker reads, without what belongs to the run."""
    names = ("answer", "evidence", "reasoning", "confidence_score", "follow_up_questions", "outcome")
    return {name: told.answer[name] for name in names}


@asynccontextmanager
async def working(services: Services, flow: DepartmentFlow) -> AsyncIterator[None]:
    """A worker that answers with `flow`."""
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": flow.run})
    await worker.start()
    yield
    await worker.stop()


@pytest.fixture
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a worker and an empty memory."""
    flow = small_services.rooms.flow
    async with working(small_services, DepartmentFlow(flow.ports, flow.limits)):
        yield small_services


async def add_user(services: Services, name: str, **rights: Any) -> Principal:
    """Make ``tenant/name``, or replace what that person may read."""
    tenant, _, user = name.partition("/")
    operator = await services.storage.open_operator()
    async with operator.operator_scope() as tx:
        made = await tenants.add_tenant(tx, tenant)
        return (await tenants.add_user(tx, made.tenant_id, user, **rights)).principal()


async def admin_of(services: Services) -> Principal:
    return (await services.claims_of("acme/admin")).principal()


def bonus(amount: str, **changes: Any) -> DocumentDraft:
    """A document that answers `BONUS`."""
    values: dict[str, Any] = {
        "title": "Thưởng sáng kiến",
        "text": f"# Thưởng sáng kiến\n\nMỗi sáng kiến được áp dụng được thưởng {amount} đồng.\n",
        "url": "https://intra.acme.example/finance/ideas",
        "department": "finance",
        "scope": "internal",
        "created_at": datetime(2026, 5, 4, tzinfo=UTC),
        "external_id": "acme-finance-ideas",
        "lang": "vi",
    }
    return DocumentDraft.model_validate(values | changes)


BONUS = "Mỗi sáng kiến được áp dụng được thưởng bao nhiêu tiền?"


class TestARepeatedQuestion:
    async def test_is_told_as_a_run_of_its_own(self, house: Services) -> None:
        first, again = await ask(house, "acme/lan", DEMO), await ask(house, "acme/lan", DEMO)
        assert (is_remembered(first), is_remembered(again)) == (False, True)
        assert content(again) == content(first)
        shown = [event.output["progress_percentage"] for event in again.events if isinstance(event, Progress)]
        assert (shown[0], shown[-1]) == (75, 95)
        assert "".join(event.text for event in again.events if isinstance(event, TextDelta)) == again.answer["answer"]
        answer = FinalAnswer.model_validate({k: v for k, v in again.answer.items() if k in FinalAnswer.model_fields})
        assert [action.order for action in answer.flow_action] == list(range(1, len(answer.flow_action) + 1))
        assert again.nodes[:3] == ["Router", "PermissionCheck", "AnswerCache"]
        assert again.nodes[-2:] == ["ConflictResolver", "AnswerFormatter"]

    async def test_is_stored_like_any_other(self, house: Services) -> None:
        first, again = await ask(house, "acme/lan", DEMO), await ask(house, "acme/lan", DEMO)
        assert again.task.result == again.answer
        assert again.task.plan is not None
        assert again.task.plan["execution_flow"]["planning"] == first.task.plan["execution_flow"]["planning"]  # type: ignore[index]  # it has one
        principal = (await house.claims_of("acme/lan")).principal()
        session = await house.rooms.sessions.get(principal, again.task.session_id)
        assert [message.content for message in session.messages] == [DEMO, again.answer["answer"]]

    async def test_carries_nothing_of_the_first_asker(self, house: Services) -> None:
        for name in ("acme/thuytien", "acme/sontinh"):
            await add_user(house, name, department="hr", scopes=set(SCOPES[2]))
        composed = unicodedata.normalize("NFC", LATE)
        first = await ask(house, "acme/thuytien", f"  {unicodedata.normalize('NFD', composed)}")
        again = await ask(house, "acme/sontinh", composed)
        assert is_remembered(again)
        for own in (first.answer["session_id"], first.answer["task_id"], "thuytien"):
            assert own not in again.text
        [ready] = [event for event in again.events if isinstance(event, PlanReady)]
        assert Plan.model_validate(ready.plan).original_query == composed
        assert {step.step.status for step in Plan.model_validate(ready.plan).steps} == {"completed"}

    @pytest.mark.parametrize("question", ["xin chào", "Công ty có trợ cấp nuôi thú cưng không?", "2+4 = ?"])
    async def test_may_be_small_talk_something_unknown_or_a_sum(self, house: Services, question: str) -> None:
        corpus, hoa = house.rooms.flow.ports.corpus, (await house.claims_of("acme/hoa")).principal()
        version = await corpus.version(hoa)
        first, again = await ask(house, "acme/hoa", question), await ask(house, "acme/hoa", question)
        assert await corpus.version(hoa) == version
        assert (is_remembered(first), is_remembered(again)) == (False, True), story(first, again)
        assert content(again) == content(first)

    async def test_makes_the_hit_ratio_real(self, house: Services) -> None:
        question = "Đi muộn quá bao nhiêu phút thì bị lập biên bản?"
        first, again = await ask(house, "acme/lan", question), await ask(house, "acme/lan", question)
        # The first run asks for its vectors more than once, the second finds the one thing it looks for.
        assert 0 < hit_ratio(first) < 1
        assert hit_ratio(again) == 1

    @pytest.mark.parametrize(
        "body",
        [
            {"agents": {"hr": {}}},
            {"agents": {"hr": {"tools": [{"name": "rag_tool"}]}}},
            {"mode": "department"},
            {"as_of": "2026-10-01"},
            {"history_chat": [{"role": "user", "content": "Xin chào"}]},
            {"query": LATE.lower()},
        ],
    )
    async def test_asked_differently_is_another_question(self, house: Services, body: dict[str, Any]) -> None:
        await ask(house, "acme/lan", LATE)
        assert not is_remembered(await ask(house, "acme/lan", **{"query": LATE, **body}))

    async def test_in_a_conversation_is_answered_afresh(self, house: Services) -> None:
        first = await ask(house, "acme/lan", LATE)
        again = await ask(house, "acme/lan", LATE, session_id=first.answer["session_id"])
        assert not is_remembered(again)
        assert is_remembered(await ask(house, "acme/lan", LATE))


class TestWhatIsNotRemembered:
    async def test_what_the_logs_say(self, house: Services) -> None:
        await add_user(house, "acme/operator", department="it", scopes=set(SCOPES[2]))
        question = "Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?"
        for _ in range(2):
            told = await ask(house, "acme/operator", question)
            assert "it#log" in told.nodes
            assert not is_remembered(told)

    @pytest.mark.parametrize("fault", [ToolFailed("cannot"), ToolRetry("away")])
    async def test_a_run_that_failed(self, small_services: Services, fault: Exception) -> None:
        is_broken = True
        async with house_with(small_services, lambda _: fault if is_broken else None, max_retries=0):
            assert (await ask(small_services, "acme/lan", LATE)).answer["error"]
            is_broken = False
            told = await ask(small_services, "acme/lan", LATE)
            assert not is_remembered(told)
            assert is_remembered(await ask(small_services, "acme/lan", LATE))

    async def test_anything_when_caching_is_off(self, small_services: Services) -> None:
        flow = small_services.rooms.flow
        limits = flow.limits.model_copy(update={"enable_caching": False})
        async with working(small_services, DepartmentFlow(flow.ports, limits)):
            for _ in range(2):
                assert not is_remembered(await ask(small_services, "acme/lan", LATE))


class TestRights:
    async def test_twelve_people_with_different_rights_share_no_answer(self, house: Services) -> None:
        told: dict[int, Told] = {}
        for number, (scopes, departments) in enumerate(product(SCOPES, DEPARTMENTS)):
            rights: dict[str, Any] = {
                "department": departments[0], "departments": set(departments), "scopes": set(scopes)
            }  # fmt: skip
            for copy in ("first", "twin"):
                await add_user(house, f"acme/{copy}-{number}", **rights)
            told[number] = await ask(house, f"acme/first-{number}", LATE)
        assert len(told) == 12
        assert not any(is_remembered(one) for one in told.values())
        for number, first in told.items():
            twin = await ask(house, f"acme/twin-{number}", LATE)
            assert is_remembered(twin)
            assert content(twin) == content(first)
            principal = (await house.claims_of(f"acme/twin-{number}")).principal()
            assert {evidence["scope"] for evidence in twin.answer["evidence"]} <= set(principal.scopes)

    async def test_the_rule_of_one_department_is_never_told_to_another(self, house: Services) -> None:
        """Only the private rule answers; the handbook and the values may be read by more."""
        assert RULE_URL in (await ask(house, "acme/lan", LATE)).text
        for name in ("acme/hoa", "acme/an", "acme/minh"):
            assert RULE_URL not in (await ask(house, name, LATE)).text

    async def test_fewer_rights_are_felt_by_the_next_question(self, house: Services) -> None:
        await add_user(house, "acme/moving", department="hr", scopes=set(SCOPES[2]))
        for _ in range(2):
            assert RULE_URL in (await ask(house, "acme/moving", LATE)).text
        await add_user(house, "acme/moving", department="hr", scopes=set(SCOPES[1]))
        assert RULE_URL not in (await ask(house, "acme/moving", LATE)).text
        narrowed = {"permissions": ["public"], "department": "hr"}
        assert RULE_URL not in (await ask(house, "acme/lan", LATE, user_context=narrowed)).text

    async def test_another_company_gets_nothing(self, house: Services) -> None:
        await ask(house, "acme/lan", LATE)
        await add_user(house, "elsewhere/lan", department="hr", scopes=set(SCOPES[2]))
        told = await ask(house, "elsewhere/lan", LATE)
        assert not is_remembered(told)
        assert told.answer["outcome"] == "not_found"
        assert "acme" not in told.text


class TestChanges:
    @pytest.fixture(autouse=True)
    async def published(self, house: Services) -> AsyncIterator[None]:
        """The document, and its end."""
        await house.ingestion.ingest(await admin_of(house), [bonus("300.000")])
        yield
        await self._delete(house)

    async def _delete(self, house: Services) -> None:
        admin = await admin_of(house)
        found, _ = await house.catalogue.page(admin, department="finance", status=None, cursor=None, limit=50)
        for document in found:
            if document.external_id == "acme-finance-ideas":
                await house.catalogue.delete(admin, document.document_id)

    async def _amend(self, house: Services, **changes: Any) -> None:
        admin = await admin_of(house)
        found, _ = await house.catalogue.page(admin, department="finance", status=None, cursor=None, limit=50)
        [document] = [one for one in found if one.external_id == "acme-finance-ideas"]
        await house.catalogue.amend(admin, document.document_id, changes)

    async def _learnt(self, house: Services) -> None:
        """The answer is in memory."""
        await ask(house, "acme/hoa", BONUS)
        told = await ask(house, "acme/hoa", BONUS)
        assert is_remembered(told)
        assert "300.000" in told.answer["answer"]

    async def _forgotten(self, house: Services) -> Told:
        """What the next question gets; nothing remembered."""
        told = await ask(house, "acme/hoa", BONUS)
        assert not is_remembered(told)
        assert "300.000" not in told.text
        return told

    async def test_a_new_version_is_told_at_once(self, house: Services) -> None:
        await self._learnt(house)
        await house.ingestion.ingest(await admin_of(house), [bonus("450.000")])
        assert "450.000" in (await self._forgotten(house)).answer["answer"]

    async def test_a_document_that_comes_later_is_found_at_once(self, house: Services) -> None:
        await self._delete(house)
        for _ in range(2):
            assert (await ask(house, "acme/hoa", BONUS)).answer["outcome"] != "answered"
        await house.ingestion.ingest(await admin_of(house), [bonus("300.000")])
        assert "300.000" in (await ask(house, "acme/hoa", BONUS)).answer["answer"]

    async def test_a_document_that_is_taken_away_is_gone_at_once(self, house: Services) -> None:
        await self._learnt(house)
        await self._amend(house, scope="private")
        assert (await self._forgotten(house)).answer["outcome"] != "answered"

    @pytest.mark.parametrize(
        ("change", "day"),
        [({"effective_to": date(2026, 6, 1)}, "2026-06-01"), ({"effective_from": date(2099, 1, 1)}, "2099-01-01")],
    )
    async def test_a_document_out_of_force_is_told_with_its_dates_at_once(
        self, house: Services, change: dict[str, Any], day: str
    ) -> None:
        await self._learnt(house)
        await self._amend(house, **change)
        told = await ask(house, "acme/hoa", BONUS)
        assert not is_remembered(told)
        assert told.answer["outcome"] == "partial"
        assert ("300.000" in told.answer["answer"]) <= (day in told.answer["answer"])

    async def test_a_deleted_document_is_gone_at_once(self, house: Services) -> None:
        await self._learnt(house)
        await self._delete(house)
        assert (await self._forgotten(house)).answer["outcome"] != "answered"
