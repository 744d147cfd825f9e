"""What sort of conflict two passages are in, and what other documents say in the place of a quote."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from app.claims.reading import validity_of
from app.claims.record import Validity, subject_words
from app.domain.conflicts import ConflictType
from app.domain.knowledge import Passage, Quote
from app.text.language import content_words, normalise

_SAME_PAGE = 0.3
"""Least share of the smaller passage's words that stand in the other for two texts of one title to be one page."""
_OLD_DAYS = 90
"""By so many days the older text of two is outdated: beyond the last step of recency in the weighing."""


class ConflictKind(NamedTuple):
    """A type with the reason it was chosen."""

    type: ConflictType
    reason: str
    """A short word for machines: ``later_version``, ``validity_ended``, ``other_scope`` …"""


def kind_of(one: Passage, other: Passage, mine: Validity | None = None, theirs: Validity | None = None) -> ConflictKind:
    """The type of a disagreement of two passages; the same whichever comes first.

    `mine` and `theirs` are what the sentences themselves say of their validity.
    """
    if is_one_page(one, other) and effective(one) != effective(other):
        return ConflictKind("superseded_version", "later_version")
    first, second = _valid(one, mine), _valid(other, theirs)
    if first.ended_before(second) or second.ended_before(first):
        return ConflictKind("outdated", "validity_ended")
    if one.scope != other.scope:
        return ConflictKind("scope", "other_scope")
    if one.department != other.department:
        return ConflictKind("department", "other_department")
    if abs((effective(one) - effective(other)).days) > _OLD_DAYS:
        return ConflictKind("outdated", "much_older")
    return ConflictKind("contradiction", "equal_standing")


def is_one_page(one: Passage, other: Passage) -> bool:
    """Whether two documents are versions of one page: title, department, scope and much of the wording are the same."""
    if one.document_id == other.document_id:
        return version_of(one) != version_of(other)
    if not one.title.strip():
        return False
    if (_title(one), one.department, one.scope) != (_title(other), other.department, other.scope):
        return False
    mine, theirs = frozenset(content_words(one.text)), frozenset(content_words(other.text))
    return len(mine & theirs) >= _SAME_PAGE * max(1, min(len(mine), len(theirs)))


def current_versions(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Those of which no later version of the page is among them, in their order."""
    return tuple(
        one
        for one in passages
        if not any(effective(one) < effective(other) and is_one_page(one, other) for other in passages)
    )


def effective(passage: Passage) -> datetime:
    """When the passage's document began to hold."""
    if passage.effective_from is None:
        return passage.created_at
    return datetime.combine(passage.effective_from, datetime.min.time(), UTC)


def ended_first(one: Passage, other: Passage, mine: Validity | None = None, theirs: Validity | None = None) -> bool:
    """Whether what `one` says was over when the other's began."""
    return _valid(one, mine).ended_before(_valid(other, theirs))


def _valid(passage: Passage, said: Validity | None) -> Validity:
    return (said or Validity()).within(validity_of(passage))


def version_of(passage: Passage) -> tuple[UUID, date | None]:
    """What tells a passage's document from others, and from its own versions for other days."""
    return passage.document_id, passage.effective_from


def _title(passage: Passage) -> str:
    return normalise(passage.title).lower()


_QUOTES, _COUNTERPARTS = 2, 6
_ALIKE, _ALIKE_APART, _SHARED = 0.5, 0.65, 2
"""Least share of the smaller side's words in a version of the page, of both sides' in another document, and words in
common."""
_AS_NEAR, _RELEVANT = 0.68, 0.85
"""Least cosine of the farther of two passages in two languages, against the nearer one's, and their least relevance."""
_PARTS, _PIECES = 4, 200
"""Sentences of a quote, and pieces of a passage, that are looked at."""
_AROUND, _LETTERS = 400, 12
"""Letters around a quote in which another version has its place, and of a sentence that marks a place."""
_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?;…](?=[\s*_)”\"]|$)[*_)”\"]*|(?=\n|$))")
_BLOCK = re.compile(r"\S(?:[^\n]|\n(?!\s*\n))*")


def counterparts_of(quotes: Sequence[Quote], passages: Sequence[Passage]) -> tuple[Quote, ...]:
    """For each leading quote and each other document the words most like it, most like first; at most six.

    Their score is how like they are (0–1). Passages come best first; only these are read.
    """
    known = {(quote.passage.chunk_id, quote.text) for quote in quotes}
    found: dict[tuple[object, str], Quote] = {}
    for quote in quotes[:_QUOTES]:
        for document in dict.fromkeys(map(version_of, passages)):
            own = [one for one in passages if version_of(one) == document and one.is_document]
            if document == version_of(quote.passage):
                continue
            for near in _nearest(quote, own):
                if (key := (near.passage.chunk_id, near.text)) not in known:
                    found.setdefault(key, near)
    return tuple(sorted(found.values(), key=_standing, reverse=True)[:_COUNTERPARTS])


def are_as_near(one: Passage, other: Passage) -> bool:
    """Whether two passages bear on the question alike, by their vectors: all that tells across languages."""
    near, far = sorted((one.similarity, other.similarity), reverse=True)
    return far >= _AS_NEAR * near and min(one.relevance_score, other.relevance_score) >= _RELEVANT


def _nearest(quote: Quote, passages: Sequence[Passage]) -> Iterator[Quote]:
    """The piece most like each sentence of the quote, or like the whole of a list; else where it would have stood."""
    parts = [part for part, _ in _pieces(quote.text, in_blocks="\n" in quote.text.strip())][:_PARTS]
    found = False
    for part in parts:
        near = max((piece for one in passages for piece in _like(quote, part, one)), key=_standing, default=None)
        if near:
            found = True
            yield near
    if not found:
        yield from (place for one in passages if is_one_page(quote.passage, one) for place in _place_in(quote, one))


def _place_in(quote: Quote, version: Passage) -> Iterator[Quote]:
    """Of another version of the page the sentence that also stands near the quote in its own."""
    at = quote.passage.text.find(quote.text)
    around = quote.passage.text[max(0, at - _AROUND) : at + len(quote.text) + _AROUND]
    for piece, _ in _pieces(version.text, in_blocks=False):
        if len(piece) > _LETTERS and piece in around:
            yield Quote(passage=version, text=piece, score=0.0)
            return


def _standing(quote: Quote) -> tuple[float, str]:
    return quote.score, quote.text


def _like(quote: Quote, part: str, passage: Passage) -> Iterator[Quote]:
    asked = subject_words(part)
    for piece, own in _pieces(passage.text, in_blocks="\n" in part.strip()):
        shared = len(asked & own)
        like = 2 * shared / max(1, len(asked) + len(own))
        is_version = shared >= _ALIKE * min(len(asked), len(own)) and is_one_page(quote.passage, passage)
        if shared >= _SHARED and (is_version or like >= _ALIKE_APART):
            yield Quote(passage=passage, text=piece, score=like)


@lru_cache(maxsize=512)
def _pieces(text: str, *, in_blocks: bool) -> tuple[tuple[str, frozenset[str]], ...]:
    """The sentences or blocks of a text as they stand in it, each with its subject's words."""
    found = islice((_BLOCK if in_blocks else _SENTENCE).finditer(text), _PIECES)
    return tuple((piece[0].rstrip(), subject_words(piece[0])) for piece in found)
