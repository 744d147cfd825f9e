"""Arguments of a calculation: a sum of the question itself, or a document's formula with the asker's figures in it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Finding, Language, Passage
from app.reasoning import Arguments
from app.reasoning.local.formula import Formula, formulas_in
from app.reasoning.local.numbers import Amount
from app.reasoning.local.reckoning import kinds_in, relation_among
from app.reasoning.local.reckoning_asked import reckoning_asked
from app.reasoning.local.sentences import Unit, units_of
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.text.language import is_unaccented_vietnamese, normalise

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
