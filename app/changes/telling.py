"""Which differences of two texts are worth telling: those that bear on what was asked, values before words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from app.changes.differences import Comparison, Difference, Kind
from app.changes.statements import Statement
from app.claims.record import subject_words

GENERAL = frozenset(
    [
        *(
            "quy",
            "dinh",
            "chinh",
            "sach",
            "che",
            "do",
            "noi",
            "tac",
            "so",
            "tay",
            "dieu",
            "khoan",
            "muc",
            "thoa",
            "uoc",
        ),
        *("van", "ban", "tai", "lieu", "cong", "ty", "nhan", "vien"),
        *("policy", "policies", "rule", "rules", "regulation", "regulations", "handbook", "guideline", "guidelines"),
        *("terms", "document", "documents", "company", "staff", "employee", "employees", "our", "current", "section"),
    ]
)
"""Words that say nothing of which part of a document is meant."""
_KINDS: tuple[Kind, ...] = ("value", "wording", "added", "removed")
_VALUES, _ADDED, _REMOVED, _IN_ALL = 8, 3, 2, 10
"""Differences told of one pair of texts."""
_BELOW_ONE = 2
"""Of them below one heading, where the whole texts are asked about."""
_BEARS = 0.5
"""Share of the asked words that a statement and its headings name to bear on the question."""
_SURE = 0.6
"""Likeness from which other words for one matter are told beside changed values."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is told of a comparison."""

    told: tuple[Difference, ...]
    """In the order of the text."""
    left_out: int
    """How many further differences there are."""
    unchanged: Statement | None = None
    """Where the question names a part of which nothing changed: what it says."""


def focus_of(subject: str, titles: Sequence[str]) -> frozenset[str]:
    """The words of a question that name a part of documents with these titles; empty when it is about all of them."""
    return subject_words(subject) - GENERAL - frozenset().union(*map(subject_words, titles))


def selected(comparison: Comparison, focus: frozenset[str]) -> Selection:
    """The differences that bear on the focus; all of them when none does, unless both texts say the same of it."""
    every = comparison.differences
    bearing = [one for one in every if any(_bears(side, focus) for side in (one.old, one.new) if side)]
    if not bearing and (same := next((one for one in comparison.kept if _bears(one, focus, whole=True)), None)):
        return Selection((), len(every), same)
    chosen = _chosen(bearing) if focus and bearing else _chosen(every, _BELOW_ONE)
    return Selection(tuple(sorted(chosen, key=_order)), len(every) - len(chosen))


def leading(statements: Sequence[Statement], focus: frozenset[str], most: int) -> list[Statement]:
    """What a text says first of the focus, with amounts before without."""
    bearing = [one for one in statements if _bears(one, focus)] or list(statements)
    first = sorted(bearing, key=lambda one: (not one.said.claims, not one.heading, one.place))[:most]
    return sorted(first, key=lambda one: one.place)


def _bears(statement: Statement, focus: frozenset[str], *, whole: bool = False) -> bool:
    """Whether a statement is about the focus; `whole`: names all of it. Without a focus every statement is."""
    if not focus:
        return not whole
    named = len(focus & (statement.said.subject | statement.about))
    return named >= (len(focus) if whole else _BEARS * len(focus))


def _chosen(differences: Sequence[Difference], below_one: int = _IN_ALL) -> list[Difference]:
    """Changed values in the order of the text; then what came, what went, and other words for the same."""
    by_kind = {kind: [one for one in differences if one.kind == kind] for kind in _KINDS}
    values = _spread(by_kind["value"], below_one)[:_VALUES]
    worded = sorted(by_kind["wording"], key=lambda one: -one.likeness)
    sure = [one for one in worded if one.likeness >= _SURE] if values else worded
    added = sorted(by_kind["added"], key=lambda one: (not (one.new and one.new.said.claims), one.place))
    come = _spread(added, below_one)[: _ADDED if values or worded else _VALUES]
    return [*values, *come, *by_kind["removed"][:_REMOVED], *sure][:_IN_ALL]


def _spread(differences: Sequence[Difference], below_one: int) -> list[Difference]:
    """The first ones below each heading."""
    counted: Counter[str] = Counter()
    kept: list[Difference] = []
    for one in differences:
        side = one.new or one.old
        heading = side.heading if side else ""
        counted[heading] += 1
        if counted[heading] <= below_one:
            kept.append(one)
    return kept


def _order(difference: Difference) -> tuple[bool, int]:
    return difference.new is None, difference.place
