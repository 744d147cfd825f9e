"""What is painted on a PDF page: text nobody can see is found here, and the ruled lines that tables are made of.

PDFium is called through its C interface, one call costs about 2 µs: per piece of text, never per character.
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfMatrix

_MIN_POINTS = 1.2
"""Text below this size is not meant to be read."""
_SAME_COLOR = 14
"""Difference of each of red, green and blue (0–255) that nobody sees."""
_OPAQUE = 250
_INVISIBLE, _CLIP_ONLY, _STROKE = 3, 7, 1
_MAX_PAINTS, _MAX_DEPTH, _MAX_SEGMENTS = 400, 12, 4_000
_MIN_PAINT_AREA = 4.0
_RULE_THICKNESS = 2.5


class Box(NamedTuple):
    """A rectangle in points; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def area(self) -> float:
        """In square points."""
        return max(0.0, self.right - self.left) * max(0.0, self.top - self.bottom)

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies inside."""
        return self.left <= x <= self.right and self.bottom <= y <= self.top

    def covers(self, other: "Box", slack: float = 1.0) -> bool:
        """Whether all of another box lies inside."""
        sides = self.left - slack <= other.left and self.right + slack >= other.right
        return sides and self.bottom - slack <= other.bottom and self.top + slack >= other.top

    def meets(self, other: "Box") -> bool:
        """Whether two boxes share a point."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top


class Rule(NamedTuple):
    """A straight horizontal or vertical line."""

    is_horizontal: bool
    at: float
    """y of a horizontal, x of a vertical one."""
    start: float
    end: float


Color = tuple[int, int, int]


class _Text(NamedTuple):
    handle: Any
    order: int
    box: Box
    color: Color | None
    is_hidden: bool


class _Paint(NamedTuple):
    order: int
    box: Box
    color: Color | None
    """None for a picture or a pattern."""
    is_cover: bool
    """Whether what lies below is certainly covered."""


@dataclass
class Marks:
    """What one page shows besides readable text."""

    rules: list[Rule] = field(default_factory=list)
    hidden: list[Any] = field(default_factory=list)
    """Handles of the pieces of text that cannot be seen."""
    picture_share: float = 0.0
    """Of the page's area, by its largest picture."""


def marks_of(page: Any, page_box: Box) -> Marks:
    """Look through everything painted on a page."""
    return _Scan(page_box).read(page)


class _Scan:
    def __init__(self, page_box: Box):
        self._page_box = page_box
        self._marks = Marks()
        self._texts: list[_Text] = []
        self._paints: list[_Paint] = []
        self._order = 0
        self._four = [ctypes.c_float() for _ in range(4)]
        self._channels = [ctypes.c_uint() for _ in range(4)]
        self._matrix = pdfium.FS_MATRIX()

    def read(self, page: Any) -> Marks:
        """The marks of the page."""
        for handle in _children(page, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject):
            self._object(handle, PdfMatrix(), 0)
        self._marks.hidden = [text.handle for text in self._texts if self._is_hidden(text)]
        return self._marks

    def _object(self, handle: Any, matrix: PdfMatrix, depth: int) -> None:
        self._order += 1
        match pdfium.FPDFPageObj_GetType(handle):
            case pdfium.FPDF_PAGEOBJ_TEXT:
                self._text(handle, matrix)
            case pdfium.FPDF_PAGEOBJ_PATH:
                self._path(handle, matrix)
            case pdfium.FPDF_PAGEOBJ_IMAGE | pdfium.FPDF_PAGEOBJ_SHADING as kind:
                box = self._box(handle, matrix)
                self._paints.append(_Paint(self._order, box, None, False))
                if kind == pdfium.FPDF_PAGEOBJ_IMAGE and self._page_box.area:
                    share = box.area / self._page_box.area
                    self._marks.picture_share = max(self._marks.picture_share, share)
            case pdfium.FPDF_PAGEOBJ_FORM if depth < _MAX_DEPTH:
                inner = self._own_matrix(handle).multiply(matrix)
                for one in _children(handle, pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject):
                    self._object(one, inner, depth + 1)

    def _text(self, handle: Any, matrix: PdfMatrix) -> None:
        mode = pdfium.FPDFTextObj_GetTextRenderMode(handle)
        box = self._box(handle, matrix)
        read = pdfium.FPDFPageObj_GetStrokeColor if mode == _STROKE else pdfium.FPDFPageObj_GetFillColor
        has_color = read(handle, *self._channels)
        red, green, blue, alpha = (one.value for one in self._channels) if has_color else (0, 0, 0, 255)
        is_hidden = mode in (_INVISIBLE, _CLIP_ONLY) or alpha == 0 or not self._page_box.meets(box)
        is_hidden = is_hidden or self._size(handle, matrix) < _MIN_POINTS
        self._texts.append(_Text(handle, self._order, box, (red, green, blue) if has_color else None, is_hidden))

    def _size(self, handle: Any, matrix: PdfMatrix) -> float:
        pdfium.FPDFTextObj_GetFontSize(handle, self._four[0])
        size = self._four[0].value
        placed = self._own_matrix(handle).multiply(matrix)
        return float(abs(size) * abs(placed.a * placed.d - placed.b * placed.c) ** 0.5)

    def _path(self, handle: Any, matrix: PdfMatrix) -> None:
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        if not pdfium.FPDFPath_GetDrawMode(handle, fill, stroke):
            return
        box = self._box(handle, matrix)
        wide, high = box.right - box.left, box.top - box.bottom
        if min(wide, high) <= _RULE_THICKNESS:
            self._rule(box)
        elif stroke.value:
            self._outline(handle, matrix)
        if fill.value and box.area > _MIN_PAINT_AREA and min(wide, high) > _RULE_THICKNESS:
            self._paint(handle, box)

    def _paint(self, handle: Any, box: Box) -> None:
        has_color = pdfium.FPDFPageObj_GetFillColor(handle, *self._channels)
        red, green, blue, alpha = (one.value for one in self._channels)
        if has_color and not alpha:
            return
        # A shape of few corners without a clip fills its box; nothing is said about others.
        is_plain = has_color and alpha >= _OPAQUE and pdfium.FPDFPath_CountSegments(handle) <= 6
        is_plain = is_plain and not self._is_clipped(handle, box)
        is_cover = is_plain and not pdfium.FPDFPageObj_HasTransparency(handle)
        self._paints.append(_Paint(self._order, box, (red, green, blue) if is_plain else None, is_cover))

    def _is_clipped(self, handle: Any, box: Box) -> bool:
        """Whether less than the whole box may be painted."""
        clip = pdfium.FPDFPageObj_GetClipPath(handle)
        count = pdfium.FPDFClipPath_CountPaths(clip) if clip else 0
        return any(not self._clip_box(clip, at).covers(box) for at in range(min(max(count, 0), 20)))

    def _clip_box(self, clip: Any, at: int) -> Box:
        count = pdfium.FPDFClipPath_CountPathSegments(clip, at)
        segments = (pdfium.FPDFClipPath_GetPathSegment(clip, at, one) for one in range(min(max(count, 0), 20)))
        points = [point for one in segments if (point := self._point(one)) is not None]
        if not points or count > 6:
            return Box(0, 0, 0, 0)
        across, up = [x for x, _ in points], [y for _, y in points]
        return Box(min(across), min(up), max(across), max(up))

    def _point(self, segment: Any) -> tuple[float, float] | None:
        if not segment or not pdfium.FPDFPathSegment_GetPoint(segment, *self._four[:2]):
            return None
        return self._four[0].value, self._four[1].value

    def _rule(self, box: Box) -> None:
        if box.right - box.left >= box.top - box.bottom:
            self._marks.rules.append(Rule(True, (box.bottom + box.top) / 2, box.left, box.right))
        else:
            self._marks.rules.append(Rule(False, (box.left + box.right) / 2, box.bottom, box.top))

    def _outline(self, handle: Any, matrix: PdfMatrix) -> None:
        """The straight pieces of a path that is drawn as a line."""
        matrix = self._own_matrix(handle).multiply(matrix)
        first: tuple[float, float] | None = None
        last: tuple[float, float] | None = None
        for at in range(min(pdfium.FPDFPath_CountSegments(handle), _MAX_SEGMENTS)):
            segment = pdfium.FPDFPath_GetPathSegment(handle, at)
            point = self._point(segment)
            if point is None:
                continue
            x, y = matrix.on_point(*point)
            if pdfium.FPDFPathSegment_GetType(segment) == pdfium.FPDF_SEGMENT_LINETO and last is not None:
                self._piece(last, (x, y))
            else:
                first = (x, y)
            if pdfium.FPDFPathSegment_GetClose(segment) and first is not None:
                self._piece((x, y), first)
            last = (x, y)

    def _piece(self, one: tuple[float, float], other: tuple[float, float]) -> None:
        (left, right), (bottom, top) = sorted((one[0], other[0])), sorted((one[1], other[1]))
        if min(right - left, top - bottom) <= 1.0 < max(right - left, top - bottom):
            self._rule(Box(left, bottom, right, top))

    def _is_hidden(self, text: _Text) -> bool:
        if text.is_hidden or text.color is None:
            return text.is_hidden
        x, y = (text.box.left + text.box.right) / 2, (text.box.bottom + text.box.top) / 2
        paints = self._paints[-_MAX_PAINTS:]
        if any(one.is_cover and one.order > text.order and one.box.covers(text.box) for one in paints):
            return True
        below = next((one for one in reversed(paints) if one.order < text.order and one.box.holds(x, y)), None)
        ground = (255, 255, 255) if below is None else below.color
        if ground is None:
            return False
        return all(abs(one - other) <= _SAME_COLOR for one, other in zip(ground, text.color, strict=True))

    def _box(self, handle: Any, matrix: PdfMatrix) -> Box:
        if not pdfium.FPDFPageObj_GetBounds(handle, *self._four):
            return Box(0, 0, 0, 0)
        return Box(*matrix.on_rect(*(one.value for one in self._four)))

    def _own_matrix(self, handle: Any) -> PdfMatrix:
        is_told = pdfium.FPDFPageObj_GetMatrix(handle, self._matrix)
        return PdfMatrix.from_raw(self._matrix) if is_told else PdfMatrix()


def _children(parent: Any, count: Any, get: Any) -> Iterator[Any]:
    return (handle for at in range(count(parent)) if (handle := get(parent, at)))
