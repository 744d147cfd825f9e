"""What starts later is told as what starts later: today's rule answers, the coming one stands in the note."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from app.domain.knowledge import DocumentDraft
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.tasks.worker import Worker
from app.text.dates import write_day
from tests.acceptance.asking import Told, ask

URL = "https://intra.acme.example/finance"


def draft(name: str, title: str, text: str, **changes: Any) -> DocumentDraft:
    values: dict[str, Any] = {
        "title": title, "text": f"# {title}\n\n{text}\n", "url": f"{URL}/{name}", "department": "finance",
        "scope": "internal", "created_at": datetime(2026, 1, 5, tzinfo=UTC), "effective_from": date(2026, 1, 5),
        "external_id": f"acme-{name}", "lang": "vi",
    }  # fmt: skip
    return DocumentDraft.model_validate(values | changes)


@pytest.fixture(scope="module")
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with a worker, and three rules that change later this month or next."""
    services, flow = small_services, small_services.rooms.flow
    admin = (await services.claims_of("acme/admin")).principal()
    begins = services.rooms.now().date() + timedelta(days=20)
    later: dict[str, Any] = {"effective_from": begins, "created_at": services.rooms.now()}
    desk = "Quầy tiếp nhận hóa đơn mở cửa lúc {} và đóng cửa lúc 16:30 các ngày làm việc."
    idea = "Mỗi sáng kiến được áp dụng được thưởng {} đồng."
    card = "The corporate card limit for a team lead is {} EUR per month."
    notice = f"Từ ngày {begins:%d/%m/%Y}, tiền gửi xe máy tại tòa nhà là 150.000 đồng một tháng."
    now = [
        draft("desk", "Giờ mở quầy hóa đơn", desk.format("8:36")),
        draft("ideas", "Thưởng sáng kiến", idea.format("300.000")),
        draft("card", "Corporate cards", card.format("2,000"), lang="en"),
        draft("motorbikes", "Gửi xe máy", "Tiền gửi xe máy tại tòa nhà là 100.000 đồng một tháng."),
        draft("motorbikes-news", "Tin về gửi xe", notice, effective_from=None, created_at=services.rooms.now()),
    ]
    comes = [
        draft("desk", "Giờ mở quầy hóa đơn", desk.format("9:00"), **later),
        draft("ideas-new", "Quy chế thưởng sáng kiến mới", idea.format("450.000"), supersedes="acme-ideas", **later),
        draft("card-new", "Corporate cards", card.format("3,500"), lang="en", **later),
    ]
    await services.ingestion.ingest(admin, now)
    await services.ingestion.ingest(admin, comes)
    own = DepartmentFlow(flow.ports, flow.limits)
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": own.run})
    await worker.start()
    yield services
    await worker.stop()
    documents, _ = await services.catalogue.page(admin, department="finance", status=None, cursor=None, limit=50)
    names = {one.external_id for one in (*now, *comes)}
    for document in documents:
        if document.external_id in names:
            await services.catalogue.delete(admin, document.document_id)


def note_of(told: Told) -> str:
    """The paragraph that tells what comes, with the answer before it holding today's rule alone."""
    *before, note = told.answer["answer"].split("\n\n")
    assert before and note.startswith(("Lưu ý", "Note")), told.answer["answer"]
    return str(note)


def until_and_from(house: Services, language: Any) -> tuple[str, str]:
    begins = house.rooms.now().date() + timedelta(days=20)
    return write_day(begins - timedelta(days=1), language), write_day(begins, language)


QUESTIONS = {
    "a new version of the same document": (
        "Quầy tiếp nhận hóa đơn mở cửa lúc mấy giờ?", "8:36", "9:00"),
    "another document that replaces it": (
        "Mỗi sáng kiến được áp dụng được thưởng bao nhiêu tiền?", "300.000 đồng", "450.000 đồng"),
    "a later page of the same title": (
        "What is the monthly corporate card limit for a team lead?", "2,000 EUR", "3,500 EUR"),
    "a notice that names the day in its sentence": (
        "Tiền gửi xe máy tại tòa nhà là bao nhiêu một tháng?", "100.000 đồng", "150.000 đồng"),
}  # fmt: skip


class TestWhatStartsLater:
    @pytest.mark.parametrize("case", QUESTIONS)
    async def test_todays_rule_answers_and_the_coming_one_is_the_note(self, house: Services, case: str) -> None:
        question, today, then = QUESTIONS[case]
        told = await ask(house, "acme/hoa", question)
        note, body = note_of(told), told.answer["answer"].split("\n\n")[0]
        until, since = until_and_from(house, "en" if "limit" in question else "vi")
        assert today in body and then not in body
        assert f"{until}: {today}; " in note and f"{since}: {then}" in note
        assert told.answer["outcome"] in ("answered", "partial")

    async def test_is_no_matter_of_weight(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", QUESTIONS["another document that replaces it"][0])
        [resolver] = [action for action in told.answer["flow_action"] if action["node_id"] == "ConflictResolver"]
        [found] = resolver["metadata"]["conflicts"]
        assert (found["rule"], found["reason"], found["conflict_type"]) == ("starts_later", "starts_later", "none")
        assert found["loser"]["url"] == f"{URL}/ideas-new"

    async def test_on_a_day_after_it_began_the_new_rule_answers_alone(self, house: Services) -> None:
        day = house.rooms.now().date() + timedelta(days=40)
        question, today, then = QUESTIONS["another document that replaces it"]
        told = await ask(house, "acme/hoa", question, as_of=day.isoformat())
        assert then in told.answer["answer"] and today not in told.answer["answer"]

    async def test_who_may_not_read_it_hears_nothing_of_it(self, house: Services) -> None:
        told = await ask(house, "acme/an", QUESTIONS["another document that replaces it"][0])
        assert "450.000" not in told.text and "ideas-new" not in told.text
