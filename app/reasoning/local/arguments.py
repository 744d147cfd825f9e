"""Typed arguments of tool calls, each traced to the question or to a quote.

Those of a calculation are a sum of the question itself, or a document's formula with the asker's figures in it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from app.domain.knowledge import Finding, Language, Passage
from app.domain.plan import MATH_TOOL
from app.plugins import ARGUMENTS, entries_of
from app.reasoning import Arguments
from app.reasoning.local.numbers import Amount, amounts_in
from app.reasoning.local.pieces import units_of
from app.reasoning.local.sums import MONEY_UNITS, kind_of, kinds_in, reckoning_asked
from app.reasoning.local.terms import bag_of, coverage, terms_of
from app.reasoning.local.wording import named_patterns
from app.text.language import fold, is_unaccented_vietnamese, normalise, words
from app.text.numbers import plain


def arguments(
    tool: str, query: str, findings: Sequence[Finding], language: Language, schema: Mapping[str, Any] | None = None
) -> Arguments:
    """Arguments for `tool`; by its schema where the rules do not know it, none without one."""
    if tool == MATH_TOOL:
        return math_arguments(query, findings, language)
    if reads := _readers().get(tool):
        return reads(query)
    return Arguments(values={}) if schema is None else schema_arguments(tool, query, language, schema)


@cache
def _readers() -> Mapping[str, Callable[[str], Arguments]]:
    """How plugged-in tools read their arguments from a question, by tool."""
    return {entry.name: entry.load() for entry in entries_of(ARGUMENTS)}


_ASKS = frozenset(("query", "question", "q", "text", "search", "topic", "prompt"))
"""Properties that take the question as it stands."""
_ADDRESS = re.compile(r"https?://[^\s<>\"'“”]+")
_AROUND = ".,;:!?)]}"
_LANGUAGES = frozenset(("vi", "en"))


def schema_arguments(tool: str, query: str, language: Language, schema: Mapping[str, Any]) -> Arguments:
    """Each property filled by what the question wants reckoned, where the tool does that; else by its type: numbers in
    the order they are named, choices that are mentioned, an address, the question itself.

    Required ones that nothing fills are missing.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    asked = reckoning_asked(query)
    if asked and asked.fits(tool):
        values = {name: value for name, value in asked.values.items() if name in properties}
        grounds = asked.grounds
    else:
        values = dict(_filled(normalise(query), language, properties))
        grounds = tuple(values.values())
    values |= {name: language for name, of in properties.items() if name not in values and _is_language(name, of)}
    missing = tuple(name for name in schema.get("required", ()) if name not in values)
    return Arguments(values=values, missing=missing, grounds=grounds)


def _filled(text: str, language: Language, properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    numbers = iter([plain(amount.value) for amount in amounts_in(text, language)])
    for name, schema in properties.items():
        if choice := _mentioned(text, schema):
            yield name, choice
        elif address := _address(text, name, schema):
            yield name, address
        elif _is_number(schema):
            number = next(numbers, None)
            if number is not None:
                yield name, number
        elif name in _ASKS:
            yield name, text


def _is_language(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a property wants to know the language to answer in."""
    return name == "language" and set(schema.get("enum", ())) <= _LANGUAGES


def _mentioned(text: str, schema: Mapping[str, Any]) -> str:
    said = f" {' '.join(words(fold(text)))} "
    choices = (choice for choice in schema.get("enum", ()) if isinstance(choice, str) and choice)
    return next((choice for choice in choices if f" {' '.join(words(fold(choice)))} " in said), "")


def _address(text: str, name: str, schema: Mapping[str, Any]) -> str:
    if name not in ("url", "uri", "address") and schema.get("format") != "uri":
        return ""
    match = _ADDRESS.search(text)
    return match[0].rstrip(_AROUND) if match else ""


def _is_number(schema: Mapping[str, Any]) -> bool:
    """Numbers, and texts that are described as numbers."""
    kinds = {schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))}
    return bool(kinds & {"number", "integer"}) or schema.get("format") == "decimal"


_SIGNS = {sign: meant for meant, signs in (("*", "×xX*·"), ("/", "/÷:"), ("+", "+"), ("-", "-−–")) for sign in signs}
_OPERATOR = re.compile(r"\s+[xX:–-]\s+|\s*[×*·/÷+−]\s*|(?<=[\d)])\s*-\s*(?=[\d(£$€])")
_EQUATION = re.compile(r"`?(?P<left>[^=`\n:;]{1,90}?)\s*=\s*(?P<right>[^=`\n;]{1,140})`?")
_SENTENCE_STOP = re.compile(r"[.;](?:\s|$)|,\s(?!\d)|\s\(")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NAMED_WORDS = 7
_CURRENCY_SIGNS = named_patterns("arguments.currency")
_QUOTED = 0.15
"""What a formula gains by standing in a quote."""
_OTHER_PASSAGE = 0.02
_RELEVANT = 0.3


@dataclass(frozen=True, slots=True)
class _Formula:
    """An expression of a document with quantities to fill in: names and numbers, and the signs between them."""

    operands: tuple[str, ...]
    values: tuple[Decimal | None, ...]
    """None for a name."""
    signs: tuple[str, ...]
    text: str
    """As written."""
    passage: Passage


def math_arguments(query: str, findings: Sequence[Finding], language: Language) -> Arguments:
    """The expression to compute, with its unit; or what is missing for it. Nothing is ever made up."""
    asked = reckoning_asked(query)
    if asked and asked.expression:
        return _arguments(asked.expression, asked.values.get("unit", ""), asked.grounds)
    question = normalise(query)
    formula = _formula_for(question, findings)
    return _bound(formula, question, kinds_in(question, language)) if formula else Arguments(values={})


def states_formula(text: str, passage: Passage) -> bool:
    """Whether a text of a passage names the quantities of a calculation: “fee = price × days”."""
    return any(_formulas_in(text, passage))


def _arguments(expression: str, unit: str, grounds: Sequence[str]) -> Arguments:
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    return Arguments(values=values, grounds=tuple(dict.fromkeys(grounds)))


def _formula_for(question: str, findings: Sequence[Finding]) -> _Formula | None:
    """The formula of the quoted passages that bears on the question most; None when none does."""
    quoted = {quote.text for finding in findings for quote in finding.quotes}
    passages = {quote.passage.chunk_id: quote.passage for finding in findings for quote in finding.quotes}
    folded = is_unaccented_vietnamese(question)
    terms = [term for term in terms_of(question, folded) if not any(word.isdigit() for word in term.stems)]
    weights = [term.weight for term in terms]
    found: list[tuple[float, _Formula]] = []
    for order, passage in enumerate(passages.values()):
        for unit in units_of(passage.text):
            about = bag_of(f"{unit.text} {unit.heading} {passage.section} {passage.title}", folded)
            relevant = coverage(terms, weights, about)
            weight = relevant + _QUOTED * any(unit.text in text for text in quoted) - _OTHER_PASSAGE * order
            if relevant >= _RELEVANT:
                found += ((weight, formula) for formula in _formulas_in(unit.text, passage))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _formulas_in(text: str, passage: Passage) -> Iterator[_Formula]:
    """What a text says quantities are; no worked examples and other equations, which name nothing to fill in."""
    for mark in _EQUATION.finditer(text):
        left, right = mark["left"].strip(" `*"), mark["right"].strip(" `*")
        stop = _SENTENCE_STOP.search(right)
        right = right[: stop.start()] if stop else right.rstrip(".")
        formula = _parsed(right, f"{left} = {right}", passage) if _LETTERS.search(left) else None
        if formula and None in formula.values:
            yield formula


def _parsed(expression: str, text: str, passage: Passage) -> _Formula | None:
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
    return _Formula(operands, tuple(values), signs, text, passage) if signs else None


def _language(passage: Passage) -> Language:
    return "en" if passage.language == "en" else "vi"


def _bound(formula: _Formula, question: str, stated: Sequence[tuple[str, Amount]]) -> Arguments:
    """A formula with the asker's figures in place of names, or what is missing for it."""
    written: list[str] = []
    missing: list[str] = []
    grounds: list[str] = [formula.text]
    left = list(stated)
    for operand, number, sign in zip(formula.operands, formula.values, ("", *formula.signs), strict=True):
        kind = kind_of(operand)
        fitting = next((pair for pair in left if kind and pair[0] == kind), None) if number is None else None
        if fitting:
            left.remove(fitting)
            grounds.append(fitting[1].text)
        value = fitting[1].value if fitting else number
        if value is None:
            missing.append(operand)
        else:
            written += [sign, plain(value)]
    if missing:
        return Arguments(values={}, missing=tuple(missing), grounds=tuple(grounds))
    return _arguments(" ".join(written).strip(), _unit_of(formula, question), grounds)


def _unit_of(formula: _Formula, question: str) -> str:
    """The currency the question or the document speaks of, for formulas about money."""
    if all(kind_of(operand) != "money" and not _currency(operand) for operand in formula.operands):
        return ""
    named = _currency(question) or _currency(formula.passage.text)
    return named or (MONEY_UNITS[0] if _language(formula.passage) == "vi" else "")


def _currency(text: str) -> str:
    return next((unit for unit, pattern in _CURRENCY_SIGNS if pattern.search(text)), "")
