"""Pages that are pictures of text: letters are recognised, and words that are not sure are not told as if they were.

Runs in a process of its own kind (`conclave.scans`), confined and killed like the one that reads all other files, with
more time: loading the module loads Tesseract.
"""

from collections.abc import Sequence
from statistics import median
from typing import Any

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode
from app.ingestion.parsing.pdf_marks import Box
from app.ingestion.parsing.pdf_page import Line
from app.ingestion.parsing.reading import read_request
from extras.readers.tesseract import DPI, MOST_PIXELS, Raster, SeenLine, Tesseract

_SURE_PAGE, _SURE_WORD = 80.0, 60.0
"""A page whose words are less sure on average is left out; a word becomes a sign for what could not be read."""
_UNREAD = "\ufffd"
_SAME_SIZE = 1.25
_POINTS = 72

try:
    _ENGINE: Tesseract | None = Tesseract()
except OSError:
    _ENGINE = None


def read_scan(request: bytes) -> bytes:
    """Read a file as `read_request` does, and what its pictures say."""
    return read_request(request)


def recognise(draft: Draft, page: Any) -> list[Line]:
    """Read the lines, in points, of a page of a PDF as it is shown, or of a `Raster`; none when it is too unclear.
    Raises `ParseFailed` where nothing can recognise letters."""
    if _ENGINE is None:
        raise ParseFailed(ParseFailure.NO_RECOGNITION)
    raster = page if isinstance(page, Raster) else _rendered(page)
    seen = list(_ENGINE.lines(raster))
    words = [word for line in seen for word in line.words]
    letters = sum(len(word.text) for word in words)
    if sum(word.confidence * len(word.text) for word in words) < _SURE_PAGE * letters:
        draft.warn(WarningCode.PAGES_UNCLEAR)
        return []
    draft.warn(WarningCode.PAGES_RECOGNISED if words else WarningCode.PAGES_WITHOUT_TEXT)
    return _lines_in_points(seen, raster)


def _rendered(page: Any) -> Raster:
    width, height = page.get_size()
    scale = min(DPI / _POINTS, (MOST_PIXELS / max(width * height, 1)) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    raster = Raster(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, round(scale * _POINTS))
    bitmap.close()
    return raster


def _lines_in_points(seen: Sequence[SeenLine], raster: Raster) -> list[Line]:
    """Measure lines as those of a page with letters are. Sizes of letters are known roughly: what is about as large as
    the running text is of its size."""
    points = _POINTS / raster.dpi
    sizes = [line.size for line in seen for word in line.words for _ in word.text]
    body = median(sizes) if sizes else 0.0
    lines = []
    for at, line in enumerate(seen):
        box = Box(line.left, raster.height - line.bottom, line.right, raster.height - line.top)
        size = body if line.size < body * _SAME_SIZE else line.size
        lines.append(Line(_text_of(line), Box(*(side * points for side in box)), size * points, False, at, at))
    return lines


def _text_of(line: SeenLine) -> str:
    """Join the words; those next to one another that are not sure are one sign."""
    words: list[str] = []
    for word in line.words:
        text = word.text if word.confidence >= _SURE_WORD else _UNREAD
        if text != _UNREAD or words[-1:] != [_UNREAD]:
            words.append(text)
    return " ".join(words)


Draft.recognise = recognise
