"""What makes a text out of words in a row: numbering, merged cells, broken lines, bookmarks."""

import io
import re
import unicodedata

import docx
import openpyxl
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import SimpleDocTemplate, Table, TableStyle

from app.ingestion.parsing import ParseLimits, Parser
from app.ingestion.parsing.draft import Draft, break_long_lines
from app.ingestion.parsing.outcome import FileKind
from app.ingestion.parsing.texts import delimiter_of
from extras.readers.sheets import format_cell
from extras.readers.word_styles import _number
from tests.cases import each_case
from tests.unit.ingestion.parsing.hostile_office import changed, word_with
from tests.unit.ingestion.parsing.rawpdf import page_with, pages_with, text_at

NUMBERING = """<w:abstractNum w:abstractNumId="77"><w:lvl w:ilvl="0"><w:start w:val="5"/><w:numFmt w:val="decimal"/>
<w:lvlText w:val="Điều %1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/>
<w:lvlText w:val="%2)"/></w:lvl></w:abstractNum>
<w:num w:numId="88"><w:abstractNumId w:val="77"/></w:num></w:numbering>"""


def listed(level: int, text: str) -> str:
    numbered = f'<w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="88"/></w:numPr></w:pPr>'
    return f"<w:p>{numbered}<w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


class TestWord:
    async def test_counts_the_numbers_that_word_only_shows(self, parser: Parser) -> None:
        body = (
            listed(0, "Nghỉ phép") + listed(1, "mười hai ngày") + listed(1, "mười bốn ngày") + listed(0, "Tiền lương")
        )
        content = changed(
            word_with(body),
            {"word/numbering.xml": lambda part: part.replace(b"</w:numbering>", NUMBERING.encode())},
        )
        text = (await parser.parse(content, "a.docx")).text
        assert text.startswith(
            "Điều 5. Nghỉ phép\n\n  a) mười hai ngày\n  b) mười bốn ngày\n\nĐiều 6. Tiền lương\n\n# Chính sách"
        )

    async def test_repeats_a_cell_in_the_rows_it_spans(self, parser: Parser) -> None:
        begun, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
        rows = [cell("Loại") + cell("Ngày"), cell("Phép", begun) + cell("12"), cell("", goes_on) + cell("14")]
        wide = cell("Tổng", '<w:gridSpan w:val="2"/>')
        body = "".join(f"<w:tr>{row}</w:tr>" for row in [*rows, wide])
        text = (await parser.parse(word_with(f"<w:tbl>{body}</w:tbl>"), "a.docx")).text
        assert text.startswith("| Loại | Ngày |\n|---|---|\n| Phép | 12 |\n| Phép | 14 |\n| Tổng |  |")

    async def test_reads_text_boxes_once_and_leaves_out_tables_of_contents(self, parser: Parser) -> None:
        box = "<w:txbxContent><w:p><w:r><w:t>Trong khung</w:t></w:r></w:p></w:txbxContent>"
        choice = "xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'"
        body = (
            f"<w:p><w:r><mc:AlternateContent {choice}><mc:Choice Requires='wps'>{box}</mc:Choice>"
            f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
            "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>"
            "<w:sdtContent><w:p><w:r><w:t>Mục lục 12</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        )
        text = (await parser.parse(word_with(body), "a.docx")).text
        assert text.count("Trong khung") == 1
        assert "Mục lục" not in text

    async def test_keeps_breaks_insertions_and_links(self, parser: Parser) -> None:
        body = (
            "<w:p><w:r><w:t>một</w:t><w:br/><w:t>hai</w:t><w:tab/><w:t>ba</w:t></w:r>"
            "<w:ins><w:r><w:t> thêm</w:t></w:r></w:ins><w:hyperlink><w:r><w:t> nối</w:t></w:r></w:hyperlink></w:p>"
        )
        assert (await parser.parse(word_with(body), "a.docx")).text.startswith("một\nhai ba thêm nối\n\n")

    async def test_an_unnamed_layout_table_is_no_table(self, parser: Parser) -> None:
        document = docx.Document()
        table = document.add_table(rows=1, cols=2)
        table.cell(0, 0).text, table.cell(0, 1).text = "CÔNG TY ACME", "CỘNG HÒA XÃ HỘI CHỦ NGHĨA VIỆT NAM"
        target = io.BytesIO()
        document.save(target)
        text = (await parser.parse(target.getvalue(), "a.docx")).text
        assert text == "CÔNG TY ACME\n\nCỘNG HÒA XÃ HỘI CHỦ NGHĨA VIỆT NAM"

    @each_case(
        ("value", "shape", "written"),
        [(3, "decimal", "3"), (3, "lowerLetter", "c"), (28, "upperLetter", "BB"), (1994, "upperRoman", "MCMXCIV")],
    )
    def test_numbers_have_shapes(self, value: int, shape: str, written: str) -> None:
        assert _number(value, shape) == written


class TestPdf:
    async def test_takes_the_levels_of_headings_from_the_bookmarks(self, parser: Parser) -> None:
        target = io.BytesIO()
        canvas = Canvas(target)
        for at, (level, text) in enumerate([(0, "Leave"), (1, "Annual leave"), (1, "Sick leave")]):
            canvas.bookmarkPage(str(at))
            canvas.addOutlineEntry(text, str(at), level)
            canvas.drawString(72, 700 - 60 * at, text)
            canvas.drawString(72, 680 - 60 * at, f"What is said about number {at} stands here.")
        canvas.save()
        text = (await parser.parse(target.getvalue(), "a.pdf")).text
        assert re.findall("^#.*", text, re.MULTILINE) == ["# Leave", "## Annual leave", "## Sick leave"]

    async def test_goes_on_with_a_sentence_on_the_next_page(self, parser: Parser) -> None:
        full = "This line is long enough to reach the margin of the page and goes on"
        first = text_at(72, 400, full) + text_at(72, 386, full.replace("This", "that"))
        parsed = await parser.parse(pages_with([first, text_at(72, 700, "here until it ends.")]), "a.pdf")
        assert parsed.text.endswith("goes on here until it ends.")
        assert parsed.text[parsed.pages[1] :] == "here until it ends."

    async def test_goes_on_with_a_table_on_the_next_page(self, parser: Parser) -> None:
        target = io.BytesIO()
        rows = [["Grade", "Salary"], *([f"grade {at}", f"{at},000"] for at in range(90))]
        table = Table(rows, repeatRows=1, style=TableStyle([("GRID", (0, 0), (-1, -1), 0.7, colors.black)]))
        SimpleDocTemplate(target, pagesize=A4).build([table])
        parsed = await parser.parse(target.getvalue(), "a.pdf")
        assert len(parsed.pages) == 3
        assert parsed.text.count("|---|---|") == parsed.text.count("Grade") == 1
        assert [line for line in parsed.text.split("\n") if line.startswith("| grade")] == [
            f"| grade {at} | {at},000 |" for at in range(90)
        ]

    async def test_keeps_merged_cells_together(self, parser: Parser) -> None:
        target = io.BytesIO()
        style = [("GRID", (0, 0), (-1, -1), 0.7, colors.black), ("SPAN", (0, 1), (0, 2)), ("SPAN", (0, 3), (1, 3))]
        rows = [["Kind", "Days"], ["Leave", "12"], ["", "14"], ["The total of both of them", ""]]
        SimpleDocTemplate(target).build([Table(rows, style=TableStyle(style), colWidths=[90, 90])])
        text = (await parser.parse(target.getvalue(), "a.pdf")).text
        assert text.split("\n")[2:] == ["| Leave | 12 |", "| Leave | 14 |", "| The total of both of them |  |"]

    async def test_mends_words_broken_at_the_end_of_a_line(self, parser: Parser) -> None:
        content = text_at(72, 700, "Everybody who has worked for a year may claim compen-") + text_at(
            72, 686, "sation from the employer of the whole period of time."
        )
        assert "compensation from" in (await parser.parse(page_with(content), "a.pdf")).text

    async def test_keeps_lines_of_an_address_and_of_a_form_apart(self, parser: Parser) -> None:
        lines = ["Name: Lan", "Room: 12", "This sentence is much longer than the two lines of the form above it are."]
        content = b"".join(text_at(72, 700 - 14 * at, line) for at, line in enumerate(lines))
        assert (await parser.parse(page_with(content), "a.pdf")).text == "\n\n".join(lines)


class TestSheets:
    @each_case(
        ("value", "number_format", "text"),
        [
            (0.155, "0.0%", "15.5%"), (1500000, "#,##0", "1,500,000"), (1234.5, '#,##0.00 "đ"', "1,234.50"),
            (3.0, "General", "3"), (0.1 + 0.2, "General", "0.3"), (True, "General", "TRUE"), (2.5, "0.00", "2.50"),
        ],
    )  # fmt: skip
    def test_show_numbers_as_the_program_does(self, value: float, number_format: str, text: str) -> None:
        assert format_cell(value, number_format) == text

    async def test_tables_on_one_sheet_stay_apart(self, parser: Parser) -> None:
        book = openpyxl.Workbook()
        sheet = book.worksheets[0]
        for row in (["Tên", "Tuổi"], ["Lan", 30], [], ["Mã", "Giá"], ["A|B", 5]):
            sheet.append(row)
        target = io.BytesIO()
        book.save(target)
        text = (await parser.parse(target.getvalue(), "a.xlsx")).text
        assert text.endswith("| Tên | Tuổi |\n|---|---|\n| Lan | 30 |\n\n| Mã | Giá |\n|---|---|\n| A\\|B | 5 |")

    @each_case("sign", [",", ";", "\t", "|"])
    def test_csv_columns_may_be_parted_by_any_usual_sign(self, sign: str) -> None:
        assert delimiter_of("\n".join(sign.join(row) for row in (["a", 'b "x"'], ["1", "2"], ["3", "4"]))) == sign


class TestDraft:
    @given(st.text(max_size=300), st.integers(5, 40))
    @settings(max_examples=50)
    def test_breaking_lines_loses_nothing_but_blanks(self, text: str, limit: int) -> None:
        broken = break_long_lines(text, limit)
        assert max(map(len, broken.split("\n"))) <= limit
        assert "".join(broken.split()) == "".join(text.split())

    def test_breaks_after_sentences_where_it_can(self) -> None:
        assert break_long_lines("Một câu dài. Câu hai dài hơn.", 20) == "Một câu dài.\nCâu hai dài hơn."

    @given(
        st.lists(st.tuples(st.sampled_from(["heading", "paragraph", "item", "verbatim", "page"]), st.text(max_size=60)))
    )
    def test_text_is_clean_and_pages_stand_where_they_begin(self, steps: list[tuple[str, str]]) -> None:
        draft = Draft(ParseLimits())
        draft.paragraph("Đoạn mở đầu")
        for at, (step, text) in enumerate(steps):
            match step:
                case "heading":
                    draft.heading(2, text)
                case "page":
                    draft.begin_page()
                    draft.paragraph(f"trang{at}x {text}")
                case "item":
                    draft.item(text)
                case _:
                    getattr(draft, step)(text)
        told = draft.finish(FileKind.PDF)
        assert unicodedata.is_normalized("NFC", told["text"])
        assert not re.search("[\x00-\x08\u200b\u202e\ud800-\udfff]", told["text"])
        starts = [at for at, (step, _) in enumerate(steps) if step == "page"]
        assert [
            told["text"][start:].startswith(f"trang{at}x") for at, start in zip(starts, told["pages"], strict=True)
        ] == [True] * len(starts)
