"""The lines of a PDF page in reading order, with where they stand and how they are set."""

import ctypes
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

from app.ingestion.parsing.formats.pdf.marks import Box

HYPHEN = "\ufffe"
"""Where PDFium joined a word that was broken at the end of a line."""
_BOLD = re.compile(rb"bold|black|heavy|demi|-medi\b|cmbx", re.I)
_NO_LETTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffd\ue000-\uf8ff]")
_NAME_BYTES = 96


class Line(NamedTuple):
    """One line of text as it is set."""

    text: str
    box: Box
    size: float
    """Height of its first character in points, about 1.2 times the nominal size."""
    is_bold: bool
    first: int
    """Index of its first character on the page."""
    last: int


class PageText:
    """The characters of one page."""

    def __init__(self, page: Any):
        self._handle = pdfium.FPDFText_LoadPage(page)
        self.count = max(pdfium.FPDFText_CountChars(self._handle), 0) if self._handle else 0
        self._rect = pdfium.FS_RECTF()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._places = [ctypes.byref(one) for one in self._edges]

    def close(self) -> None:
        """Free the page's characters."""
        if self._handle:
            pdfium.FPDFText_ClosePage(self._handle)
        self._handle = None

    def text(self) -> str:
        """All of it, lines apart by CR LF."""
        if not self.count:
            return ""
        room = ctypes.create_string_buffer(2 * (self.count + 1))
        units = pdfium.FPDFText_GetText(self._handle, 0, self.count, ctypes.cast(room, ctypes.POINTER(ctypes.c_ushort)))
        return room.raw[: 2 * max(units - 1, 0)].decode("utf-16-le", "replace")

    def of_object(self, handle: Any) -> str:
        """The text of one painted piece."""
        size = pdfium.FPDFTextObj_GetText(handle, self._handle, None, 0)
        room = ctypes.create_string_buffer(max(size, 2))
        pdfium.FPDFTextObj_GetText(handle, self._handle, ctypes.cast(room, ctypes.POINTER(ctypes.c_ushort)), size)
        return room.raw[: max(size - 2, 0)].decode("utf-16-le", "replace")

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank, in reading order."""
        at = 0
        for part in self.text().split("\n"):
            shown = part.strip()
            if shown:
                start = at + _units(part[: len(part) - len(part.lstrip())])
                yield self._line(shown, start, start + _units(shown) - 1)
            at += _units(part) + 1

    def center(self, index: int) -> tuple[float, float]:
        """Middle of a character's box."""
        left, right, bottom, top = self._places
        if not pdfium.FPDFText_GetCharBox(self._handle, index, left, right, bottom, top):
            return -1.0, -1.0
        one = [edge.value for edge in self._edges]
        return (one[0] + one[1]) / 2, (one[2] + one[3]) / 2

    def character(self, index: int) -> str:
        """One character; a blank for what cannot be shown."""
        code = pdfium.FPDFText_GetUnicode(self._handle, index)
        return chr(code) if 32 <= code < 0x110000 and code != 0xFFFE and not 0xD800 <= code < 0xE000 else " "

    def _line(self, text: str, start: int, end: int) -> Line:
        first, last = self._index(start), self._index(end)
        head, tail = self._loose(first), self._loose(last)
        # A word joined over a line break ends on the line below.
        box = Box(head.left, min(head.bottom, tail.bottom), max(head.right, tail.right), head.top)
        is_bold = self._is_bold(first) and (first == last or self._is_bold(last))
        return Line(text, box, head.top - head.bottom, is_bold, first, last)

    def _index(self, unit: int) -> int:
        found = pdfium.FPDFText_GetCharIndexFromTextIndex(self._handle, unit)
        return unit if found < 0 else int(found)

    def _loose(self, index: int) -> Box:
        if not pdfium.FPDFText_GetLooseCharBox(self._handle, index, ctypes.byref(self._rect)):
            return Box(0, 0, 0, 0)
        rect = self._rect
        return Box(rect.left, min(rect.bottom, rect.top), rect.right, max(rect.bottom, rect.top))

    def _is_bold(self, index: int) -> bool:
        length = pdfium.FPDFText_GetFontInfo(self._handle, index, self._name, _NAME_BYTES, ctypes.byref(self._flags))
        return 0 < length <= _NAME_BYTES and _BOLD.search(self._name.raw[:length]) is not None


def is_garbled(text: str) -> bool:
    """Whether the fonts of a page do not say which letters their shapes are."""
    return len(_NO_LETTER.findall(text)) * 4 > len(text.strip())


def _units(text: str) -> int:
    """Length in UTF-16, which PDFium counts in."""
    return len(text) + sum(char > "\uffff" for char in text)
