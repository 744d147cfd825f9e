"""What a program may cost, what it gave, and why it was stopped."""

from enum import StrEnum

from pydantic import Field, JsonValue

from app.domain.record import Record
from app.errors import ToolFailed

MAX_CODE_CHARS = 8000
MAX_OUTPUT_BYTES = 64 * 1024


class Limits(Record):
    """The costs at which a program is ended."""

    wall_seconds: float = Field(default=10.0, gt=0, le=60)
    """From handing the program over to having its result; sleeping counts."""
    cpu_seconds: float = Field(default=5.0, gt=0, le=60)
    """Of computing; sleeping does not count."""
    memory_bytes: int = Field(default=64 * 2**20, ge=2**20, le=2**30)
    output_bytes: int = Field(default=MAX_OUTPUT_BYTES, ge=1, le=MAX_OUTPUT_BYTES)
    """UTF-8 of what is printed and of the last value written out, together."""


class Ran(Record):
    """A program that came to its end."""

    printed: str
    shown: str
    """The value of the last line, when it is an expression, as Python writes it (a text as it is); else empty."""
    value: JsonValue
    """The same for machines: what JSON has no word for is text (whole numbers beyond 2^53, dates, exact decimals)."""
    seconds: float
    peak_bytes: int | None
    """The most memory its process held, some 9 MB of it the interpreter's own; None where that is not told."""


class Stop(StrEnum):
    """Why a program gave no result."""

    TOO_LONG = "too_long"
    """The program or its inputs; it was not run."""
    PROGRAM = "program"
    """An error of its own: syntax, an unknown name, an exception it did not catch."""
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    CRASH = "crash"
    """The process died under it; the next program gets another."""


class ProgramStopped(ToolFailed):
    """The program gave no result; `detail` is its own message, one bounded line, for `Stop.PROGRAM`."""

    def __init__(self, stop: Stop, detail: str = ""):
        super().__init__(f"{stop}: {detail}" if detail else stop)
        self.stop = stop
        self.detail = detail
