"""What of the changes answers a question: the concepts it names, what bears on them, and in which order."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from app.claims.record import subject_words
from app.domain.knowledge import Passage
from app.text.language import DOCUMENT_WORDS, content_words, fold
from extras.changes.differences import Comparison, Difference, Kind, Statement

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
    return subject_words(subject) - DOCUMENT_WORDS - frozenset().union(*map(subject_words, titles))


def selected(comparison: Comparison, focus: frozenset[str]) -> Selection:
    """The differences that bear on the focus; all of them when none does, unless both texts say the same of it."""
    every = comparison.differences
    bearing = [one for one in every if any(_bears(side, focus) for side in (one.old, one.new) if side)]
    if not bearing and (same := next((one for one in comparison.kept if _bears(one, focus, whole=True)), None)):
        return Selection((), len(every), same)
    chosen = _chosen(bearing) if focus and bearing else _chosen(every, _BELOW_ONE)
    return Selection(tuple(sorted(chosen, key=lambda one: (one.new is None, one.place))), len(every) - len(chosen))


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
        counted[heading := side.heading if side else ""] += 1
        if counted[heading] <= below_one:
            kept.append(one)
    return kept


Concepts = Callable[[str], frozenset[str]]
"""The concepts a text names, the same ones whatever its language."""

_BY_TITLE, _BY_HEADING = 0.5, 0.75
"""Least share of a subject's words, or of its concepts, that a title and the heading of a section must name."""
_HELD = 0.7
"""Least share of its words that a passage with its title must hold to speak of it."""
_NEAR_BY_TITLE, _NEAR = 0.6, 0.85
"""Least relevance, as a share of the best, of a document that names the subject in its title, and of one that speaks
of it."""


class Bearing(NamedTuple):
    """How a document bears on a subject; the greater the closer."""

    by: Literal[0, 1, 2]
    """What names the subject: the title (2), the heading of a section (1), only the words of a text (0)."""
    relevance: float
    """Of its best passage, 0–1."""


def about(subject: str, passages: Sequence[Passage], concepts: Concepts, least: float) -> dict[UUID, Bearing]:
    """The documents about the subject.

    Relevance alone does not tell: where nothing is said of a subject, something is still the nearest.
    """
    best = max((passage.relevance_score for passage in passages), default=0.0)
    found: dict[UUID, Bearing] = {}
    for passage in passages:
        by = _named_by(passage, subject, concepts)
        needed = best * (_NEAR_BY_TITLE if by == 2 else _NEAR)
        if by is not None and passage.relevance_score >= max(needed, least):
            bearing = Bearing(by, passage.relevance_score)
            found[passage.document_id] = max(found.get(passage.document_id, bearing), bearing)
    return found


def _named_by(passage: Passage, subject: str, concepts: Concepts) -> Literal[0, 1, 2] | None:
    if _named(passage.title, subject, concepts) >= _BY_TITLE:
        return 2
    if _named(passage.section, subject, concepts) >= _BY_HEADING:
        return 1
    spoken = f"{passage.title} {passage.section} {passage.text}"
    return 0 if _shared(spoken, subject) >= _HELD else None


def _named(name: str, subject: str, concepts: Concepts) -> float:
    """Share of a subject that a title or heading names, 0–1: of its words, or of what they mean in either language."""
    wanted = concepts(subject)
    return max(_shared(name, subject), len(wanted & concepts(name)) / len(wanted) if wanted else 0.0)


def _shared(text: str, subject: str) -> float:
    """Share of the subject's words that stand in a text, 0–1; without diacritics where the subject has none."""

    def words(said: str) -> frozenset[str]:
        found = {fold(word) if subject.isascii() else word for word in content_words(said) if not word.isdigit()}
        return frozenset(word for word in found if fold(word) not in DOCUMENT_WORDS)

    asked = words(subject)
    return len(asked & words(text)) / len(asked) if asked else 0.0
