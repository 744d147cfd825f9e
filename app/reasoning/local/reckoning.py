"""What a question wants reckoned, with everything needed for it: a sum, a conversion, a day, or pay whose figures it
states: hourly or daily pay × how many × the rate, a yearly number of days pro rata."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.domain.knowledge import Language
from app.domain.plan import MATH_TOOL
from app.reasoning.local.cues import alternatives, named_patterns
from app.reasoning.local.numbers import Amount, amounts_in
from app.text.language import fold, guess_language, normalise
from app.text.numbers import plain, read_number
from app.text.numerals import VALUES

LANGUAGES: tuple[Language, ...] = ("vi", "en")
_SIGNS = {"+": "sum", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}
"""The sign of a sum of two, and the agent type that computes it."""
_TWO = re.compile(r"(?P<a>[\d.]+)(?P<percent> %)? (?P<sign>\+|-|\*\*|[*/]) (?P<b>[\d.]+)")
MONEY_UNITS = ("VND", "GBP", "USD", "EUR", "CAD")
_KINDS = named_patterns("reckoning.kind")
"""What kind of amount a variable of a formula stands for, by its name (folded)."""
_SURELY_MONEY = 100_000
_HOURLY, _DAILY, _PRO_RATA, _YEARLY, _RATE_IN_RULES = (
    re.compile(rf"\b(?:{alternatives(f'reckoning.{name}')})\b")
    for name in ("hourly", "daily", "pro_rata", "yearly", "rate_in_rules")
)
"""The last: work whose rate stands in the rules when the question does not say it."""
_MONTHS_A_YEAR = "12"
SPELT: Mapping[str, Decimal] = {"a": Decimal(1), "an": Decimal(1)} | {
    word: value
    for language in LANGUAGES
    for word in VALUES
    if word.isascii() and (value := read_number(word, language)) is not None and value >= 1
}
"""Numbers of one word, folded."""
_MOST_CHARS = 300


@dataclass(frozen=True, slots=True)
class Reckoning:
    """Something to be computed of what a question states."""

    types: tuple[str, ...]
    """Agent types and tools that do it, the fittest first."""
    values: Mapping[str, str]
    """Arguments by the property they fill."""
    grounds: tuple[str, ...] = ()
    """The words of the question that gave them."""

    @property
    def expression(self) -> str:
        """The arithmetic; empty for what is no sum."""
        return self.values.get("expression", "")

    def fits(self, tool: str) -> bool:
        """Whether the values are arguments of a tool: ``math.mcp_sum`` is the tool of the type ``sum``."""
        own = tool.rpartition(".")[2].removeprefix("mcp_")
        return own in self.types or tool in self.types


def sum_of(expression: str, grounds: Sequence[str], *, unit: str = "", is_stated: bool = True) -> Reckoning:
    """A sum as a reckoning; amounts with a unit are told with it, by the tool that traces every operand, where each
    number stands in the question as it does in the expression."""
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    two = _TWO.fullmatch(expression)
    types: tuple[str, ...] = ("evaluate",)
    if two and not two["percent"]:
        types = (_SIGNS[two["sign"]], "evaluate")
        values |= {"a": two["a"], "b": two["b"]}
    elif two and two["sign"] == "*":
        types = ("percent", "evaluate")
        values |= {"part_percent": two["a"], "of": two["b"]}
    if is_stated:
        types = (MATH_TOOL, *types) if unit else (*types, MATH_TOOL)
    return Reckoning(types, values, tuple(dict.fromkeys(grounds)))


def stated_relation(question: str) -> Reckoning | None:
    """The pay or share of a year of which a question states all operands; None where one is left over or lacking."""
    text = normalise(question)
    if len(text) > _MOST_CHARS or not any(map(str.isdigit, text)):
        return None
    stated = kinds_in(text, guess_language(text))
    found = relation_among(text, stated, is_alone=True)
    return found if found and len(found.grounds) == len(stated) else None


def kinds_in(text: str, language: Language) -> list[tuple[str, Amount]]:
    """The amounts of a text with their kinds (``money hour day % …``), in order."""
    return [
        (kind_of_amount(amount, " ".join(text[: amount.start].split()[-3:])), amount)
        for amount in amounts_in(text, language)
    ]


def relation_among(text: str, stated: Sequence[tuple[str, Amount]], *, is_alone: bool = False) -> Reckoning | None:
    """The relation between the amounts of a question, each kind named once; `is_alone` where nothing but the question
    is known: a rate that stands in the rules is lacking then."""
    by_kind = {kind: amount for kind, amount in stated if kind}
    if len(by_kind) < (len(stated) if is_alone else len([kind for kind, _ in stated if kind])):
        return None
    bare = fold(text).lower()
    return _pay(text, bare, by_kind, is_alone=is_alone) or _share_of_year(bare, by_kind)


def _pay(text: str, bare: str, by_kind: Mapping[str, Amount], *, is_alone: bool) -> Reckoning | None:
    """Pay of an hour or a day × their number × the rate."""
    money, rate = by_kind.get("money"), by_kind.get("%")
    worked = by_kind.get("hour") if _HOURLY.search(bare) else by_kind.get("day") if _DAILY.search(bare) else None
    if money is None or worked is None or (is_alone and rate is None and _RATE_IN_RULES.search(bare)):
        return None
    used = [money, worked, *([rate] if rate else [])]
    factors = [plain(money.value), plain(worked.value), *([f"{plain(rate.value)} / 100"] if rate else [])]
    unit = money.unit or ("VND" if guess_language(text) == "vi" else "")
    return sum_of(" * ".join(factors), [amount.text for amount in used], unit=unit)


def _share_of_year(bare: str, by_kind: Mapping[str, Amount]) -> Reckoning | None:
    """A yearly number of days for the months worked."""
    days, months = by_kind.get("day"), by_kind.get("month")
    if not (days and months and _PRO_RATA.search(bare) and _YEARLY.search(bare)):
        return None
    expression = f"{plain(days.value)} / {_MONTHS_A_YEAR} * {plain(months.value)}"
    return sum_of(expression, [days.text, months.text], unit="day")


def kind_of(name: str) -> str:
    """What kind of amount a name stands for; empty when it tells none."""
    bare = fold(name).lower()
    return next((kind for kind, pattern in _KINDS if pattern.search(bare)), "")


def kind_of_amount(amount: Amount, before: str) -> str:
    """What kind of amount was stated, by its unit or, without one, by the words in front of it."""
    if amount.unit in MONEY_UNITS:
        return "money"
    return amount.unit or ("money" if amount.value >= _SURELY_MONEY else kind_of(before))
