"""How much each leg of a search counts. Fused by weighted reciprocal rank: sum of weight / (60 + place).

Measured on the development questions (``bench/calibrate.py`` prints the table): without diacritics the vector of a
question points anywhere, so folded words lead; between languages words do not meet, so the vector's place counts for
both legs there, and a chunk is not pushed down for being in the other language.
"""

from typing import NamedTuple

from app.domain.knowledge import Language
from app.retrieval.text import Question

RANK_CONSTANT = 60
"""The usual k of reciprocal-rank fusion."""


class Legs(NamedTuple):
    """Weights of the two legs for one question."""

    vector: float
    text: float
    other_language: Language | None
    """Chunks in this language share no words with the question: their vector place counts for both legs."""
    is_folded: bool

    def named(self) -> dict[str, float]:
        """As a search plan reports them."""
        return {"vector": self.vector, "folded" if self.is_folded else "text": self.text}


def legs_of(question: Question) -> Legs:
    """The weights that were measured best for this kind of question."""
    if question.is_unaccented:
        return Legs(0.1, 1.0, None, is_folded=True)
    return Legs(1.0, 1.0, "en" if question.language == "vi" else "vi", is_folded=False)
