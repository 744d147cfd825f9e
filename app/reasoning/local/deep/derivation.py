"""A way to an answer: the expression, what it is made of, and how sure it is."""

from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Literal

from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.statements import Stated

Route = Literal[
    "sum", "rate", "rates", "share", "formula", "value", "difference", "total", "left", "date", "text", "own"
]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How an answer comes about."""

    route: Route
    score: float
    expression: str = ""
    """Plain arithmetic; empty where nothing is calculated."""
    unit: str = ""
    """Currency or kind of the result."""
    value: Fraction | None = None
    rules: tuple[Stated, ...] = ()
    """What it rests on."""
    pieces: tuple[Piece, ...] = ()
    """Pieces it rests on that state no amount."""
    given: tuple[Quantity, ...] = ()
    notes: tuple[str, ...] = ()
    """What was assumed or read, a line each."""
    label: str = ""
    """The answer in words, where it is none of the numbers."""
    noun: str = ""
    tool: str = ""
    """The tool that does it; empty = the calculator where there is an expression."""
    arguments: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    """What nobody stated; then there is no answer."""
    cap: Fraction | None = None
    """The most that it may come to."""
    floor: Fraction | None = None
    round_up: Fraction | None = None
    """The step it is rounded up to: one half for the next half day."""
    day: date | None = None

    @property
    def quoted(self) -> tuple[Piece, ...]:
        """Every piece it rests on, once."""
        return tuple(dict.fromkeys((*(one.piece for one in self.rules), *self.pieces)))

    @property
    def result(self) -> Fraction | None:
        """The value within its bounds."""
        if self.value is None:
            return None
        capped = self.value if self.cap is None else min(self.value, self.cap)
        return capped if self.floor is None else max(capped, self.floor)
