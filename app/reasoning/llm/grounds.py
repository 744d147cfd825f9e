"""What an answer may state: figures and addresses that the question, a source or a tool stated, and nothing else.

A figure is known as it stands, with its scale (``5 triệu``), as a share (``12 %`` of 0.12), rounded to the places it is
written with, and in thousands or millions where the question speaks of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import cached_property, lru_cache

from app.domain.deep import Asked, Observation, Research
from app.domain.evidence import without_citations
from app.domain.knowledge import Finding, Quote
from app.links import LinkGuard
from app.text.amounts import amounts_in
from app.text.language import clean, normalise, words

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*", re.ASCII)
_POINT = re.compile(r"[.,]")
_WAYS = tuple(
    (re.compile(rf"[1-9]\d{{0,2}}(?:\{group}\d{{3}})+(?:\{point}\d+)?", re.ASCII),
     re.compile(rf"\d+(?:\{point}\d+)?", re.ASCII), group, point)
    for group, point in ((".", ","), (",", "."))
)  # fmt: skip
"""With and without groups of thousands, as either language writes them."""
_LIST_NUMBER = re.compile(r"^\s*(?:[-*•]\s+)?\d{1,2}[.)]\s", re.MULTILINE)
_EXACT = Context(prec=60)
_MOST_CHARS, _ALL_CHARS = 20_000, 150_000
"""Of one text that is read for figures, and of all; a passage has some 1,500."""
_MOST_DIGITS = 40
_SCALES = {
    3: {"nghìn", "ngàn", "thousand", "thousands"}, 6: {"triệu", "million", "millions"},
    9: {"tỷ", "tỉ", "billion", "billions"},
}  # fmt: skip
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"'`()\[\]{}]+", re.IGNORECASE)
_AROUND_ADDRESS = ".,;:!?*_~"


class Grounds:
    """Texts that results may rest on."""

    def __init__(self, texts: Iterable[str], question: str = "", *, may_round: bool = True):
        """`question` is no ground by itself: it says in what scale its answer is wanted."""
        self._texts = tuple(_read(texts))
        self._may_round = may_round
        asked = set(words(question))
        self._powers = [power for power, names in _SCALES.items() if names & asked]
        self.guard = LinkGuard((), language="vi")

    @classmethod
    def of(
        cls, asked: Asked, texts: Sequence[str], question: str, observations: Sequence[Observation] = (),
        research: Sequence[Research] = (), findings: Sequence[Finding] = (),
    ) -> "Grounds":  # fmt: skip
        """What a stage of the deep flow may rest on; its `guard` takes addresses out that stand nowhere."""
        grounds = cls([asked.question, *texts, *texts_of(observations, research, findings)], question)
        allowed = tuple(addresses_of(asked.question, observations, research, findings))
        grounds.guard = LinkGuard(allowed, language=asked.language, known_text="\n".join(grounds._texts))
        return grounds

    @cached_property
    def figures(self) -> frozenset[Decimal]:
        """Every reading of every number that is stated."""
        return frozenset[Decimal]().union(*map(_figures, self._texts))

    @property
    def has_figures(self) -> bool:
        """Whether anything states one."""
        return any(_NUMBER.search(text) for text in self._texts)

    def knows_one(self, text: str) -> bool:
        """Whether at least one figure of a text is known."""
        return len(self.unknown(text)) < len(_NUMBER.findall(_bare(text)))

    def unknown(self, text: str) -> list[str]:
        """The figures of a text that nobody stated, in order."""
        bare = _bare(text)
        amounts = [(one.start, one.end) for one in amounts_in(bare) if one.value in self.figures]
        return [
            number[0]
            for number in _NUMBER.finditer(bare)
            if not any(start <= number.start() and number.end() <= end for start, end in amounts)
            and not self._knows(number[0], is_share=bare[number.end() :].lstrip().startswith("%"))
        ]

    def _knows(self, number: str, *, is_share: bool) -> bool:
        if len(number) > _MOST_DIGITS:
            return False
        readings = _readings(number)
        if not readings:  # 4.5.2026, 1.2.3
            return all(_readings(part) & self.figures for part in _POINT.split(number))
        return bool(
            readings & self.figures
            or (is_share and {reading.scaleb(-2) for reading in readings} & self.figures)
            or any({reading.scaleb(power) for reading in readings} & self.figures for power in self._powers)
            or (self._may_round and any(self._is_rounded(reading) for reading in readings))
        )

    def _is_rounded(self, reading: Decimal) -> bool:
        """Whether it is a known figure, rounded half up to as many places as it has, or to what the question says."""
        step = Decimal(1).scaleb(min(_exponent(reading), 0))
        steps = [step, *(Decimal(1).scaleb(power) for power in self._powers)]
        return any(_rounded(figure, to) == reading for figure in self.figures for to in steps if _is_finer(figure, to))


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
    found = {amount.value for amount in amounts_in(spelt)}
    for number in _NUMBER.findall(spelt):
        found |= _readings(number) or {Decimal(part) for part in _POINT.split(number)}
    return frozenset(found)


def _readings(number: str) -> frozenset[Decimal]:
    """What a number may mean: ``1.500`` 1500 or 1.5, but ``12.5`` never 125. Nothing for a date or a version."""
    found: set[Decimal] = set()
    for grouped, plain, group, point in _WAYS:
        if grouped.fullmatch(number):
            found.add(Decimal(number.replace(group, "").replace(point, ".")))
        elif plain.fullmatch(number):
            found.add(Decimal(number.replace(point, ".")))
    return frozenset(found)


def _bare(text: str) -> str:
    """A text in one spelling, without the numbers of its lists and citations."""
    return _LIST_NUMBER.sub("", without_citations("\n".join(map(normalise, text.split("\n")))))


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _is_finer(figure: Decimal, step: Decimal) -> bool:
    return _exponent(figure) < _exponent(step)


def _rounded(figure: Decimal, step: Decimal) -> Decimal | None:
    try:
        return figure.quantize(step, ROUND_HALF_UP, _EXACT)
    except InvalidOperation:
        return None


def texts_of(
    observations: Sequence[Observation] = (), research: Sequence[Research] = (), findings: Sequence[Finding] = ()
) -> Iterator[str]:
    """Everything that tools gave and steps found, text by text, the newest first."""
    for one in reversed(observations):
        yield from (one.text, one.value)
        yield from _of_findings(one.findings)
    for step in reversed(research):
        yield step.text
        yield from _of_findings(step.findings)
        yield from texts_of(step.observations)
    yield from _of_findings(findings)


def addresses_of(
    question: str, observations: Sequence[Observation] = (), research: Sequence[Research] = (),
    findings: Sequence[Finding] = (),
) -> Iterator[str]:  # fmt: skip
    """The addresses a result may name: those the asker named, and those of what was found."""
    yield from (found.rstrip(_AROUND_ADDRESS) for found in _ADDRESS.findall(question))
    calls = (*observations, *(one for step in research for one in step.observations))
    found = (*(one for call in calls for one in call.findings), *(one for step in research for one in step.findings))
    yield from (quote.passage.address for finding in (*found, *findings) for quote in finding.quotes)


def _of_findings(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield finding.answer
        yield from quote_texts(finding.quotes)


def quote_texts(quotes: Sequence[Quote]) -> Iterator[str]:
    """Each quote, and what it is quoted from."""
    for quote in quotes:
        passage = quote.passage
        yield from (quote.text, passage.text, passage.section, passage.title)


def day(today: date) -> str:
    """A day in the spellings a result may use."""
    return f"{today.isoformat()} {today:%d/%m/%Y} {today.day} {today.month} {today.year}"
