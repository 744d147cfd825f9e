"""The times a question to a table names, and the columns that tell them."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from app.tools.tables.query import DaysIn, Filter, PeriodIs
from app.tools.tables.sheet import Column, Sheet
from app.tools.tables.tokens import Tokens

Kind = Literal["quarter", "month", "year"]
_LETTERS: dict[str, Kind] = {"q": "quarter", "m": "month", "y": "year"}
_PERIOD = re.compile(r"(?P<kind>[qmy])(?P<number>\d{1,4})")
_TO = frozenset({"den", "toi", "to", "until", "through"})
_DATE = re.compile(r"\d{1,2}[/\-]\d{1,2}(?:[/\-]\d{2,4})?|\d{4}-\d{1,2}-\d{1,2}")
_FROM_WORDS = frozenset({"tu", "from", "between"})
_FROM = frozenset({"tu", "from", "between", "since", "sau", "after", "truoc", "before"})
_RELATIVE = """
    thang nay, thang truoc, thang roi, quy nay, quy truoc, quy roi, nam nay, nam ngoai, nam truoc, nam roi,
    hom nay, hom qua, tuan nay, tuan truoc, tuan roi, this month, last month, this quarter, last quarter, this
    year, last year, today, yesterday, this week, last week
"""
_RELATIVE_PHRASES = tuple(tuple(phrase.split()) for phrase in _RELATIVE.split(","))


@dataclass(frozen=True, slots=True)
class PeriodTrouble:
    """Why the time of a question cannot be found in the table."""

    kind: Literal["no_period", "years", "ambiguous"]
    told: tuple[str, ...]


def period_filters(
    sheet: Sheet, tokens: Tokens, named: Sequence[Column], days: Callable[[str], tuple[date | None, date | None] | None]
) -> tuple[Filter, ...] | PeriodTrouble:
    """Filters for quarters, months and years, and for days; takes their words. None named, none given."""
    wanted = _wanted(tokens)
    spans = list(_spans(tokens, days))
    if not wanted and not spans:
        return ()
    found: list[Filter] = []
    for since, until, said in spans:
        column = _column(sheet, named, _tells_days, said)
        if isinstance(column, PeriodTrouble):
            return column
        found.append(DaysIn(column=column.at, since=since, until=until))
    parts = _parts(sheet, named, wanted)
    if isinstance(parts, PeriodTrouble):
        return parts
    filters = (*found, *parts)
    return _one_year(sheet, filters) if wanted and "year" not in wanted and not spans else filters


def _wanted(tokens: Tokens) -> dict[Kind, tuple[int, ...]]:
    """Numbers of the quarters, months and years that are named; ``tháng 1 đến tháng 3`` is three months."""
    found: dict[Kind, list[int]] = {}
    last: tuple[str, int, int] | None = None
    for at, token in enumerate(tokens.all):
        match = _PERIOD.fullmatch(token.text) if at not in tokens.taken else None
        if match is None:
            continue
        kind, number = match["kind"], int(match["number"])
        numbers = [number]
        if last and last[0] == kind and last[2] + 2 == at and tokens.all[at - 1].text in _TO and last[1] < number:
            numbers = list(range(last[1] + 1, number + 1))
            tokens.take(at - 1, 1)
            if at > 2 and tokens.all[at - 3].text in _FROM_WORDS:
                tokens.take(at - 3, 1)
        found.setdefault(_LETTERS[kind], []).extend(numbers)
        tokens.take(at, 1)
        last = kind, number, at
    return {kind: tuple(dict.fromkeys(numbers)) for kind, numbers in found.items()}


def _spans(
    tokens: Tokens, days: Callable[[str], tuple[date | None, date | None] | None]
) -> Iterator[tuple[date | None, date | None, str]]:
    for start, size in _phrases(tokens):
        words = tokens.all[start : start + size]
        found = days(" ".join(token.text for token in words))
        if found is not None:
            tokens.take(start, size)
            yield *found, " ".join(token.written for token in words)


def relative_places(tokens: Tokens) -> frozenset[int]:
    """The places of ``quý này``, ``last month``: their first word names no column."""
    found = ((at, len(phrase)) for phrase in _RELATIVE_PHRASES for at in tokens.places(phrase))
    return frozenset(at + step for at, size in found for step in range(size))


def _phrases(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Where days are named: ``từ 1/4/2026 đến 30/6/2026``, ``trước 1/5``, ``tháng này``."""
    dates = [at for at, t in enumerate(tokens.all) if at not in tokens.taken and _DATE.fullmatch(t.text)]
    while dates:
        first = dates.pop(0)
        end = first
        if dates and tokens.all[dates[0] - 1].text in _TO | {"and", "ngay"} and dates[0] - first <= 3:
            end = dates.pop(0)
        start = first
        while start and tokens.all[start - 1].text in _FROM | {"ngay", "day"}:
            start -= 1
        yield start, end - start + 1
    for phrase in _RELATIVE_PHRASES:
        for at in tokens.places(phrase):
            yield at, len(phrase)


def _parts(
    sheet: Sheet, named: Sequence[Column], wanted: dict[Kind, tuple[int, ...]]
) -> tuple[PeriodIs, ...] | PeriodTrouble:
    """One filter a column: year and quarter of one column where it tells both."""
    by_column: dict[int, dict[str, tuple[int, ...]]] = {}
    wanted = _in_quarters(sheet, wanted)
    for kind in ("quarter", "month", "year"):
        if kind not in wanted:
            continue
        tells = _TELLS[kind]
        preferred = [sheet.columns[at] for at in by_column if tells(sheet.columns[at])] or list(named)
        column = _column(sheet, preferred, tells, kind, _states(kind))
        if isinstance(column, PeriodTrouble):
            return column
        by_column.setdefault(column.at, {})[f"{kind}s"] = wanted[kind]
    return tuple(PeriodIs(column=at, **parts) for at, parts in by_column.items())


def _in_quarters(sheet: Sheet, wanted: dict[Kind, tuple[int, ...]]) -> dict[Kind, tuple[int, ...]]:
    """Whole quarters for their months where no column tells months: ``6 tháng đầu năm`` are two."""
    months = set(wanted.get("month", ()))
    quarters = tuple(dict.fromkeys((month - 1) // 3 + 1 for month in sorted(months)))
    is_whole = len(months) == 3 * len(quarters) and "quarter" not in wanted
    if not months or not is_whole or any(_TELLS["month"](column) for column in sheet.columns):
        return wanted
    rest: dict[Kind, tuple[int, ...]] = {kind: numbers for kind, numbers in wanted.items() if kind != "month"}
    return {"quarter": quarters, **rest}


def _column(
    sheet: Sheet,
    preferred: Sequence[Column],
    tells: Callable[[Column], bool],
    said: str,
    states: Callable[[Column], bool] = lambda column: True,
) -> Column | PeriodTrouble:
    """The one column for a time: a preferred one, else the one that states it, else the one that it follows from."""
    able = [column for column in sheet.columns if tells(column)]
    chosen = [column for column in able if column in preferred] or able
    if len(chosen) > 1:
        chosen = [column for column in chosen if states(column)] or chosen
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        return PeriodTrouble("ambiguous", tuple(column.name for column in chosen))
    return PeriodTrouble("no_period", (said, *sheet.names))


def _tells_days(column: Column) -> bool:
    return column.is_time and any(when and when.year and when.month for when in column.whens)


_TELLS: dict[Kind, Callable[[Column], bool]] = {
    "quarter": lambda column: column.is_time and any(when and when.quarter_of for when in column.whens),
    "month": lambda column: column.is_time and any(when and when.month for when in column.whens),
    "year": lambda column: column.is_time and any(when and when.year for when in column.whens),
}


def _states(kind: Kind) -> Callable[[Column], bool]:
    """Whether a column says just that: quarters in ``quý``, rather than months or days they follow from."""
    finer = {"quarter": ("month", "day"), "month": ("day",), "year": ("quarter", "month", "day")}[kind]

    def states(column: Column) -> bool:
        return not any(when and any(getattr(when, one) is not None for one in finer) for when in column.whens)

    return states


def _one_year(sheet: Sheet, filters: tuple[Filter, ...]) -> tuple[Filter, ...] | PeriodTrouble:
    """The second quarters of several years are no one quarter: the year must be named."""
    years: set[int] = set()
    for one in filters:
        if isinstance(one, PeriodIs):
            matching = [w for w in sheet.columns[one.column].whens if w is not None and one.holds(w)]
            years |= {when.year for when in matching if when.year is not None}
    if not years:
        apart = [c for c in sheet.columns if c.is_time and any(w and w.year and not w.month for w in c.whens)]
        years = {when.year for column in apart for when in column.whens if when and when.year}
    return filters if len(years) < 2 else PeriodTrouble("years", tuple(map(str, sorted(years))))
