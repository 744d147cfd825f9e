"""`unit_tool`: one amount in another unit, exactly, with what was assumed said."""

import asyncio
import re
import tomllib
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

from pydantic import Field

from app.domain.knowledge import Language
from app.domain.plan import UNIT_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.text.arithmetic import rounded
from app.text.numbers import all_readings, format_number, read_number
from app.tools.base import ToolCall, ToolResult, computed
from app.tools.catalogue import ToolPlugin
from app.tools.typed import TypedTool
from extras.units.measures import CannotConvert, Conversion, Measure, Refusal, convert, counterpart, read_measure

_MAX_VALUE_CHARS = 60
_MAX_UNIT_CHARS = 80
_EXACT_PLACES, _PLACES, _DIGITS = 6, 2, 4
_MOST, _LEAST = 10**30, Fraction(1, 10**30)
"""Between these a result can be read by somebody."""
_MACHINE = Context(prec=15)
_AMOUNT_WITH_UNIT = re.compile(r"\s*([-−]?\s?[0-9][0-9.,]*(?:[eE][+-]?[0-9]{1,2})?)\s*([^\s0-9].*)")
_COUNTED_WITHOUT_SAYING = Decimal(1)
_TEXTS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("sentences.toml").read_text("utf-8"))


class ConversionFailed(ToolFailed):
    """The amount was not converted; the sentence is for the asker."""

    def __init__(self, refused: CannotConvert, language: Language):
        words = (*refused.words, "", "")
        super().__init__(_TEXTS[language][refused.refusal].format(*words))
        self.refusal = refused.refusal


class Amount(Record):
    """What to convert."""

    value: str = Field(
        min_length=1, description="The number as the question or the source states it: 100, 12,5, 5 triệu."
    )
    from_unit: str = Field(
        default="",
        description="The unit the number is in, as stated: °F, dặm, sào Bắc Bộ, km/h. For a difference between two "
        "temperatures: delta °C.",
    )
    to_unit: str = Field(default="", description="The unit that is asked for; empty when none is named.")


class UnitTool(TypedTool[Amount]):
    """Converts an amount from one unit of measure to another (length, mass, area, temperature, speed); not money."""

    name = UNIT_TOOL
    arguments = Amount

    async def run(self, call: ToolCall, index: int, query: str, arguments: Amount) -> ToolResult:
        """Convert. Raises `ConversionFailed`, and `ToolFailed` for a number that no source states."""
        try:
            value, unit = _read(arguments, call.language)
            _check_stated(value, query, call)
            source = read_measure(unit)
            target = read_measure(arguments.to_unit) if arguments.to_unit.strip() else counterpart(source)
            done = await asyncio.to_thread(_converted, Fraction(value), source, target)
        except CannotConvert as refused:
            raise ConversionFailed(refused, call.language) from refused
        text = _sentence(done, call.language)
        url = f"unit:{format(value, 'f')}+{_in_address(done[0].source)}+to+{_in_address(done[0].target)}"
        finding = computed(call, index, query, text, source_type="math", url=url)
        return ToolResult(text=text, findings=(finding,), value=_for_machines(done[0]), trace=(url,))


def _read(arguments: Amount, language: Language) -> tuple[Decimal, str]:
    """The number and the text of its unit, also where both stand in `value`. Raises `CannotConvert`."""
    value, unit = arguments.value, arguments.from_unit
    if len(value) > _MAX_VALUE_CHARS + _MAX_UNIT_CHARS or len(unit) > _MAX_UNIT_CHARS:
        raise CannotConvert(Refusal.TOO_LONG)
    match = _AMOUNT_WITH_UNIT.fullmatch(value)
    number = read_number(value, language)
    if number is None and match and unit.strip() in ("", match[2].strip()):
        unit, number = match[2], read_number(match[1], language)
    if number is None:
        raise CannotConvert(Refusal.NOT_A_NUMBER, value)
    if number and not _LEAST < abs(number) < _MOST:
        raise CannotConvert(Refusal.TOO_LONG)
    return number, unit


def _check_stated(value: Decimal, query: str, call: ToolCall) -> None:
    """Raises `ToolFailed` for a number that was made up."""
    said = [call.stated] if call.asked else [call.stated, query, call.message]
    said += [quote.passage.text for finding in call.findings for quote in finding.quotes]
    said += [finding.answer for finding in call.findings]
    if abs(value) != _COUNTED_WITHOUT_SAYING and abs(value) not in all_readings("\n".join(said)):
        raise ToolFailed(_TEXTS[call.language]["unstated"].format(value=format_number(value, call.language)))


def _converted(amount: Fraction, source: Measure, target: Measure) -> tuple[Conversion, ...]:
    """The conversion, then those of what the words may also mean, where they can be. Raises `CannotConvert`."""
    pairs = [(source, target), *((other, target) for other in source.others)]
    pairs += [(source, other) for other in target.others]
    found: list[Conversion] = []
    refusals: list[CannotConvert] = []
    for pair in pairs:
        try:
            done = convert(amount, *pair)
        except CannotConvert as refused:
            refusals.append(refused)
            continue
        if done.result and not _LEAST <= abs(done.result) < _MOST:
            raise CannotConvert(Refusal.TOO_LONG)
        found.append(done)
    if not found:
        raise refusals[0]
    return tuple(found)


def _sentence(conversions: tuple[Conversion, ...], language: Language) -> str:
    """``100 °F ≈ 37,78 °C.``, with what it would be if the other size was meant."""
    first = conversions[0]
    told = "; ".join(_otherwise(conversions, language))
    amount = _amount(first.amount, first.source, language)
    sign = "=" if _is_shown_exactly(first.result) and _is_shown_exactly(first.amount) else "≈"
    return f"{amount} {sign} {_amount(first.result, first.target, language)}{f' ({told})' if told else ''}."


def _otherwise(conversions: tuple[Conversion, ...], language: Language) -> Iterator[str]:
    for other in conversions[1:]:
        meant = other.source if other.source.key != conversions[0].source.key else other.target
        amount = _amount(other.result, other.target, language)
        yield _TEXTS[language]["otherwise"].format(unit=meant.label(language), amount=amount)


def _amount(value: Fraction, measure: Measure, language: Language) -> str:
    return f"{format_number(_shown(value), language)} {measure.label(language, is_one=abs(value) == 1)}"


def _shown(value: Fraction) -> Decimal:
    """All decimals where six are enough, else two, or as many as show four digits below 1; rounded half up."""
    exact = rounded(value, _EXACT_PLACES)
    if Fraction(exact) == value:
        return exact
    if abs(value) >= 1:
        return rounded(value, _PLACES)
    leading = len(str(value.denominator // max(abs(value.numerator), 1)))
    return rounded(value, leading + _DIGITS - 1)


def _is_shown_exactly(value: Fraction) -> bool:
    return Fraction(_shown(value)) == value


def _for_machines(done: Conversion) -> dict[str, str | bool]:
    """The result as a plain decimal of at most 15 digits, its unit, and whether nothing was rounded."""
    result = _MACHINE.divide(Decimal(done.result.numerator), Decimal(done.result.denominator))
    plain = format(result, "f")
    shown = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return {"result": shown, "unit": done.target.label("en"), "exact": Fraction(result) == done.result}


def _in_address(measure: Measure) -> str:
    """``degree_Fahrenheit``, ``kilometer*hour^-1``; a difference is ``delta_degree_Celsius``."""
    names = "*".join(name if power == 1 else f"{name}^{power}" for name, power in measure.key)
    return f"delta_{names}" if measure.is_difference else names


UNIT = ToolPlugin(UnitTool, lambda ports: UnitTool(ports.reasoner))
