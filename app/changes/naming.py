"""Whether a document is about a subject: by its title, by the section that was found, or by that section's words."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple
from uuid import UUID

from app.changes.telling import GENERAL
from app.domain.knowledge import Passage
from app.text.language import content_words, fold

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
    """Share of the subject's words that stand in a text, 0–1."""
    asked = _words(subject, like=subject)
    return len(asked & _words(text, like=subject)) / len(asked) if asked else 0.0


def _words(text: str, *, like: str) -> frozenset[str]:
    """What a text is about; without diacritics where `like` has none."""
    plain = like.isascii()
    found = {fold(word) if plain else word for word in content_words(text) if not word.isdigit()}
    return frozenset(word for word in found if fold(word) not in GENERAL)
