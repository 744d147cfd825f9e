"""What a model's answer states: where a statement ends, what it cites, and what it rests on.

A statement is a sentence or a line. It is held until it is complete, so the result does not depend on how the stream
cut. Citations ``[n]`` name passages the model was shown; those that a statement does not deserve are taken out, none is
added, and the others are numbered anew in the order in which the answer first cites them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from app.domain.answer import Support
from app.domain.knowledge import CITATION, Evidence, Language, Passage, Quote, evidence_of, without_citations
from app.reasoning import Supporter
from app.reasoning.llm.grounds import Grounds
from app.reasoning.sentences import sentence
from app.text.arithmetic import CannotCalculate, calculate, rounded
from app.text.language import clean, normalise
from app.text.numbers import read_digits

_NEXT = r"(?=\s+[^\s\[【])"
_END = re.compile(
    rf"(?<=[^\s\d][.!?…]){_NEXT}|(?<=[.!?…][\]”\"')]){_NEXT}|(?<=[.!?…] \[\d\]){_NEXT}|\n\s*(?=[^\s\[【])"
)
"""Where a statement ends: not before a citation behind its full stop, nor at a stop that may belong to a number."""
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_FRAME = re.compile(r"^\s*#|^[\s|:*_-]*$|:[\s*_]*$")
"""A heading, a rule, or what announces the lines below it."""
_LIST_MARK, _MARKS = re.compile(r"^[\s>]*(?:(?:[-*•+]|\d{1,2}[.)])\s+)*"), re.compile(r"\s*\|\s*|[*_`]{1,3}")
"""What Markdown puts before a line, and around words and cells."""
_NO_ANSWER = re.compile(r"^\s*(?:```\w*\s*)?(?:\{|\[\s*\{|<\|?\w*(?:tool|function|think))", re.IGNORECASE)
_CELL_END = re.compile(r"\s*\|?\s*$")
_EQUATION = re.compile(r"(?P<left>[(\d][^=≈\n]*)[=≈]\s*(?P<right>\d[\d.,]*\d|\d)")
_DIGITS = re.compile(r"\d[\d.,]*\d|\d")
_OPERAND = re.compile(r"(?<![\d.,])[(\d]")
_NO_ARITHMETIC = re.compile(r"[^\W\d_]+|[$€£₫]")
_SENTENCE_END = re.compile(r"[.!?…;][\"”’')*_]*$")
_LINE_WORDS = 6
"""Of a line like “Dear Ms Lan,” or “Trân trọng”, at most."""
NOTHING = "NOT_FOUND"
SUPPORTED, DESERVED = 0.1, 0.05
"""Least chance that the sources say what a statement says, and that a citation belongs to it."""


def is_no_answer(text: str) -> bool:
    """Whether an answer begins as JSON, a tool call or a thought does."""
    return _NO_ANSWER.match(text) is not None


class Cutter:
    """Takes pieces of a stream, gives out statements with the white space around them. `finish` gives the rest."""

    def __init__(self) -> None:
        self._held, self._has_spoken = "", False

    @property
    def said_nothing_found(self) -> bool:
        """Whether the model said, instead of answering, that the sources hold no answer."""
        return self._held.strip(" .*`\n").startswith(NOTHING) and not self._has_spoken

    def feed(self, piece: str) -> list[str]:
        """The statements that are complete now."""
        self._held += piece
        if not self._has_spoken and NOTHING.startswith(self._held.strip(" .*`\n")[: len(NOTHING)]):
            return []  # may still become the word for "nothing"
        return self._cut([mark.end() for mark in _END.finditer(self._held)])

    def finish(self) -> list[str]:
        """What was held."""
        if self.said_nothing_found:
            return []
        return self._cut([*(mark.end() for mark in _END.finditer(self._held)), len(self._held)])

    def _cut(self, cuts: Sequence[int]) -> list[str]:
        held, self._held = self._held, self._held[cuts[-1] if cuts else 0 :]
        statements = [held[start:end] for start, end in pairwise([0, *cuts]) if start < end]
        self._has_spoken = self._has_spoken or any(one.strip() for one in statements)
        return statements


@dataclass(frozen=True)
class Judged:
    """A statement as it may be shown."""

    text: str
    support: Support | None
    """None for what states nothing: a heading, a line of code."""
    chance: float = 1.0

    @property
    def is_unsupported(self) -> bool:
        """Whether nothing that was read says so."""
        return self.support is not None and self.support.kind == "unsupported"

    def marked(self, language: Language) -> "Judged":
        """The statement with a word behind it that no source says so; inside its cell in a table."""
        end = _CELL_END.search(self.text)
        assert end is not None
        told = f"{self.text[: end.start()]} ({sentence('unsupported', language)}){self.text[end.start() :]}"
        return Judged(told, self.support, self.chance)


@dataclass
class Judge:
    """Judges the statements of one answer, and numbers what they cite."""

    read: Sequence[Quote]
    """What the model was shown, in its numbers."""
    grounds: Grounds
    supporter: Supporter
    language: Language
    is_order: Callable[[str], bool]
    """Whether a sentence gives orders to whoever reads it."""
    own_words: Sequence[Passage] = ()
    """Where an answer is rewritten or a letter drafted: what the asker said, which a draft may repeat."""
    evidence: list[Evidence] = field(default_factory=list)
    """What is cited, by its number."""
    _in_code: bool = False

    async def judged(self, statement: str) -> Judged | None:
        """A statement with its support; None for an order that nothing supports. May read with the bundled model."""
        statement = clean(statement)
        bare = without_citations(statement).strip()
        if _FENCE.match(statement):
            self._in_code = not self._in_code
            return Judged(statement, None)
        if not any(map(str.isalnum, bare)) or self._in_code or (_FRAME.search(bare) and not _DIGITS.search(bare)):
            return Judged(without_citations(statement), None)
        named = [self.read[number - 1].passage for number in self._numbers(statement)]
        if self.own_words and not named and _is_letter_line(bare) and not self.is_order(bare):
            return Judged(without_citations(statement), Support(statement=bare, kind="draft"))
        derived = _derived(bare, self.grounds, self.language)
        together, alone, said = 0.0, list[float](), ""
        if not (is_unknown := bool(set(self.grounds.unknown(bare)) - derived)):  # else no reading would help
            said = " ".join(_MARKS.sub(" ", _LIST_MARK.sub("", bare)).split())
            together, *alone = await self.supporter.supports(said, named or [quote.passage for quote in self.read])
        if is_unknown or (together < SUPPORTED and not derived):
            if self.is_order(bare):
                return None
            if not is_unknown and await self._is_own(said):
                return Judged(without_citations(statement), Support(statement=bare, kind="draft"))
            return Judged(without_citations(statement), Support(statement=bare, kind="unsupported"), together)
        deserved = [one for one, chance in zip(named, alone, strict=False) if chance >= DESERVED or len(named) == 1]
        told, sources = self._numbered(statement, deserved)
        if not named and self.read:
            self._number(self.read[alone.index(max(alone))].passage)  # cited by nobody, but it is what this rests on
        kind = "derivation" if derived else "quote"
        return Judged(told, Support(statement=bare, kind=kind, sources=sources), max(together, bool(derived)))

    async def _is_own(self, statement: str) -> bool:
        """Whether the asker said so, where that counts."""
        return bool(self.own_words) and (await self.supporter.supports(statement, self.own_words))[0] >= SUPPORTED

    def _numbers(self, statement: str) -> list[int]:
        named = (mark["one"] or mark["two"] for mark in CITATION.finditer(statement))
        numbers = [int(number) for group in named for number in re.split(r"\s*[,;]\s*", group)]
        return [number for number in dict.fromkeys(numbers) if 1 <= number <= len(self.read)]

    def _numbered(self, statement: str, deserved: Sequence[Passage]) -> tuple[str, tuple[int, ...]]:
        """The statement with the numbers of its deserved citations where they stood, and these numbers."""
        sources: dict[int, None] = {}

        def told(mark: re.Match[str]) -> str:
            passages = [self.read[number - 1].passage for number in self._numbers(mark[0])]
            numbers = list(dict.fromkeys(self._number(one) for one in passages if one in deserved))
            sources.update(dict.fromkeys(numbers))
            return " " + "".join(f"[{number}]" for number in numbers) if numbers else ""

        return CITATION.sub(told, statement), tuple(sources)

    def _number(self, passage: Passage) -> int:
        urls = [one.url for one in self.evidence]
        if passage.address not in urls:
            self.evidence += evidence_of([Quote(passage=passage, text=passage.text, score=0)])
            urls.append(passage.address)
        return urls.index(passage.address) + 1


def _is_letter_line(bare: str) -> bool:
    """Whether it may open or close a letter: a few words without a figure, and no whole sentence."""
    return len(bare.split()) <= _LINE_WORDS and not _SENTENCE_END.search(bare) and not _DIGITS.search(bare)


def _derived(statement: str, grounds: Grounds, language: Language) -> set[str]:
    """The results of a statement's calculations that hold: computed anew, from figures that somebody stated."""
    found: set[str] = set()
    for equation in _EQUATION.finditer(normalise(statement)):
        wanted = read_digits(equation["right"], language)
        lefts = (equation["left"][start.start() :] for start in _OPERAND.finditer(equation["left"]))
        if wanted is not None and any(_computes(left, wanted, grounds, language) for left in lefts):
            found.add(equation["right"])
    return found


def _computes(left: str, wanted: Decimal, grounds: Grounds, language: Language) -> bool:
    """Whether an expression, its units left out, has this value, rounded as it is written, and known operands."""
    plain = _DIGITS.sub(lambda number: str(read_digits(number[0], language) or number[0]), left)
    try:
        computed = calculate(" ".join(_NO_ARITHMETIC.sub(lambda word: "*" if word[0] == "x" else " ", plain).split()))
    except CannotCalculate:
        return False
    places = max(-int(wanted.as_tuple().exponent), 0)
    is_known = all(one in grounds.figures or one == 100 for one in computed.operands)
    return len(computed.operands) > 1 and is_known and rounded(computed.value, places) == wanted
