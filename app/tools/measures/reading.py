"""Reading the name of a unit or of a product of units: ``km/h``, ``mét vuông``, ``kg·m/s²``, ``dặm trên giờ``.

The grammar is all there is: names, `*` and `/` (``per``, ``trên``, ``mỗi``), small whole powers. No expression of
anybody ever reaches the library that converts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.domain.knowledge import Language
from app.errors import ToolFailed
from app.text.language import clean, normalise
from app.tools.measures.vocabulary import Unit, find_unit, is_currency, is_unfixed

MAX_CHARS = 80
MAX_FACTORS = 6
MAX_POWER = 4
_MAX_TOLD_CHARS = 40

_PER = re.compile(r"\s*/\s*|\s+(?:per|trên|mỗi)\s+", re.IGNORECASE)
_TIMES = re.compile(r"\s*(?:[·×⋅]|(?<!\*)\*(?!\*))\s*")
_FACTOR = re.compile(
    r"(?:(?P<before>square|sq|cubic|cu)\.?\s+)?"
    r"(?P<name>[^\W\d_²³]+(?:[ _.-][^\W\d_²³]+)*?|[°º](?:\s?[CFK])?|[℃℉$€£¥₫₩'\"])"
    r"(?:\s+(?P<after>vuông|khối|squared|cubed|vuong|khoi))?"
    r"(?P<power>[²³]|(?:\^|\*\*)-?[0-9]|[0-9])?",
    re.IGNORECASE,
)
_POWERS = {"square": 2, "sq": 2, "vuông": 2, "vuong": 2, "squared": 2, "²": 2, "cubic": 3, "cu": 3, "khối": 3,
           "khoi": 3, "cubed": 3, "³": 3}  # fmt: skip
_DIFFERENCE = re.compile(
    r"^(?:delta[_ ]?|Δ\s?|chênh lệch\s|độ chênh\s|difference (?:of|in)\s)|\s(?:chênh lệch|difference|interval)$",
    re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"[A-Za-z]{3,24}")
_NOT_NAMES = frozenset({"nan", "inf", "infinity"})
_SIGNS = {1: "", 2: "²", 3: "³", 4: "⁴"}


class Refusal(StrEnum):
    """Why a quantity is not converted."""

    TOO_LONG = "too_long"
    NOT_A_NUMBER = "not_a_number"
    NOT_A_UNIT = "not_a_unit"
    UNKNOWN = "unknown"
    CURRENCY = "currency"
    UNFIXED = "unfixed"
    INCOMPATIBLE = "incompatible"
    BELOW_ZERO = "below_zero"
    NO_TARGET = "no_target"


class CannotConvert(ToolFailed):
    """The quantity cannot be converted; `words` are those it is about, bounded."""

    def __init__(self, refusal: Refusal, *words: str):
        super().__init__(refusal.value)
        self.refusal = refusal
        self.words = tuple(" ".join(clean(word[: 4 * _MAX_TOLD_CHARS]).split())[:_MAX_TOLD_CHARS] for word in words)


@dataclass(frozen=True)
class Measure:
    """A unit, or a product of powers of units."""

    factors: tuple[tuple[Unit, int], ...]
    is_difference: bool = False
    """Of temperatures, between two and not from zero."""
    others: tuple["Measure", ...] = ()
    """What the same words may also mean."""

    @property
    def key(self) -> tuple[tuple[str, int], ...]:
        """Canonical names with their powers."""
        return tuple((unit.name, power) for unit, power in self.factors)

    def label(self, language: Language, *, is_one: bool = False) -> str:
        """The measure as it is shown: ``km/h``, ``m²``, ``sào Bắc Bộ``; `is_one`: in the singular."""
        if len(self.factors) == 1 and self.factors[0][1] == 1:
            return f"{'Δ' if self.is_difference else ''}{self.factors[0][0].label(language, is_one=is_one)}"
        above = "·".join(f"{unit.symbol}{_SIGNS[power]}" for unit, power in self.factors if power > 0)
        below = "".join(f"/{unit.symbol}{_SIGNS[-power]}" for unit, power in self.factors if power < 0)
        return f"{above or '1'}{below}"


def read_measure(text: str) -> Measure:
    """The measure `text` names. Raises `CannotConvert`."""
    if len(text) > MAX_CHARS:
        raise CannotConvert(Refusal.TOO_LONG, text)
    spelt = normalise(text)
    if is_currency(spelt):
        raise CannotConvert(Refusal.CURRENCY, text)
    stripped = _DIFFERENCE.sub("", spelt)
    candidates = list(_factors(stripped, text))
    if not 0 < len(candidates) <= MAX_FACTORS:
        raise CannotConvert(Refusal.NOT_A_UNIT, text)
    taken = tuple((units[0], power) for units, power in candidates)
    return Measure(taken, is_difference=stripped != spelt, others=tuple(_others(candidates)))


def _others(candidates: list[tuple[tuple[Unit, ...], int]]) -> Iterator[Measure]:
    """The measures of the other sizes of the first word that has several."""
    for at, (units, power) in enumerate(candidates):
        if len(units) > 1:
            rest = [(units[0], power) for units, power in candidates]
            for unit in units[1:]:
                yield Measure((*rest[:at], (unit, power), *rest[at + 1 :]))
            return


def _factors(spelt: str, told: str) -> Iterator[tuple[tuple[Unit, ...], int]]:
    whole = find_unit(spelt)
    if whole:  # the names that hold a sign of the grammar
        yield whole, 1
        return
    for at, part in enumerate(_PER.split(spelt)):
        for factor in _TIMES.split(part):
            units, power = _factor(factor, told)
            yield units, power if at == 0 else -power


def _factor(text: str, told: str) -> tuple[tuple[Unit, ...], int]:
    match = _FACTOR.fullmatch(text)
    if match is None:
        raise CannotConvert(Refusal.NOT_A_UNIT, told)
    named = [match[group].lower() for group in ("before", "after", "power") if match[group]]
    if len(named) > 1:
        raise CannotConvert(Refusal.NOT_A_UNIT, told)
    power = _power(named[0]) if named else 1
    if not 0 < abs(power) <= MAX_POWER:
        raise CannotConvert(Refusal.NOT_A_UNIT, told)
    return _named(match["name"]), power


def _power(text: str) -> int:
    return _POWERS.get(text) or int(text.lstrip("^*"))


def _named(name: str) -> tuple[Unit, ...]:
    if is_currency(name):
        raise CannotConvert(Refusal.CURRENCY, name)
    if found := find_unit(name):
        return found
    if is_unfixed(name):
        raise CannotConvert(Refusal.UNFIXED, name)
    if not _PLAIN_NAME.fullmatch(name) or name.lower() in _NOT_NAMES:
        raise CannotConvert(Refusal.UNKNOWN, name)
    return (Unit(name, name, name),)  # the library may know it
