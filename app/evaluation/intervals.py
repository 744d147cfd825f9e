"""How much a figure may be chance: bootstrap intervals over questions, intervals of shares, percentiles of times."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from app.evaluation.rates import Pair

RESAMPLES, LEVEL = 1_000, 0.95


class Interval(NamedTuple):
    """Both ends."""

    low: float
    high: float


def percentile(values: Sequence[float], q: float) -> float | None:
    """The value at rank ⌈q · n⌉ of the n sorted values (nearest rank; q in 0–1); None without values."""
    ordered = sorted(values)
    return ordered[max(math.ceil(q * len(ordered)), 1) - 1] if ordered else None


def interval(pairs: Sequence[Pair], *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL) -> Interval | None:
    """Percentile bootstrap of a rate: draw as many questions as there are, with replacement, `resamples` times.

    The ends are the (1 - level) ÷ 2 and (1 + level) ÷ 2 percentiles of the rates drawn. The same seed gives the same
    ends. None when nothing was asked.
    """
    asked = [pair for pair in pairs if pair.whole]
    return _ends(_rates_drawn(asked, seed, resamples)[:, 0].tolist(), level) if asked else None


def difference_interval(
    before: Sequence[Pair], after: Sequence[Pair], *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Paired bootstrap of rate(after) - rate(before): the n-th pairs are of the same question and drawn together."""
    asked = [(*one, *other) for one, other in zip(before, after, strict=True) if one.whole or other.whole]
    if not asked:
        return None
    drawn = _rates_drawn(asked, seed, resamples)
    moved = (drawn[:, 1] - drawn[:, 0])[~np.isnan(drawn).any(axis=1)]
    return _ends(moved.tolist(), level) if moved.size else None


def median_interval(values: Sequence[float], *, seed: int, resamples: int = RESAMPLES) -> Interval | None:
    """Percentile bootstrap of the median; None without values."""
    if not values:
        return None
    drawn = np.median(np.asarray(values)[_draws(len(values), seed, resamples)], axis=1)
    return _ends(drawn.tolist(), LEVEL)


def _draws(asked: int, seed: int, resamples: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(asked, size=(resamples, asked))


def _rates_drawn(
    asked: Sequence[tuple[float, ...]], seed: int, resamples: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """A row a draw, a column for each two columns (part, whole) of `asked`; NaN where nothing drawn was asked."""
    sums = np.asarray(asked, dtype=float)[_draws(len(asked), seed, resamples)].sum(axis=1)
    with np.errstate(invalid="ignore"):
        rates: np.ndarray[tuple[int, int], np.dtype[np.float64]] = sums[:, 0::2] / sums[:, 1::2]
    return rates


def share_interval(right: int, asked: int, *, level: float = LEVEL) -> Interval:
    """Wilson's score interval of `right` ÷ `asked`, `asked` ≥ 1: holds for few questions too, also where none or all
    are right, of which drawing again would tell nothing."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, slack = right / asked, z * z / asked
    middle, half = (share + slack / 2) / (1 + slack), z * math.sqrt(share * (1 - share) / asked + slack / (4 * asked))
    return Interval(max(0.0, middle - half / (1 + slack)), min(1.0, middle + half / (1 + slack)))


def _ends(values: Sequence[float], level: float) -> Interval:
    low, high = percentile(values, (1 - level) / 2), percentile(values, (1 + level) / 2)
    assert low is not None and high is not None
    return Interval(low, high)
