"""A question about the rules of another day is answered from the documents that were in force then, and says so."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from app.domain.knowledge import DocumentDraft
from app.events import TextDelta
from app.flow.graph import DepartmentFlow
from app.flow.wording import as_of_lead
from app.main import Services
from app.tasks.worker import Worker
from tests.acceptance.asking import Told, ask

IDEA = "Mỗi sáng kiến được áp dụng được thưởng bao nhiêu tiền?"
OLD, NEW = "https://intra.acme.example/finance/ideas-2024", "https://intra.acme.example/finance/ideas-2026"


def policy(year: int, amount: str, **changes: Any) -> DocumentDraft:
    values: dict[str, Any] = {
        "title": f"Thưởng sáng kiến {year}",
        "text": f"# Thưởng sáng kiến\n\nMỗi sáng kiến được áp dụng được thưởng {amount} đồng.\n",
        "url": f"https://intra.acme.example/finance/ideas-{year}",
        "department": "finance",
        "scope": "internal",
        "created_at": datetime(year, 1, 1, tzinfo=UTC),
        "effective_from": date(year, 1, 1),
        "external_id": f"acme-ideas-{year}",
        "lang": "vi",
    }
    return DocumentDraft.model_validate(values | changes)


@pytest.fixture(scope="module")
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a worker, and a bonus that was raised in 2026."""
    services, flow = small_services, small_services.rooms.flow
    admin = (await services.claims_of("acme/admin")).principal()
    old = policy(2024, "300.000", effective_to=date(2025, 12, 31))
    new = policy(2026, "450.000", supersedes=old.external_id)
    await services.ingestion.ingest(admin, [old, new])
    own = DepartmentFlow(flow.ports, flow.limits)
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": own.run})
    await worker.start()
    yield services
    await worker.stop()
    documents, _ = await services.catalogue.page(admin, department="finance", status=None, cursor=None, limit=50)
    for document in documents:
        if document.external_id in (old.external_id, new.external_id):
            await services.catalogue.delete(admin, document.document_id)


def day_of(told: Told) -> str | None:
    """The day the answer speaks of; all that tells it must agree."""
    day: str | None = told.answer["execution_metadata"].get("as_of")
    [router] = [action for action in told.answer["flow_action"] if action["node_id"] == "Router"]
    assert router["metadata"].get("as_of") == day
    streamed = "".join(event.text for event in told.events if isinstance(event, TextDelta))
    assert streamed == told.answer["answer"]
    leads = [as_of_lead(date.fromisoformat(day), language) for language in ("vi", "en")] if day else []
    assert told.answer["answer"].startswith(tuple(leads)) if day else "có hiệu lực ngày" not in streamed
    return day


def sources(told: Told) -> list[str]:
    return [evidence["url"] for evidence in told.answer["evidence"]]


class TestTheDayInTheQuestion:
    async def test_without_one_todays_rules_answer(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEA)
        assert (day_of(told), sources(told)) == (None, [NEW])

    @pytest.mark.parametrize(
        ("question", "day"),
        [
            ("Mỗi sáng kiến được thưởng bao nhiêu tiền theo chính sách áp dụng năm 2025?", "2025-12-31"),
            ("Theo quy định năm 2025 thì mỗi sáng kiến được thưởng bao nhiêu tiền?", "2025-12-31"),
            ("Ngày 1/3/2025 quy định thưởng sáng kiến bao nhiêu tiền?", "2025-03-01"),
            ("Trước ngày 01/01/2026 quy định thưởng mỗi sáng kiến bao nhiêu tiền?", "2025-12-31"),
            ("quy dinh thuong sang kien nam 2024 la bao nhieu tien", "2024-12-31"),
        ],
    )
    async def test_the_rules_of_that_day_answer(self, house: Services, question: str, day: str) -> None:
        told = await ask(house, "acme/hoa", question)
        assert day_of(told) == day
        assert sources(told) == [OLD]
        assert "300.000" in told.answer["answer"]

    async def test_in_english(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "In March 2025, what was the policy on rewards for an idea?")
        assert day_of(told) == "2025-03-31"
        assert told.answer["answer"].startswith("According to the documents in force on 31 March 2025:")
        assert NEW not in told.text

    async def test_a_day_before_any_rule_finds_nothing_and_says_which_day(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Năm 2019 quy định thưởng mỗi sáng kiến bao nhiêu tiền?")
        assert (day_of(told), told.answer["outcome"]) == ("2019-12-31", "not_found")

    async def test_the_date_of_a_deed_leaves_todays_rules(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Sáng kiến nộp ngày 1/3/2025 được áp dụng thì được thưởng bao nhiêu tiền?")
        assert (day_of(told), sources(told)) == (None, [NEW])

    async def test_a_follow_up_moves_the_question_to_another_day(self, house: Services) -> None:
        first = await ask(house, "acme/hoa", IDEA)
        told = await ask(house, "acme/hoa", "còn năm 2025 thì sao?", session_id=first.answer["session_id"])
        assert (day_of(told), sources(told)) == ("2025-12-31", [OLD])

    async def test_is_remembered_with_its_day(self, house: Services) -> None:
        question = "Năm 2024 quy định thưởng mỗi sáng kiến bao nhiêu tiền?"
        first, again = await ask(house, "acme/hoa", question), await ask(house, "acme/hoa", question)
        assert again.answer["execution_metadata"]["cached"]
        assert day_of(again) == day_of(first) == "2024-12-31"


class TestTheDayOfTheRequest:
    async def test_answers_by_the_rules_of_that_day(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEA, as_of="2025-03-01")
        assert (day_of(told), sources(told)) == ("2025-03-01", [OLD])

    async def test_holds_against_one_in_the_question(self, house: Services) -> None:
        question = "Theo quy định năm 2025 thì mỗi sáng kiến được thưởng bao nhiêu tiền?"
        told = await ask(house, "acme/hoa", question, as_of="2026-03-01")
        assert (day_of(told), sources(told)) == ("2026-03-01", [NEW])

    async def test_of_today_leaves_out_what_was_superseded(self, house: Services) -> None:
        today = house.rooms.now().date().isoformat()
        told = await ask(house, "acme/hoa", IDEA, as_of=today)
        assert (day_of(told), sources(told)) == (today, [NEW])

    async def test_means_nothing_where_no_document_is_read(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "xin chào", as_of="2025-03-01")
        assert day_of(told) is None
