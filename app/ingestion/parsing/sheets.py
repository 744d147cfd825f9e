"""XLSX: one Markdown table a sheet, values as they are shown. Hidden sheets, rows and columns stay out."""

import io
import math
import re
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any

from lxml import etree
from openpyxl import load_workbook

from app.ingestion.parsing.archive import Parts, attribute, elements
from app.ingestion.parsing.draft import Cell, Draft
from app.ingestion.parsing.outcome import WarningCode

_HIDDEN = ("1", "true")
_DECIMALS = re.compile(r"[0#]\.(0+)")
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_CURRENCIES = {
    "đ": ("₫", "đ", "VND", "vnđ", "[$-42A]"), "$": ("[$$", '"$"', "\\$", "USD"), "€": ("€", "EUR"), "£": ("£", "GBP"),
}  # fmt: skip
_SPARE_CHARS = 1_000
_CPU_SHARE, _ROWS_BETWEEN_LOOKS = 0.7, 200
"""Of the CPU time: then what was read so far becomes the text."""


def read_sheets(archive: io.BytesIO, draft: Draft) -> None:
    """Fill the draft from a rebuilt XLSX archive."""
    parts = Parts(archive)
    draft.title = parts.title()
    paths = _paths(parts)
    archive.seek(0)
    book = load_workbook(archive, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        draft.begin_page()
        if sheet.sheet_state != "visible":
            draft.warn(WarningCode.HIDDEN_TEXT_DROPPED)
            continue
        sheet.reset_dimensions()
        hidden = _Hidden(parts, paths.get(sheet.title, ""))
        draft.heading(2, sheet.title)
        _Sheet(draft, hidden).read(sheet)


class _Hidden:
    """Which rows and columns of a sheet cannot be seen; both counted from 1."""

    def __init__(self, parts: Parts, path: str):
        self.rows: set[int] = set()
        self.columns: set[int] = set()
        source = parts.open(path) if path else io.BytesIO(b"<none/>")
        found = etree.iterparse(
            source, tag=("{*}row", "{*}col"), resolve_entities=False, no_network=True, remove_comments=True
        )
        number = 0
        for _, element in found:
            if str(element.tag).endswith("}col"):
                self._column(element)
            else:
                number = _whole(attribute(element, "r"), number + 1)
                if attribute(element, "hidden") in _HIDDEN or attribute(element, "ht") == "0":
                    self.rows.add(number)
            element.clear()
            while element.getprevious() is not None and (parent := element.getparent()) is not None:
                del parent[0]

    def _column(self, element: etree._Element) -> None:
        if attribute(element, "hidden") in _HIDDEN or attribute(element, "width") == "0":
            first, last = _whole(attribute(element, "min"), 1), _whole(attribute(element, "max"), 1)
            self.columns.update(range(first, min(last, 16_384) + 1))


class _Sheet:
    """Cuts one sheet into tables at its empty rows, and keeps within the limits."""

    def __init__(self, draft: Draft, hidden: _Hidden):
        self._draft = draft
        self._hidden = hidden
        self._dropped = 0
        self._is_cut = False
        self._cells: list[list[Cell]] = []
        """Of the rows since the last empty one, where tables are kept."""
        self._units: dict[int, str] = {}
        self._name = ""

    def read(self, sheet: Any) -> None:
        """Every visible table of the sheet."""
        block: list[list[str]] = []
        self._name = str(sheet.title)
        for row in self._rows(sheet):
            if any(row):
                block.append(row)
            elif block:
                self._write(block)
                block = []
        self._write(block)
        self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, self._dropped)
        self._draft.warn(WarningCode.TRUNCATED_SHEETS, int(self._is_cut))

    def _rows(self, sheet: Any) -> Iterator[list[str]]:
        limits = self._draft.limits
        room = self._draft.room - _SPARE_CHARS
        for number, cells in enumerate(sheet.iter_rows(), 1):
            if number in self._hidden.rows:
                self._dropped += any(cell.value is not None for cell in cells)
                continue
            self._is_cut |= any(cell.value is not None for cell in cells[limits.sheet_columns :])
            row = [self._visible(cell) for cell in cells[: limits.sheet_columns]]
            if self._draft.collected.is_wanted and any(row):
                self._cells.append(
                    [self._raw_cell(at, cell, text) for at, (cell, text) in enumerate(zip(cells, row, strict=False))]
                )
            room -= sum(map(len, row)) + 3 * len(row) + 3
            if number > limits.sheet_rows or room < 0 or (number % _ROWS_BETWEEN_LOOKS == 0 and self._is_late()):
                self._is_cut = True
                return
            yield row

    def _is_late(self) -> bool:
        return time.process_time() > self._draft.limits.cpu_seconds * _CPU_SHARE

    def _visible(self, cell: Any) -> str:
        if cell.value is None:
            return ""
        if cell.column in self._hidden.columns:
            self._dropped += 1
            return ""
        return format_cell(cell.value, cell.number_format or "")

    def _raw_cell(self, at: int, cell: Any, text: str) -> Cell:
        """A number as it is, not as it is rounded for showing; its unit is its column's."""
        value = cell.value
        if not text or isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return text
        unit = unit_of(cell.number_format or "")
        if unit:
            self._units[at] = unit
        return plain_number(value * 100 if unit == "%" else value)

    def _write(self, block: list[list[str]]) -> None:
        """Rows with a single cell in front of a table are its heading lines."""
        if self._cells:
            self._draft.collected.add(self._name, self._draft.page, self._cells, units=self._units, is_cut=self._is_cut)
            self._cells, self._units = [], {}
        while block and sum(map(bool, block[0])) == 1 and len(block) > 1:
            self._draft.paragraph("".join(block.pop(0)))
        self._draft.table(block)


def format_cell(value: object, number_format: str) -> str:
    """A cell's value about as the program shows it: 0.15 under ``0%`` is 15%, dates are ISO."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time_of_day() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time_of_day):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    if isinstance(value, int | float):
        return _number(value, _LITERAL.sub("", number_format.partition(";")[0]))
    return str(value)


def _number(value: int | float, pattern: str) -> str:
    decimals = len(found[1]) if (found := _DECIMALS.search(pattern)) else 0
    if "%" in pattern:
        return f"{value * 100:.{decimals}f}%"
    if "#,##0" in pattern or "0,0" in pattern:
        return f"{value:,.{decimals}f}"
    return f"{value:.{decimals}f}" if found else f"{value:.15g}"


def unit_of(number_format: str) -> str:
    """What a format writes beside a number: ``%`` or a currency."""
    shown_part = number_format.partition(";")[0]
    if "%" in _LITERAL.sub("", shown_part):
        return "%"
    return next((unit for unit, signs in _CURRENCIES.items() if any(sign in shown_part for sign in signs)), "")


def plain_number(value: int | float) -> int | float:
    """The fifteen digits that spreadsheets mean: 0.30000000000000004 is 0.3."""
    return value if isinstance(value, int) else float(f"{value:.15g}")


def _paths(parts: Parts) -> dict[str, str]:
    """Where each sheet's part is."""
    main = parts.main()
    targets = {one.id: one.target for one in parts.related(main)}
    sheets: Iterable[etree._Element] = elements(parts.root(main), "sheet")
    return {attribute(one, "name"): targets.get(_relation(one), "") for one in sheets}


def _relation(sheet: etree._Element) -> str:
    return next((str(value) for key, value in sheet.items() if str(key).endswith("}id")), "")


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise
