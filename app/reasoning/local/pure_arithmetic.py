"""Sums that need no document: ``2+4 = ?``, “tính 15% của 20 triệu”, “add 45 to 87 plus 54”."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from app.domain.knowledge import Language
from app.domain.language import fold, guess_language, normalise
from app.reasoning.local.cues import alternatives
from app.reasoning.local.numbers import Amount, amounts_in, plain

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
_VALID = re.compile(r"[\d.+*/()% -]+")


@dataclass(frozen=True, slots=True)
class PureSum:
    """A sum and what its numbers count."""

    expression: str
    unit: str
    """Currency or measure named with the numbers; empty when none is."""
    grounds: tuple[str, ...]
    """The numbers as written."""


def pure_expression(text: str) -> PureSum | None:
    """The sum a text consists of; None when it says anything else as well."""
    return _read(normalise(text), guess_language(text))


@lru_cache(maxsize=512)
def _read(text: str, language: Language) -> PureSum | None:
    numbers = [_untimed(amount) for amount in amounts_in(text, language) if any(map(str.isdigit, amount.text))]
    if not numbers:
        return None
    pieces = _translated(_with_placeholders(text, numbers), numbers)
    expression = " ".join(pieces or ()).strip()
    if not pieces or not _VALID.fullmatch(expression) or not _is_sum(pieces):
        return None
    units = [amount.unit for amount in numbers if amount.unit and amount.unit != "%"]
    return PureSum(expression, units[0] if len(set(units)) == 1 else "", tuple(amount.text for amount in numbers))


def _untimed(amount: Amount) -> Amount:
    """“7 times 8” multiplies: the unit is an operator here."""
    if amount.unit != "time":
        return amount
    digits = amount.text.split()[0]
    return replace(amount, unit="", text=digits, end=amount.start + len(digits))


def _with_placeholders(text: str, numbers: list[Amount]) -> str:
    """The text folded, with every number as its index between NULs; a percent sign stays behind it."""
    parts: list[str] = []
    at = 0
    for index, amount in enumerate(numbers):
        parts += [text[at : amount.start], f" \x00{index}\x00", "% " if amount.unit == "%" else " "]
        at = amount.end
    bare = fold("".join([*parts, text[at:]])).lower()
    bare = _ADD_TO.sub(r"\1 + \2", bare)
    bare = _SUBTRACT_FROM.sub(r"\2 - \1", bare)
    return _SUM_OF.sub(lambda mark: " + ".join(re.findall("\x00\\d+\x00", mark[1])), bare)


def _translated(text: str, numbers: list[Amount]) -> list[str] | None:
    """The tokens of the expression; None when a word is neither number, operator nor filler."""
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        mark = _TOKEN.match(text, at)
        if mark is None or mark.end() == at:
            return None
        token = _token(mark, numbers)
        if token:
            tokens.append(token)
        at = mark.end()
    return tokens


def _token(mark: re.Match[str], numbers: list[Amount]) -> str:
    if mark["number"]:
        return plain(numbers[int(mark["number"].strip("\x00"))].value)
    if mark["percent_of"]:
        return "% *"
    if mark["percent"]:
        return "%"
    return next((sign for at, (_, sign) in enumerate(_OPERATORS) if mark[f"op{at}"]), "")


def _is_sum(tokens: list[str]) -> bool:
    """Numbers and operators take turns, and there are at least two numbers."""
    bare = [token for token in tokens if token not in ("(", ")", "%")]
    numbers = [token[0].isdigit() for token in bare]
    alternate = all(one != other for one, other in pairwise(numbers))
    return len(numbers) >= 3 and alternate and numbers[0] and numbers[-1]
