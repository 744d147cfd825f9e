"""Which rows a question is about: values of columns, bounds of numbers, and times."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, islice

from app.domain.knowledge import Language
from app.tools.tables.bounds import AmbiguousNumber, bounds_of
from app.tools.tables.columns import Named
from app.tools.tables.periods import PeriodTrouble, period_filters
from app.tools.tables.query import Filter, ValueIs
from app.tools.tables.sheet import Column, Sheet, folded
from app.tools.tables.tokens import Tokens, name_tokens, read_tokens
from app.tools.tables.words import (
    ENGLISH_ONLY,
    EQUAL,
    HARMLESS,
    NEGATIONS,
    NOT,
    RECORDS,
    alternatives,
    is_vietnamese,
    longest_first,
)

Days = tuple[date | None, date | None]
"""``since <= day < until``; None = open."""
_MOST_VALUES = 200_000
_LAST_CHARS = 40
_WORD = re.compile(r"[^\W_]+")
_SHORT = 3
_MADE_BY = frozenset(["from", "by"])
_JOINED = frozenset(["va", "hoac", "lan", "and", "or", "nor", "phong", "bo", "phan"])
_SHEET_WORDS = frozenset(["sheet", "bang", "trang", "tinh", "table", "tab", "file", "tep"])


@dataclass(frozen=True)
class Asked:
    """What surrounds a question."""

    language: Language
    days: Callable[[str], Days | None]
    """The days a phrase means today: ``tháng này``, ``từ 1/4/2026 đến 30/6/2026``."""
    full_names: tuple[str, ...] = ()
    """Names of files, with their endings."""
    loose_names: tuple[str, ...] = ()
    """Names of files without endings, and of sheets: they are also ordinary words."""

    def take_names(self, tokens: Tokens) -> None:
        """Take the names that cannot be anything else."""
        for name in self.full_names:
            self._take(tokens, read_tokens(name).texts)
        for name in self.loose_names:
            phrase = read_tokens(name).texts
            for at in tokens.places(phrase) if phrase else ():
                if at and tokens.all[at - 1].text in _SHEET_WORDS:
                    tokens.take(at, len(phrase))

    def take_loose_names(self, tokens: Tokens) -> None:
        """Take names that stand among the words nothing else explains."""
        for name in self.loose_names:
            self._take(tokens, read_tokens(name).texts)

    def _take(self, tokens: Tokens, phrase: tuple[str, ...]) -> None:
        for at in tokens.places(phrase) if phrase else ():
            tokens.take(at, len(phrase))


@dataclass(frozen=True, slots=True)
class AmbiguousValue:
    """A value that stands in several columns."""

    written: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Value:
    column: Column
    folded: str
    written: str


ValuePhrases = dict[tuple[str, ...], list[_Value]]
"""Values by the words a question says them with."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A value of one column where the question names it."""

    at: int
    size: int
    values: tuple[_Value, ...]
    excluded: bool

    @property
    def column(self) -> int:
        return self.values[0].column.at


def places_of_values(values: ValuePhrases, tokens: Tokens) -> frozenset[int]:
    """The places of values of several words, which stand in the question from end to end."""
    long = [phrase for phrase in values if len(phrase) > 1]
    return frozenset(at + step for phrase in long for at in tokens.places(phrase) for step in range(len(phrase)))


def filters_of(
    sheet: Sheet, tokens: Tokens, named: Sequence[Named], asked: Asked, phrases: ValuePhrases
) -> tuple[Filter, ...] | PeriodTrouble | AmbiguousValue | AmbiguousNumber:
    """The filters a question states, with the words they were read from taken."""
    bounds = bounds_of(tokens, named, asked.language)
    if isinstance(bounds, AmbiguousNumber):
        return bounds
    values = _values(phrases, tokens, named, asked.language)
    if isinstance(values, AmbiguousValue):
        return values
    periods = period_filters(sheet, tokens, [one.column for one in named], asked.days)
    return periods if isinstance(periods, PeriodTrouble) else (*bounds, *values, *periods)


def _values(
    by_phrase: ValuePhrases, tokens: Tokens, named: Sequence[Named], language: Language
) -> list[Filter] | AmbiguousValue:
    chosen: list[_Chosen] = []
    for phrase in longest_first(by_phrase):
        for at in tokens.places(phrase):
            fitting = [v for v in by_phrase[phrase] if _is_meant(v, phrase, at, tokens, named, language)]
            columns = {value.column.at for value in fitting}
            if len(columns) > 1:
                beside = {v.column.at for v in fitting if _before(v.column, at, named) is not None}
                columns = beside or {one.column.at for one in named if one.column.at in columns}
            if not fitting:
                continue
            if len(columns) != 1:
                names = tuple(dict.fromkeys(value.column.name for value in fitting))
                return AmbiguousValue(" ".join(t.written for t in tokens.all[at : at + len(phrase)]), names)
            own = tuple(value for value in fitting if value.column.at in columns)
            tokens.take(at, len(phrase))
            if at and (tokens.texts[at - 1],) in EQUAL and _before(own[0].column, at, named):
                tokens.take(at - 1, 1)  # trạng thái = Đã trả
            if at > 1 and tokens.texts[at - 1] in _MADE_BY and tokens.texts[at - 2] in RECORDS:
                tokens.take(at - 1, 1)  # invoices from Dell
            chosen.append(_Chosen(at, len(phrase), own, _is_excluded(own[0].column, at, tokens, named)))
            break
    return list(_as_filters(_with_neighbours(chosen, tokens)))


def _with_neighbours(chosen: list[_Chosen], tokens: Tokens) -> list[_Chosen]:
    """``trừ phòng IT và Kế toán``: what stands beside an excluded value of its column is excluded as well."""
    found: list[_Chosen] = []
    for one in sorted(chosen, key=lambda one: one.at):
        last = found[-1] if found else None
        is_joined = (
            last is not None
            and one.column == last.column
            and _JOINED.issuperset(tokens.texts[last.at + last.size : one.at])
        )
        found.append(replace(one, excluded=True) if is_joined and last and last.excluded else one)
    return found


def _as_filters(chosen: Sequence[_Chosen]) -> Iterator[Filter]:
    by_column: dict[tuple[int, bool], list[_Value]] = {}
    for one in chosen:
        by_column.setdefault((one.column, one.excluded), []).extend(one.values)
    for (column, is_excluded), values in by_column.items():
        yield ValueIs(
            column=column,
            values=tuple(dict.fromkeys(value.folded for value in values)),
            shown=tuple(dict.fromkeys(value.written for value in values)),
            excluded=is_excluded,
        )


def value_phrases(sheet: Sheet, tokens: Tokens) -> ValuePhrases:
    """Every value of the table that may stand in the question, by its words: without its column's name as well."""
    said = set(tokens.texts)
    last_words = {word for token in tokens.all for word in _WORD.findall(folded(token.written))} | said
    found: dict[tuple[str, ...], list[_Value]] = {}
    for column in sheet.columns:
        if column.is_time:
            continue
        for cell in islice(dict.fromkeys(column.cells), _MOST_VALUES):
            written = str(cell)
            # Only a value whose last word was said can stand in the question: the rest need not be taken apart.
            last = _WORD.findall(written[-_LAST_CHARS:])
            if not last or folded(last[-1]) not in last_words:
                continue
            for phrase in _spellings(written, column):
                if said.issuperset(phrase):
                    found.setdefault(phrase, []).append(_Value(column, folded(written), written))
    return found


def _spellings(written: str, column: Column) -> Iterator[tuple[str, ...]]:
    words = read_tokens(written).texts
    if not words:
        return
    yield words
    for name in alternatives(name_tokens(column.name)):
        if words[: len(name)] == name and len(words) > len(name):
            yield words[len(name) :]


def _is_meant(
    value: _Value, phrase: tuple[str, ...], at: int, tokens: Tokens, named: Sequence[Named], language: Language
) -> bool:
    """Short values, numbers and everyday words count only behind their column's name, or written with the same marks.

    ``it`` says nothing in English; in a question in Vietnamese it is the value.
    """
    if _before(value.column, at, named) is not None:
        return True
    if value.column.is_numeric or all(word.isdigit() for word in phrase):
        return False
    is_plain = (HARMLESS | NEGATIONS).issuperset(phrase)
    if is_vietnamese(tokens.texts, language) and ENGLISH_ONLY.issuperset(phrase):
        is_plain = False
    if not is_plain and len("".join(phrase)) > _SHORT:
        return True
    spoken = " ".join(token.written for token in tokens.all[at : at + len(phrase)])
    # ``hue`` in a question without marks is Huế; ``ăn`` is not An.
    is_unmarked = all(token.written.isascii() for token in tokens.all)
    if not is_plain and (spoken.lower() == value.written.lower() or is_unmarked):
        return True
    return spoken in value.written and spoken.lower() != spoken


def _before(column: Column, at: int, named: Sequence[Named]) -> Named | None:
    """The column where its name stands right before place `at`, a small word between them or none."""
    return next((one for one in named if one.column is column and 0 <= at - one.at - one.size <= 1), None)


def _is_excluded(column: Column, at: int, tokens: Tokens, named: Sequence[Named]) -> bool:
    """``không thuộc phòng IT``, ``except IT``; takes those words."""
    name = _before(column, at, named)
    for start in dict.fromkeys((at, name.at if name else at)):
        for phrase in longest_first(NOT):
            begin = start - len(phrase)
            if begin >= 0 and begin in tokens.places(phrase):
                tokens.take(begin, len(phrase))
                return True
    return False


def said_of(filters: Sequence[Filter]) -> frozenset[int]:
    """The columns that rows are chosen by."""
    return frozenset(chain(one.column for one in filters))
