"""Which columns a question names: by their own words, in either language, with or without diacritics."""

from collections.abc import Collection
from dataclasses import dataclass

from app.tools.tables.sheet import Column, Sheet
from app.tools.tables.tokens import Tokens, name_tokens
from app.tools.tables.words import NEGATIONS, ROWS, alternatives, cuts_phrase, deciding_words

_GENERIC = frozenset(["tong", "so", "cot", "ngay", "thang", "nam", "quy", "the", "of", "total", "no", "so_tien"])
"""Words of names that alone name no column."""
_DECIDING = NEGATIONS | deciding_words()


@dataclass(frozen=True, slots=True)
class Named:
    """A column where the question names it."""

    column: Column
    at: int
    size: int
    is_whole: bool
    """Whether all words of its name were said, rather than some."""


def named_columns(sheet: Sheet, tokens: Tokens, kept: Collection[int] = ()) -> tuple[list[Named], list[Column]]:
    """(columns the question names, columns it may mean with the same words); takes their words.

    Whole names first, the longest before those inside them. Words that are part of one column's name alone name it,
    unless they are `kept`: places of values of several words, whose ``thanh`` is none of ``thành tiền``.
    """
    found, twins = _whole(sheet, tokens, kept)
    named = {one.column.at for one in found}
    free = Tokens(tokens.all, tokens.taken | set(kept))
    partial, ambiguous = _partial(sheet, free, named)
    tokens.taken |= free.taken - set(kept)
    for one in partial:
        _take_the_rest(one.column, tokens, kept)
    return [*found, *partial], [*twins, *ambiguous]


def _take_the_rest(column: Column, tokens: Tokens, kept: Collection[int]) -> None:
    """Other words of the column's name, where they stand apart: ``khách sạn bao nhiêu một đêm``."""
    for word in set(name_tokens(column.name)) - _DECIDING:
        for at in tokens.places((word,)):
            if at not in kept and not cuts_phrase(tokens.texts, tokens.taken, at, 1):
                tokens.take(at, 1)


def _whole(sheet: Sheet, tokens: Tokens, kept: Collection[int]) -> tuple[list[Named], list[Column]]:
    spelt = [
        (phrase, column) for column in sheet.columns for phrase in alternatives(name_tokens(column.name)) if phrase
    ]
    # The name as written goes before what else it may be called.
    spelt.sort(key=lambda one: (-len(one[0]), one[0] != name_tokens(one[1].name), one[1].at))
    found: list[Named] = []
    twins: list[Column] = []
    for phrase, column in spelt:
        if column in twins or any(one.column is column for one in found):
            continue
        for at in tokens.places(phrase):
            if at in kept and at - 1 in kept:
                continue  # “Hà Nội” names no column “Nơi”
            if same := _twins(column, sheet, phrase):
                tokens.take(at, len(phrase))
                twins += same
                break
            tokens.take(at, len(phrase))
            found.append(Named(column, at, len(phrase), is_whole=True))
            break
    return found, twins


def _twins(column: Column, sheet: Sheet, phrase: tuple[str, ...]) -> list[Column]:
    """The columns that have this very name, if several do: then it names none of them."""
    same = [other for other in sheet.columns if other is column or name_tokens(other.name) == phrase]
    return same if len(same) > 1 else []


def _partial(sheet: Sheet, tokens: Tokens, named: set[int]) -> tuple[list[Named], list[Column]]:
    by_span: dict[tuple[int, int], list[Column]] = {}
    for column in sheet.columns:
        if column.at not in named and (span := _longest(column, tokens)):
            by_span.setdefault(span, []).append(column)
    found: list[Named] = []
    ambiguous: list[Column] = []
    for (at, size), columns in sorted(by_span.items(), key=lambda item: (-item[0][1], item[0][0])):
        if not tokens.taken.isdisjoint(range(at, at + size)):
            continue
        tokens.take(at, size)
        if len(columns) == 1:
            found.append(Named(columns[0], at, size, is_whole=False))
        else:
            ambiguous += columns
    return found, ambiguous


def _longest(column: Column, tokens: Tokens) -> tuple[int, int] | None:
    """(place, words) of the longest part of a column's name, in any of its wordings, that the question says."""
    best: tuple[int, int] | None = None
    for name in sorted(alternatives(name_tokens(column.name))):
        for size in range(len(name) - 1, 0, -1):
            for start in range(len(name) - size + 1):
                part = name[start : start + size]
                is_row = column.is_numeric and ROWS.issuperset(part)  # ``đơn`` is a row, not ``đơn giá``
                if is_row or _GENERIC.issuperset(part) or 2 * size < len(name) or (best and size <= best[1]):
                    continue
                places = [at for at in tokens.places(part) if not cuts_phrase(tokens.texts, tokens.taken, at, size)]
                best = (places[0], size) if places else best
    return best
