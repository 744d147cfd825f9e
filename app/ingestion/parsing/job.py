"""What the serving process and the forking process say to one another: a job there, a verdict back."""

import json
from dataclasses import asdict, dataclass
from typing import NamedTuple

from app.ingestion.parsing.outcome import DescribedKind, FileKind, ParseLimits

JOB_BYTES = 1024
"""Every job message has this length, filled up with spaces."""
OUT_OF_MEMORY, BROKEN = 91, 92
"""Exit codes of a reader that could not answer."""


@dataclass(frozen=True)
class Job:
    """One file to read; its bytes come over a socket of their own."""

    kind: FileKind | DescribedKind
    size: int
    """In bytes."""
    limits: ParseLimits

    def to_message(self) -> bytes:
        """As it is sent."""
        return json.dumps(asdict(self)).encode().ljust(JOB_BYTES)

    @classmethod
    def from_message(cls, message: bytes) -> "Job":
        """As it was sent."""
        told = json.loads(message)
        described = told["kind"] in tuple(DescribedKind)
        kind = DescribedKind(told["kind"]) if described else FileKind(told["kind"])
        return cls(kind, told["size"], ParseLimits(**told["limits"]))


class Verdict(NamedTuple):
    """How a reader ended."""

    signal: int = 0
    exit: int = 0
    peak_bytes: int = 0
    """Resident memory at its highest."""
    cpu_seconds: float = 0.0

    def to_message(self) -> bytes:
        """As it is sent."""
        return json.dumps(self).encode()

    @classmethod
    def from_message(cls, message: bytes) -> "Verdict":
        """As it was sent."""
        return cls(*json.loads(message))
