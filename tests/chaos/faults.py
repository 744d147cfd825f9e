"""What is done to the machines, drawn from a seed: the same seed gives the same blows in the same order."""

import random
from dataclasses import dataclass
from enum import StrEnum, auto


class Kind(StrEnum):
    KILL_WORKER = auto()
    PAUSE_WORKER = auto()
    """Beyond its lease: others take over, then it wakes and goes on as if nothing had happened."""
    KILL_API = auto()
    PAUSE_API = auto()
    CRASH_POSTGRES = auto()
    """Stopped at once, memory lost, and back after a while."""
    KILL_REDIS = auto()
    """Back empty after a while."""
    PAUSE_REDIS = auto()


@dataclass(frozen=True)
class Blow:
    """One fault."""

    kind: Kind
    seconds: float
    """How long the machine is away, where that is not up to it."""
    gap_seconds: float
    """Until the next blow."""
    pick: float
    """Which of the machines it hits: 0 the first, below 1 the last."""


@dataclass(frozen=True)
class Storm:
    """How many blows of each kind, on how many chats."""

    chats: int
    kills_of_workers: int
    pauses_of_workers: int
    kills_of_apis: int
    pauses_of_apis: int
    crashes: int
    flaps: int
    """Of the Redis server, killed and paused in turn."""
    gap_seconds: float
    """On average, between two blows."""

    @property
    def kinds(self) -> list[Kind]:
        return [
            *[Kind.KILL_WORKER] * self.kills_of_workers,
            *[Kind.PAUSE_WORKER] * self.pauses_of_workers,
            *[Kind.KILL_API] * self.kills_of_apis,
            *[Kind.PAUSE_API] * self.pauses_of_apis,
            *[Kind.CRASH_POSTGRES] * self.crashes,
            *[(Kind.KILL_REDIS, Kind.PAUSE_REDIS)[number % 2] for number in range(self.flaps)],
        ]


SHORT = Storm(
    chats=6, kills_of_workers=1, pauses_of_workers=2, kills_of_apis=1, pauses_of_apis=1, crashes=1, flaps=2,
    gap_seconds=1.5,
)  # fmt: skip
LONG = Storm(
    chats=25, kills_of_workers=26, pauses_of_workers=26, kills_of_apis=8, pauses_of_apis=8, crashes=10, flaps=12,
    gap_seconds=5,
)  # fmt: skip


def schedule(storm: Storm, seed: int, lease_seconds: float) -> list[Blow]:
    """The blows of a seed, in order."""
    rng = random.Random(seed)
    kinds = storm.kinds
    rng.shuffle(kinds)
    return [
        Blow(kind, _seconds(kind, rng, lease_seconds), storm.gap_seconds * rng.uniform(0.4, 1.6), rng.random())
        for kind in kinds
    ]


def _seconds(kind: Kind, rng: random.Random, lease_seconds: float) -> float:
    match kind:
        case Kind.PAUSE_WORKER:
            return lease_seconds + rng.uniform(1, 3)
        case Kind.PAUSE_API:
            return rng.uniform(0.5, lease_seconds + 2)
        case _:
            return rng.uniform(0, 2)
