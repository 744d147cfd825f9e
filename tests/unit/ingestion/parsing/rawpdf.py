"""PDFs written by hand: what no library would make."""

from collections.abc import Mapping, Sequence

PAGE = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources {resources} >>"
FONT = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"


def pdf_of(objects: Mapping[int, bytes | str], trailer: str = "/Root 1 0 R", version: str = "1.7") -> bytes:
    """A file with a right cross-reference table over these objects."""
    body = f"%PDF-{version}\n".encode()
    offsets: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        offsets[number] = len(body)
        raw = content if isinstance(content, bytes) else content.encode("latin-1")
        body += f"{number} 0 obj\n".encode() + raw + b"\nendobj\n"
    size = max(objects) + 1
    table = [f"xref\n0 {size}\n0000000000 65535 f \n"]
    table += [f"{offsets.get(at, 0):010} 00000 {'n' if at in offsets else 'f'} \n" for at in range(1, size)]
    end = f"trailer\n<< /Size {size} {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + "".join(table).encode() + end.encode()


def stream(content: bytes, extra: str = "") -> bytes:
    """A stream object."""
    return f"<< /Length {len(content)} {extra} >>\nstream\n".encode() + content + b"\nendstream"


def page_with(
    content: bytes, extra: str = "", resources: str = FONT, more: Mapping[int, bytes | str] | None = None
) -> bytes:
    """One page with these drawing instructions."""
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            3: PAGE.format(resources=resources),
            4: stream(content, extra),
            **(more or {}),
        }
    )


def pages_with(contents: Sequence[bytes]) -> bytes:
    """One page for each of these drawing instructions."""
    objects: dict[int, bytes | str] = {1: "<< /Type /Catalog /Pages 2 0 R >>"}
    kids = []
    for at, content in enumerate(contents):
        number = 10 + 2 * at
        kids.append(f"{number} 0 R")
        objects[number] = PAGE.format(resources=FONT).replace("4 0 R", f"{number + 1} 0 R")
        objects[number + 1] = stream(content)
    objects[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return pdf_of(objects)


def text_at(x: float, y: float, text: str, before: str = "", size: float = 12) -> bytes:
    """Instructions that write one line."""
    text = text.replace("(", "\\(").replace(")", "\\)")
    return f"q {before} BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET Q\n".encode("latin-1")
