"""What sort of disagreement two passages have: by page, validity, scope, department and age, in this order."""

from datetime import UTC, datetime
from typing import NamedTuple

from app.claims.record import Validity
from app.claims.validity import validity_of
from app.domain.conflicts import ConflictType
from app.domain.knowledge import Passage
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
    if one.document_id == other.document_id or not one.title.strip():
        return False
    if (_title(one), one.department, one.scope) != (_title(other), other.department, other.scope):
        return False
    mine, theirs = frozenset(content_words(one.text)), frozenset(content_words(other.text))
    return len(mine & theirs) >= _SAME_PAGE * max(1, min(len(mine), len(theirs)))


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


def _title(passage: Passage) -> str:
    return normalise(passage.title).lower()
