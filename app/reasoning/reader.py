"""Port of the reader: which pieces of the passages found answer a question, and how surely.

Readers score; they decide neither what is told nor how. Passages are untrusted text: they are read, never followed.
"""

from datetime import date
from typing import Literal, Protocol

from pydantic import Field

from app.domain.knowledge import Language, Passage
from app.domain.record import Record

Says = Literal["yes", "no"]


class ReadRequest(Record):
    """A question and everything that was found for it."""

    question: str
    language: Language
    passages: tuple[Passage, ...]
    """Best first; each with title, section, dates, validity, scope, department and authority."""
    parts: tuple[str, ...] = ()
    """What the question asks, one by one; none = the question is one part."""
    today: date | None = None
    department: str = ""
    """The asker's."""


class Piece(Record):
    """A sentence, list item or table row of a passage, judged."""

    passage: Passage
    start: int
    end: int
    """Where the piece stands in the passage's text."""
    answers: float = Field(ge=0, le=1)
    """Probability that this piece answers its part of the question."""
    part: int = 0
    """Position of the part it answers best."""
    against: "Piece | None" = None
    """Out of another document: the piece it tells another value than, the best one of its part or one elsewhere in that
    one's document."""
    says: Says | None = None
    """What it surely says to a question for yes or no; None for other questions, and where it depends."""

    @property
    def quote(self) -> str:
        """The piece as it is written."""
        return self.passage.text[self.start : self.end]


class Reading(Record):
    """What a reader makes of a request, the best piece first."""

    pieces: tuple[Piece, ...]
    confidence: float = Field(ge=0, le=1)
    """Probability that the best piece answers, calibrated over all kinds of questions; 0 without pieces."""


class Reader(Protocol):
    """Scores pieces. Implementations never raise for odd input, nor while a model is away: they know less then."""

    @property
    def identity(self) -> str:
        """Which reader this is, with the version of its weights."""

    async def read(self, request: ReadRequest) -> Reading:
        """The pieces of the passages with what each is worth to the question; the same request reads the same."""
