"""Arguments of a calculation: a sum of the question itself, or a document's formula with the asker's figures in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Finding, Language, Passage
from app.reasoning import Arguments
from app.reasoning.local.numbers import Amount, amounts_in
from app.reasoning.local.reckoning import MONEY_UNITS, kind_of, kinds_in, relation_among
from app.reasoning.local.reckoning_asked import reckoning_asked
from app.reasoning.local.sentences import Unit, units_of
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.text.language import is_unaccented_vietnamese, normalise
from app.text.numbers import plain

_SIGNS = {
    "×": "*",
    "x": "*",
    "X": "*",
    "*": "*",
    "·": "*",
    "/": "/",
    "÷": "/",
    ":": "/",
    "+": "+",
    "-": "-",
    "−": "-",
    "–": "-",
}
_OPERATOR = re.compile(r"\s+[xX:–-]\s+|\s*[×*·/÷+−]\s*|(?<=[\d)])\s*-\s*(?=[\d(£$€])")
_EQUATION = re.compile(r"`?(?P<left>[^=`\n:;]{1,90}?)\s*=\s*(?P<right>[^=`\n;]{1,140})`?")
_SENTENCE_STOP = re.compile(r"[.;](?:\s|$)|,\s(?!\d)|\s\(")
_LEAD_IN = re.compile(
    r"^.*?(?:[,.;:]\s|\b(?:là|bằng|costs?|is|tức|receives?|charged|trừ|=)\s)(?=[£$€]?\d)", re.IGNORECASE | re.DOTALL
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Operand:
    """A number or a named quantity of a formula."""

    text: str
    value: Decimal | None
    """None for a name."""
    kind: str
    """``money day hour % …``; empty for a bare number."""


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression of operands with the signs between them; longer than its signs by one."""

    operands: tuple[Operand, ...]
    signs: tuple[str, ...]
    result_unit: str
    """Currency or measure of the result where the document shows it."""
    text: str
    """As written."""

    @property
    def is_named(self) -> bool:
        """Whether it has quantities to fill in; a worked example has none."""
        return any(operand.value is None for operand in self.operands)

    def filled(self, values: dict[int, Decimal]) -> str:
        """The arithmetic with numbers in place of names; `values` by operand position."""
        shown = [plain(values.get(at, operand.value or Decimal(0))) for at, operand in enumerate(self.operands)]
        pairs = [f" {sign} {number}" for sign, number in zip(self.signs, shown[1:], strict=True)]
        return "".join([shown[0], *pairs])


def formulas_in(text: str, language: Language) -> list[Formula]:
    """Named formulas and worked examples of a text in order; equations that are neither are left out."""
    found: list[Formula] = []
    for mark in _EQUATION.finditer(text):
        left, right = mark["left"].strip(" `*"), _cut(mark["right"].strip(" `*"))
        example = _parse(_LEAD_IN.sub("", left), language)
        if example and not example.is_named:
            unit = next((amount.unit for amount in amounts_in(right, language) if amount.unit), "")
            found.append(
                Formula(
                    example.operands, example.signs, unit or _money_unit(example), f"{_LEAD_IN.sub('', left)} = {right}"
                )
            )
            continue
        formula = _parse(right, language)
        if formula and formula.is_named and _LETTERS.search(left):
            found.append(Formula(formula.operands, formula.signs, "", f"{left} = {right}"))
    return found


_NAMED_WORDS = 7


def _cut(right: str) -> str:
    """The right side up to the end of its sentence."""
    mark = _SENTENCE_STOP.search(right)
    return right[: mark.start()] if mark else right.rstrip(".")


def _parse(expression: str, language: Language) -> Formula | None:
    """Operands and signs of a flat expression; None when a part is neither a number nor a short name."""
    marks = list(_OPERATOR.finditer(expression))
    if not marks:
        return None
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(expression)]
    operands = [_operand(expression[start:end].strip(" ()"), language) for start, end in zip(starts, ends, strict=True)]
    if any(operand is None for operand in operands):
        return None
    signs = tuple(_SIGNS[mark[0].strip()] for mark in marks)
    return Formula(tuple(operand for operand in operands if operand), signs, "", expression)


def _operand(text: str, language: Language) -> Operand | None:
    if not text or len(text.split()) > _NAMED_WORDS:
        return None
    amounts = amounts_in(text, language)
    if len(amounts) == 1 and amounts[0].start <= 1 and not _LETTERS.search(text[amounts[0].end :]):
        return Operand(text, amounts[0].value, "money" if amounts[0].unit in MONEY_UNITS else amounts[0].unit)
    if any(character.isdigit() for character in text) or not _LETTERS.search(text):
        return None
    return Operand(text, None, kind_of(text))


def _money_unit(formula: Formula) -> str:
    return next(
        (
            unit
            for operand in formula.operands
            for unit, sign in (("GBP", "£"), ("USD", "$"), ("EUR", "€"))
            if sign in operand.text
        ),
        "",
    )


_CURRENCIES = ("VND", "GBP", "USD", "EUR", "CAD")
_CURRENCY_SIGNS = (
    ("VND", re.compile(r"đồng|\bVND\b|₫")),
    ("GBP", re.compile("£|GBP")),
    ("USD", re.compile(r"\$|USD")),
    ("EUR", re.compile("€|EUR")),
)
_QUOTED, _NAMED = 0.15, 0.3
"""What a formula gains by standing in a quote, and by being written in words rather than as an example."""
_OTHER_PASSAGE = 0.02
_RELEVANT = 0.3
_EXAMPLE = re.compile(r"ví dụ|example", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Source:
    """A formula with where it stands."""

    formula: Formula
    passage: Passage
    unit: Unit
    weight: float
    order: int
    """Position of its passage among those quoted."""


def math_arguments(query: str, findings: Sequence[Finding], language: Language) -> Arguments:
    """The expression to compute, with its unit; or what is missing for it. Nothing is ever made up."""
    asked = reckoning_asked(query)
    if asked and asked.expression:
        return _arguments(asked.expression, asked.values.get("unit", ""), asked.grounds)
    question = normalise(query)
    stated = kinds_in(question, language)
    sources = _sources(question, findings)
    for source in (source for source in sources if source.formula.is_named):
        found = _bound(source, sources, question, stated, language)
        if found:
            return found
    own = relation_among(question, stated)
    return _arguments(own.expression, own.values.get("unit", ""), own.grounds) if own else Arguments(values={})


def _arguments(expression: str, unit: str, grounds: Sequence[str]) -> Arguments:
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    return Arguments(values=values, grounds=tuple(dict.fromkeys(grounds)))


def _sources(question: str, findings: Sequence[Finding]) -> list[_Source]:
    """Formulas of the quoted passages, those that bear on the question first."""
    quoted = {quote.text for finding in findings for quote in finding.quotes}
    passages = {quote.passage.chunk_id: quote.passage for finding in findings for quote in finding.quotes}
    folded = is_unaccented_vietnamese(question)
    terms = [term for term in terms_of(question, folded) if not any(word.isdigit() for word in term.stems)]
    weights = [term.weight for term in terms]
    found: list[_Source] = []
    for order, passage in enumerate(passages.values()):
        language: Language = "en" if passage.language == "en" else "vi"
        for unit in units_of(passage.text):
            about = bag_of(f"{unit.text} {unit.heading} {passage.section} {passage.title}", folded)
            relevant = coverage(terms, weights, about)
            for formula in formulas_in(unit.text, language) if relevant >= _RELEVANT else ():
                bonus = _QUOTED * any(unit.text in text for text in quoted) + _NAMED * formula.is_named
                found.append(_Source(formula, passage, unit, relevant + bonus - _OTHER_PASSAGE * order, order))
    return sorted(found, key=lambda source: -source.weight)


def _bound(
    source: _Source, sources: Sequence[_Source], question: str, stated: Sequence[tuple[str, Amount]], language: Language
) -> Arguments | None:
    """A named formula with the asker's figures; a worked example of the same document when none were given."""
    names = [(at, operand) for at, operand in enumerate(source.formula.operands) if operand.value is None]
    values: dict[int, Decimal] = {}
    grounds: list[str] = [source.formula.text]
    left = list(stated)
    for at, operand in names:
        fitting = next((pair for pair in left if pair[0] == operand.kind and operand.kind), None)
        if fitting:
            left.remove(fitting)
            values[at] = fitting[1].value
            grounds.append(fitting[1].text)
    unit = _unit_of(source, question, language)
    if len(values) == len(names):
        return _arguments(source.formula.filled(values), unit, grounds)
    if values:
        return Arguments(
            values={}, missing=tuple(o.text for at, o in names if at not in values), grounds=tuple(grounds)
        )
    example = _example_of(source, sources)
    return (
        _arguments(example.formula.filled({}), example.formula.result_unit or unit, [example.formula.text])
        if example
        else (Arguments(values={}, missing=tuple(operand.text for _, operand in names), grounds=tuple(grounds)))
    )


def _example_of(source: _Source, sources: Sequence[_Source]) -> _Source | None:
    """A worked example that calculates like the formula and comes from the same document: one called so, if any."""
    alike = [
        other
        for other in sources
        if not other.formula.is_named
        and other.passage.document_id == source.passage.document_id
        and other.formula.signs == source.formula.signs
    ]
    called = [other for other in alike if _EXAMPLE.search(f"{other.unit.heading} {other.passage.section}")]
    return min(called or alike, key=lambda other: (other.order, other.unit.start), default=None)


def _unit_of(source: _Source, question: str, language: Language) -> str:
    """The currency the document or the question speaks of, for formulas about money."""
    kinds = {operand.kind for operand in source.formula.operands}
    if "money" not in kinds:
        return ""
    for text in (question, source.passage.text):
        for unit, pattern in _CURRENCY_SIGNS:
            if pattern.search(text):
                return unit
    return "VND" if language == "vi" else ""
