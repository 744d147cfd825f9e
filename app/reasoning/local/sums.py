"""Sums that need no document: ``2+4 = ?``, “15 phần trăm của ba mươi hai triệu”, “add 45 to 87 plus 54”.

Sure or nothing: a text that says anything else as well is no sum.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from app.domain.knowledge import Language
from app.domain.plan import MATH_TOOL
from app.plugins import QUESTIONS, entries_of
from app.reasoning.local.numbers import Amount, amounts_in
from app.reasoning.local.wording import alternatives, named_patterns
from app.text.language import fold, guess_language, normalise
from app.text.numbers import numbers_in, plain

_OPERATORS = (
    (r"\*\*|\^|mu|to the power of", "**"),
    (r"\+|cong(?: voi| them)?|plus", "+"),
    (r"tru(?: di| cho)?|minus|less", "-"),
    (r"[*×·x]|nhan(?: voi| cho)?|times|multiplied by", "*"),
    (r"[/÷:]|chia(?: cho| deu cho)?|divided by|over", "/"),
    (r"[-−–]", "-"),
    (r"[(]", "("),
    (r"[)]", ")"),
    (r"%|phan tram|percent|per cent", "%"),
    (r"cua|of", "of"),
)
_SIGNS = "".join(rf"|(?P<op{at}>{pattern})(?![a-z])" for at, (pattern, _) in enumerate(_OPERATORS))
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>\x00\d+\x00){_SIGNS}|(?:{alternatives('pure_arithmetic.filler')})(?![a-z])|[=?.,!;:]+)"
)
_VALID = re.compile(r"[\d.+*/()% -]+")
_MORE_OR_LESS = re.compile(r"^(?P<whole>[\d.]+) (?P<sign>[+-]) (?P<share>[\d.]+) %$")
_PERCENT_LAST = re.compile(r"(?<!%) [+-] [\d.]+ %(?! \*)")
_VIETNAMESE_NUMBERS = re.compile(
    r"(?<![\d.])[1-9]\d{0,2}\.000(?![\d.])|\d\s?(?:tr|trieu|ty|nghin|ngan)(?![a-z])", re.IGNORECASE
)
_MAX_CHARS, _MAX_TEXT_CHARS = 300, 1_000
"""Of an expression, and of the text a sum is read from."""
_MOST_SUMS = 10
_JOINT = re.compile(
    r"(?:\s*[;\n]\s*|\s*,\s+|(?<=\?)\s+)(?:(?:và|va|and|rồi|roi|then)\s+)?|\s+(?:và|va|and|rồi|roi|then|cùng với)\s+",
    re.IGNORECASE,
)
_PLAIN_SIGN = re.compile(r"[+*×÷^=]")
"""A part without a word before it may be a day (``3/2``), a range (``9-3``) or a time (``8:30``); not with these."""

_TYPES = {"+": "sum", "-": "subtract", "*": "multiply", "/": "divide", "**": "power"}
"""The sign of a sum of two, and the agent type that computes it."""
_TWO = re.compile(r"(?P<a>[\d.]+)(?P<percent> %)? (?P<sign>\+|-|\*\*|[*/]) (?P<b>[\d.]+)")
MONEY_UNITS = ("VND", "GBP", "USD", "EUR", "CAD")
_KINDS = named_patterns("reckoning.kind")
"""What kind of amount a variable of a formula stands for, by its name (folded)."""
_SURELY_MONEY = 100_000


class _Figure(NamedTuple):
    """A number of a sum, where it stands in the text."""

    written: str
    """As a calculator reads it: ``32000000``, ``(1 / 3)``."""
    unit: str
    text: str
    start: int
    end: int
    is_spelt: bool


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


@lru_cache(maxsize=512)
def reckoning_asked(query: str) -> Reckoning | None:
    """The sum, conversion or day a question asks for; None when documents have to be searched, and of several sums."""
    if sums_in(query):
        return None
    return next(filter(None, (reads(query) for reads in _readers())), None) or sum_asked(query)


@cache
def _readers() -> tuple[Callable[[str], Reckoning | None], ...]:
    """What plugged-in tools know of the questions they answer by themselves."""
    return tuple(entry.load() for entry in entries_of(QUESTIONS))


@lru_cache(maxsize=512)
def sums_in(query: str) -> tuple[str, ...]:
    """The sums a question consists of, each as a question of its own; empty for anything but two or more of them."""
    parts = [part.strip() for part in _JOINT.split(normalise(query)) if part.strip(" ?!.")]
    if not 2 <= len(parts) <= _MOST_SUMS or not any(map(str.isdigit, query)):
        return ()
    is_said = parts[0][0].isalpha()
    are_sums = all(sum_asked(part) and (is_said or _PLAIN_SIGN.search(part)) for part in parts)
    return tuple(dict.fromkeys(part.rstrip(" ?.!=") for part in parts)) if are_sums else ()


@lru_cache(maxsize=512)
def sum_asked(query: str) -> Reckoning | None:
    """The sum a text consists of; None when it says anything else as well."""
    text = normalise(query)
    figures = _figures_in(text, _number_language(text)) if len(text) <= _MAX_TEXT_CHARS else ()
    tokens = _translated(_with_placeholders(text, figures), figures) if figures else []
    written = " ".join(tokens)
    expression = _MORE_OR_LESS.sub(r"\g<whole> * (100 \g<sign> \g<share>) / 100", written)
    if not _is_sum(tokens) or not _VALID.fullmatch(expression) or len(expression) > _MAX_CHARS:
        return None
    if _PERCENT_LAST.search(expression) and "% " not in expression:
        return None  # percent of what is not said
    units = {figure.unit for figure in figures} - {"", "%"}
    is_stated = expression == written and not any(figure.is_spelt for figure in figures)
    grounds = [figure.text for figure in figures]
    return sum_of(expression, grounds, unit=units.pop() if len(units) == 1 else "", is_stated=is_stated)


def _number_language(text: str) -> Language:
    """How the numbers of a text are grouped: as in its language, and in Vietnamese where only they can tell."""
    return "vi" if _VIETNAMESE_NUMBERS.search(text) else guess_language(text)


def _figures_in(text: str, language: Language) -> list[_Figure]:
    """The numbers of a text in digits and in words; “7 times 8” multiplies: the unit is an operator there."""
    amounts = {amount.start: amount for amount in amounts_in(text, language)}
    found: list[_Figure] = []
    for number in numbers_in(text, language):
        own, amount = text[number.start : number.end], amounts.get(number.start)
        is_spelt = not any(map(str.isdigit, own))
        if amount is not None and amount.unit not in ("", "time") and not is_spelt:
            found.append(_Figure(plain(amount.value), amount.unit, amount.text, amount.start, amount.end, False))
            continue
        exact = number.exact
        written = f"({exact.numerator} / {exact.denominator})" if number.is_share else plain(number.value)
        found.append(_Figure(written, "", own, number.start, number.end, is_spelt or number.is_share))
    return found


def _with_placeholders(text: str, figures: Sequence[_Figure]) -> str:
    """The text folded, with every number as its index between NULs; a percent sign stays behind it."""
    parts: list[str] = []
    at = 0
    for index, figure in enumerate(figures):
        parts += [text[at : figure.start], f" \x00{index}\x00", "% " if figure.unit == "%" else " "]
        at = figure.end
    return fold("".join([*parts, text[at:]])).lower().rstrip()


def _translated(text: str, figures: Sequence[_Figure]) -> list[str]:
    """The tokens of the expression; none when a word is neither number, operator nor filler."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        mark = _TOKEN.match(text, at)
        if mark is None or mark.end() == at:
            return []
        at = mark.end()
        sign = next((sign for place, (_, sign) in enumerate(_OPERATORS) if mark[f"op{place}"]), "")
        if sign == "of":
            sign = "*" if tokens and (tokens[-1] == "%" or " / " in tokens[-1]) else ""
        token = figures[int(mark["number"].strip("\x00"))].written if mark["number"] else sign
        tokens += [token] if token else []
    return tokens


def _is_sum(tokens: Sequence[str]) -> bool:
    """Numbers and operators take turns, and there are at least two numbers."""
    bare = [token for token in tokens if token not in ("(", ")", "%")]
    numbers = [token.strip("(")[0].isdigit() for token in bare]
    alternate = all(one != other for one, other in pairwise(numbers))
    return len(numbers) >= 3 and alternate and numbers[0] and numbers[-1]


def sum_of(expression: str, grounds: Sequence[str], *, unit: str = "", is_stated: bool = True) -> Reckoning:
    """A sum as a reckoning; amounts with a unit are told with it, by the tool that traces every operand, where each
    number stands in the question as it does in the expression."""
    values = {"expression": expression} | ({"unit": unit} if unit else {})
    two = _TWO.fullmatch(expression)
    types: tuple[str, ...] = ("evaluate",)
    if two and not two["percent"]:
        types = (_TYPES[two["sign"]], "evaluate")
        values |= {"a": two["a"], "b": two["b"]}
    elif two and two["sign"] == "*":
        types = ("percent", "evaluate")
        values |= {"part_percent": two["a"], "of": two["b"]}
    if is_stated:
        types = (MATH_TOOL, *types) if unit else (*types, MATH_TOOL)
    return Reckoning(types, values, tuple(dict.fromkeys(grounds)))


def kinds_in(text: str, language: Language) -> list[tuple[str, Amount]]:
    """The amounts of a text with their kinds (``money hour day % …``), in order."""
    return [
        (kind_of_amount(amount, " ".join(text[: amount.start].split()[-3:])), amount)
        for amount in amounts_in(text, language)
    ]


def kind_of(name: str) -> str:
    """What kind of amount a name stands for; empty when it tells none."""
    bare = fold(name).lower()
    return next((kind for kind, pattern in _KINDS if pattern.search(bare)), "")


def kind_of_amount(amount: Amount, before: str) -> str:
    """What kind of amount was stated, by its unit or, without one, by the words in front of it."""
    if amount.unit in MONEY_UNITS:
        return "money"
    return amount.unit or ("money" if amount.value >= _SURELY_MONEY else kind_of(before))
