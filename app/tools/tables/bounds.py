"""Numbers that rows are compared with: ``trên 5 triệu``, ``đơn giá bằng 10.000``, ``500 or more``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Language
from app.text.numbers import read_number
from app.tools.tables.columns import Named
from app.tools.tables.query import Filter, NumberIs
from app.tools.tables.sheet import Column
from app.tools.tables.tokens import Tokens
from app.tools.tables.words import AND_BEYOND, COMPARED, EQUAL, longest_first

_SIGNS = {">": ("low", False), ">=": ("low", True), "<": ("high", False), "<=": ("high", True)}
_SCALES = frozenset(["nghin", "ngan", "k", "trieu", "tr", "ty", "ti", "thousand", "million", "billion"])
_EXACTLY = "both"


@dataclass(frozen=True, slots=True)
class AmbiguousNumber:
    """``1.500`` is one number as the asker writes and another as the column is written."""

    written: str
    column: str


def bounds_of(tokens: Tokens, named: Sequence[Named], language: Language) -> list[Filter] | AmbiguousNumber:
    """Filters for every number that is compared with; takes their words."""
    by_column: dict[int, NumberIs] = {}
    numeric = [one for one in named if one.column.is_numeric]
    at = 0
    while at < len(tokens.all):
        found = _bound(tokens, at, numeric, language)
        if found is None:
            at += 1
            continue
        if isinstance(found, AmbiguousNumber):
            return found
        size, column, changes = found
        by_column[column.at] = by_column.get(column.at, NumberIs(column=column.at)).model_copy(update=changes)
        tokens.take(at, size)
        at += size
    return list(by_column.values())


def _bound(
    tokens: Tokens, at: int, numeric: Sequence[Named], language: Language
) -> tuple[int, Column, dict[str, object]] | AmbiguousNumber | None:
    """(words, column, what it bounds) of a comparison that begins here."""
    column = _nearest(numeric, at)
    if column is None or at in tokens.taken:
        return None
    for size, side, included in _comparisons(tokens, at, numeric):
        number = _number(tokens, at + size, language)
        if number is None:
            continue
        value, words = number
        if (mark := column.numbers.mark) and _number(tokens, at + size, "vi" if mark == "," else "en") != number:
            return AmbiguousNumber(tokens.all[at + size].written, column.name)
        beyond, last, is_in = _beyond(tokens, at + size + words) or (0, side, included)
        if last:
            sides = ("low", "high") if last == _EXACTLY else (last,)
            changes: dict[str, object] = dict.fromkeys(sides, value)
            changes |= {f"{one}_included": is_in for one in sides}
            return size + words + beyond, column, changes
    return None


def _comparisons(tokens: Tokens, at: int, numeric: Sequence[Named]) -> Iterator[tuple[int, str, bool]]:
    """(words, side, included) of what compares here; no words and no side before a bare number."""
    for phrase in longest_first(COMPARED):
        if at in tokens.places(phrase):
            yield len(phrase), *COMPARED[phrase]
    if sign := _SIGNS.get(tokens.all[at].text):
        yield 1, *sign
    before = next((one for one in numeric if one.at + one.size == at), None)
    if before is None:
        yield 0, "", True
        return
    for phrase in longest_first(EQUAL):
        if at in tokens.places(phrase):
            yield len(phrase), _EXACTLY, True
    # With a second number to compute with, one right behind a name is its value: ``tổng thành tiền đơn giá 10.000``.
    yield 0, _EXACTLY if len({one.column.at for one in numeric}) > 1 else "", True


def _beyond(tokens: Tokens, at: int) -> tuple[int, str, bool] | None:
    """``trở lên``, ``or less`` behind a number: (words, side, included)."""
    found = (phrase for phrase in longest_first(AND_BEYOND) if at in tokens.places(phrase))
    return next(((len(phrase), AND_BEYOND[phrase], True) for phrase in found), None)


def _number(tokens: Tokens, at: int, language: Language) -> tuple[Decimal, int] | None:
    """A number with its scale; that of the second serves both in ``từ 5 đến 10 triệu``."""
    if at >= len(tokens.all) or not tokens.all[at].text[:1].isdigit() or at in tokens.taken:
        return None
    written, words = tokens.all[at].written, 1
    after = tokens.all[at + 1].text if at + 1 < len(tokens.all) else ""
    scale = tokens.all[at + 1].written if after in _SCALES else ""
    if not scale and after in ("den", "to", "-") and at + 3 < len(tokens.all) and tokens.all[at + 3].text in _SCALES:
        written = f"{written} {tokens.all[at + 3].written}"
    elif scale:
        written, words = f"{written} {scale}", 2
    value = read_number(written.rstrip("%"), language)
    return None if value is None else (value, words)


def _nearest(numeric: Sequence[Named], at: int) -> Column | None:
    """The numeric column that was named last before a comparison, else the only one there is."""
    before = [one for one in numeric if one.at < at]
    if before:
        return max(before, key=lambda one: one.at).column
    return numeric[0].column if len(numeric) == 1 else None
