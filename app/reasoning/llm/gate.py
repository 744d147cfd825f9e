"""What of a streamed answer may go out: whole statements, with valid citations, without figures nobody stated.

A statement is a sentence or a line. It is held until it is complete, so the result does not depend on how the stream
cut. Citations ``[n]`` name the n-th evidence of this run; others are taken out, and a statement without one gets
the evidence whose words it shares. One with a figure that stands in no source, question or computation is left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from app.domain.evidence import CITATION, without_citations
from app.reasoning import ComposeRequest
from app.text.amounts import amounts_in
from app.text.language import clean, content_words, normalise

_END = re.compile(r"\n+|(?<=[^\s\d][.!?…])(?=\s)|(?<=[.!?…][\]”\"')])(?=\s)")
"""Where a statement ends; a full stop behind a digit may belong to a number or a list."""
_STOP = re.compile(r"(?P<stop>[.!?…:;]*)(?P<space>\s*)$")
_LIST_NUMBER = re.compile(r"^\s*(?:[-*•]\s+)?\d{1,2}[.)]\s")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ALIKE = 0.5
"""Share of a statement's words an evidence must hold to be placed behind it."""
_LEAST_WORDS = 4
NOTHING = "NOT_FOUND"


@dataclass(frozen=True)
class Grounds:
    """What a statement may rest on."""

    figures: frozenset[Decimal]
    words: Mapping[int, frozenset[str]]
    """Number of each evidence to the words of its quotes."""

    @classmethod
    def of(cls, request: ComposeRequest) -> "Grounds":
        """Of everything the composer was given."""
        numbers = {evidence.url: number for number, evidence in enumerate(request.evidence, 1)}
        words: dict[int, set[str]] = {number: set() for number in numbers.values()}
        texts = [request.query, *request.computations, *request.summaries]
        for finding in request.findings:
            texts += [finding.query, finding.answer]
            for quote in finding.quotes:
                texts += [quote.passage.text, quote.passage.section, quote.passage.title]
                if (number := numbers.get(quote.passage.address)) is not None:
                    words[number].update(content_words(f"{quote.passage.title} {quote.text}"))
        texts += [text for point in request.conflicts for text in (point.winner, point.loser, point.reason)]
        texts += [text for point in request.conflicts for text in (point.winner_title, point.loser_title)]
        return cls(figures_of("\n".join(texts)), {number: frozenset(held) for number, held in words.items()})


class AnswerGate:
    """Takes pieces of a stream, gives out statements. `finish` gives the rest."""

    def __init__(self, grounds: Grounds):
        self._grounds = grounds
        self._held = ""
        self._said = False
        self.left_out = 0
        """Statements that did not go out."""
        self.cited: set[int] = set()
        """Evidence that is cited in what went out."""

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
        if not states_only(_LIST_NUMBER.sub("", bare), self._grounds.figures):
            self.left_out += 1
            return ""
        cited = self._valid(statement)
        if not cited and (best := self._alike(bare)) is not None:
            cited = [best]
        self.cited.update(cited)
        return _marked(bare, cited)

    def _valid(self, statement: str) -> list[int]:
        named = (mark["one"] or mark["two"] for mark in CITATION.finditer(statement))
        numbers = [int(number) for group in named for number in re.split(r"\s*[,;]\s*", group)]
        return [number for number in dict.fromkeys(numbers) if number in self._grounds.words]

    def _alike(self, statement: str) -> int | None:
        words = frozenset(content_words(statement))
        if len(words) < _LEAST_WORDS or not self._grounds.words:
            return None
        best = max(self._grounds.words, key=lambda number: len(words & self._grounds.words[number]))
        return best if len(words & self._grounds.words[best]) >= _ALIKE * len(words) else None


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


def figures_of(text: str) -> frozenset[Decimal]:
    """Values of the numbers and amounts in a text. ``1.500`` may mean 1500 or 1.5 and counts as both."""
    text = normalise(text)
    stated = {amount.value for amount in amounts_in(text)}
    for number in _NUMBER.finditer(text):
        stated |= _readings(number[0])
    return frozenset(stated)


def states_only(text: str, known: frozenset[Decimal]) -> bool:
    """Whether each number of a text is known, as it stands or with its scale (``5 triệu``)."""
    text = normalise(text)
    amounts = [amount for amount in amounts_in(text) if amount.value in known]
    return all(
        _readings(number[0]) & known or any(a.start <= number.start() and number.end() <= a.end for a in amounts)
        for number in _NUMBER.finditer(text)
    )


def _readings(number: str) -> set[Decimal]:
    texts = (re.sub("[.,]", "", number), number.replace(",", "."), number.replace(".", "").replace(",", "."))
    return {value for text in texts if (value := _decimal(text)) is not None}


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None
