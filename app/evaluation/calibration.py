"""Whether the confidence of answers can be believed: reliability table and expected calibration error."""

from collections import defaultdict
from collections.abc import Sequence

from app.domain.record import Record

BINS = 10


class Bin(Record):
    """Answers of about the same confidence."""

    low: float
    """Lower edge; the bin is ``1 / BINS`` wide, the last one includes 1."""
    answers: int
    confidence: float
    """Mean."""
    right: float
    """Share."""


def reliability(points: Sequence[tuple[float, bool]], bins: int = BINS) -> tuple[Bin, ...]:
    """(confidence, is right) in `bins` bins of equal width, in order; empty ones are left out."""
    groups: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, is_right in points:
        groups[min(int(confidence * bins), bins - 1)].append((confidence, is_right))
    return tuple(_bin(level / bins, groups[level]) for level in sorted(groups))


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """ECE = Σ nᵦ · |confidenceᵦ - rightᵦ| ÷ Σ nᵦ over the bins b. 0 is perfect, 1 the worst; None without answers."""
    answers = sum(one.answers for one in bins)
    return sum(one.answers * abs(one.confidence - one.right) for one in bins) / answers if answers else None


def _bin(low: float, members: Sequence[tuple[float, bool]]) -> Bin:
    return Bin(
        low=low,
        answers=len(members),
        confidence=sum(confidence for confidence, _ in members) / len(members),
        right=sum(is_right for _, is_right in members) / len(members),
    )
