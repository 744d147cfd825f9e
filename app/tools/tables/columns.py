"""Which columns a question names: by their own words, in either language, with or without diacritics."""

from dataclasses import dataclass

from app.tools.tables.sheet import Column, Sheet
from app.tools.tables.tokens import Tokens, name_tokens
from app.tools.tables.words import NEGATIONS, alternatives, deciding_words

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


def named_columns(sheet: Sheet, tokens: Tokens) -> tuple[list[Named], list[Column]]:
    """(columns the question names, columns it may mean with the same words); takes their words.

    Whole names first, the longest before those inside them. Words that are part of one column's name alone name it.
    """
    found = _whole(sheet, tokens)
    named = {one.column.at for one in found}
    partial, ambiguous = _partial(sheet, tokens, named)
    for one in partial:
        _take_the_rest(one.column, tokens)
    return [*found, *partial], ambiguous


def _take_the_rest(column: Column, tokens: Tokens) -> None:
    """Other words of the column's name, where they stand apart: ``khách sạn bao nhiêu một đêm``."""
    for word in set(name_tokens(column.name)) - _DECIDING:
        for at in tokens.places((word,)):
            tokens.take(at, 1)


def _whole(sheet: Sheet, tokens: Tokens) -> list[Named]:
    spelt = [
        (phrase, column) for column in sheet.columns for phrase in alternatives(name_tokens(column.name)) if phrase
    ]
    # The name as written goes before what else it may be called.
    spelt.sort(key=lambda one: (-len(one[0]), one[0] != name_tokens(one[1].name), one[1].at))
    found: list[Named] = []
    for phrase, column in spelt:
        if any(one.column is column for one in found):
            continue
        for at in tokens.places(phrase):
            if _is_taken_by_twin(column, sheet, phrase):
                break
            tokens.take(at, len(phrase))
            found.append(Named(column, at, len(phrase), is_whole=True))
            break
    return found


def _is_taken_by_twin(column: Column, sheet: Sheet, phrase: tuple[str, ...]) -> bool:
    """Whether two columns have this very name: then it names neither."""
    return sum(name_tokens(other.name) == phrase for other in sheet.columns if other is not column) > 0


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
                if _GENERIC.issuperset(part) or 2 * size < len(name) or (best and size <= best[1]):
                    continue
                places = tokens.places(part)
                best = (places[0], size) if places else best
    return best
