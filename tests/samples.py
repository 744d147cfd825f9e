"""How much of what can be tried is tried: a drawn part in `make test`, all of it in `make chaos` (CONCLAVE_WHOLE=1).

What is drawn is the same every time: a change is judged by the same cases. CONCLAVE_SAMPLE_SEED draws others; the seed
stands in the head of every run.
"""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

from tests.measured import VARIABLE

T = TypeVar("T")
WHOLE = bool(os.environ.get("CONCLAVE_WHOLE"))
SEED = int(os.environ.get("CONCLAVE_SAMPLE_SEED", "17"))
TOLD = "samples: everything (CONCLAVE_WHOLE)" if WHOLE else f"samples: CONCLAVE_SAMPLE_SEED={SEED}"


def drawn(cases: Iterable[T], number: int, *, whole: bool = WHOLE, seed: object = SEED) -> list[T]:
    """`number` of the cases in the order they stand in; all of them where the whole is played."""
    known = list(cases)
    if whole or number >= len(known):
        return known
    return [known[place] for place in sorted(random.Random(str(seed)).sample(range(len(known)), number))]


def size(part: int, whole: int, trust: int = 0) -> int:
    """How many are tried where there is no list to draw from; `trust`: what `make trust` tries of it (0 = the part)."""
    return whole if WHOLE else (trust or part) if os.environ.get(VARIABLE) else part


def story_seed(variable: str) -> int:
    """The seed of a story that is made up: what the environment says; else a new one where the whole is played, and
    the same every time where a part is."""
    return int(os.environ.get(variable, "0")) or (random.SystemRandom().randrange(1, 10**9) if WHOLE else SEED)
