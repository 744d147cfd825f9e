"""Files of every format say what a reader of them sees: headings, tables, lists, pages, titles."""

import json
import unicodedata
from pathlib import Path

import pytest

from app.ingestion.parsing import FileKind, ParsedFile, ParseFailed, ParseFailure, Parser, WarningCode
from tests.cases import each_case
from tests.unit.ingestion.parsing import samples
from tests.unit.ingestion.parsing.rawpdf import page_with, pages_with, text_at

pytestmark = pytest.mark.slow

SHARED = Path(__file__).parents[5] / "shared" / "eval" / "files"
MANIFEST = SHARED / "manifest.jsonl"


def codes(parsed: ParsedFile) -> dict[str, int]:
    return {warning.code: warning.count for warning in parsed.warnings}


def page(parsed: ParsedFile, number: int) -> str:
    """The text of page `number`, counted from 1."""
    starts = [*parsed.pages, len(parsed.text)]
    return parsed.text[starts[number - 1] : starts[number]]


class TestWord:
    async def test_gives_headings_lists_and_tables(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.word(), "a.docx")
        assert (parsed.kind, parsed.title, parsed.pages, parsed.is_partial) == (
            FileKind.DOCX,
            "Sổ tay nhân sự",
            (),
            False,
        )
        assert parsed.text == (
            f"# Chính sách nghỉ phép\n\n{samples.LEAVE}\n\n## Điều 5. Chuyển phép\n\n"
            "- Nộp đơn trước 31/03\n- Quản lý duyệt\n\n"
            "| Bậc | Mức lương |\n|---|---|\n| 1 | 9.000.000 |\n| 2 | 11.500.000 |"
        )

    async def test_is_found_under_any_name(self, parser: Parser) -> None:
        for name in ("a.pdf", "a.txt", "", "x" * 10_000, "..\\..\\\u202efdp.exe\x00\x1b[31m"):
            assert (await parser.parse(samples.word(), name)).kind is FileKind.DOCX


class TestSlides:
    async def test_gives_a_page_for_each_slide(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.slides(), "a.pptx")
        assert (parsed.kind, parsed.title, len(parsed.pages)) == (FileKind.PPTX, "Hội nhập", 2)
        assert page(parsed, 1).startswith("## Ngày đầu tiên\n\n- Nhận máy tính\n- Ký hợp đồng")
        assert "Nhắc mang căn cước." in page(parsed, 1)
        assert page(parsed, 2).startswith("## Lương\n\n| Bậc | Mức lương |\n|---|---|\n| 1 |")


class TestSheets:
    async def test_gives_a_table_for_each_sheet_as_it_is_shown(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.sheets(), "a.xlsx")
        assert parsed.kind is FileKind.XLSX
        assert page(parsed, 1).strip() == (
            "## Lương\n\nBảng lương 2026\n\n| Họ tên | Lương | Thuế | Từ ngày |\n|---|---|---|---|\n"
            "| Lan | 15,000,000 | 10% | 2026-01-01 |"
        )
        assert page(parsed, 2) == "## Phòng\n\n| Mã | Tên |\n|---|---|\n| HR | Nhân sự |"


class TestPdf:
    async def test_gives_headings_paragraphs_tables_and_pages(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.pdf(), "a.pdf")
        assert (parsed.kind, parsed.title, len(parsed.pages)) == (FileKind.PDF, "Handbook", 3)
        first = page(parsed, 1).strip().split("\n\n")
        assert first[0] == "# Leave policy"
        assert first[1].count("Employees who have worked for twelve months are entitled to fourteen days") == 6
        assert first[2:] == ["## Carrying over", "Up to five days may be carried over until March."]
        assert page(parsed, 2).strip() == ("| Grade | Salary |\n|---|---|\n| One | 9,000,000 |\n| Two | 11,500,000 |")
        assert page(parsed, 3) == "The last page has a sentence of its own."

    async def test_keeps_legal_headings_on_lines_of_their_own(self, parser: Parser) -> None:
        lines = [b"Article 5. Leave", b"1. Twelve days", b"a) in the first year;", b"Article 6. Pay", b"Monthly."]
        content = b"".join(text_at(72, 700 - 14 * at, line.decode()) for at, line in enumerate(lines))
        parsed = await parser.parse(page_with(content), "a.pdf")
        assert parsed.text == (
            "Article 5. Leave\n\n1. Twelve days\na) in the first year;\n\nArticle 6. Pay\n\nMonthly."
        )

    async def test_drops_running_lines_and_page_numbers_but_once(self, parser: Parser) -> None:
        contents = [
            text_at(72, 760, "Acme handbook")
            + text_at(72, 600 - 9 * number, f"Sentence {number} of the body stands here.")
            + text_at(300, 30, f"Page {number} of 6")
            for number in range(1, 7)
        ]
        parsed = await parser.parse(pages_with(contents), "a.pdf")
        assert parsed.text.count("Acme handbook") == 1
        assert "of 6" not in parsed.text
        assert [f"Sentence {number}" in page(parsed, number) for number in range(1, 7)] == [True] * 6

    async def test_reads_two_columns_one_after_the_other(self, parser: Parser) -> None:
        left = b"".join(text_at(72, 700 - 14 * at, f"left column line number {at} runs on") for at in range(5))
        right = b"".join(text_at(320, 700 - 14 * at, f"right column line number {at} runs on") for at in range(5))
        text = (await parser.parse(page_with(left + right), "a.pdf")).text
        assert text.index("left column line number 4") < text.index("right column line number 0")

    async def test_counts_pages_that_are_only_pictures(self, parser: Parser) -> None:
        picture = b"q 500 0 0 700 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q"
        contents = [text_at(72, 700, "A page with a sentence on it."), picture]
        parsed = await parser.parse(pages_with(contents), "scan.pdf")
        assert parsed.is_partial
        assert codes(parsed)[WarningCode.PAGES_WITHOUT_TEXT] == 1


class TestWebPage:
    async def test_gives_what_a_visitor_reads(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.web_page(), "a.html")
        assert (parsed.kind, parsed.title) == (FileKind.HTML, "Nghỉ phép")
        assert parsed.text == (
            f"# Chính sách\n\n{samples.LEAVE}\nDòng hai.\n\n- Một\n  - Một A\n- Hai\n\n1. Đầu\n2. Sau\n\n"
            "| Loại | Ngày |\n| --- | --- |\n| Phép | 12 |\n| Phép | 14 |\n\n"
            "```\nconclave ask\n  --as lan\n```"
        )

    async def test_keeps_paragraphs_of_tables_that_only_lay_out(self, parser: Parser) -> None:
        markup = b"<html><body><table><tr><td><h2>Mot</h2><p>Doan dau</p></td><td><p>Doan sau</p></td></tr></table>"
        assert (await parser.parse(markup, "a.html")).text == "## Mot\n\nDoan dau\n\nDoan sau"


class TestMail:
    async def test_gives_header_text_and_names_of_attachments(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.mail(), "a.eml")
        assert (parsed.kind, parsed.title) == (FileKind.EML, "Lịch nghỉ Tết")
        assert parsed.text.startswith("# Lịch nghỉ Tết\n\nFrom: Phòng Nhân sự <hr@example.com>\nTo: all@example.com")
        assert "Công ty nghỉ Tết từ 14/02 đến 22/02." in parsed.text
        assert "HTML" not in parsed.text
        assert "lich-nghi.pdf" in parsed.text
        assert codes(parsed)[WarningCode.ATTACHMENTS_NOT_READ] == 1


class TestText:
    async def test_csv_is_a_table(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.table_text(), "a.csv")
        assert parsed.kind is FileKind.CSV
        assert parsed.text == "| Họ tên | Ghi chú |\n|---|---|\n| Lan | hai dòng |\n| Minh | một |"

    async def test_markdown_stays_as_it_is(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.markdown(), "a.md")
        assert (parsed.kind, parsed.title) == (FileKind.MARKDOWN, "Giờ làm")
        assert parsed.text.startswith("title: Giờ làm\n\n# Giờ làm việc\n\nTừ 8:00.\n\n| Bậc | Mức lương |")

    async def test_plain_text_stays_as_it_is(self, parser: Parser) -> None:
        parsed = await parser.parse(samples.plain(), "a.txt")
        assert (parsed.kind, parsed.title) == (FileKind.TEXT, "")
        assert parsed.text == f"{samples.LEAVE}\n\n{samples.SHIFT}"

    @each_case("content", [b"", b" \n\t", b"\xef\xbb\xbf", b"---\n***\n", b"..."])
    async def test_too_little_is_no_text(self, parser: Parser, content: bytes) -> None:
        with pytest.raises(ParseFailed) as caught:
            await parser.parse(content, "a.txt")
        assert caught.value.code is ParseFailure.NO_TEXT
        assert "OCR" in caught.value.advice
        assert "OCR" in caught.value.advice


def collapsed(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.skipif(not MANIFEST.is_file(), reason="the development data of ../shared/eval is not here")
class TestSharedFiles:
    @each_case(
        "row",
        [json.loads(line) for line in MANIFEST.read_text("utf-8").splitlines()] if MANIFEST.is_file() else [],
        ids=lambda row: row["file"],
    )
    async def test_say_what_the_manifest_expects(self, parser: Parser, row: dict[str, str]) -> None:
        content = (SHARED / row["file"]).read_bytes()
        try:
            parsed = await parser.parse(content, row["file"])
        except ParseFailed as failure:
            assert row["expect"] != "ok"
            assert not row["must_include"]
            if row["expect"] == "empty":
                assert failure.code in (ParseFailure.NO_TEXT, ParseFailure.NO_RECOGNITION)
            return
        if row["expect"] == "empty":  # but for what stands on its pictures
            assert WarningCode.PAGES_RECOGNISED in codes(parsed)
            return
        text = collapsed(parsed.text)
        assert row["expect"] in ("ok", "error_or_ok") or (row["expect"] == "error_or_partial" and parsed.is_partial)
        assert [one for one in row["must_include"] if collapsed(one) not in text] == []
        assert [one for one in row["must_not_include"] if collapsed(one) in text] == []
