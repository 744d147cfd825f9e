"""Questions of measures: “100 °F là bao nhiêu độ C”, “convert 5 feet to cm”.

A question is one of the forms of the cues or it is not, and both its units measure the same thing: “12 ngày phép là bao
nhiêu tiền” and “1 tuần được mấy ngày ở nhà” are no conversions.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

from app.domain.plan import UNIT_TOOL
from app.reasoning.local.cues import alternatives, lines
from app.reasoning.local.pure_arithmetic import number_language
from app.reasoning.local.reckoning import MARKED, SPELT, Reckoning
from app.text.language import fold, normalise
from app.text.numbers import plain, read_number

_MAX_CHARS = 200
_POWERS = {"vuong": 2, "khoi": 3, "square": 2, "sq": 2, "cubic": 3, "cu": 3, "²": 2, "³": 3, "2": 2, "3": 3}
_KIND_OF_POWER = {2: "area", 3: "volume"}
_DIGITS = r"-?\d+(?:[.,]\d+)*(?:e\d{1,2})?(?!\d)"
_NUMBER = rf"{_DIGITS}|(?:{'|'.join(sorted(SPELT, key=len, reverse=True))})(?= )"
_LEAD = rf"(?:(?:{alternatives('reckoning.lead')})[ ,:]+){{0,4}}"
_TAIL = rf"(?: (?:{alternatives('reckoning.tail')})){{0,4}}[ ?!.=,]*"
_TIME_KINDS_NOT_ASKED = frozenset({"has"})
"""“1 tuần được mấy ngày” asks what is allowed, not how long a week is."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit as a question names it."""

    kind: str
    size: Fraction | None
    """In metres, kilograms or seconds; None where only its kind is known."""


@dataclass(frozen=True, slots=True)
class _Given:
    """An amount with its unit; the words as written."""

    number: str
    unit: str
    """As written."""
    measured: _Unit
    value: Decimal

    @property
    def is_word(self) -> bool:
        return fold(self.number).lower() in SPELT


def measure_asked(text: str) -> Reckoning | None:
    """The conversion a question asks for; None when it asks anything else as well."""
    return _read(normalise(text)) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=512)
def _read(text: str) -> Reckoning | None:
    said = fold(text).lower()
    if len(said) != len(text) or not any(map(str.isalnum, said)):
        return None
    for name, form in _forms():
        match = form.fullmatch(said)
        found = _converted(text, match, name) if match else None
        if found:
            return found
    return None


def _converted(text: str, match: re.Match[str], name: str) -> Reckoning | None:
    given = _given(text, match, "q")
    target = text[slice(*match.span("u"))] if "u" in match.re.groupindex else ""
    wanted = unit_named(target) if target else None
    if given is None or (target and (wanted is None or wanted.kind != given.measured.kind)):
        return None
    if wanted and wanted == given.measured and wanted.size:
        return None
    if given.measured.kind == "time" and name in _TIME_KINDS_NOT_ASKED:
        return None
    if not target and given.measured.kind != "temperature":
        return None
    values = {"value": _as_stated(given), "from_unit": _slashed(given.unit)}
    values |= {"to_unit": _slashed(target)} if target else {}
    return Reckoning(("convert", UNIT_TOOL), values, (f"{given.number} {given.unit}", *filter(None, [target])))


def _as_stated(given: _Given) -> str:
    """A number in digits as it is written; of a word, its value."""
    return plain(given.value) if given.is_word else given.number


def _given(text: str, match: re.Match[str], group: str) -> _Given | None:
    if group not in match.re.groupindex or match[group] is None:
        return None
    number, unit = (text[slice(*match.span(f"{group}{part}"))] for part in ("n", "u"))
    measured = unit_named(unit)
    value = _value(number, text)
    return None if measured is None or value is None else _Given(number, unit.strip(), measured, value)


def _value(number: str, text: str) -> Decimal | None:
    word = fold(number).lower()
    if word in SPELT and (not number.isascii() or word not in MARKED or text.isascii()):
        return SPELT[word]
    read = read_number(number.lstrip("-"), number_language(text))
    return -read if read is not None and number.startswith("-") else read


def unit_named(written: str) -> _Unit | None:
    """What a unit measures: of a rate its own kind, of a square or a cube area and volume; None for no unit."""
    said = fold(normalise(written)).lower().strip()
    above, per, below = _split_rate(said)
    if per:
        parts = _plain_unit(above), _plain_unit(below)
        kinds = tuple(part.kind if part else "" for part in parts)
        return (
            _Unit("speed" if kinds == ("length", "time") else f"{kinds[0]} per {kinds[1]}", None)
            if all(kinds)
            else None
        )
    return _plain_unit(said)


def _slashed(unit: str) -> str:
    """A rate with the sign between its units: “km một giờ” is ``km/giờ``."""
    above, per, below = _split_rate(unit)
    return f"{above}/{below}" if per and unit.lower() != "mph" else unit


def _split_rate(said: str) -> tuple[str, str, str]:
    if said.lower() == "mph":
        return "miles", "/", "hour"
    match = _RATE.fullmatch(said)
    return (match[1].strip(), match[2], match[3].strip()) if match else (said, "", "")


_RATE = re.compile(r"(.+?)( ?/ ?| (?:per|an|a|một|mot|mỗi|moi|trên|tren|trên một|tren mot) )(.+)", re.IGNORECASE)


@lru_cache(maxsize=512)
def _plain_unit(said: str) -> _Unit | None:
    whole = _single(said)
    if whole:
        return whole
    match = re.fullmatch(r"(?:(square|sq|cubic|cu)\.? )?(.+?)(?: (vuong|khoi)|([²³23]))?", said)
    if match is None:
        return None
    power = next((_POWERS[found] for found in (match[1], match[3], match[4]) if found), 1)
    base = _single(match[2])
    if power == 1 or base is None or base.kind != "length":
        return None
    return _Unit(_KIND_OF_POWER[power], base.size**power if base.size and power == 2 else None)


def _single(said: str) -> _Unit | None:
    return next((unit for unit, spelling in _units() if spelling.fullmatch(said)), None)


@cache
def _units() -> tuple[tuple[_Unit, re.Pattern[str]], ...]:
    found = []
    for line in lines("measure_questions.unit"):
        head, _, spellings = line.partition(" = ")
        kind, _, size = head.partition(":")
        found.append((_Unit(kind, Fraction(size) if size else None), re.compile(spellings)))
    return tuple(found)


_WORDS = r"[^\s\d?!.,][^\d?!,]{0,30}?(?:(?<=m)[23])?"
"""What may be a unit, the shortest first; whether it is one is looked up."""
_SLOTS = {
    "Q": rf"(?P<q>(?P<qn>{_NUMBER}) ?(?P<qu>{_WORDS}))",
    "U": rf"(?P<u>{_WORDS})",
}  # fmt: skip


def _filled(form: str) -> re.Pattern[str]:
    pattern = re.sub(r"(?<![a-zA-Z\\])[QU](?![a-zA-Z])", lambda mark: _SLOTS[mark[0]], form)
    return re.compile(rf"{_LEAD}(?:{pattern}){_TAIL}")


@cache
def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    parts = (line.partition(" = ") for line in lines("measure_questions.form"))
    return tuple((name, _filled(pattern)) for name, _, pattern in parts)
