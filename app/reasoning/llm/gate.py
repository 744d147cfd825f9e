"""What of a streamed answer may go out: whole statements, with valid citations, without figures nobody stated.

A statement is a sentence or a line. It is held until it is complete, so the result does not depend on how the stream
cut. Citations ``[n]`` name the n-th evidence of this run; others are taken out, and none is added. A statement with a
figure that stands in no source, question or computation is left out.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from app.domain.evidence import CITATION, without_citations
from app.reasoning import ComposeRequest
from app.reasoning.llm.grounds import Grounds, texts_of
from app.text.language import clean

_NEXT = r"(?=\s+[^\s\[【])"
_END = re.compile(
    rf"(?<=[^\s\d][.!?…]){_NEXT}|(?<=[.!?…][\]”\"')]){_NEXT}|(?<=[.!?…] \[\d\]){_NEXT}|\n\s*(?=[^\s\[【])"
)
"""Where a statement ends: not before a citation behind its full stop, nor at a stop that may belong to a number."""
_STOP = re.compile(r"(?P<stop>[.!?…:;]*)(?P<space>\s*)$")
NOTHING = "NOT_FOUND"


def grounds_of(request: ComposeRequest) -> Grounds:
    """Everything the composer was given; here a figure is not even rounded."""
    texts = [request.query, *request.computations, *request.summaries, *(one.query for one in request.findings)]
    for point in request.conflicts:
        texts += [point.winner, point.loser, point.reason, point.winner_title, point.loser_title]
    return Grounds([*texts, *texts_of(findings=request.findings)], may_round=False)


class AnswerGate:
    """Takes pieces of a stream, gives out statements. `finish` gives the rest."""

    def __init__(self, request: ComposeRequest):
        self._grounds, self._sources = grounds_of(request), len(request.evidence)
        self._held, self._said = "", False
        self.left_out = 0

    @property
    def said_nothing_found(self) -> bool:
        """Whether the model said, instead of answering, that the sources hold no answer."""
        return self._held.strip(" .*`\n").startswith(NOTHING) and not self._said

    def feed(self, piece: str) -> str:
        """What may go out now."""
        self._held += piece
        if not self._said and NOTHING.startswith(self._held.strip(" .*`\n")[: len(NOTHING)]):
            return ""  # may still become the word for "nothing"
        return self._released([mark.end() for mark in _END.finditer(self._held)])

    def finish(self) -> str:
        """What was held."""
        if self.said_nothing_found:
            return ""
        return self._released([*(mark.end() for mark in _END.finditer(self._held)), len(self._held)])

    def _released(self, cuts: Sequence[int]) -> str:
        """The statements up to the last of the cuts, as far as they may go out."""
        held, self._held = self._held, self._held[cuts[-1] if cuts else 0 :]
        out = "".join(self._checked(held[start:end]) for start, end in pairwise([0, *cuts]))
        out = out if self._said else out.lstrip()
        self._said = self._said or bool(out.strip())
        return out

    def _checked(self, statement: str) -> str:
        statement = clean(statement)
        bare = without_citations(statement)
        if not bare.strip():
            return bare
        if self._grounds.unknown(bare):
            self.left_out += 1
            return ""
        return _marked(bare, self._valid(statement))

    def _valid(self, statement: str) -> list[int]:
        named = (mark["one"] or mark["two"] for mark in CITATION.finditer(statement))
        numbers = [int(number) for group in named for number in re.split(r"\s*[,;]\s*", group)]
        return [number for number in dict.fromkeys(numbers) if 1 <= number <= self._sources]


def _marked(statement: str, cited: Sequence[int]) -> str:
    """The citations before the closing full stop."""
    if not cited:
        return statement
    marks = "".join(f"[{number}]" for number in cited)
    end = _STOP.search(statement)
    assert end is not None
    return f"{statement[: end.start()]} {marks}{end['stop']}{end['space']}"
