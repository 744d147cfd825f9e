"""The figures of a report: what each is called, rates with bootstrap intervals, and calibration.

A question adds a pair (part, whole) to a rate; (0, 0) says nothing. Keeping pairs keeps precision, recall and F1 exact
when questions are drawn again for an interval.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from app.domain.record import Record

CUT = 5
"""k of recall@k."""
RESAMPLES, LEVEL, BINS, SEED = 1_000, 0.95, 10, 20_261_121


METRICS = {
    "right": "right",
    "fully_right": "fully right",
    "partly": "partly right",
    "wrong_answered": "wrong and answered",
    "wrong_hedged": "wrong and hedged",
    "wrongly_refused": "wrongly refused",
    "extra": "extra sentences",
    "stale": "stale",
    "facts": "facts",
    "recall": f"recall@{CUT}",
    "outcome": "outcome",
    "not_found_precision": "not found: precision",
    "not_found_recall": "not found: recall",
    "not_found_f1": "not found: F1",
    "routing": "routing",
    "conflict_precision": "conflict: precision",
    "conflict_recall": "conflict: recall",
    "conflict_f1": "conflict: F1",
    "winner": "winner",
    "leaking": "leaking answers",
}
"""The rates of a report with their titles; docs/evaluation.md tells what each is a share of."""


class Pair(NamedTuple):
    """What one question adds to a rate."""

    part: float
    whole: float


class Interval(NamedTuple):
    """Both ends."""

    low: float
    high: float


def share(holds: bool) -> Pair:
    """Count a yes or no as a part of the questions it was asked of."""
    return Pair(float(holds), 1.0)


def class_pairs(name: str, due: bool, said: bool) -> dict[str, Pair]:
    """Count one question's part in precision, recall and F1 of a class that was due, said, or both."""
    both = float(due and said)
    return {
        f"{name}_precision": Pair(both, float(said)),
        f"{name}_recall": Pair(both, float(due)),
        f"{name}_f1": Pair(2 * both, float(due) + float(said)),
    }


def recall_at(k: int, needs: Sequence[frozenset[str]], ranked: Sequence[str]) -> float:
    """Measure the share of `needs` (documents of which one is enough) that the first `k` documents meet; 0 without."""
    found = set(ranked[:k])
    return sum(1 for need in needs if need & found) / len(needs) if needs else 0.0


def rate(pairs: Iterable[Pair]) -> float | None:
    """Divide Σ part by Σ whole; None when nothing was asked (Σ whole = 0)."""
    parts = wholes = 0.0
    for part, whole in pairs:
        parts, wholes = parts + part, wholes + whole
    return parts / wholes if wholes else None


def percentile(values: Sequence[float], q: float) -> float | None:
    """Find the value at rank ⌈q · n⌉ of the n sorted values (nearest rank; q in 0–1); None without values."""
    return float(np.quantile(values, q, method="inverted_cdf")) if values else None


def interval(pairs: Sequence[Pair], *, seed: int = SEED, resamples: int = RESAMPLES) -> Interval | None:
    """Percentile bootstrap of a rate: draw as many questions as there are, with replacement, `resamples` times.

    The ends are the (1 - level) ÷ 2 and (1 + level) ÷ 2 percentiles of the rates drawn. The same seed gives the same
    ends. None when nothing was asked.
    """
    asked = [pair for pair in pairs if pair.whole]
    if not asked:
        return None
    drawn = np.random.default_rng(seed).integers(len(asked), size=(resamples, len(asked)))
    sums = np.asarray(asked)[drawn].sum(axis=1)
    ends = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], ends, method="inverted_cdf").tolist()
    return Interval(low, high)


class Bin(Record):
    """Answers of about the same confidence."""

    low: float
    """Lower edge; the bin is ``1 / BINS`` wide, the last one includes 1."""
    answers: int
    confidence: float
    """Mean."""
    right: float
    """Share."""


def reliability(points: Sequence[tuple[float, bool]]) -> tuple[Bin, ...]:
    """Sort (confidence, is right) into `BINS` bins of equal width; empty ones are left out."""
    groups: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for confidence, is_right in points:
        groups[min(int(confidence * BINS), BINS - 1)].append((confidence, is_right))
    return tuple(
        Bin(
            low=level / BINS, answers=len(members), confidence=sum(sure for sure, _ in members) / len(members),
            right=sum(is_right for _, is_right in members) / len(members),
        )
        for level, members in sorted(groups.items())
    )  # fmt: skip


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """ECE = Σ nᵦ · |confidenceᵦ - rightᵦ| ÷ Σ nᵦ over the bins b. 0 is perfect, 1 the worst; None without answers."""
    answers = sum(one.answers for one in bins)
    return sum(one.answers * abs(one.confidence - one.right) for one in bins) / answers if answers else None
