"""`math_tool`: one exact calculation, with every operand traced to the question or to a source."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from app.domain.knowledge import Finding, Language, Quote, evidence_of
from app.errors import ToolFailed
from app.reasoning import Arguments, Reasoner
from app.text.arithmetic import Calculation, CannotCalculate, calculate, rounded
from app.text.language import clean
from app.text.numbers import all_readings, format_number
from app.tools.base import ToolCall, ToolResult, outages_as_retry, sentence

_CONVERSIONS = frozenset(map(Decimal, (1, 2, 7, 12, 24, 30, 52, 60, 365, 10, 100, 1_000, 10_000, 1_000_000, 10**9)))
"""Numbers everybody knows (months of a year, hours of a day, per cent): they need no source."""
_MAX_NAMES, _MAX_NAME_CHARS = 6, 60

_CURRENCY_SIGNS = {
    "gbp": "£", "£": "£", "pound": "£", "pounds": "£", "usd": "$", "$": "$", "dollar": "$", "dollars": "$",
    "eur": "€", "€": "€", "euro": "€", "euros": "€", "cad": "C$",
}  # fmt: skip
_DONG = frozenset({"vnd", "vnđ", "đồng", "dong", "đ", "₫"})
_PERCENT = frozenset({"%", "percent", "per cent", "phần trăm"})
_WORDS: dict[str, tuple[str, str, str]] = {
    "second": ("giây", "second", "seconds"), "minute": ("phút", "minute", "minutes"),
    "hour": ("giờ", "hour", "hours"), "day": ("ngày", "day", "days"), "week": ("tuần", "week", "weeks"),
    "month": ("tháng", "month", "months"), "year": ("năm", "year", "years"), "time": ("lần", "time", "times"),
    "person": ("người", "person", "people"), "character": ("ký tự", "character", "characters"),
    "point": ("điểm", "point", "points"),
}  # fmt: skip
"""Vietnamese, English singular, English plural; found by any of the three."""
_UNITS = {spelling: words for words in _WORDS.values() for spelling in words}
_CURRENCY_PLACES = 2
_PLAIN_PLACES = 4
MAX_UNIT_CHARS = 24


class _Held:
    """A quote and the numbers it states; those around it are read when they are needed."""

    def __init__(self, finding: Finding, quote: Quote):
        self.finding = finding
        self.quote = quote
        self.quoted = all_readings(quote.text)

    @cached_property
    def surrounding(self) -> frozenset[Decimal]:
        """Numbers of the rest of the passage and of the finding's answer."""
        return all_readings(f"{self.quote.passage.text}\n{self.finding.answer}")


_Source = Literal["question"] | _Held | None
"""Where an operand was read; None for the numbers everybody knows."""


class MathTool:
    """Calculates exactly (sums, quotients, powers, percentages) from figures of the question and of findings."""

    name = "math_tool"
    alternative: str | None = None
    """None: an amount that cannot be calculated must not be guessed by another tool."""
    input_schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "Plain arithmetic: 15000000 / 26 * 3"},
            "unit": {"type": "string", "description": "Of the result: đồng, days"},
        },
        "required": ["expression"],
    }

    def __init__(self, reasoner: Reasoner):
        self._reasoner = reasoner

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Calculate what the question asks; the text is one sentence with formula, amount and sources.

        Raises `ToolFailed` with a sentence for the asker when operands are missing or stated nowhere, and when the
        expression is no arithmetic or too costly; `ToolRetry` when the reasoner cannot be reached.
        """
        question = call.refined_query or "\n".join(text for _, text in call.queries)
        arguments = await self._arguments(call, question)
        calculation = _calculated(arguments, call.language)
        sourced = _sources(calculation, call)
        unit = " ".join(clean(arguments.values.get("unit", "")).split())
        text = f"{_equation(calculation, unit, call.language)}{_told_sources(sourced, call.language)}."
        return ToolResult(text=text, findings=(_finding(call, text, sourced.values()),))

    async def _arguments(self, call: ToolCall, question: str) -> Arguments:
        if call.given is not None:
            return Arguments(values=dict(call.given))
        with outages_as_retry("The reasoner"):
            return await self._reasoner.arguments(self.name, question, call.findings, call.language)


def _calculated(arguments: Arguments, language: Language) -> Calculation:
    if arguments.missing:
        names = (clean(name)[:_MAX_NAME_CHARS] for name in arguments.missing[:_MAX_NAMES])
        raise ToolFailed(sentence("math", "missing", language, missing=", ".join(names)))
    expression = arguments.values.get("expression", "")
    if not expression.strip():
        raise ToolFailed(sentence("math", "nothing", language))
    try:
        return calculate(expression)
    except CannotCalculate as refused:
        raise ToolFailed(sentence("math", refused.refusal, language)) from refused


def _sources(calculation: Calculation, call: ToolCall) -> dict[Decimal, _Source]:
    """Where each operand stands. Raises `ToolFailed` for operands that were made up."""
    operands = frozenset(calculation.operands)
    asked = all_readings(call.stated)
    held = [_Held(finding, quote) for finding in call.findings for quote in finding.quotes]
    held.sort(key=lambda holder: -len(holder.quoted & operands))  # the sentence with the formula comes first
    sourced = {operand: _source(operand, asked, held) for operand in calculation.operands}
    unstated = [operand for operand, source in sourced.items() if source is None and operand not in _CONVERSIONS]
    if unstated:
        told = ", ".join(format_number(operand, call.language) for operand in unstated)
        raise ToolFailed(sentence("math", "unstated", call.language, operands=told))
    return sourced


def _source(operand: Decimal, asked: frozenset[Decimal], held: Sequence[_Held]) -> _Source:
    """The question first, then quoted words, then the rest of a quoted passage."""
    if operand in asked:
        return "question"
    quoting = next((holder for holder in held if operand in holder.quoted), None)
    if quoting is not None or operand in _CONVERSIONS:
        return quoting
    return next((holder for holder in held if operand in holder.surrounding), None)


def _equation(calculation: Calculation, unit: str, language: Language) -> str:
    """``15.000.000 / 26 × 3 = 1.730.769 đồng``; ≈ where something other than money had to be rounded."""
    amount = write_amount(calculation.value, unit, language)
    sign = "=" if is_money(unit) or is_shown_exactly(calculation.value, unit) else "≈"
    return f"{calculation.written(language)} {sign} {amount}"


def _told_sources(sourced: Mapping[Decimal, _Source], language: Language) -> str:
    """`` (15.000.000 và 26: “Cách tính …”; 3: câu hỏi)``, empty when no operand needed a source."""
    by_source: dict[str, list[str]] = {}
    for operand, source in sourced.items():
        if source is not None:
            told = sentence("math", "question", language) if source == "question" else f"“{source.quote.passage.title}”"
            by_source.setdefault(told, []).append(format_number(operand, language))
    listed = "; ".join(f"{_listed(operands, language)}: {source}" for source, operands in by_source.items())
    return f" ({listed})" if listed else ""


def _listed(words: Sequence[str], language: Language) -> str:
    return ", ".join(words) if len(words) > 2 else sentence("math", "and", language).join(words)


def _finding(call: ToolCall, text: str, sources: Iterable[_Source]) -> Finding:
    """The calculation as a finding: it cites what its operands were read from and is no surer than that."""
    index, query = _answered_query(call)
    holders = [source for source in sources if isinstance(source, _Held)]
    quotes = tuple(dict.fromkeys(holder.quote for holder in holders))
    return Finding(
        agent=call.agent,
        index=index,
        query=query,
        context=", ".join(dict.fromkeys(quote.passage.title for quote in quotes)),
        answer=text,
        found=True,
        confidence=min((holder.finding.confidence for holder in holders), default=1.0),
        quotes=quotes,
        # “math” says that it was computed, not quoted.
        evidence=tuple(one.model_copy(update={"source_type": "math"}) for one in evidence_of(quotes)),
    )


def _answered_query(call: ToolCall) -> tuple[int, str]:
    """The first query of the agent that no document answered, else its last one."""
    answered = {finding.index for finding in call.findings if finding.found and finding.agent == call.agent}
    last = call.queries[-1] if call.queries else (1, call.refined_query)
    return next((query for query in call.queries if query[0] not in answered), last)


def write_amount(value: Fraction, unit: str, language: Language) -> str:
    """`value` with its unit: whole đồng, two decimals for other currencies, at most two for %, else at most four.

    Rounds half up. An unknown unit is written as it was given; an over-long one is left out.
    """
    known = unit.strip().lower()
    if sign := _CURRENCY_SIGNS.get(known):
        amount = format_number(rounded(abs(value), _CURRENCY_PLACES), language, _CURRENCY_PLACES)
        return f"{'-' if value < 0 else ''}{sign}{amount}"
    number = format_number(rounded(value, _places(unit)), language)
    if known in _DONG:
        return f"{number} {'đồng' if language == 'vi' else 'VND'}"
    if known in _PERCENT:
        return f"{number}%"
    vi, one, many = _UNITS.get(known, (unit.strip(),) * 3)
    word = vi if language == "vi" else one if abs(value) == 1 else many
    return f"{number} {word}" if 0 < len(word) <= MAX_UNIT_CHARS else number


def is_money(unit: str) -> bool:
    """Whether the unit is a currency, whose rounding needs no mention."""
    return unit.strip().lower() in _DONG | _CURRENCY_SIGNS.keys()


def is_shown_exactly(value: Fraction, unit: str) -> bool:
    """Whether `write_amount` loses nothing of `value`."""
    return Fraction(rounded(value, _places(unit))) == value


def _places(unit: str) -> int:
    """Decimals an amount of the unit is rounded to."""
    known = unit.strip().lower()
    return 0 if known in _DONG else _CURRENCY_PLACES if known in _PERCENT | _CURRENCY_SIGNS.keys() else _PLAIN_PLACES
