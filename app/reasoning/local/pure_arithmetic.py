"""Sums that need no document: ``2+4 = ?``, “15 phần trăm của ba mươi hai triệu”, “add 45 to 87 plus 54”."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives
from app.reasoning.local.numbers import Amount, amounts_in
from app.text.language import fold, guess_language, normalise
from app.text.numbers import Number, numbers_in, plain

_OPERATORS = (
    (r"\*\*|\^|mu|to the power of", "**"),
    (r"\+|cong(?: voi| them)?|plus|and", "+"),
    (r"tru(?: di| cho)?|minus|less", "-"),
    (r"[*×·x]|nhan(?: voi| cho)?|times|multiplied by", "*"),
    (r"[/÷:]|chia(?: cho| deu cho)?|divided by|over", "/"),
    (r"[-−–]", "-"),
    (r"[(]", "("),
    (r"[)]", ")"),
)
_SIGNS = "".join(rf"|(?P<op{at}>{pattern})(?![a-z])" for at, (pattern, _) in enumerate(_OPERATORS))
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\x00\d+\x00)"
    r"|(?P<percent_of>(?:%|phan tram|percent|per cent)\s*(?:cua|of))|(?P<percent>%|phan tram|percent|per cent)"
    rf"{_SIGNS}|(?P<filler>(?:{alternatives('pure_arithmetic.filler')})(?![a-z]))|(?P<mark>[=?.,!;:]+))"
)
_ADD_TO = re.compile(r"\b(?:add|cong|them)\s+(\x00\d+\x00)\s+(?:to|vao|voi|va|and)\s+(\x00\d+\x00)")
_SUBTRACT_FROM = re.compile(r"\bsubtract\s+(\x00\d+\x00)\s+from\s+(\x00\d+\x00)")
_SUM_OF = re.compile(r"\b(?:tong(?: cua)?|sum of|total of)\s+((?:\x00\d+\x00(?:\s*,\s*|\s+(?:va|and)\s+)?)+)")
_SHARE_OF = re.compile(r"(\x00\d+\x01)\s*(?:cua|of)\b")
_VALID = re.compile(r"[\d.+*/()% -]+")
_MORE_OR_LESS = re.compile(r"(?P<whole>[\d.]+) (?P<sign>[+-]) (?P<share>[\d.]+) %")
_PERCENT_LAST = re.compile(r"(?<!%) [+-] [\d.]+ %(?! \*)")
_VIETNAMESE_NUMBERS = re.compile(
    r"(?<![\d.])[1-9]\d{0,2}\.000(?![\d.])|\d\s?(?:tr|trieu|ty|nghin|ngan)(?![a-z])", re.IGNORECASE
)
_MAX_CHARS, _MAX_TEXT_CHARS = 300, 1_000
"""Of an expression, and of the text it is read from."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of a sum, where it stands in the text."""

    written: str
    """As a calculator reads it: ``32000000``, ``(1 / 3)``."""
    unit: str
    text: str
    start: int
    end: int
    is_spelt: bool = False
    """Words are part of it."""


@dataclass(frozen=True, slots=True)
class PureSum:
    """A sum and what its numbers count."""

    expression: str
    unit: str
    """Currency or measure named with the numbers; empty when none is."""
    grounds: tuple[str, ...]
    """The numbers as written."""
    is_stated: bool = True
    """Every number stands in the text as it does in the expression."""


def pure_expression(text: str) -> PureSum | None:
    """The sum a text consists of; None when it says anything else as well."""
    return _read(normalise(text), number_language(text)) if len(text) <= _MAX_TEXT_CHARS else None


def number_language(text: str) -> Language:
    """How the numbers of a text are grouped: as in its language, and in Vietnamese where only they can tell."""
    return "vi" if _VIETNAMESE_NUMBERS.search(text) else guess_language(text)


def figures_in(text: str, language: Language) -> tuple[Figure, ...]:
    """The numbers of a normalised text in order, in digits and in words, with the units of those in digits."""
    amounts = {amount.start: amount for amount in amounts_in(text, language)}
    return tuple(_figure(number, amounts.get(number.start), text) for number in numbers_in(text, language))


def _figure(number: Number, amount: Amount | None, text: str) -> Figure:
    """“7 times 8” multiplies: the unit is an operator there."""
    own = text[number.start : number.end]
    is_spelt = not any(map(str.isdigit, own))
    if number.is_share:
        return Figure(
            f"({number.exact.numerator} / {number.exact.denominator})", "", own, number.start, number.end, True
        )
    if amount is None or is_spelt or amount.unit == "time":
        value = amount.value if amount is not None and not is_spelt else number.value
        return Figure(plain(value), "", own, number.start, number.end, is_spelt=is_spelt)
    return Figure(plain(amount.value), amount.unit, amount.text, amount.start, amount.end)


@lru_cache(maxsize=512)
def _read(text: str, language: Language) -> PureSum | None:
    figures = figures_in(text, language)
    if not figures:
        return None
    pieces = _translated(_with_placeholders(text, figures), figures)
    expression = _more_or_less(" ".join(pieces or ()).strip())
    if not pieces or not _VALID.fullmatch(expression) or not _is_sum(pieces) or len(expression) > _MAX_CHARS:
        return None
    is_stated = expression == " ".join(pieces) and not any(figure.is_spelt for figure in figures)
    grounds = tuple(figure.text for figure in figures)
    return PureSum(expression, unit_of(figures), grounds, is_stated) if not _is_unclear(expression) else None


def unit_of(figures: Sequence[Figure]) -> str:
    """The one unit that is named with the numbers, shares aside; empty when there are none or several."""
    units = {figure.unit for figure in figures if figure.unit and figure.unit != "%"}
    return units.pop() if len(units) == 1 else ""


def _more_or_less(expression: str) -> str:
    """``200000 + 10 %`` means ten percent of the 200,000 more."""
    match = _MORE_OR_LESS.fullmatch(expression)
    return f"{match['whole']} * (100 {match['sign']} {match['share']}) / 100" if match else expression


def _is_unclear(expression: str) -> bool:
    """Whether percent are added to what is no percentage, inside a longer sum: of what they are is not said."""
    return bool(_PERCENT_LAST.search(expression)) and "% " not in expression


def with_numbers(text: str, figures: Sequence[Figure]) -> str:
    """The text folded, with every number as its index between NULs; a percent sign stays behind it.

    The second mark of a share of a whole (“một phần ba”) is another.
    """
    parts: list[str] = []
    at = 0
    for index, figure in enumerate(figures):
        mark = "\x01" if figure.written.startswith("(") else "\x00"
        parts += [text[at : figure.start], f" \x00{index}{mark}", "% " if figure.unit == "%" else " "]
        at = figure.end
    return fold("".join([*parts, text[at:]])).lower()


def _with_placeholders(text: str, figures: Sequence[Figure]) -> str:
    """The text with its numbers marked, orders turned into signs."""
    bare = _SHARE_OF.sub(r"\1 *", with_numbers(text, figures)).replace("\x01", "\x00")
    bare = _ADD_TO.sub(r"\1 + \2", bare)
    bare = _SUBTRACT_FROM.sub(r"\2 - \1", bare)
    return _SUM_OF.sub(lambda mark: " + ".join(re.findall("\x00\\d+\x00", mark[1])), bare)


def _translated(text: str, figures: Sequence[Figure]) -> list[str] | None:
    """The tokens of the expression; None when a word is neither number, operator nor filler."""
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        mark = _TOKEN.match(text, at)
        if mark is None or mark.end() == at:
            return None
        token = _token(mark, figures)
        if token:
            tokens.append(token)
        at = mark.end()
    return tokens


def _token(mark: re.Match[str], figures: Sequence[Figure]) -> str:
    if mark["number"]:
        return figures[int(mark["number"].strip("\x00"))].written
    if mark["percent_of"]:
        return "% *"
    if mark["percent"]:
        return "%"
    return next((sign for at, (_, sign) in enumerate(_OPERATORS) if mark[f"op{at}"]), "")


def _is_sum(tokens: list[str]) -> bool:
    """Numbers and operators take turns, and there are at least two numbers."""
    bare = [token for token in tokens if token not in ("(", ")", "%")]
    numbers = [token.strip("(")[0].isdigit() for token in bare]
    alternate = all(one != other for one, other in pairwise(numbers))
    return len(numbers) >= 3 and alternate and numbers[0] and numbers[-1]
