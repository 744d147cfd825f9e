"""What of a streamed answer may go out: whole statements, with valid citations, without figures nobody stated.

A statement is a sentence or a line. It is held until it is complete, so the result does not depend on how the stream
cut. Citations ``[n]`` name the n-th evidence of this run; others are taken out, and a statement without one gets
the evidence whose words it shares. One with a figure that stands in no source, question or computation is left out.
"""

import re
from collections.abc import Iterator, Sequence

from app.domain.evidence import CITATION, without_citations
from app.reasoning import ComposeRequest
from app.reasoning.llm.grounds import Grounds, texts_of
from app.text.language import clean, content_words

_END = re.compile(r"\n+|(?<=[^\s\d][.!?…])(?=\s)|(?<=[.!?…][\]”\"')])(?=\s)")
"""Where a statement ends; a full stop behind a digit may belong to a number or a list."""
_STOP = re.compile(r"(?P<stop>[.!?…:;]*)(?P<space>\s*)$")
_ALIKE = 0.5
"""Share of a statement's words an evidence must hold to be placed behind it."""
_LEAST_WORDS = 4
NOTHING = "NOT_FOUND"


def grounds_of(request: ComposeRequest) -> Grounds:
    """Everything the composer was given; here a figure is not even rounded."""
    texts = [request.query, *request.computations, *request.summaries, *(one.query for one in request.findings)]
    for point in request.conflicts:
        texts += [point.winner, point.loser, point.reason, point.winner_title, point.loser_title]
    return Grounds([*texts, *texts_of(findings=request.findings)], may_round=False)


def _words_of(request: ComposeRequest) -> dict[int, frozenset[str]]:
    """The words of each evidence's quotes, by its number."""
    numbers = {evidence.url: number for number, evidence in enumerate(request.evidence, 1)}
    words: dict[int, set[str]] = {number: set() for number in numbers.values()}
    for quote in (quote for finding in request.findings for quote in finding.quotes):
        if (number := numbers.get(quote.passage.address)) is not None:
            words[number].update(content_words(f"{quote.passage.title} {quote.text}"))
    return {number: frozenset(held) for number, held in words.items()}


class AnswerGate:
    """Takes pieces of a stream, gives out statements. `finish` gives the rest."""

    def __init__(self, request: ComposeRequest):
        self._grounds, self._words = grounds_of(request), _words_of(request)
        self._held = ""
        self._said = False
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
        cut = max((mark.end() for mark in _END.finditer(self._held)), default=0)
        complete, self._held = self._held[:cut], self._held[cut:]
        return self._released(complete)

    def finish(self) -> str:
        """What was held."""
        if self.said_nothing_found:
            return ""
        rest, self._held = self._held, ""
        return self._released(rest)

    def _released(self, text: str) -> str:
        out = "".join(self._checked(statement) for statement in _statements(text))
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
        cited = self._valid(statement)
        if not cited and (best := self._alike(bare)) is not None:
            cited = [best]
        return _marked(bare, cited)

    def _valid(self, statement: str) -> list[int]:
        named = (mark["one"] or mark["two"] for mark in CITATION.finditer(statement))
        numbers = [int(number) for group in named for number in re.split(r"\s*[,;]\s*", group)]
        return [number for number in dict.fromkeys(numbers) if number in self._words]

    def _alike(self, statement: str) -> int | None:
        words = frozenset(content_words(statement))
        if len(words) < _LEAST_WORDS or not self._words:
            return None
        best = max(self._words, key=lambda number: len(words & self._words[number]))
        return best if len(words & self._words[best]) >= _ALIKE * len(words) else None


def _statements(text: str) -> Iterator[str]:
    start = 0
    for mark in _END.finditer(text):
        yield text[start : mark.end()]
        start = mark.end()
    if start < len(text):
        yield text[start:]


def _marked(statement: str, cited: Sequence[int]) -> str:
    """The citations before the closing full stop."""
    if not cited:
        return statement
    marks = "".join(f"[{number}]" for number in cited)
    end = _STOP.search(statement)
    assert end is not None
    return f"{statement[: end.start()]} {marks}{end['stop']}{end['space']}"
