"""PDFs made to hurt whoever opens them, with how each may end."""

import io
import zlib
from collections.abc import Callable

from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

from app.ingestion.parsing import ParseFailure as F
from tests.unit.ingestion.parsing import samples
from tests.unit.ingestion.parsing.hostile_office import Case, archive_of, entry
from tests.unit.ingestion.parsing.rawpdf import FONT, page_with, pdf_of, stream, text_at

LINE = text_at(72, 700, "A sentence everybody can read")
LIMITS = {F.TIME_LIMIT, F.MEMORY_LIMIT, F.TOO_MUCH_TEXT}
ANY = {"ok", F.DAMAGED, F.NO_TEXT, *LIMITS}


def packed(content: bytes, times: int) -> bytes:
    for _ in range(times):
        content = zlib.compress(content, 9)
    filters = " ".join(["/FlateDecode"] * times)
    return page_with(content, f"/Filter [{filters}]")


def in_hex(times: int) -> bytes:
    content = LINE
    for _ in range(times):
        content = content.hex().encode() + b">"
    return page_with(content, f"/Filter [{'/ASCIIHexDecode ' * times}]")


def many_pages(count: int, kids: int) -> bytes:
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: f"<< /Type /Pages /Kids [{'3 0 R ' * kids}] /Count {count} >>",
            3: f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources {FONT} >>",
            4: stream(LINE),
        }
    )


def looped_tree() -> bytes:
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 9 >>",
            3: "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 5 >>",
        }
    )


def encrypted(user: str) -> bytes:
    target = io.BytesIO()
    canvas = Canvas(target, encrypt=StandardEncryption(user, ownerPassword="owner", canPrint=0))
    canvas.drawString(72, 700, "A sentence under a key")
    canvas.save()
    return target.getvalue()


def form_in_itself() -> bytes:
    resources = FONT.removesuffix(">>") + "/XObject << /X 5 0 R >> >>"
    form = stream(b"/X Do", f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources {resources}")
    return page_with(LINE + b"/X Do", resources=resources, more={5: form})


def forms_that_multiply() -> bytes:
    """Each of 12 forms draws the next ten times: 10^12 drawings."""
    more: dict[int, bytes | str] = {}
    for at in range(12):
        inner = f"<< /XObject << /X {at + 6} 0 R >> {FONT[2:]}"
        drawn = b"/X Do " * 10 if at < 11 else LINE
        more[at + 5] = stream(drawn, f"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources {inner}")
    return page_with(b"/X Do", resources=FONT.removesuffix(">>") + "/XObject << /X 5 0 R >> >>", more=more)


def with_action(action: str) -> bytes:
    return page_with(LINE).replace(b"/Type /Catalog", f"/Type /Catalog /OpenAction << {action} >>".encode())


def _same(content: bytes) -> Callable[[str], bytes]:
    return lambda _: content


def _later(make: Callable[[], bytes]) -> Callable[[str], bytes]:
    return lambda _: make()


PDF: dict[str, Case] = {
    "80 MB behind two filters": ("a.pdf", _later(lambda: packed(LINE + b" " * 80_000_000, 2)), ANY),
    "text of 40 MB behind two filters": ("a.pdf", _later(lambda: packed(LINE * 700_000, 2)), ANY),
    "seven filters of digits": ("a.pdf", _later(lambda: in_hex(7)), ANY),
    "2,000 filters": ("a.pdf", _same(page_with(LINE, f"/Filter [{'/ASCIIHexDecode ' * 2_000}]")), ANY),
    "a page tree in a circle": ("a.pdf", _later(looped_tree), ANY),
    "a million pages, it says": ("a.pdf", _later(lambda: many_pages(1_000_000, 1)), {F.TOO_MANY_PAGES, *ANY}),
    "100,000 pages": ("a.pdf", _later(lambda: many_pages(100_000, 100_000)), {F.TOO_MANY_PAGES}),
    "fewer than no pages": ("a.pdf", _later(lambda: many_pages(-5, 1)), ANY),
    "a table for four billion objects": (
        "a.pdf",
        _same(page_with(LINE).replace(b"/Size 5", b"/Size 4294967295").replace(b"0 5\n", b"0 4294967295\n")),
        ANY,
    ),
    "a table before itself": ("a.pdf", _same(page_with(LINE).replace(b"/Root", b"/Prev 9 /Root")), ANY),
    "a form in itself": ("a.pdf", _later(form_in_itself), ANY),
    "forms that multiply": ("a.pdf", _later(forms_that_multiply), ANY),
    "a user's password": ("a.pdf", _later(lambda: encrypted("secret")), {F.ENCRYPTED}),
    "an owner's password only": ("a.pdf", _later(lambda: encrypted("")), {"ok"}),
    "only a picture": (
        "a.pdf",
        _same(page_with(b"q 500 0 0 700 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q")),
        {F.NO_TEXT, F.NO_RECOGNITION},
    ),
    "a page with nothing on it": ("a.pdf", _same(page_with(b"")), {F.NO_TEXT}),
    "a program to start": ("a.pdf", _same(with_action("/S /Launch /F (/bin/touch /tmp/touched)")), {"ok"}),
    "a script": ("a.pdf", _same(with_action("/S /JavaScript /JS (while(true){})")), {"ok"}),
    "an address to visit": ("a.pdf", lambda address: with_action(f"/S /URI /URI (http://{address}/x)"), {"ok"}),
    "contents in another file": (
        "a.pdf",
        lambda address: page_with(LINE, f"/F << /FS /URL /F (http://{address}/x) >>"),
        ANY,
    ),
    "arrays 100,000 deep": ("a.pdf", _same(page_with(LINE, more={5: "[" * 100_000 + "]" * 100_000})), ANY),
    "a catalogue 100,000 deep": (
        "a.pdf",
        _same(page_with(LINE).replace(b"/Type /Catalog", b"/Type /Catalog /X " + b"[" * 100_000 + b"]" * 100_000)),
        ANY,
    ),
    "a page without size": ("a.pdf", _same(page_with(LINE).replace(b"[0 0 612 792]", b"[0 0 0 0]")), ANY),
    "a page of endless size": ("a.pdf", _same(page_with(LINE).replace(b"[0 0 612 792]", b"[0 0 1e38 nan]")), ANY),
    "the same contents 50,000 times": (
        "a.pdf",
        _same(page_with(LINE).replace(b"/Contents 4 0 R", b"/Contents [" + b"4 0 R " * 50_000 + b"]")),
        ANY,
    ),
    "100,000 lines drawn": ("a.pdf", _same(page_with(LINE + b"0 0 m 9 9 l S\n" * 100_000)), ANY),
    "20,000 rules that all meet": (
        "a.pdf",
        _same(page_with(LINE + b"".join(b"0 %d m 600 %d l %d 0 m %d 700 l S\n" % (y, y, y, y) for y in range(5_000)))),
        ANY,
    ),
    "300,000 pieces of text": (
        "a.pdf",
        _same(page_with(b"BT /F1 9 Tf 72 700 Td" + b" (ab) Tj" * 300_000 + b" ET")),
        ANY,
    ),
    "text without an end": ("a.pdf", _same(page_with(b"BT /F1 12 Tf 72 700 Td (" + b"(" * 500_000)), ANY),
    "half of a file": ("a.pdf", _later(lambda: samples.pdf()[:2_000]), ANY),
    "a header only": ("a.pdf", _same(b"%PDF-1.7\n"), {F.DAMAGED}),
    "an archive behind it": (
        "a.pdf",
        _same(page_with(LINE) + archive_of([entry(b"word/document.xml")])),
        {F.WRONG_TYPE},
    ),
    "bookmarks in a circle": (
        "a.pdf",
        _same(
            page_with(
                LINE,
                more={
                    5: "<< /First 6 0 R /Last 6 0 R >>",
                    6: "<< /Title (x) /Next 6 0 R /First 6 0 R /Parent 5 0 R >>",
                },
            ).replace(b"/Type /Catalog", b"/Type /Catalog /Outlines 5 0 R")
        ),
        ANY,
    ),
}
