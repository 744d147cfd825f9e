"""Columns of tables in documents: their units, and what a cell says its row is for."""

import re
from dataclasses import replace
from decimal import Decimal

from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.numbers import Amount, Range, amounts_in, ranges_in

_HEADER_UNITS = re.compile(
    r"(?P<day>số ngày|\bdays?\b|\(ngày\))|(?P<hour>số giờ|\bhours?\b|\(giờ\))|(?P<month>số tháng|\bmonths?\b)|"
    r"(?P<year>số năm|thâm niên|\byears?\b)|(?P<time>số lần|\btimes\b|lần)|(?P<VND>\(?(?:đồng|VND|VNĐ)\)?|tiền)|"
    r"(?P<pct>tỷ lệ|tỉ lệ|%)|(?P<person>số người|\bpeople\b)",
    re.IGNORECASE,
)


def with_unit(amount: Amount, column: str) -> Amount:
    """A number without a unit takes that of its column."""
    if amount.unit:
        return amount
    mark = _HEADER_UNITS.search(column)
    unit = (mark.lastgroup or "") if mark else ""
    return replace(amount, unit="%" if unit == "pct" else unit)


def cell_conditions(cell: str, column: str, piece: Piece, *, is_label: bool) -> tuple[Range, ...]:
    """What a cell says the row is for: “Từ đủ 3 năm đến dưới 6 năm”, “0 to 4” under “Years of service”."""
    found = ranges_in(cell, piece.language)
    if not found:
        amounts = amounts_in(cell, piece.language)
        letters = re.sub(r"[^\W\d_]+", "", cell)
        if is_label and len(amounts) == 1 and amounts[0].text.strip() == cell.strip():
            one = with_unit(amounts[0], column)
            return (Range(one.value, one.value, True, True, one.unit),) if one.unit and letters is not None else ()
        nth = re.match(r"(?:từ )?lần (?:thứ )?(\d+)", cell, re.IGNORECASE)
        if nth:
            low = Decimal(nth[1])
            return (Range(low, None if cell.lower().startswith("từ") else low, True, True, "time"),)
        return ()
    unit = next((one.unit for one in found if one.unit), "")
    if unit:
        return tuple(replace(one, unit=one.unit or unit) for one in found)
    mark = _HEADER_UNITS.search(column)
    named = (mark.lastgroup or "") if mark else ""
    return tuple(replace(one, unit=named) for one in found)
