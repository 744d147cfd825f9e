"""Small real files of every format, made by the libraries people make them with."""

import io
from email.message import EmailMessage
from typing import Any

import docx
import openpyxl
import pptx
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import RGBColor
from openpyxl.styles import Font
from pptx.util import Emu, Inches, Pt
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table, TableStyle

LEAVE = "Người lao động làm việc đủ 12 tháng được nghỉ 14 ngày phép mỗi năm, hưởng nguyên lương."
SHIFT = "Ca đêm được trả thêm ít nhất 30% đơn giá tiền lương."
ROWS = [["Bậc", "Mức lương"], ["1", "9.000.000"], ["2", "11.500.000"]]


def word() -> bytes:
    """Title, two headings, a list, a table."""
    document = docx.Document()
    document.core_properties.title = "Sổ tay nhân sự"
    document.add_heading("Chính sách nghỉ phép", 1)
    document.add_paragraph(LEAVE)
    document.add_heading("Điều 5. Chuyển phép", 2)
    document.add_paragraph("Nộp đơn trước 31/03", style="List Bullet")
    document.add_paragraph("Quản lý duyệt", style="List Bullet")
    table = document.add_table(rows=3, cols=2)
    for row, cells in zip(table.rows, ROWS, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    return _saved(document)


def slides() -> bytes:
    """Two slides: a title, bullets, a table, and notes."""
    deck = pptx.Presentation()
    deck.core_properties.title = "Hội nhập"
    first = deck.slides.add_slide(deck.slide_layouts[1])
    first.shapes.title.text = "Ngày đầu tiên"
    frame = first.placeholders[1].text_frame
    frame.text = "Nhận máy tính"
    frame.add_paragraph().text = "Ký hợp đồng"
    first.notes_slide.notes_text_frame.text = "Nhắc mang căn cước."
    second = deck.slides.add_slide(deck.slide_layouts[5])
    second.shapes.title.text = "Lương"
    table = second.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(5), Inches(2)).table
    for row, cells in enumerate(ROWS):
        for column, text in enumerate(cells):
            table.cell(row, column).text = text
    return _saved(deck)


def sheets() -> bytes:
    """Two sheets: salaries with formats, and a short list."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Lương"
    sheet["A1"] = "Bảng lương 2026"
    sheet.append([])
    for row in (["Họ tên", "Lương", "Thuế", "Từ ngày"], ["Lan", 15_000_000, 0.1, "2026-01-01"]):
        sheet.append(row)
    sheet["B4"].number_format = "#,##0"
    sheet["C4"].number_format = "0%"
    other = book.create_sheet("Phòng")
    other.append(["Mã", "Tên"])
    other.append(["HR", "Nhân sự"])
    return _saved(book)


def pdf() -> bytes:
    """Three pages: headings and wrapped text, a ruled table, a page of its own; with bookmarks off."""
    target = io.BytesIO()
    style = getSampleStyleSheet()
    grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.7, colors.black)])
    long = "Employees who have worked for twelve months are entitled to fourteen days of paid leave a year. " * 6
    story = [
        Paragraph("Leave policy", style["Heading1"]),
        Paragraph(long, style["BodyText"]),
        Paragraph("Carrying over", style["Heading2"]),
        Paragraph("Up to five days may be carried over until March.", style["BodyText"]),
        PageBreak(),
        Table([["Grade", "Salary"], ["One", "9,000,000"], ["Two", "11,500,000"]], style=grid),
        PageBreak(),
        Paragraph("The last page has a sentence of its own.", style["BodyText"]),
    ]
    SimpleDocTemplate(target, pagesize=A4, title="Handbook").build(story)
    return target.getvalue()


def web_page() -> bytes:
    """Headings, nested list, table with spans, code."""
    return f"""<!DOCTYPE html><html><head><title>Nghỉ phép</title><script>var x = "SECRET";</script></head><body>
    <h1>Chính sách</h1><p>{LEAVE}<br>Dòng hai.</p>
    <ul><li>Một<ul><li>Một A</li></ul></li><li>Hai</li></ul><ol><li>Đầu</li><li>Sau</li></ol>
    <table><tr><th>Loại</th><th>Ngày</th></tr><tr><td rowspan=2>Phép</td><td>12</td></tr><tr><td>14</td></tr></table>
    <pre>conclave ask
  --as lan</pre></body></html>""".encode()


def mail() -> bytes:
    """Plain text and HTML versions and an attachment."""
    message = EmailMessage()
    message["Subject"] = "Lịch nghỉ Tết"
    message["From"] = "Phòng Nhân sự <hr@example.com>"
    message["To"] = "all@example.com"
    message["Date"] = "Mon, 02 Feb 2026 08:00:00 +0700"
    message.set_content("Công ty nghỉ Tết từ 14/02 đến 22/02.\n")
    message.add_alternative("<p>Công ty nghỉ Tết <b>HTML</b></p>", subtype="html")
    message.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="lich-nghi.pdf")
    return message.as_bytes()


def table_text() -> bytes:
    """CSV with a semicolon, a quoted line end, and a byte order mark."""
    return '\ufeffHọ tên;Ghi chú\r\nLan;"hai\r\ndòng"\r\nMinh;một\r\n'.encode()


def markdown() -> bytes:
    """Front matter, a heading, a table."""
    table = "\n".join(f"| {' | '.join(row)} |" for row in (ROWS[0], ["---", "---"], *ROWS[1:]))
    return f"---\ntitle: Giờ làm\n---\n# Giờ làm việc\n\nTừ 8:00.\n\n{table}\n".encode()


def plain() -> bytes:
    """Two paragraphs."""
    return f"{LEAVE}\n\n{SHIFT}\n".encode()


SAMPLES = {
    "a.docx": word, "a.pptx": slides, "a.xlsx": sheets, "a.pdf": pdf, "a.html": web_page, "a.eml": mail,
    "a.csv": table_text, "a.md": markdown, "a.txt": plain,
}  # fmt: skip


def hidden_word() -> bytes:
    """Six ways of hiding text, and what must stay: white text on a dark cell."""
    document = docx.Document()
    document.add_paragraph("Đoạn nhìn thấy được.")
    vanished, white, tiny = (
        document.add_paragraph().add_run(text).font for text in ("AN_VANISH", "AN_TRANG", "AN_NHO")
    )
    vanished.hidden = True
    white.color.rgb = RGBColor(255, 255, 255)
    tiny.size = docx.shared.Pt(1)
    style = document.styles.add_style("Giấu", WD_STYLE_TYPE.CHARACTER)
    style.font.hidden = True
    document.add_paragraph().add_run("AN_KIEU", style="Giấu")
    paragraph = document.add_paragraph("Còn lại")
    _append(paragraph, '<w:del {w} w:id="1" w:author="x"><w:r><w:delText>AN_XOA</w:delText></w:r></w:del>')
    _append(paragraph, '<w:r {w}><w:fldChar w:fldCharType="begin"/></w:r>')
    _append(paragraph, "<w:r {w}><w:instrText>AN_TRUONG</w:instrText><w:t>AN_MA</w:t></w:r>")
    _append(paragraph, '<w:r {w}><w:fldChar w:fldCharType="separate"/></w:r>')
    _append(paragraph, "<w:r {w}><w:t> 31/12</w:t></w:r>")
    _append(paragraph, '<w:r {w}><w:fldChar w:fldCharType="end"/></w:r>')
    table = document.add_table(rows=2, cols=2)
    for at, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"ô {at}"
    cell = table.cell(0, 0)
    shade = '<w:shd {w} w:val="clear" w:fill="1F3864"/>'
    cell._tc.get_or_add_tcPr().append(_element(shade))
    cell.paragraphs[0].runs[0].font.color.rgb = RGBColor(255, 255, 255)
    return _saved(document)


def hidden_slides() -> bytes:
    """A hidden slide, a shape off the slide, a hidden shape, tiny text."""
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    for left, text in ((Inches(1), "Nhìn thấy"), (Emu(-9_000_000), "AN_NGOAI"), (Inches(3), "AN_HINH")):
        box = slide.shapes.add_textbox(left, Inches(1), Inches(2), Inches(1))
        box.text_frame.text = text
    box._element.nvSpPr.cNvPr.set("hidden", "1")
    run = slide.shapes.add_textbox(Inches(1), Inches(4), Inches(2), Inches(1)).text_frame.paragraphs[0].add_run()
    run.text, run.font.size = "AN_NHO", Pt(1)
    other = deck.slides.add_slide(deck.slide_layouts[6])
    other.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "AN_TRANG_CHIEU"
    other._element.set("show", "0")
    last = deck.slides.add_slide(deck.slide_layouts[6])
    last.shapes.add_textbox(Inches(1), Inches(1), Inches(2), Inches(1)).text_frame.text = "Trang ba"
    return _saved(deck)


def hidden_sheets() -> bytes:
    """A hidden sheet, a hidden row and a hidden column."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["Mã", "AN_COT", "Tên"], ["1", "AN_COT", "Một"], ["2", "x", "AN_HANG"], ["3", "y", "Ba"]):
        sheet.append(row)
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    other = book.create_sheet("Kín")
    other.append(["AN_TRANG", "b"])
    other.sheet_state = "veryHidden"
    sheet["A1"].font = Font(bold=True)
    return _saved(book)


def _append(paragraph: Any, markup: str) -> None:
    paragraph._p.append(_element(markup))


def _element(markup: str) -> Any:
    return parse_xml(markup.replace("{w}", nsdecls("w")))


def _saved(document: Any) -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()
