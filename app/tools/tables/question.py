"""A question in words as a `TableQuery`, by rule. Every word that could matter must be understood; else it is refused.

A total over the wrong rows looks like a right one: words that name no column, value or time of the table end the
reading with `Unclear`, which says what the table has.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.domain.knowledge import Language
from app.tools.tables.bounds import AmbiguousNumber
from app.tools.tables.columns import Named, named_columns
from app.tools.tables.cues import SameWords, cues_of, several_operations, take_rows
from app.tools.tables.filters import (
    AmbiguousValue,
    Asked,
    ValuePhrases,
    filters_of,
    places_of_values,
    said_of,
    value_phrases,
)
from app.tools.tables.periods import PeriodTrouble, relative_places
from app.tools.tables.query import Aggregate, Filter, GroupUnit, NumberIs, TableQuery
from app.tools.tables.sheet import Column, Sheet
from app.tools.tables.tokens import Tokens, read_tokens
from app.tools.tables.words import (
    EACH,
    ENGLISH_ONLY,
    HARMLESS,
    MONTH_UNIT,
    NEGATIONS,
    QUARTER_UNIT,
    RECORDS,
    ROWS,
    SPELT_HARMLESS,
    SPELT_RECORDS,
    WHICH_AFTER,
    WHICH_BEFORE,
    WHO,
    YEAR_UNIT,
    is_vietnamese,
    longest_first,
)

Reason = Literal[
    "no_column", "ambiguous", "value", "number", "operations", "not_numbers", "no_period", "years", "words"
]
_MOST_TOP = 100
_UNITS: tuple[tuple[GroupUnit, frozenset[str]], ...] = (
    ("month", MONTH_UNIT), ("quarter", QUARTER_UNIT), ("year", YEAR_UNIT),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why a question to a table is not answered."""

    reason: Reason
    told: tuple[str, ...] = ()
    """Columns, years, words or operations it is about; for ``value`` the value before its columns."""
    is_meant: bool = True
    """Whether the question is one to this table at all, as far as can be told."""


@dataclass
class _Reading:
    sheet: Sheet
    tokens: Tokens
    cues: dict[str, tuple[int, int]] = field(default_factory=dict)
    top: int | None = None
    asks_row: bool = False
    named: list[Named] = field(default_factory=list)
    ambiguous: list[Column] = field(default_factory=list)
    values: ValuePhrases = field(default_factory=dict)


def read_question(sheet: Sheet, question: str, asked: Asked) -> TableQuery | Unclear | None:
    """What `question` asks of `sheet`; None when it asks nothing that can be computed."""
    reading = _Reading(sheet, read_tokens(question))
    asked.take_names(reading.tokens)
    _drop_question_mark_word(reading.tokens)
    cues = cues_of(sheet, reading.tokens)
    if isinstance(cues, SameWords):
        return Unclear("ambiguous", cues.columns)
    reading.cues = cues
    _top(reading)
    reading.asks_row = reading.tokens.take_first(WHO) is not None
    _name_columns(reading)
    group, unit = _group(reading)
    measured = [one for one in reading.named if group is None or one.column is not group.column]
    filters = filters_of(sheet, reading.tokens, measured, asked, reading.values)
    if isinstance(filters, PeriodTrouble):
        return Unclear(filters.kind, filters.told, _is_meant(reading)) if reading.cues else None
    if isinstance(filters, AmbiguousNumber):
        return Unclear("number", (filters.written, filters.column))
    if isinstance(filters, AmbiguousValue):
        return Unclear("value", (filters.written, *filters.columns)) if reading.cues else None
    query = _query(reading, group, unit, measured, filters)
    if not isinstance(query, TableQuery):
        return query
    asked.take_loose_names(reading.tokens)
    take_rows(reading.tokens, query.aggregate)
    if group is None and reading.ambiguous and _is_each_left(reading.tokens):
        return Unclear("ambiguous", tuple(dict.fromkeys(map(sheet.label, reading.ambiguous))))
    left = [token.written for token in reading.tokens.left(_ignored(query) - _names_left(reading, asked.language))]
    if left and not reading.cues:
        return None  # not a question to compute: its passages may tell
    return Unclear("words", tuple(left)) if left else query


def _ignored(query: TableQuery) -> frozenset[str]:
    rows = RECORDS | SPELT_RECORDS if query.aggregate in ("count", "list", "max", "min") else frozenset()
    return (HARMLESS | SPELT_HARMLESS | rows) - NEGATIONS


def _is_meant(reading: _Reading) -> bool:
    return bool(reading.cues) and bool(reading.named or reading.ambiguous)


def _drop_question_mark_word(tokens: Tokens) -> None:
    """``… được không?`` asks, it does not negate."""
    if tokens.all and tokens.all[-1].text in ("khong", "chua"):
        tokens.take(len(tokens.all) - 1, 1)


def _top(reading: _Reading) -> None:
    """``top 3``, ``3 khoản … lớn nhất``."""
    tokens = reading.tokens
    for at, token in enumerate(tokens.all):
        if at in tokens.taken or not token.text.isdecimal() or not 1 <= int(token.text[:4]) <= _MOST_TOP:
            continue
        before = tokens.all[at - 1].text if at else ""
        after = tokens.all[at + 1].text if at + 1 < len(tokens.all) else ""
        is_count = reading.cues.keys() & {"max", "min"} and (after in RECORDS or at + 1 in tokens.taken)
        if before == "top" or is_count:
            reading.top = int(token.text)
            tokens.take(at - 1 if before == "top" else at, 2 if before == "top" else 1)
            return


def _group(reading: _Reading) -> tuple[Named | None, GroupUnit]:
    """The column rows are put together by: ``theo phòng``, ``mỗi tháng``, ``phòng nào``, ``which department``."""
    tokens = reading.tokens
    for one in reading.named:
        if _is_each_row(reading, one):
            continue
        if _is_each(tokens, one) or _is_which(reading, one):
            return one, "value"
    times = [column for column in reading.sheet.columns if column.is_time]
    for unit, words in _UNITS if len(times) == 1 else ():
        for at, token in enumerate(tokens.all):
            place = Named(times[0], at, 1, is_whole=False)
            is_free = token.text in words and at not in tokens.taken
            if is_free and (_is_each(tokens, place) or _is_which(reading, place)):
                tokens.take(at, 1)
                return place, unit
    return None, "value"


def _is_each_row(reading: _Reading, one: Named) -> bool:
    """``trung bình mỗi đơn`` where every row is another order: one average, no groups."""
    words = reading.tokens.texts[one.at : one.at + one.size]
    if "average" not in reading.cues or one.is_whole or not ROWS.issuperset(words):
        return False
    return len(set(one.column.folded)) == len(one.column.folded)


def _is_each(tokens: Tokens, one: Named) -> bool:
    for phrase in longest_first(EACH):
        start = one.at - len(phrase)
        if start >= 0 and tokens.texts[start : one.at] == phrase:
            tokens.take(start, len(phrase))
            return True
    return False


def _name_columns(reading: _Reading) -> None:
    """The columns that are named outside of ``quý này``."""
    tokens = reading.tokens
    reading.values, relative = value_phrases(reading.sheet, tokens), relative_places(tokens)
    tokens.taken |= relative
    kept = places_of_values(reading.values, tokens)
    reading.named, reading.ambiguous = named_columns(reading.sheet, tokens, kept)
    tokens.taken -= relative


def _names_left(reading: _Reading, language: Language) -> frozenset[str]:
    """Words that mean nothing elsewhere but here may be somebody's name: ``của An``, ``của Nam``."""
    tokens = reading.tokens
    free = [token for at, token in enumerate(tokens.all) if at not in tokens.taken and at]
    said = {token.written.lower(): token.text for token in free if token.written[:1].isupper()}
    known = reading.sheet.words_of_texts if said else frozenset()
    names = {written for written, text in said.items() if text in known}
    return frozenset(names | (ENGLISH_ONLY if is_vietnamese(tokens.texts, language) else frozenset()))


def _is_each_left(tokens: Tokens) -> bool:
    """Whether ``theo`` stands before words that several columns share: rows were to be put together."""
    places = [at + len(phrase) for phrase in EACH for at in tokens.places(phrase)]
    return any(at in tokens.taken for at in places)


def _is_which(reading: _Reading, one: Named) -> bool:
    tokens, after = reading.tokens, one.at + one.size
    if not reading.cues.keys() & {"max", "min"} or one.column.is_numeric:
        return False
    for phrases, at in ((WHICH_AFTER, after), (WHICH_BEFORE, one.at - 1)):
        if 0 <= at < len(tokens.all) and (tokens.all[at].text,) in phrases:
            tokens.take(at, 1)
            return True
    return False


def _query(
    reading: _Reading, group: Named | None, unit: GroupUnit, measured: Sequence[Named], filters: tuple[Filter, ...]
) -> TableQuery | Unclear | None:
    by = None if group is None else group.column.at
    kept = TableQuery(aggregate="list", filters=filters, group_by=by, group_unit=unit)
    cues = reading.cues.keys()
    # A number may be both compared and computed with.
    apart = said_of([one for one in filters if not isinstance(one, NumberIs)])
    free = [one for one in measured if one.column.at not in apart]
    if "distinct" in cues and not cues & {"sum", "average", "max", "min"} and free:
        return _with(kept, aggregate="distinct", column=free[0].column.at)
    if group is None and (several := several_operations(cues)):
        return Unclear("operations", several)
    computed = _aggregate(cues) or ("sum" if group is not None else None)
    numeric = [one for one in free if one.column.is_numeric]
    if computed == "sum" and "count" in cues and not numeric:
        computed = "count"  # tổng số dòng
    if computed == "count" and group is None and (counted := [one for one in free if not one.column.is_numeric]):
        return _with(kept, aggregate="distinct", column=counted[0].column.at)
    if computed == "count":
        return _with(kept, aggregate="count", **(_ends(reading) if group else {}))
    if computed is None:
        return _listed(kept, reading, free)
    if computed in ("max", "min") and group is not None and not numeric and not reading.ambiguous:
        return _with(kept, aggregate="count", **_ends(reading))
    column = _measure(reading, _apart(numeric, filters), free)
    return column if isinstance(column, Unclear) else _computed(kept, reading, computed, column)


def _aggregate(cues: Collection[str]) -> Aggregate | None:
    """What is computed; with the greatest of sums, the sum."""
    order: tuple[Aggregate, ...] = ("sum", "average", "count", "max", "min")
    return next((kind for kind in order if kind in cues), None)


def _ends(reading: _Reading) -> dict[str, Any]:
    """With the greatest or smallest asked of groups, how many of them."""
    if not reading.cues.keys() & {"max", "min"}:
        return {}
    return {"top": reading.top or 1, "ascending": "min" in reading.cues}


def _computed(kept: TableQuery, reading: _Reading, computed: Aggregate, column: Column) -> TableQuery:
    if kept.group_by is None:
        return _with(kept, aggregate=computed, column=column.at, top=reading.top)
    aggregate: Aggregate = "sum" if computed in ("max", "min") else computed
    return _with(kept, aggregate=aggregate, column=column.at, **_ends(reading))


def _listed(kept: TableQuery, reading: _Reading, free: Sequence[Named]) -> TableQuery | None:
    """A column for rows that are told by a value: ``lương của An``."""
    if not kept.filters or not (free or reading.asks_row) or kept.group_by is not None or reading.ambiguous:
        return None
    return _with(kept, aggregate="list", column=free[0].column.at if free else None)


def _apart(numeric: Sequence[Named], filters: Sequence[Filter]) -> Sequence[Named]:
    """Without the columns that rows are chosen by, if others are named: ``doanh thu có chi phí trên 15``."""
    compared = said_of([one for one in filters if isinstance(one, NumberIs)])
    return [one for one in numeric if one.column.at not in compared] or numeric


def _measure(reading: _Reading, numeric: Sequence[Named], free: Sequence[Named]) -> Column | Unclear:
    label = reading.sheet.label
    candidates = tuple(label(column) for column in reading.ambiguous if column.is_numeric)
    whole = [one for one in numeric if one.is_whole] or numeric
    if len({one.column.at for one in whole}) == 1:
        return whole[0].column
    if whole:
        return Unclear("ambiguous", tuple(dict.fromkeys(label(one.column) for one in whole)))
    if len(candidates) > 1:
        return Unclear("ambiguous", candidates)
    if free:
        return Unclear("not_numbers", tuple(one.column.name for one in free))
    return Unclear("no_column", reading.sheet.names, is_meant=bool(reading.named))


def _with(query: TableQuery, **changes: Any) -> TableQuery:
    return query.model_copy(update=changes)
