"""The words of a question that say what to compute."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from app.tools.tables.query import Aggregate
from app.tools.tables.sheet import Sheet
from app.tools.tables.tokens import Tokens, name_tokens
from app.tools.tables.words import CUES, EACH, LINKS, RECORDS, ROWS, WHOLE, alternatives, longest_first

_KINDS = ("count", "average", "max", "min", "sum", "distinct")
_COMPUTED = ("sum", "average", "max", "min")
_SUM_OF_MONEY = ("tong", "so", "tien")
_ENDS = frozenset(["max", "min"])
_ROW_SUMS: frozenset[Aggregate] = frozenset(["sum", "average", "max", "min"])


@dataclass(frozen=True, slots=True)
class SameWords:
    """Columns that the same words may mean: ``tổng chi phí`` is one of them, or the sum of the other."""

    columns: tuple[str, ...]


def cues_of(sheet: Sheet, tokens: Tokens) -> dict[str, tuple[int, int]] | SameWords:
    """Kind to (place, words); takes the words. Those of a column's own name count only where no others are."""
    inside = set(_in_names(sheet, tokens))
    tokens.take_first(WHOLE)
    free = Tokens(tokens.all, tokens.taken | inside)
    found = _cues(sheet, free)
    if found or not inside:
        tokens.taken |= free.taken - inside
        return found
    twins = _twins(sheet, tokens)
    return SameWords(twins) if twins else _cues(sheet, tokens)


def several_operations(cues: Collection[str]) -> tuple[str, ...]:
    """The operations of a question that asks for more than one of them at once; none where it does not."""
    found = tuple(kind for kind in _COMPUTED if kind in cues)
    if "count" in cues and _ENDS & set(cues):
        return ("count", *found)
    return found if len(found) > 1 else ()


def take_rows(tokens: Tokens, aggregate: Aggregate) -> None:
    """Take words for the rows themselves: ``of the paid orders``, ``trung bình mỗi đơn``."""
    if aggregate not in _ROW_SUMS:
        return
    for at in range(len(tokens.all) - 1) if aggregate == "average" else ():
        if at not in tokens.taken and (tokens.texts[at],) in EACH and tokens.all[at + 1].written.lower() in ROWS:
            tokens.take(at, 2)
    for at in (at for at, token in enumerate(tokens.all) if token.written.lower() in ROWS and at not in tokens.taken):
        before = at - 1
        while before >= 0 and (before in tokens.taken or tokens.all[before].text in ROWS) and before > at - 4:
            before -= 1
        if before >= 0 and tokens.all[before].written.lower() in LINKS and before not in tokens.taken:
            tokens.take(at, 1)


def _in_names(sheet: Sheet, tokens: Tokens) -> Iterator[int]:
    """The places of columns' whole names that begin or end with a word such as ``tổng`` or ``total``."""
    for column in sheet.columns:
        name = name_tokens(column.name)
        if len(name) > 1 and _stripped(name) != name:
            for at in tokens.places(name):
                yield from range(at, at + len(name))


def _stripped(name: tuple[str, ...]) -> tuple[str, ...]:
    """A name without the word it begins or ends with, if that says what to compute."""
    for phrase in longest_first(phrase for kind in _COMPUTED for phrase in CUES[kind]):
        if len(phrase) < len(name) and name[: len(phrase)] == phrase:
            return name[len(phrase) :]
        if len(phrase) < len(name) and name[-len(phrase) :] == phrase:
            return name[: -len(phrase)]
    return name


def _twins(sheet: Sheet, tokens: Tokens) -> tuple[str, ...]:
    names = {column.name: name_tokens(column.name) for column in sheet.columns}
    for written, name in names.items():
        bare = _stripped(name)
        others = tuple(other for other, words in names.items() if words == bare)
        if bare != name and others and tokens.places(name):
            return (written, *others)
    return ()


def _cues(sheet: Sheet, tokens: Tokens) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    if place := _how_many(sheet, tokens):
        found["count"] = place
    has_money = any(_SUM_OF_MONEY[1:] in alternatives(name_tokens(column.name)) for column in sheet.columns)
    for kind in _KINDS:
        if kind in _ENDS and _is_bound(tokens, kind):
            continue
        # ``tổng số tiền`` of a column that is called so: only the first word computes.
        place = tokens.take_first(CUES[kind] - {_SUM_OF_MONEY} if kind == "sum" and has_money else CUES[kind])
        if place is not None:
            found[kind] = place
    return found


def _how_many(sheet: Sheet, tokens: Tokens) -> tuple[int, int] | None:
    """``bao nhiêu nhân viên``, ``số đơn``: what is counted may be a column, so only the asking words are taken."""
    names = [name_tokens(column.name) for column in sheet.columns]
    for phrase in (("co", "may"), ("bao", "nhieu"), ("so", "luong"), ("so",), ("may",)):
        for at in tokens.places(phrase):
            after = at + len(phrase)
            is_name = any(name[:1] == ("so",) and tokens.texts[at : at + len(name)] == name for name in names)
            if after < len(tokens.all) and tokens.all[after].text in RECORDS and not is_name:
                tokens.take(at, len(phrase))
                return at, len(phrase)
    return None


def _is_bound(tokens: Tokens, kind: str) -> bool:
    """``ít nhất 5``, ``at most 5``: a bound, neither minimum nor maximum."""
    phrases = (("it", "nhat"), ("at", "least")) if kind == "min" else (("nhieu", "nhat"), ("at", "most"))
    ends = [at + 2 for phrase in phrases for at in tokens.places(phrase)]
    return any(at < len(tokens.all) and tokens.all[at].text[:1].isdigit() for at in ends)
