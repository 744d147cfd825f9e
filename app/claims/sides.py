"""The two sides that are compared, and what they disagree in."""

from collections.abc import Set
from dataclasses import dataclass

from app.claims.record import Claim
from app.domain.knowledge import Language


@dataclass(frozen=True)
class Text:
    """One side: what was quoted, and the passage it stands in."""

    quoted: str
    whole: str
    title: str = ""
    section: str = ""
    language: Language | None = None


@dataclass(frozen=True)
class Clash:
    """Two claims that cannot both hold, in the order the texts were given."""

    one: Claim
    other: Claim
    overlap: float
    """How far the sentences speak of the same, 0–1."""


def overlap_of(one: Set[str], other: Set[str]) -> float:
    """Share of the smaller set that stands in both, 0–1."""
    return len(one & other) / max(1, min(len(one), len(other)))


def dice_of(one: Set[str], other: Set[str]) -> float:
    """Share of both sets that stands in both, 0–1."""
    return 2 * len(one & other) / max(1, len(one) + len(other))
