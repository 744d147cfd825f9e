"""XLSX: one Markdown table a sheet, values as they are shown. Hidden sheets, rows and columns stay out."""

import io
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from datetime import time as time_of_day
from typing import Any

from openpyxl import load_workbook
from openpyxl.worksheet._reader import WorkSheetParser

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


def read_sheets(content: bytes, draft: Draft) -> None:
    """Fill the draft from a checked XLSX archive."""
    book = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    draft.entitle(book.properties.title)
    for sheet in book.worksheets:
        draft.begin_page()
        if sheet.sheet_state != "visible":
            draft.warn(WarningCode.HIDDEN_TEXT_DROPPED)
            continue
        draft.heading(2, sheet.title)
        _Sheet(draft, sheet).read()


class _Sheet:
    """Cuts one sheet into tables at its empty rows, and keeps within the limits."""

    def __init__(self, draft: Draft, sheet: Any):
        self._draft, self._sheet = draft, sheet
        self._hidden_columns: set[int] = set()
        self._dropped = 0
        self._is_cut = False
        self._cells: list[list[Cell]] = []
        """Of the rows since the last empty one, where tables are kept."""
        self._units: dict[int, str] = {}

    def read(self) -> None:
        """Every visible table of the sheet."""
        block: list[list[str]] = []
        for row in self._rows():
            if any(row):
                block.append(row)
            elif block:
                self._write(block)
                block = []
        self._write(block)
        self._draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, self._dropped)
        self._draft.warn(WarningCode.TRUNCATED_SHEETS, int(self._is_cut))

    def _rows(self) -> Iterator[list[str]]:
        limits = self._draft.limits
        room = self._draft.room - _SPARE_CHARS
        for at, (number, cells, is_hidden) in enumerate(self._numbered(), 1):
            if is_hidden:
                self._dropped += any(cell.value is not None for cell in cells)
                continue
            self._is_cut |= any(cell.value is not None for cell in cells[limits.sheet_columns :])
            row = [self._visible(cell) for cell in cells[: limits.sheet_columns]]
            if limits.table_cells and any(row):
                self._cells.append(
                    [self._raw_cell(at, cell, text) for at, (cell, text) in enumerate(zip(cells, row, strict=False))]
                )
            room -= sum(map(len, row)) + 3 * len(row) + 3
            if number > limits.sheet_rows or room < 0 or (at % _ROWS_BETWEEN_LOOKS == 0 and self._is_late()):
                self._is_cut = True
                return
            yield row

    def _numbered(self) -> Iterator[tuple[int, Sequence[Any], bool]]:
        """(row number, cells, whether the row is hidden) in one pass; one empty row stands for all that are missing."""
        sheet, book, last = self._sheet, self._sheet.parent, 0
        formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
        with sheet._get_source() as source:
            parser = WorkSheetParser(source, sheet._shared_strings, data_only=True, epoch=book.epoch, **formats)
            for number, cells in parser.parse():
                if not last:
                    self._hidden_columns = _hidden_columns(parser.column_dimensions.values())
                shown = parser.row_dimensions.pop(str(number), {})
                if number > last + 1:
                    yield number - 1, (), False
                if number > last:
                    last = number
                    yield number, sheet._get_row(cells), shown.get("hidden") in _HIDDEN or shown.get("ht") == "0"

    def _is_late(self) -> bool:
        return time.process_time() > self._draft.limits.cpu_seconds * _CPU_SHARE

    def _visible(self, cell: Any) -> str:
        if cell.value is None:
            return ""
        if cell.column in self._hidden_columns:
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
            self._draft.keep_table(self._sheet.title, self._cells, units=self._units, is_cut=self._is_cut)
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


def _hidden_columns(columns: Iterable[Mapping[str, str]]) -> set[int]:
    """Those that cannot be seen, counted from 1."""
    hidden = [one for one in columns if one.get("hidden") in _HIDDEN or one.get("width") == "0"]
    return {at for one in hidden for at in range(int(one["min"]), min(int(one["max"]), 16_384) + 1)}
