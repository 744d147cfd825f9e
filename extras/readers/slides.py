"""PPTX: slide after slide, title first, then from top to bottom. Hidden slides and what lies off the slide stay out."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.shapes.base import BaseShape

from app.ingestion.parsing.archive import attribute, child, elements, local, root_of
from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode

_ROW_EMU = 300_000
"""Shapes whose tops are this near (about 8 mm) stand beside one another."""
_INVISIBLE_SIZE = 150
"""Hundredths of a point."""
_LISTS = (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY)
_MAX_COLUMNS = 200


def read_slides(content: bytes, draft: Draft) -> None:
    """Fill the draft from a checked PPTX archive. Raises `ParseFailed` (TOO_MANY_PAGES)."""
    deck = Presentation(io.BytesIO(content))
    draft.entitle(deck.core_properties.title)
    if len(deck.slides) > draft.limits.pages:
        raise ParseFailed(ParseFailure.TOO_MANY_PAGES)
    reader = _Slides(draft, int(deck.slide_width or 0), int(deck.slide_height or 0))
    for slide in deck.slides:
        draft.begin_page()
        if slide._element.get("show") in ("0", "false"):
            draft.warn(WarningCode.HIDDEN_TEXT_DROPPED)
        else:
            reader.slide(slide)


class _Slides:
    def __init__(self, draft: Draft, width: int, height: int):
        self._draft = draft
        self._width, self._height = width, height

    def slide(self, slide: Any) -> None:
        """One slide and its notes."""
        title = slide.shapes.title
        if title is not None and self._is_seen(title):
            self._draft.heading(2, " ".join(self._paragraph(one)[0] for one in title.text_frame.paragraphs))
        shapes = [one for one in slide.shapes if title is None or one.shape_id != title.shape_id]
        for shape in _in_order(one for one in shapes if self._is_seen(one)):
            self._shape(shape)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            lines = [one.text for one in slide.notes_slide.notes_text_frame.paragraphs]
            if any(map(str.strip, lines)):
                self._draft.paragraph("Notes: " + "\n".join(lines))

    def _is_seen(self, shape: BaseShape) -> bool:
        hidden = attribute(next(elements(shape._element, "cNvPr"), None), "hidden") in ("1", "true")
        if not (hidden or self._is_off(shape)):
            return True
        self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, int(_has_text(shape._element)))
        return False

    def _is_off(self, shape: BaseShape) -> bool:
        if not self._width or any(edge is None for edge in (shape.left, shape.top, shape.width, shape.height)):
            return False
        left, top = int(shape.left), int(shape.top)
        right, bottom = left + int(shape.width), top + int(shape.height)
        return left >= self._width or top >= self._height or right <= 0 or bottom <= 0

    def _shape(self, shape: Any) -> None:
        if local(shape._element) == "grpSp":
            for one in _in_order(shape.shapes):
                self._shape(one)
        elif getattr(shape, "has_table", False):
            self._draft.table(self._rows(shape.table))
        elif getattr(shape, "has_chart", False):
            self._draft.table(_chart(shape.chart))
        elif shape.has_text_frame:
            self._text(shape)
        else:
            self._diagram(shape)

    def _text(self, shape: Any) -> None:
        is_list = shape.is_placeholder and shape.placeholder_format.type in _LISTS
        paragraphs = [self._paragraph(one) for one in shape.text_frame.paragraphs]
        is_list = is_list and sum(bool(text.strip()) for text, _ in paragraphs) > 1
        for text, level in paragraphs:
            if is_list:
                self._draft.item(text, level)
            else:
                self._draft.paragraph(text)

    def _paragraph(self, paragraph: Any) -> tuple[str, int]:
        """(text without what cannot be seen, level)."""
        texts: list[str] = []
        for element in paragraph._p:
            if local(element) == "br":
                texts.append("\n")
            elif _is_hidden(child(element, "rPr")):
                self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, int(_has_text(element)))
            else:
                texts += [one.text or "" for one in elements(element, "t")]
        return "".join(texts), int(paragraph.level)

    def _rows(self, table: Any) -> Iterator[list[str]]:
        """A cell that spans rows is repeated in each of them."""
        above: list[str] = []
        for row in table.rows:
            texts: list[str] = []
            for at, cell in enumerate(list(row.cells)[:_MAX_COLUMNS]):
                spanned = cell.is_spanned and attribute(cell._tc, "vMerge") in ("1", "true") and at < len(above)
                paragraphs = (self._paragraph(one)[0] for one in cell.text_frame.paragraphs)
                texts.append(above[at] if spanned else " ".join(paragraphs))
            above = texts
            yield texts

    def _diagram(self, shape: Any) -> None:
        """The texts of SmartArt stand in a part of their own."""
        ids = next(elements(shape._element, "relIds"), None)
        related = shape.part.rels.get(attribute(ids, "dm")) if ids is not None else None
        if related is None or related.is_external:
            return
        for point in elements(root_of(related.target_part.blob), "pt"):
            self._draft.item("".join(one.text or "" for one in elements(point, "t")))


def _in_order(shapes: Iterable[Any]) -> list[Any]:
    """From top to bottom, and from left to right in a row; what has no place of its own comes first."""
    return sorted(shapes, key=lambda one: (int(one.top or 0) // _ROW_EMU, int(one.left or 0)))


def _is_hidden(properties: etree._Element | None) -> bool:
    size = attribute(properties, "sz")
    if size.isdecimal() and int(size) < _INVISIBLE_SIZE:
        return True
    alpha = next(elements(properties, "alpha"), None)
    return child(properties, "noFill") is not None or attribute(alpha, "val") in ("0", "0%")


def _has_text(element: etree._Element) -> bool:
    return any((one.text or "").strip() for one in elements(element, "t"))


def _chart(chart: Any) -> list[list[str]]:
    """Series by category, as a table."""
    plot = next(iter(chart.plots), None)
    if plot is None:
        return []
    series = list(plot.series)[:_MAX_COLUMNS]
    header = ["", *(str(one.name) for one in series)]
    values = [list(one.values) for one in series]
    rows = [
        [str(category), *(_plain(row[at]) if at < len(row) else "" for row in values)]
        for at, category in enumerate(plot.categories)
    ]
    return [header, *rows]


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.12g}"
