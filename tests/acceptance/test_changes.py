"""“What changed since …?” is answered from the versions the asker may read, old beside new."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from app.domain.knowledge import DocumentDraft
from app.events import ConflictResolved, TextDelta
from app.flow.graph import DepartmentFlow
from app.main import Services
from app.tasks.worker import Worker
from tests.acceptance.asking import Told, ask

SITE = "https://intra.acme.example/ideas"
OLD, NEW = f"{SITE}/2024", f"{SITE}/2026"
IDEAS = "Quy định thưởng sáng kiến có gì thay đổi từ 1/1/2025?"


def text(amount: str, days: str) -> str:
    return (
        "# Thưởng sáng kiến\n\n## Mức thưởng\n\n"
        f"Mỗi sáng kiến được áp dụng được thưởng {amount} đồng.\n\nTiền thưởng được trả cùng kỳ lương.\n\n"
        f"## Hồ sơ\n\nHội đồng sáng kiến trả lời trong {days} ngày làm việc.\n"
    )


def policy(name: str, year: int, body: str, **changes: Any) -> DocumentDraft:
    """An internal document of the whole company, in force from the beginning of a year."""
    values: dict[str, Any] = {
        "title": f"Thưởng sáng kiến {year}",
        "text": body,
        "url": f"{SITE}/{name}",
        "department": "general",
        "scope": "internal",
        "created_at": datetime(year, 1, 1, tzinfo=UTC),
        "effective_from": date(year, 1, 1),
        "external_id": f"acme-changes-{name}",
        "lang": "vi",
    }
    return DocumentDraft.model_validate(values | changes)


IDEAS_2024 = policy("2024", 2024, text("300.000", "30"))
IDEAS_2026 = policy("2026", 2026, text("450.000", "15"), supersedes=IDEAS_2024.external_id)
UNIFORM_OLD = policy(
    "uniform-2024", 2024, "# Đồng phục\n\nMỗi người được cấp 2 bộ đồng phục mật hiệu CAMVANG một năm.\n",
    title="Quy định đồng phục kho 2024", scope="private", department="hr",
)  # fmt: skip
UNIFORM_NEW = policy(
    "uniform-2026", 2026, "# Đồng phục\n\nMỗi người được cấp 3 bộ đồng phục một năm.\n",
    title="Quy định đồng phục kho 2026", supersedes=UNIFORM_OLD.external_id,
)  # fmt: skip
PRIZE_OLD = policy(
    "prize-2024",
    2024,
    "# Thi tay nghề\n\nNgười thắng cuộc thi tay nghề được 2 triệu đồng.\n",
    title="Thi tay nghề 2024",
)
PRIZE_NEW = policy(
    "prize-2026", 2026, "# Thi tay nghề\n\nNgười thắng cuộc thi tay nghề mật hiệu TIMHOA được 9 triệu đồng.\n",
    title="Thể lệ kín 2026", scope="private", department="hr", supersedes=PRIZE_OLD.external_id,
)  # fmt: skip
CANTEEN = policy(
    "canteen", 2024, "# Nhà ăn\n\nSuất ăn trưa ở nhà ăn được hỗ trợ 25.000 đồng.\n",
    title="Quy định nhà ăn", effective_from=None,
)  # fmt: skip
BADGE = policy("badge", 2024, "# Thẻ tên\n\nThẻ tên được đeo khi vào kho.\n", title="Quy định thẻ tên")
EVERY = (IDEAS_2024, IDEAS_2026, UNIFORM_OLD, UNIFORM_NEW, PRIZE_OLD, PRIZE_NEW, CANTEEN, BADGE)


@pytest.fixture(scope="module")
async def house(small_services: Services) -> AsyncIterator[Services]:
    """The small company with rules that changed, some where not everybody may look."""
    services, flow = small_services, small_services.rooms.flow
    admin = (await services.claims_of("acme/admin")).principal()
    await services.ingestion.ingest(admin, EVERY)
    later = CANTEEN.model_copy(update={"text": CANTEEN.text.replace("25.000", "35.000")})
    await services.ingestion.ingest(admin, [later])
    own = DepartmentFlow(flow.ports, flow.limits)
    worker = Worker(services.database, services.rooms.registry, services.rooms.journal, {"chat": own.run})
    await worker.start()
    yield services
    await worker.stop()
    for department in ("general", "hr"):
        page, _ = await services.catalogue.page(admin, department=department, status=None, cursor=None, limit=100)
        for document in page:
            if document.external_id.startswith("acme-changes-"):
                await services.catalogue.delete(admin, document.document_id)


def sources(told: Told) -> set[str]:
    return {evidence["url"] for evidence in told.answer["evidence"]}


def tools(told: Told) -> list[str]:
    return [node for node in told.nodes if "#" in node]


class TestChanges:
    async def test_are_told_old_beside_new_with_both_days_and_sources(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEAS)
        answer = told.answer["answer"]
        assert "general#changes" in tools(told)
        assert "ngày 31/12/2024 với ngày" in answer
        assert "“Thưởng sáng kiến 2026” (hiệu lực từ 01/01/2026) thay thế “Thưởng sáng kiến 2024”" in answer
        assert "hiệu lực từ 01/01/2024 đến 31/12/2025" in answer
        assert "trước: “Mỗi sáng kiến được áp dụng được thưởng 300.000 đồng” → nay: “Mỗi sáng kiến" in answer
        assert "450.000" in answer
        assert "Tiền thưởng được trả" not in answer
        assert sources(told) == {OLD, NEW}
        assert told.answer["outcome"] == "answered"
        streamed = "".join(event.text for event in told.events if isinstance(event, TextDelta))
        assert streamed == answer

    async def test_are_no_conflict(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEAS)
        assert not any(isinstance(event, ConflictResolved) for event in told.events)
        assert "nói khác" not in told.answer["answer"]

    async def test_without_diacritics(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "quy dinh thuong sang kien co gi thay doi tu 1/1/2025")
        assert tools(told)[-1].endswith("#changes")
        assert sources(told) == {OLD, NEW}

    @pytest.mark.parametrize(
        "question",
        ["So với năm 2024 thì quy định thưởng sáng kiến khác gì?", "Quy định thưởng sáng kiến có gì mới?"],
    )
    async def test_against_a_year_and_without_any_day(self, house: Services, question: str) -> None:
        told = await ask(house, "acme/hoa", question)
        assert sources(told) == {OLD, NEW}
        assert "300.000" in told.answer["answer"]

    async def test_of_a_part_tell_that_part(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Thời hạn hội đồng sáng kiến trả lời có gì thay đổi từ 1/1/2025?")
        assert "trong 30 ngày làm việc” → nay" in told.answer["answer"]
        assert "450.000" not in told.answer["answer"]

    async def test_answer_in_the_askers_language(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "What changed in the rules on thưởng sáng kiến since March 2025?")
        assert "the documents in force on 28 February 2025" in told.answer["answer"]
        assert "before: “Mỗi sáng kiến" in told.answer["answer"]

    async def test_a_day_of_the_request_takes_the_place_of_today(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEAS, as_of="2025-06-30")
        assert "Không có thay đổi nào" in told.answer["answer"]
        assert sources(told) == {OLD}


class TestNothingChanged:
    async def test_is_said_with_what_stands(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Quy định thưởng sáng kiến có gì thay đổi từ tháng 6/2026?")
        assert "Không có thay đổi nào về “quy định thưởng sáng kiến”" in told.answer["answer"]
        assert "“Thưởng sáng kiến 2026” (hiệu lực từ 01/01/2026) vẫn giữ nguyên" in told.answer["answer"]
        assert (told.answer["outcome"], sources(told)) == ("answered", {NEW})

    async def test_no_earlier_version_is_said_as_well(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Quy định thẻ tên có gì mới?")
        assert "không có bản nào trước “Quy định thẻ tên”" in told.answer["answer"]

    async def test_a_subject_of_no_document_is_not_found(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Quy định nuôi chim bồ câu có gì thay đổi từ 2025?")
        assert (told.answer["outcome"], told.answer["evidence"]) == ("not_found", [])


class TestNewVersionWithoutDays:
    async def test_is_compared_with_the_text_it_took_the_place_of(self, house: Services) -> None:
        yesterday = house.rooms.now().date() - timedelta(days=1)
        told = await ask(house, "acme/hoa", f"Quy định nhà ăn có gì thay đổi từ {yesterday:%d/%m/%Y}?")
        assert "“Quy định nhà ăn” có bản mới từ" in told.answer["answer"]
        assert "25.000" in told.answer["answer"]
        assert "35.000" in told.answer["answer"]


class TestRights:
    async def test_who_may_not_read_the_old_version_learns_nothing_of_it(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Quy định đồng phục kho có gì thay đổi từ 1/1/2025?")
        assert "là tài liệu mới, hiệu lực từ 01/01/2026" in told.answer["answer"]
        for secret in ("CAMVANG", "uniform-2024", "kho 2024", "2 bộ"):
            assert secret not in told.text

    async def test_who_may_read_both_sees_both(self, house: Services) -> None:
        told = await ask(house, "acme/lan", "Quy định đồng phục kho có gì thay đổi từ 1/1/2025?")
        assert sources(told) >= {UNIFORM_OLD.url, UNIFORM_NEW.url}
        assert "CAMVANG" in told.answer["answer"]

    async def test_who_may_not_read_the_new_version_learns_nothing_of_it(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", "Quy định thi tay nghề có gì thay đổi từ 1/1/2025?")
        assert "“Thi tay nghề 2024”" in told.answer["answer"]
        assert "không còn hiệu lực từ 01/01/2026" in told.answer["answer"]
        for secret in ("TIMHOA", "prize-2026", "Thể lệ kín", "9 triệu"):
            assert secret not in told.text


class TestTheTool:
    async def test_is_left_out_where_the_request_leaves_it_out(self, house: Services) -> None:
        told = await ask(house, "acme/hoa", IDEAS, agents={"general": {"tools": [{"name": "rag_tool"}]}})
        assert tools(told) == ["general#rag"]
