"""How much a figure may be chance: bootstrap intervals over questions, intervals of shares, percentiles of times."""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from app.evaluation.rates import Pair, rate

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
    if not asked:
        return None
    draw = random.Random(seed)
    drawn = [rate(draw.choices(asked, k=len(asked))) for _ in range(resamples)]
    return _ends([value for value in drawn if value is not None], level)


def difference_interval(
    before: Sequence[Pair], after: Sequence[Pair], *, seed: int, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | None:
    """Paired bootstrap of rate(after) - rate(before): the n-th pairs are of the same question and drawn together."""
    asked = [both for both in zip(before, after, strict=True) if both[0].whole or both[1].whole]
    draw = random.Random(seed)
    drawn: list[float] = []
    for _ in range(resamples if asked else 0):
        sample = draw.choices(asked, k=len(asked))
        was, now = rate(one for one, _ in sample), rate(other for _, other in sample)
        if was is not None and now is not None:
            drawn.append(now - was)
    return _ends(drawn, level) if drawn else None


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
