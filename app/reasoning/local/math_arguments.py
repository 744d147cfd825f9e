"""Arguments of a calculation: a sum of the question itself, or a document's formula with the asker's figures in it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Finding, Language, Passage
from app.reasoning import Arguments
from app.reasoning.local.cues import named_lines
from app.reasoning.local.numbers import Amount, amounts_in
from app.reasoning.local.pieces import units_of
from app.reasoning.local.reckoning import MONEY_UNITS, kind_of, kinds_in, relation_among
from app.reasoning.local.sums import reckoning_asked
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.text.language import is_unaccented_vietnamese, normalise
from app.text.numbers import plain

_SIGNS = {sign: meant for meant, signs in (("*", "×xX*·"), ("/", "/÷:"), ("+", "+"), ("-", "-−–")) for sign in signs}
_OPERATOR = re.compile(r"\s+[xX:–-]\s+|\s*[×*·/÷+−]\s*|(?<=[\d)])\s*-\s*(?=[\d(£$€])")
_EQUATION = re.compile(r"`?(?P<left>[^=`\n:;]{1,90}?)\s*=\s*(?P<right>[^=`\n;]{1,140})`?")
_SENTENCE_STOP = re.compile(r"[.;](?:\s|$)|,\s(?!\d)|\s\(")
_LEAD_IN = re.compile(
    r"^.*?(?:[,.;:]\s|\b(?:là|bằng|costs?|is|tức|receives?|charged|trừ|=)\s)(?=[£$€]?\d)", re.IGNORECASE | re.DOTALL
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NAMED_WORDS = 7
_CURRENCY_SIGNS = tuple((unit, re.compile(written)) for unit, written in named_lines("math_arguments.currency"))
_QUOTED, _NAMED = 0.15, 0.3
"""What a formula gains by standing in a quote, and by being written in words rather than as an example."""
_OTHER_PASSAGE = 0.02
_RELEVANT = 0.3


@dataclass(frozen=True, slots=True)
class _Formula:
    """An expression of a document: numbers and named quantities with the signs between them."""

    operands: tuple[str, ...]
    values: tuple[Decimal | None, ...]
    """None for a name."""
    signs: tuple[str, ...]
    text: str
    """As written."""
    passage: Passage
    weight: float

    @property
    def names(self) -> list[int]:
        """Places of the quantities to fill in; a worked example has none."""
        return [at for at, value in enumerate(self.values) if value is None]

    def filled(self, given: dict[int, Decimal]) -> str:
        """The arithmetic with numbers in place of names; `given` by operand position."""
        shown = [plain(given[at] if value is None else value) for at, value in enumerate(self.values)]
        return "".join([shown[0], *(f" {sign} {number}" for sign, number in zip(self.signs, shown[1:], strict=True))])


def math_arguments(query: str, findings: Sequence[Finding], language: Language) -> Arguments:
    """The expression to compute, with its unit; or what is missing for it. Nothing is ever made up."""
    asked = reckoning_asked(query)
    if asked and asked.expression:
        return _arguments(asked.expression, asked.values.get("unit", ""), asked.grounds)
    question = normalise(query)
    stated = kinds_in(question, language)
    formulas = _formulas(question, findings)
    named = next((formula for formula in formulas if formula.names), None)
    if named:
        return _bound(named, question, stated)
    own = relation_among(question, stated)
    return _arguments(own.expression, own.values.get("unit", ""), own.grounds) if own else Arguments(values={})


def states_formula(text: str, passage: Passage) -> bool:
    """Whether a text of a passage names the quantities of a calculation: “fee = price × days”."""
    return any(formula.names for formula in _formulas_in(text, passage, 0))


def _arguments(expression: str, unit: str, grounds: Sequence[str]) -> Arguments:
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    return Arguments(values=values, grounds=tuple(dict.fromkeys(grounds)))


def _formulas(question: str, findings: Sequence[Finding]) -> list[_Formula]:
    """Formulas of the quoted passages, those that bear on the question first."""
    quoted = {quote.text for finding in findings for quote in finding.quotes}
    passages = {quote.passage.chunk_id: quote.passage for finding in findings for quote in finding.quotes}
    folded = is_unaccented_vietnamese(question)
    terms = [term for term in terms_of(question, folded) if not any(word.isdigit() for word in term.stems)]
    weights = [term.weight for term in terms]
    found: list[_Formula] = []
    for order, passage in enumerate(passages.values()):
        for unit in units_of(passage.text):
            about = bag_of(f"{unit.text} {unit.heading} {passage.section} {passage.title}", folded)
            relevant = coverage(terms, weights, about)
            weight = relevant + _QUOTED * any(unit.text in text for text in quoted) - _OTHER_PASSAGE * order
            found += _formulas_in(unit.text, passage, weight) if relevant >= _RELEVANT else ()
    return sorted(found, key=lambda formula: -formula.weight)


def _formulas_in(text: str, passage: Passage, weight: float) -> Iterator[_Formula]:
    """Worked examples and named formulas of a text; equations that are neither are left out."""
    for mark in _EQUATION.finditer(text):
        left, right = mark["left"].strip(" `*"), mark["right"].strip(" `*")
        stop = _SENTENCE_STOP.search(right)
        right = right[: stop.start()] if stop else right.rstrip(".")
        bare = _LEAD_IN.sub("", left)
        if (example := _parsed(bare, f"{bare} = {right}", passage, weight)) and not example.names:
            yield example
        elif _LETTERS.search(left) and (formula := _parsed(right, f"{left} = {right}", passage, weight + _NAMED)):
            yield from [formula] if formula.names else []


def _parsed(expression: str, text: str, passage: Passage, weight: float) -> _Formula | None:
    """A flat expression; None when a part is neither a number nor a short name."""
    marks = list(_OPERATOR.finditer(expression))
    ends = [*(mark.start() for mark in marks), len(expression)]
    starts = [0, *(mark.end() for mark in marks)]
    operands = tuple(expression[start:end].strip(" ()") for start, end in zip(starts, ends, strict=True))
    values: list[Decimal | None] = []
    for operand in operands:
        amounts = amounts_in(operand, _language(passage))
        if len(amounts) == 1 and amounts[0].start <= 1 and not _LETTERS.search(operand[amounts[0].end :]):
            values.append(amounts[0].value)
        elif _LETTERS.search(operand) and len(operand.split()) <= _NAMED_WORDS and not re.search(r"\d", operand):
            values.append(None)
        else:
            return None
    signs = tuple(_SIGNS[mark[0].strip()] for mark in marks)
    return _Formula(operands, tuple(values), signs, text, passage, weight) if signs else None


def _language(passage: Passage) -> Language:
    return "en" if passage.language == "en" else "vi"


def _bound(formula: _Formula, question: str, stated: Sequence[tuple[str, Amount]]) -> Arguments:
    """A named formula with the asker's figures, or what is missing for it."""
    given: dict[int, Decimal] = {}
    grounds: list[str] = [formula.text]
    left = list(stated)
    for at in formula.names:
        kind = kind_of(formula.operands[at])
        fitting = next((pair for pair in left if pair[0] == kind and kind), None)
        if fitting:
            left.remove(fitting)
            given[at] = fitting[1].value
            grounds.append(fitting[1].text)
    unit = _unit_of(formula, question)
    if len(given) == len(formula.names):
        return _arguments(formula.filled(given), unit, grounds)
    missing = tuple(formula.operands[at] for at in formula.names if at not in given)
    return Arguments(values={}, missing=missing, grounds=tuple(grounds))


def _unit_of(formula: _Formula, question: str) -> str:
    """The currency the question or the document speaks of, for formulas about money."""
    if all(kind_of(operand) != "money" and not _currency(operand) for operand in formula.operands):
        return ""
    named = _currency(question) or _currency(formula.passage.text)
    return named or (MONEY_UNITS[0] if _language(formula.passage) == "vi" else "")


def _currency(text: str) -> str:
    return next((unit for unit, pattern in _CURRENCY_SIGNS if pattern.search(text)), "")
