"""Sentences, items and rows of the passages that were found."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.knowledge import Finding, Language, Passage
from app.reasoning.local.sentences import Unit, units_of, with_heading

_EXAMPLE = re.compile(r"^\W*(?:ví dụ|example|e\.g\.|for example|chẳng hạn)|\bví dụ\b|\bexample\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, item or row of a passage, with the headings above it."""

    unit: Unit
    passage: Passage
    is_quoted: bool
    rank: int
    """Of its passage: 0 is the best."""
    is_example: bool

    @property
    def language(self) -> Language:
        """Of the passage."""
        return "en" if self.passage.language == "en" else "vi"

    @property
    def heading(self) -> str:
        """Headings and lead above it."""
        return f"{self.unit.heading} {self.passage.section}"


def pieces_of(findings: Sequence[Finding]) -> tuple[Piece, ...]:
    """The pieces of every quoted passage, those of the best first; passages that only confirm them come last."""
    quotes = [quote for finding in findings if finding.found for quote in finding.quotes]
    beside = [quote for finding in findings if finding.found for quote in finding.counterparts]
    quoted = {(quote.passage.chunk_id, quote.text) for quote in quotes}
    passages: dict[object, Passage] = {}
    for quote in (*quotes, *beside):
        passages.setdefault(quote.passage.chunk_id, quote.passage)
    return tuple(
        piece
        for rank, passage in enumerate(passages.values())
        for piece in _pieces(passage, rank, frozenset(text for chunk, text in quoted if chunk == passage.chunk_id))
    )


def _pieces(passage: Passage, rank: int, quoted: frozenset[str]) -> Iterator[Piece]:
    in_example = False
    heading = ""
    for unit in units_of(passage.text):
        own = with_heading(unit, passage.section)
        if own.heading != heading:
            heading, in_example = own.heading, False
        in_example = in_example or bool(_EXAMPLE.search(f"{own.heading}")) or bool(_EXAMPLE.match(own.text))
        is_quoted = any(own.text in text or text in own.text for text in quoted)
        yield Piece(own, passage, is_quoted, rank, in_example or bool(_EXAMPLE.search(own.text[:40])))
