"""What a candidate gives, computed in numpy, and whether it is the right answer."""

import calendar
import re
from collections import Counter, defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from app.tables.sheet import Column, Sheet
from training.tables.candidates import Candidate


class Judge:
    """Compares results of candidates with the right one."""

    def __init__(self, sheet: Sheet):
        self.sheet = sheet
        self.columns = {one.at: _floats(one) for one in sheet.columns}
        self.texts = {one.at: [_cell(v) for v in one.values] for one in sheet.columns}
        self.rowcells = [
            Counter(cell for c in sheet.columns for cell in {self.texts[c.at][r], _cell(sheet.cell(r + 1, c))})
            for r in range(len(sheet.kept))
        ]
        self._groups: dict[tuple[int, str], list[str | None]] = {}

    def is_right(self, one: Candidate, result: list[list[Any]], sql: str) -> bool:
        """Whether a candidate gives the right result."""
        shape, mask = one.shape, one.conditions.mask
        upper = sql.upper()
        flat = [value for row in result for value in row]
        is_number = len(flat) == 1 and isinstance(flat[0], int | float)
        if shape.how in ("share", "difference"):
            got = self.sides(one)
            return is_number and got is not None and _same(abs(got), abs(float(flat[0])))
        if shape.group is not None and shape.how != "distinct":
            return self._groups_right(one, result, upper)
        if shape.how == "rows":
            return self._rows_right(one, result, upper, is_number)
        if not is_number or "GROUP BY" in upper:
            return False
        is_count = "COUNT(" in upper
        if shape.how == "count":
            return is_count and int(mask.sum()) == flat[0]
        if shape.how == "distinct":
            assert shape.group is not None
            return is_count and len({self.texts[shape.group.at][r] for r in np.flatnonzero(mask)} - {None}) == flat[0]
        if is_count:
            return False
        assert shape.measure is not None
        values = self.columns[shape.measure.at][mask]
        values = values[~np.isnan(values)]
        if not len(values):
            return False
        return _same(float(values.sum() if shape.how == "sum" else values.mean()), float(flat[0]))

    def sides(self, one: Candidate) -> float | None:
        """The share or the difference a candidate gives."""
        shape = one.shape
        masks = [one.base & side.mask for side in one.sides]
        if shape.how == "share":
            masks.append(one.base)
        got = []
        for mask in masks:
            if shape.of == "count":
                got.append(float(mask.sum()))
                continue
            assert shape.measure is not None
            values = self.columns[shape.measure.at][mask]
            values = values[~np.isnan(values)]
            if not len(values):
                return None
            got.append(float(values.sum() if shape.of == "sum" else values.mean()))
        if shape.how == "share":
            return 100 * got[0] / got[-1] if got[-1] else None
        return got[0] - got[1]

    def rows(self, one: Candidate) -> list[int]:
        """The rows a candidate gives, in order."""
        shape = one.shape
        at = np.flatnonzero(one.conditions.mask)
        if not shape.order:
            return list(at)
        assert shape.measure is not None
        values = self.columns[shape.measure.at]
        at = np.array([r for r in at if not np.isnan(values[r])], dtype=int)
        if not len(at):
            return []
        order = sorted(at, key=lambda r: (-values[r] if shape.order == "most" else values[r], r))
        if shape.limit:
            return order[: shape.limit]
        return [r for r in order if values[r] == values[order[0]]]

    def _rows_right(self, one: Candidate, result: list[list[Any]], upper: str, is_number: bool) -> bool:
        shape = one.shape
        rows = self.rows(one)
        if not rows or "GROUP BY" in upper or "COUNT(" in upper:
            return False
        aggregates = ("SUM(", "AVG(", "100.0", "MAX(", "MIN(", ")-(")
        if any(mark in upper for mark in aggregates):
            is_end = shape.order and ("MAX(" in upper or "MIN(" in upper) and not shape.limit and '"-"' not in upper
            if len(result) != 1 or not is_end:
                return False
            assert shape.measure is not None
            want = [_cell(value) for value in result[0]]
            return all(w in self.rowcells[rows[0]] for w in want) and self.texts[shape.measure.at][rows[0]] in want
        wanted = [Counter(_cell(value) for value in row) for row in result]
        if "DISTINCT" in upper:
            have = {tuple(sorted(w)) for w in wanted}
            cols = [
                c.at
                for c in self.sheet.columns
                if all(self.texts[c.at][r] in {x for w in wanted for x in w} for r in rows)
            ]
            return any({(self.texts[c][r],) for r in rows} == have for c in cols)
        if len(rows) != len(wanted):
            return False
        left = list(rows)
        for want in wanted:
            hit = next((r for r in left if all(self.rowcells[r][cell] >= n for cell, n in want.items())), None)
            if hit is None:
                return False
            left.remove(hit)
        return True

    def groups(self, one: Candidate) -> list[tuple[str, float]]:
        """The groups a candidate gives, with their figures."""
        shape, mask = one.shape, one.conditions.mask
        assert shape.group is not None
        keys = self.keys(shape.group, shape.grain)
        held: dict[str, list[float]] = defaultdict(list)
        values = self.columns[shape.measure.at] if shape.measure else np.ones(len(mask))
        for r in np.flatnonzero(mask):
            if keys[r] is not None:
                held[keys[r]]
                if not np.isnan(values[r]):
                    held[keys[r]].append(values[r])
        got = [(k, float(np.mean(v)) if shape.how == "average" else float(np.sum(v))) for k, v in held.items() if v]
        if not shape.order:
            return got
        got.sort(key=lambda pair: -pair[1] if shape.order == "most" else pair[1])
        if shape.limit:
            return got[: shape.limit]
        return [pair for pair in got if _same(pair[1], got[0][1])]

    def _groups_right(self, one: Candidate, result: list[list[Any]], upper: str) -> bool:
        if "GROUP BY" not in upper:
            # “max of sums” and the like
            return False
        got = self.groups(one)
        if len(got) != len(result) or not got:
            return False
        if len(got) == 1 and not one.shape.order and "LIMIT" in upper:
            return False
        left = list(got)
        for row in result:
            want = [_cell(value) for value in row]
            hit = next(
                (
                    pair
                    for pair in left
                    if all(_fits(w, v, pair, one.shape.grain) for w, v in zip(want, row, strict=True))
                ),
                None,
            )
            if hit is None:
                return False
            left.remove(hit)
        return True

    def keys(self, column: Column, grain: str) -> list[str | None]:
        """The group of every row."""
        if (column.at, grain) not in self._groups:
            keys = self.texts[column.at]
            if column.kind in ("month", "quarter", "year"):
                keys = [_cell(self.sheet.cell(r + 1, column)) for r in range(len(keys))]
            if grain:
                keys = [None if v is None else _grained(v, grain) for v in column.values]  # type: ignore[arg-type]
            self._groups[column.at, grain] = keys
        return self._groups[column.at, grain]


def _fits(want: str | None, value: Any, pair: tuple[str, float], grain: str) -> bool:
    if want == pair[0]:
        return True
    if isinstance(value, int | float) and _same(float(value), pair[1]):
        return True
    if want is None or isinstance(value, int | float):
        return False
    return _month(str(want)) == _month(pair[0]) != ""


def _month(text: str) -> str:
    """The number of the month a text names: ``2025-03``, ``2025-03-01``, ``03/2025``, “tháng 3”, “March”."""
    if match := re.fullmatch(r"(\d{4})-(\d{2})(?:-01)?", text):
        return f"{match[1]}-{match[2]}"[-2:]
    if match := re.fullmatch(r"(\d{2})/\d{4}|tháng (\d{1,2})|(\d{1,2})", text):
        return (match[1] or match[2] or match[3]).zfill(2)
    names = [calendar.month_name[n].lower() for n in range(13)]
    return f"{names.index(text):02d}" if text in names and text else ""


def _grained(day: date, grain: str) -> str:
    return {"month": f"{day:%Y-%m}", "year": f"{day:%Y}", "quarter": f"{day:%Y}-Q{(day.month + 2) // 3}"}[grain]


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= max(1e-6 * abs(b), 6e-3 if abs(b) > 10 else 1e-4)


def _floats(column: Column) -> np.ndarray:
    return np.array(
        [
            np.nan if v is None or isinstance(v, str) else float(v) if isinstance(v, Decimal) else v.toordinal()
            for v in column.values
        ]
    )


def _cell(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, Decimal | float | int) and not isinstance(value, bool):
        return f"{float(value):.4f}".rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    return " ".join(str(value).split()).casefold()
