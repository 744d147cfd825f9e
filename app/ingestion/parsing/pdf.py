"""A whole PDF: page after page within time and limits, then one text."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode
from app.ingestion.parsing.pdf_layout import Block, blocks_of, key, sizes_of, without_repeated
from app.ingestion.parsing.pdf_marks import Box, marks_of
from app.ingestion.parsing.pdf_page import Line, PageText, Table, fill_grid, grids_of, is_garbled

_CPU_SHARE = 0.7
"""Of the CPU time: then what was read so far becomes the text."""
_SCAN_SHARE = 0.5
"""Of a page: a picture this large is the page."""
_MAX_OUTLINE, _MAX_OUTLINE_DEPTH = 5_000, 6
_MARK = b"%PDF-"
_SAME_COLUMN = 3.0


class ReadPage(NamedTuple):
    """What stands on a page."""

    lines: list[Line]
    tables: list[Table]


def read_pdf(content: bytes, draft: Draft) -> None:
    """Fill the draft from the bytes of a PDF. Raises `ParseFailed` and `pypdfium2.PdfiumError`."""
    try:
        pdf = pypdfium2.PdfDocument(content[max(content.find(_MARK), 0) :])
    except pypdfium2.PdfiumError as error:
        is_locked = getattr(error, "err_code", None) in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise ParseFailed(ParseFailure.ENCRYPTED if is_locked else ParseFailure.DAMAGED, "PDFium") from error
    count = len(pdf)
    if count > draft.limits.pages:
        raise ParseFailed(ParseFailure.TOO_MANY_PAGES)
    draft.entitle(pdf.get_metadata_value("Title"))
    reader = _Reader(draft)
    pages = list(reader.pages(pdf, count))
    if reader.unreadable == count:
        raise ParseFailed(ParseFailure.DAMAGED, "no page can be loaded")
    write_pages(pages, _outline(pdf), draft)


class _Reader:
    def __init__(self, draft: Draft):
        self._draft = draft
        self.unreadable = 0
        self._chars = 0

    def pages(self, pdf: Any, count: int) -> Iterator[ReadPage]:
        """Pages in order; an empty one for each that cannot be read."""
        for at in range(count):
            if time.process_time() > self._draft.limits.cpu_seconds * _CPU_SHARE:
                self._draft.warn(WarningCode.TRUNCATED_PAGES, count - at)
                return
            try:
                page = pdf[at]
                read = self._page(page)
                page.close()
            except pypdfium2.PdfiumError:
                self.unreadable += 1
                self._draft.warn(WarningCode.PAGES_UNREADABLE)
                read = ReadPage([], [])
            yield read

    def _page(self, page: Any) -> ReadPage:
        box = Box(*page.get_bbox())
        marks = marks_of(page, box)
        text = PageText(page)
        if marks.hidden:
            text = self._without_hidden(page, text, marks.hidden, marks.picture_share)
        shown = text.text()
        self._chars += len(shown)
        if self._chars > self._draft.limits.output_chars:
            raise ParseFailed(ParseFailure.TOO_MUCH_TEXT)
        is_picture = not any(map(str.isalnum, shown)) and marks.picture_share > 0.05
        if self._draft.recognise and (is_picture or (shown.strip() and is_garbled(shown))):
            return ReadPage(self._draft.recognise(page), [])
        if is_picture:
            self._draft.warn(WarningCode.PAGES_WITHOUT_TEXT)
        elif shown.strip() and is_garbled(shown):
            self._draft.warn(WarningCode.PAGES_UNREADABLE)
            shown = ""
        lines = list(text.lines()) if shown.strip() else []
        filled = (fill_grid(grid, lines, text) for grid in grids_of(marks.rules))
        tables = [table for table in filled if table is not None]
        text.close()
        return ReadPage(lines, tables)

    def _without_hidden(self, page: Any, text: PageText, hidden: list[Any], picture_share: float) -> PageText:
        """The page's text without what cannot be seen, unless that is the recognised text of a scan."""
        pieces = [text.of_object(handle).strip() for handle in hidden]
        seen = _letters(text.text()) - sum(map(_letters, pieces))
        if picture_share > _SCAN_SHARE and seen * 5 < sum(map(_letters, pieces)):
            self._draft.warn(WarningCode.TEXT_UNDER_IMAGE)
            return text
        self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, sum(map(bool, pieces)))
        text.close()
        for handle in hidden:
            pdfium.FPDFPageObj_SetIsActive(handle, False)
        return PageText(page)


def write_pages(pages: Sequence[ReadPage], outline: Mapping[str, int], draft: Draft) -> None:
    """Make one text of pages in order; `outline` has levels of headings by `pdf_layout.key`."""
    kept = without_repeated([page.lines for page in pages])
    sizes = sizes_of(kept)
    last: Block | None = None
    for page, lines in zip(pages, kept, strict=True):
        draft.begin_page()
        blocks = list(blocks_of(lines, page.tables, sizes, outline))
        for at, block in enumerate(blocks):
            _add(block, last if at == 0 else None, draft)
            last = block


def _add(block: Block, before: Block | None, draft: Draft) -> None:
    """`before`: the last block of the page before, when this is the first of its page."""
    if block.kind == "heading":
        draft.heading(block.level, block.text)
    elif block.kind == "item":
        draft.item(block.text, mark=block.mark)
    elif block.table is None:
        goes_on = before is not None and before.is_open and before.kind in ("paragraph", "item")
        if goes_on and not block.text[:1].isupper():
            draft.continue_paragraph(block.text)
        else:
            draft.paragraph(block.text)
    elif before is not None and before.table is not None and _same_columns(before.table, block.table):
        repeats = block.table.rows[0] == before.table.rows[0]
        draft.continue_table(block.table.rows[1:] if repeats else block.table.rows)
    else:
        draft.table(block.table.rows)


def _same_columns(one: Table, other: Table) -> bool:
    if len(one.columns) != len(other.columns):
        return False
    return all(abs(left - right) <= _SAME_COLUMN for left, right in zip(one.columns, other.columns, strict=True))


def _outline(pdf: Any) -> dict[str, int]:
    """Levels of headings by the bookmarks of the document."""
    found: dict[str, int] = {}
    for mark in pdf.get_toc(max_depth=_MAX_OUTLINE_DEPTH):
        if len(found) >= _MAX_OUTLINE:
            break
        name = key(mark.get_title() or "")
        if len(name) > 2:
            found.setdefault(name, mark.level + 1)
    return found


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
