"""Pages drawn by the test, as pictures and as PDFs of pictures."""

import io
from collections.abc import Sequence
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from bench.scans import font_path
from extras.readers.tesseract import _trained

LEAVE = "Nhân viên chính thức được hưởng 14 ngày nghỉ phép năm."
BLUR = 4.0
SHIFT = "The night shift begins at 22:00 and ends at 6:00."


def _is_here() -> bool:
    try:
        return bool(_trained()) and font_path() is not None
    except OSError:
        return False


needs_tesseract = pytest.mark.skipif(
    not _is_here(), reason="no Tesseract here, and none could be fetched: make tesseract"
)


def page(*lines: str, dpi: int = 200) -> Image.Image:
    """Black on white, as high as the lines are."""
    size = round(11 * dpi / 72)
    font = ImageFont.truetype(str(font_path()), size)
    image = Image.new("L", (round(7.5 * dpi), 4 * size + 2 * size * len(lines)), 255)
    for at, line in enumerate(lines):
        ImageDraw.Draw(image).text((size * 2, size * 2 + 2 * size * at), line, font=font, fill=0)
    return image


def smeared(*lines: str) -> Image.Image:
    """A page on which lines can be seen and hardly be read."""
    return page(*lines).filter(ImageFilter.GaussianBlur(BLUR))


def as_file(pages: Sequence[Image.Image], kind: str, **said: Any) -> bytes:
    """The pages as PNG, JPEG, TIFF or PDF."""
    target = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    fineness = {"resolution": 200.0} if kind == "PDF" else {"dpi": (200, 200)}
    pages[0].save(target, kind, **(fineness | more | said))
    return target.getvalue()
