"""Count and write figures in the text format of Prometheus (version 0.0.4), as far as this service needs it.

A series is made when its labels are first seen. How many one figure may have is bounded: what comes beyond
`MOST_SERIES` is counted under ``other``, so no caller can fill the memory with names.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_SERIES = 500
"""Of one figure."""
SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the buckets of a duration, from a small page to a deep run."""
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class _Figure:
    """A name, its help, and the names of its labels."""

    kind = "untyped"

    def __init__(self, name: str, meaning: str, labels: Sequence[str] = ()):
        self.name, self.meaning, self.labels = name, meaning, tuple(labels)

    def lines(self) -> Iterable[str]:
        """Yield the figure as it is now: help, type, and its samples."""
        yield f"# HELP {self.name} {self.meaning}"
        yield f"# TYPE {self.name} {self.kind}"
        yield from self.samples()

    def samples(self) -> Iterable[str]:
        """Yield one line a sample."""
        return ()

    def sample(self, values: Sequence[str], number: float, suffix: str = "", extra: str = "") -> str:
        """Write one sample; `extra` is a label that is written already."""
        written = [
            f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in zip(self.labels, values, strict=True)
        ]
        inside = ",".join((*written, *([extra] if extra else ())))
        return (
            f"{self.name}{suffix}{{{inside}}} {_number(number)}" if inside else f"{self.name}{suffix} {_number(number)}"
        )


class Counter(_Figure):
    """A sum that only grows."""

    kind = "counter"

    def __init__(self, name: str, meaning: str, labels: Sequence[str] = ()):
        super().__init__(name, meaning, labels)
        self._sums: dict[tuple[str, ...], float] = {} if self.labels else {(): 0.0}

    def add(self, *values: str, by: float = 1.0) -> None:
        """Add to the series of these label values."""
        found = _bounded(self._sums, values)
        self._sums[found] = self._sums.get(found, 0.0) + by

    def samples(self) -> Iterable[str]:
        """Yield one line a series."""
        return [self.sample(values, number) for values, number in sorted(self._sums.items())]


class Gauge(_Figure):
    """What is read at the moment somebody asks: set anew for every answer."""

    kind = "gauge"

    def __init__(self, name: str, meaning: str, labels: Sequence[str] = (), kind: str = "gauge"):
        """`kind`: ``counter`` for a sum that is kept elsewhere."""
        super().__init__(name, meaning, labels)
        self.kind = kind
        self._now: dict[tuple[str, ...], float] = {}

    def set(self, *values: str, to: float) -> None:
        """Say what it is now for these label values."""
        self._now[_bounded(self._now, values)] = to

    def clear(self) -> None:
        """Forget what was set, so that what is gone is not told again."""
        self._now.clear()

    def samples(self) -> Iterable[str]:
        """Yield one line a series."""
        return [self.sample(values, number) for values, number in sorted(self._now.items())]


class Histogram(_Figure):
    """How long things took: counts by upper bound, their sum and number."""

    kind = "histogram"

    def __init__(self, name: str, meaning: str, labels: Sequence[str] = (), bounds: Sequence[float] = SECONDS):
        super().__init__(name, meaning, labels)
        self._bounds = tuple(bounds)
        self._seen: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, *values: str, seconds: float) -> None:
        """Count one duration in."""
        found = _bounded(self._seen, values)
        buckets = self._seen.setdefault(found, [0] * (len(self._bounds) + 1))
        buckets[bisect_left(self._bounds, seconds)] += 1
        self._sums[found] = self._sums.get(found, 0.0) + seconds

    def samples(self) -> Iterable[str]:
        """Yield the buckets of every series, each with all that lie below it, then sum and count."""
        for values, buckets in sorted(self._seen.items()):
            below = 0
            for bound, count in zip((*self._bounds, math.inf), buckets, strict=True):
                below += count
                yield self.sample(values, below, "_bucket", f'le="{_number(bound)}"')
            yield self.sample(values, self._sums[values], "_sum")
            yield self.sample(values, below, "_count")


def _bounded(series: Mapping[tuple[str, ...], object], values: tuple[str, ...]) -> tuple[str, ...]:
    """The labels to count under: their own, or ``other`` where there are too many."""
    return values if values in series or len(series) < MOST_SERIES else ("other",) * len(values)


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
