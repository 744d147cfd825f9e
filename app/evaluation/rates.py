"""Rates: sums of parts over sums of wholes. Every figure of a report that is a share is one of these.

A question contributes a pair (part, whole); (0, 0) says nothing. Keeping pairs keeps precision, recall and F1 exact
when questions are drawn again for an interval.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Pair(NamedTuple):
    """What one question adds to a rate."""

    part: float
    whole: float


def rate(pairs: Iterable[Pair]) -> float | None:
    """Σ part ÷ Σ whole; None when nothing was asked (Σ whole = 0)."""
    parts = wholes = 0.0
    for part, whole in pairs:
        parts, wholes = parts + part, wholes + whole
    return parts / wholes if wholes else None


def share(holds: bool) -> Pair:
    """A yes or no, as a part of the questions it was asked of."""
    return Pair(float(holds), 1.0)


class Counts(NamedTuple):
    """How often a class was due, said, and both."""

    both: int
    said: int
    due: int

    @property
    def precision(self) -> float | None:
        """both ÷ said: of the answers that said it, the share that should. None when nobody said it."""
        return self.both / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        """both ÷ due: of the questions it was due for, the share that got it. None when it was never due."""
        return self.both / self.due if self.due else None

    @property
    def f1(self) -> float | None:
        """2 · both ÷ (said + due), the harmonic mean of precision and recall. None when neither due nor said."""
        return 2 * self.both / (self.said + self.due) if self.said + self.due else None


def counts(name: str, pairs: Sequence[tuple[str, str]]) -> Counts:
    """Counts of class `name` over (due, said) pairs."""
    return Counts(
        both=sum(1 for due, said in pairs if due == said == name),
        said=sum(1 for _, said in pairs if said == name),
        due=sum(1 for due, _ in pairs if due == name),
    )


def precision_pair(due: bool, said: bool) -> Pair:
    """One question's part in a precision."""
    return Pair(float(due and said), float(said))


def recall_pair(due: bool, said: bool) -> Pair:
    """One question's part in a recall."""
    return Pair(float(due and said), float(due))


def f1_pair(due: bool, said: bool) -> Pair:
    """One question's part in an F1."""
    return Pair(2.0 * (due and said), float(due) + float(said))
