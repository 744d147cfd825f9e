"""Which figures may be stated: those that the question, a source or a tool stated.

A figure is known as it stands, with its scale (``5 triệu``), as a share (``12 %`` of 0.12), rounded to the places it is
written with, and in thousands or millions where the question speaks of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import cached_property, lru_cache

from app.domain.deep import Observation, Research
from app.domain.knowledge import Finding, Language, Quote, without_citations
from app.reasoning import ComposeRequest
from app.text.amounts import amounts_in
from app.text.language import clean, normalise, words
from app.text.numbers import all_readings, read_digits

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*", re.ASCII)
_LIST_NUMBER = re.compile(r"^\s*(?:[-*•]\s+)?\d{1,2}[.)]\s", re.MULTILINE)
_LANGUAGES: tuple[Language, ...] = ("vi", "en")
_EXACT = Context(prec=60)
_MOST_CHARS, _ALL_CHARS = 20_000, 150_000
"""Of one text that is read for figures, and of all; a passage has some 1,500."""
_SCALES = {
    3: {"nghìn", "ngàn", "thousand", "thousands"}, 6: {"triệu", "million", "millions"},
    9: {"tỷ", "tỉ", "billion", "billions"},
}  # fmt: skip


class Grounds:
    """Texts that results may rest on."""

    def __init__(self, texts: Iterable[str], question: str = "", *, may_round: bool = True):
        """`question` is no ground by itself: it says in what scale its answer is wanted."""
        self.texts = tuple(_read(texts))
        self._may_round = may_round
        asked = set(words(question))
        self._powers = [power for power, names in _SCALES.items() if names & asked]

    @cached_property
    def figures(self) -> frozenset[Decimal]:
        """Every reading of every number that is stated."""
        return frozenset[Decimal]().union(*map(_figures, self.texts))

    def unknown(self, text: str) -> list[str]:
        """The figures of a text that nobody stated, in order, each once."""
        bare = _bare(text)
        amounts = [(one.start, one.end) for one in amounts_in(bare) if one.value in self.figures]
        numbers = [
            number[0]
            for number in _NUMBER.finditer(bare)
            if not any(start <= number.start() and number.end() <= end for start, end in amounts)
            and not self._knows(number[0], is_share=bare[number.end() :].lstrip().startswith("%"))
        ]
        return list(dict.fromkeys(numbers))

    def states_one_of(self, text: str) -> bool:
        """Whether at least one figure of a text is known."""
        return len(self.unknown(text)) < len(set(_NUMBER.findall(_bare(text))))

    def _knows(self, number: str, *, is_share: bool) -> bool:
        readings = _readings(number)
        if not readings:  # 4.5.2026, 1.2.3
            parts = re.split("[.,]", number)
            return len(parts) > 1 and all(_readings(part) & self.figures for part in parts)
        powers = [0, *self._powers, *([-2] if is_share else ())]
        return any({one.scaleb(power) for one in readings} & self.figures for power in powers) or (
            self._may_round and any(map(self._is_rounded, readings))
        )

    def _is_rounded(self, reading: Decimal) -> bool:
        """Whether it is a known figure, rounded half up to as many places as it has, or to what the question says."""
        powers = [min(_exponent(reading), 0), *self._powers]
        return any(
            _exponent(figure) < power and _rounded(figure, power) == reading
            for figure in self.figures for power in powers
        )  # fmt: skip


def _read(texts: Iterable[str]) -> Iterator[str]:
    """Each text once, the first ones whole, as far as they may be read."""
    left = _ALL_CHARS
    for text in dict.fromkeys(texts):
        if text and left > 0:
            part = clean(text[: min(_MOST_CHARS, left)])
            left -= len(part)
            yield part


@lru_cache(maxsize=1_024)
def _figures(text: str) -> frozenset[Decimal]:
    """Of one text; the same passages come back with every step of a run."""
    spelt = normalise(text)
    parts = (part for number in _NUMBER.findall(spelt) if not _readings(number) for part in re.split("[.,]", number))
    amounts = (amount.value for amount in amounts_in(spelt))
    return all_readings(spelt).union(amounts, *map(_readings, parts))


def _readings(number: str) -> frozenset[Decimal]:
    """What a number may mean: ``1.500`` 1500 or 1.5, but ``12.5`` never 125. Nothing for a date or a version."""
    return frozenset(value for language in _LANGUAGES if (value := read_digits(number, language)) is not None)


def _bare(text: str) -> str:
    """A text in one spelling, without the numbers of its lists and citations."""
    return _LIST_NUMBER.sub("", without_citations("\n".join(map(normalise, text.split("\n")))))


def _exponent(value: Decimal) -> int:
    exponent = value.normalize(_EXACT).as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


def _rounded(figure: Decimal, power: int) -> Decimal | None:
    try:
        return figure.quantize(Decimal(1).scaleb(power), ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        return None


def texts_of(
    observations: Sequence[Observation] = (), research: Sequence[Research] = (), findings: Sequence[Finding] = ()
) -> Iterator[str]:
    """Everything that tools gave and steps found, text by text, the newest first."""
    for one in reversed(observations):
        yield from (one.text, one.value, *texts_of(findings=one.findings))
    for step in reversed(research):
        yield from (step.text, *texts_of(findings=step.findings), *texts_of(step.observations))
    for finding in findings:
        yield from (finding.answer, *quote_texts(finding.quotes))


def quote_texts(quotes: Sequence[Quote]) -> Iterator[str]:
    """Each quote, and what it is quoted from."""
    for quote in quotes:
        passage = quote.passage
        yield from (quote.text, passage.text, passage.section, passage.title)


def grounds_of(request: ComposeRequest) -> Grounds:
    """Everything the composer was given; here a figure is not even rounded."""
    texts = [request.query, request.asked, *request.computations, *request.summaries]
    texts += [one.query for one in request.findings]
    texts += [message.content for message in request.history if message.role == "user"]
    texts += quote_texts(request.read)
    for point in request.conflicts:
        texts += [point.winner, point.loser, point.reason, point.winner_title, point.loser_title]
    return Grounds([*texts, *texts_of(findings=request.findings)], may_round=False)
