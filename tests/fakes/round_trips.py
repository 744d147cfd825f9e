"""How many calls of a run waited for one another: the model round trips on its critical path."""

from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.house_mind import house_mind
from tests.fakes.model_server import Asked, Reply

WAIT_SECONDS = 0.2
"""Every reply takes at least this long, so that calls side by side are told from calls in a row."""


def slow_house_mind(asked: Asked) -> Reply:
    """The house's mind, thinking for `WAIT_SECONDS`."""
    return replace(house_mind(asked), wait_seconds=WAIT_SECONDS)


def round_trips(requests: Sequence[Asked]) -> int:
    """The longest chain of calls of which each began after the one before it had been answered."""
    longest: list[int] = []
    arrived = [asked.arrived_at for asked in requests]
    for number, moment in enumerate(arrived):
        before = [longest[other] for other in range(number) if arrived[other] + WAIT_SECONDS <= moment]
        longest.append(1 + max(before, default=0))
    return max(longest, default=0)
