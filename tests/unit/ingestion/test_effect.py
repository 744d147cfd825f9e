"""What a document says of its own days is read, and what it says of other things is not."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from app.domain.knowledge import DocumentDraft
from app.ingestion.effect import is_notice, notes, said_of
from app.ingestion.seed import read_document
from tests.postgres.library import draft

SEED = Path(__file__).parents[3] / "seed_data"


def said(text: str, **changes: Any) -> dict[str, str]:
    one = draft("a", "Quy định", text, **{"created_at": datetime(2026, 2, 1, tzinfo=UTC)} | changes)
    return {field: value for field, value, _ in said_of(one)}


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("Quy định này có hiệu lực từ ngày 1/3/2026.", "effective_from", "2026-03-01"),
        ("Quy chế có hiệu lực thi hành kể từ ngày 15 tháng 4 năm 2026.", "effective_from", "2026-04-15"),
        ("Áp dụng từ kỳ lương tháng 04/2026.", "effective_from", "2026-04-01"),
        ("This policy is effective from 1 March 2026.", "effective_from", "2026-03-01"),
        ("The rule takes effect on March 1, 2026.", "effective_from", "2026-03-01"),
        ("Quy định tạm thời có hiệu lực đến hết ngày 30/06/2026.", "effective_to", "2026-06-30"),
        ("These rates are valid until 30 June 2026.", "effective_to", "2026-06-30"),
    ],
)
def test_reads_the_day_that_is_meant(text: str, field: str, value: str) -> None:
    assert said(text) == {field: value}


@pytest.mark.parametrize(
    "text",
    [
        "Liên kết có hiệu lực 72 giờ.",
        "Kỳ xét lương hằng năm có hiệu lực ngày 01/04.",
        "Từ ngày 16/11/2026, nhân viên được làm việc từ xa tối đa 3 ngày một tuần.",
        "The meeting on 3 March 2026 was effective.",
    ],
)
def test_proposes_nothing_where_a_text_says_no_day_of_its_own(text: str) -> None:
    assert said(text) == {}


def test_reads_both_ends_and_the_document_that_is_replaced() -> None:
    text = "Chính sách có hiệu lực từ ngày 01/01/2026 đến 31/12/2026 và thay thế Chính sách nghỉ phép năm 2024."
    one = draft("a", "Chính sách", text)
    found = said_of(one)
    [proposed] = notes(found, ("leave-2024", next(value for field, value, _ in found if field == "supersedes")), one)
    assert proposed.proposes["effective_from"] == ("2026-01-01", text)
    assert proposed.proposes["supersedes"] == ("leave-2024", text)
    assert (proposed.count, proposed.sentences) == (2, ()), "`sentences` are what is left out of the text"


def test_leaves_out_what_the_fields_say() -> None:
    text = "Quy định này có hiệu lực từ ngày 1/3/2026."
    assert said(text, effective_from=date(2026, 3, 1)) == {}
    assert notes((), None, draft("a", "Quy định", text)) == []


def test_of_the_days_that_bundled_documents_name_in_their_header_none_is_read_otherwise() -> None:
    read = 0
    for path in SEED.glob("*/*/*.md"):
        told = read_document(path, path.parent.name)
        bare = DocumentDraft.model_validate(told.model_dump() | {"effective_from": None})
        for field, value, sentence in said_of(bare):
            if field == "effective_from":
                assert value == str(told.effective_from), (path, sentence)
                read += 1
    assert read >= 12


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("https://intra.example/news/leave", True), ("hr/thong-bao/nghi-tet.docx", True), ("Thông báo nghỉ Tết", True),
        ("Announcement: new desks", True), ("https://intra.example/policies/notice-periods", False),
        ("Quy định về thông báo nghỉ việc", False), ("newsroom/access", False), ("Notice periods", False), ("", False),
    ],
)  # fmt: skip
def test_knows_news_and_notices_by_folder_address_and_title(name: str, is_one: bool) -> None:
    title, path = ("", name) if "/" in name else (name, "")
    assert is_notice(title, path) == is_one
