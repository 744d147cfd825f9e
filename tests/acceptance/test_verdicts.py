"""What an administrator decided about two documents turns the answers of everybody who may read both."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from app.domain.health import FindingStatus, HealthFilter, HealthKind, Ruling, Verdict
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.events import ConflictResolved
from app.flow.graph import DepartmentFlow
from app.main import Services
from tests.acceptance.asking import Told, ask
from tests.acceptance.test_caching import working
from tests.cases import each_case

STATUSES: tuple[FindingStatus, ...] = get_args(FindingStatus)
QUESTION = "Phí gửi xe máy ở hầm B2 mỗi tháng là bao nhiêu?"
TEXTS = {
    "fees": "# Phí gửi xe\n\nPhí gửi xe máy ở hầm B2 mỗi tháng là 120.000 đồng.\n",
    "garage": "# Nội quy hầm xe\n\nPhí gửi xe máy ở hầm B2 mỗi tháng là 150.000 đồng.\n",
}


@pytest.fixture
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a worker, an empty memory, and two documents of one day that differ."""
    admin = await admin_of(small_services)
    drafts = [draft(name, text) for name, text in TEXTS.items()]
    await small_services.ingestion.ingest(admin, drafts)
    await small_services.health.catch_up(admin)
    flow = small_services.rooms.flow
    async with working(small_services, DepartmentFlow(flow.ports, flow.limits)):
        yield small_services
    for name in TEXTS:
        await small_services.catalogue.delete(admin, (await named(small_services, admin))[name])


async def admin_of(services: Services) -> Principal:
    return (await services.claims_of("acme/admin")).principal()


def draft(name: str, text: str, **changes: Any) -> DocumentDraft:
    fields = {
        "title": text.splitlines()[0].removeprefix("# "), "text": text, "url": f"https://intra.acme.example/{name}",
        "department": "finance", "scope": "public", "created_at": datetime(2026, 3, 1, tzinfo=UTC),
        "external_id": name, "lang": "vi",
    }  # fmt: skip
    return DocumentDraft.model_validate(fields | changes)


async def named(services: Services, admin: Principal) -> dict[str, Any]:
    found, _ = await services.catalogue.page(admin, department=None, status=None, cursor=None, limit=100)
    return {one.external_id: one.document_id for one in found}


async def decide(services: Services, verdict: Verdict, holds: str | None = None) -> None:
    """Decide the one finding, whatever was decided of it before."""
    admin = await admin_of(services)
    for status in reversed(STATUSES):
        wanted = HealthFilter(kind=HealthKind.CONTRADICTION, status=status)
        for item in (await services.health.report(admin, wanted)).items:
            if item.document.external_id in TEXTS and item.handling:
                one = item.handling.finding_id
                if status != "open":
                    await services.health.act(admin, one, "reopen", Ruling())
                which = (await named(services, admin))[holds] if holds else None
                await services.health.act(admin, one, "decide", Ruling(verdict=verdict, holds=which))
                return
    raise AssertionError("there is no finding")


def conflicts(told: Told) -> list[dict[str, Any]]:
    return [one for event in told.events if isinstance(event, ConflictResolved) for one in event.conflicts]


class TestAVerdict:
    async def test_turns_the_answer_and_is_its_reason(self, house: Services) -> None:
        before = await ask(house, "acme/lan", QUESTION)
        assert before.answer["outcome"] == "conflict"
        for name, amount in (("fees", "120.000"), ("garage", "150.000")):
            await decide(house, "holds", name)
            told = await ask(house, "acme/lan", QUESTION)
            answer = told.answer["answer"]
            assert told.answer["outcome"] == "answered"
            assert answer.startswith(f"Phí gửi xe máy ở hầm B2 mỗi tháng là {amount} đồng.")
            assert "người phụ trách đã quyết định" in answer and str(datetime.now(UTC).year) in answer
            assert "admin" not in told.text
            [one] = conflicts(told)
            assert (one["rule"], one["decided"]) == ("verdict", True)
            assert one["winner"]["url"].endswith(name)

    async def test_is_told_in_english_too(self, house: Services) -> None:
        await decide(house, "holds", "garage")
        told = await ask(house, "acme/lan", "What is the monthly motorbike parking fee in garage B2 (phí gửi xe máy)?")
        assert all(one["rule"] == "verdict" for one in conflicts(told))
        assert not conflicts(told) or "a person responsible decided so" in told.answer["answer"]

    @each_case("verdict", ["different_cases", "no_contradiction"])
    async def test_that_both_may_stand_ends_the_conflict(self, house: Services, verdict: Verdict) -> None:
        await decide(house, verdict)
        told = await ask(house, "acme/lan", QUESTION)
        assert (told.answer["outcome"], conflicts(told)) == ("answered", [])

    async def test_brings_a_document_that_nobody_searched(self, house: Services) -> None:
        """The other side belongs to a department that is not asked."""
        admin = await admin_of(house)
        await house.catalogue.amend(admin, (await named(house, admin))["garage"], {"department": "it"})
        await decide(house, "holds", "garage")
        told = await ask(house, "acme/lan", QUESTION, agents={"finance": {}})
        assert told.answer["answer"].startswith("Phí gửi xe máy ở hầm B2 mỗi tháng là 150.000 đồng.")
        assert [one["rule"] for one in conflicts(told)] == ["verdict"]
        assert any(one["url"].endswith("garage") for one in told.answer["evidence"])

    async def test_binds_nobody_who_may_not_read_both(self, house: Services) -> None:
        await decide(house, "holds", "garage")
        admin = await admin_of(house)
        hidden = (await named(house, admin))["garage"]
        await house.catalogue.amend(admin, hidden, {"scope": "private", "department": "it"})
        told = await ask(house, "acme/lan", QUESTION)
        assert told.answer["answer"].startswith("Phí gửi xe máy ở hầm B2 mỗi tháng là 120.000 đồng.")
        assert "150.000" not in told.text and "quản trị viên" not in told.text
        assert (told.answer["outcome"], conflicts(told)) == ("answered", [])
