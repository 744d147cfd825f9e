"""Read the names of units and convert amounts exactly: ``km/h``, ``mét vuông``, ``kg·m/s²``, ``dặm trên giờ``.

The grammar is all there is: names, `*` and `/` (``per``, ``trên``, ``mỗi``), small whole powers. pint knows the
factors, the arithmetic is of fractions, and no expression of anybody ever reaches pint. The names people give units are
data (``measures.tsv``); where a word means several sizes, the first is taken and the others are told with it.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from pathlib import Path

import pint
from pint.util import UnitsContainer

from app.domain.knowledge import Language
from app.errors import ToolFailed
from app.text.language import clean, fold, normalise

MAX_CHARS, _MAX_FACTORS, _MAX_POWER, _MAX_TOLD_CHARS = 80, 6, 4, 40
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
_SIGNS = {1: "", 2: "²", 3: "³", 4: "⁴"}
_DIFFERENCE = re.compile(
    r"^(?:delta[_ ]?|Δ\s?|chênh lệch\s|độ chênh\s|difference (?:of|in)\s)|\s(?:chênh lệch|difference|interval)$",
    re.IGNORECASE,
)
_PLAIN_NAME = re.compile(r"(?!(?:nan|inf|infinity)$)[A-Za-z]{3,24}", re.IGNORECASE)
_LONGEST_SYMBOL = 3
"""Anything longer that ends in s is an English plural."""
_RATES: dict[tuple[tuple[str, int], ...], str] = {
    (("kilometer", 1), ("hour", -1)): "m/s",
    (("meter", 1), ("second", -1)): "km/h",
}
_IMPERIAL = frozenset({"mile", "foot", "yard", "inch", "pound", "ounce", "gallon", "nautical_mile"})
_TEMPERATURES, _WITH_OFFSET = {"degree_Celsius", "degree_Fahrenheit", "kelvin"}, {"degree_Celsius", "degree_Fahrenheit"}
_ONE_AT_A_TIME = threading.Lock()
"""pint's registry fills caches while it reads."""


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
class Unit:
    """A unit of one size."""

    name: str
    """Canonical, known to pint."""
    vi: str
    en: str
    counterpart: str = ""
    """What somebody who names no target most likely wants it in."""

    def label(self, language: Language, *, is_one: bool = False) -> str:
        """The unit as it is shown; `is_one`: in the singular."""
        if language == "vi":
            return self.vi
        return self.en.removesuffix("s") if is_one and len(self.en) > _LONGEST_SYMBOL else self.en


@dataclass(frozen=True)
class Measure:
    """A unit, or a product of powers of units."""

    factors: tuple[tuple[Unit, int], ...]
    is_difference: bool = False
    """Of temperatures, between two and not from zero."""
    others: tuple["Measure", ...] = ()
    """What the same words may also mean."""
    text: str = field(default="", compare=False)
    """The words it was read from."""

    @property
    def key(self) -> tuple[tuple[str, int], ...]:
        """Canonical names with their powers."""
        return tuple((unit.name, power) for unit, power in self.factors)

    def label(self, language: Language, *, is_one: bool = False) -> str:
        """The measure as it is shown: ``km/h``, ``m²``, ``sào Bắc Bộ``; `is_one`: in the singular."""
        if len(self.factors) == 1 and self.factors[0][1] == 1:
            return f"{'Δ' if self.is_difference else ''}{self.factors[0][0].label(language, is_one=is_one)}"
        symbols = [(unit.label("en", is_one=True), power) for unit, power in self.factors]
        above = "·".join(f"{symbol}{_SIGNS[power]}" for symbol, power in symbols if power > 0)
        below = "".join(f"/{symbol}{_SIGNS[-power]}" for symbol, power in symbols if power < 0)
        return f"{above or '1'}{below}"


@dataclass(frozen=True)
class Conversion:
    """A converted quantity; the result is exact, but for angles, whose circle is cut after fifty digits."""

    amount: Fraction
    source: Measure
    result: Fraction
    target: Measure


def read_measure(text: str) -> Measure:
    """Read the measure `text` names. Raises `CannotConvert`."""
    if len(text) > MAX_CHARS:
        raise CannotConvert(Refusal.TOO_LONG, text)
    spelt = normalise(text)
    if _is_listed(spelt, "currencies"):
        raise CannotConvert(Refusal.CURRENCY, text)
    stripped = _DIFFERENCE.sub("", spelt)
    read = list(_read_factors(stripped, text))
    if not 0 < len(read) <= _MAX_FACTORS:
        raise CannotConvert(Refusal.NOT_A_UNIT, text)
    first = tuple((units[0], power) for units, power in read)
    several = next((at for at, (units, _) in enumerate(read) if len(units) > 1), None)
    others: tuple[Measure, ...] = ()
    if several is not None:
        units, power = read[several]
        others = tuple(Measure((*first[:several], (one, power), *first[several + 1 :]), text=text) for one in units[1:])
    return Measure(first, stripped != spelt, others, text)


def counterpart(source: Measure) -> Measure:
    """Choose what somebody most likely wants `source` in. Raises `CannotConvert` where that cannot be told."""
    if len(source.factors) == 1 and source.factors[0][1] == 1 and (wanted := source.factors[0][0].counterpart):
        return replace(read_measure(wanted), is_difference=source.is_difference)
    if rate := _RATES.get(source.key):
        return read_measure(rate)
    factors = tuple(
        (read_measure(unit.counterpart).factors[0][0] if unit.name in _IMPERIAL else unit, power)
        for unit, power in source.factors
    )
    if factors == source.factors:
        raise CannotConvert(Refusal.NO_TARGET, source.text)
    return Measure(factors)


def convert(amount: Fraction, source: Measure, target: Measure) -> Conversion:
    """Convert `amount` of `source` to `target`. Raises `CannotConvert`.

    Computes for about a millisecond, the first time some 200 ms to read the library's tables: not on the event loop.
    """
    with _ONE_AT_A_TIME:
        registry = _registry()
        given = registry.Quantity(amount, registry.Unit(_container(source, target)))
        wanted = registry.Unit(_container(target, source))
        is_temperature = not source.is_difference and source.key in {((name, 1),) for name in _TEMPERATURES}
        try:
            if is_temperature and not target.is_difference and given.to("kelvin").magnitude < 0:
                raise CannotConvert(Refusal.BELOW_ZERO)
            result = given.to(wanted).magnitude
        except pint.DimensionalityError as different:
            raise CannotConvert(Refusal.INCOMPATIBLE, source.text, target.text) from different
    if source.is_difference != target.is_difference:
        source, target = replace(source, is_difference=True), replace(target, is_difference=True)
    return Conversion(amount, source, Fraction(result), target)


def _read_factors(spelt: str, told: str) -> Iterator[tuple[tuple[Unit, ...], int]]:
    if whole := _find_unit(spelt):  # the names that hold a sign of the grammar
        yield whole, 1
        return
    for at, part in enumerate(_PER.split(spelt)):
        for factor in _TIMES.split(part):
            match = _FACTOR.fullmatch(factor)
            powers = [match[group].lower() for group in ("before", "after", "power") if match[group]] if match else []
            power = _POWERS.get(powers[0]) or int(powers[0].lstrip("^*")) if powers else 1
            if match is None or len(powers) > 1 or not 0 < abs(power) <= _MAX_POWER:
                raise CannotConvert(Refusal.NOT_A_UNIT, told)
            yield _named(match["name"]), power if at == 0 else -power


def _named(name: str) -> tuple[Unit, ...]:
    if _is_listed(name, "currencies"):
        raise CannotConvert(Refusal.CURRENCY, name)
    if found := _find_unit(name):
        return found
    if _is_listed(name, "unfixed"):
        raise CannotConvert(Refusal.UNFIXED, name)
    if not _PLAIN_NAME.fullmatch(name):
        raise CannotConvert(Refusal.UNKNOWN, name)
    return (Unit(name, name, name),)  # pint may know it


def _container(measure: Measure, other: Measure) -> UnitsContainer:
    """The measure for pint, every name checked; a difference where either side says so. Raises `CannotConvert`."""
    # In a product (degrees a metre) a temperature can only be a difference.
    is_difference = measure.is_difference or other.is_difference or len(measure.key) > 1 or measure.key[0][1] != 1
    powers: dict[str, int] = {}
    for name, power in measure.key:
        if (known := _known(name)) is None:
            raise CannotConvert(Refusal.UNKNOWN, name)
        canonical = f"delta_{known}" if is_difference and known in _WITH_OFFSET else known
        powers[canonical] = powers.get(canonical, 0) + power
    return UnitsContainer({name: power for name, power in powers.items() if power})


@cache
def _known(name: str) -> str | None:
    """pint's canonical name; None where it has no such unit, or one that is no multiple of others."""
    registry = _registry()
    try:
        parsed = registry.parse_unit_name(name, case_sensitive=True) or registry.parse_unit_name(name.lower())
        canonical = "".join(parsed[0][:2]) if parsed else ""
        unit = registry.Unit(UnitsContainer({canonical: 1})) if canonical else None
    except (pint.PintError, ValueError, TypeError, AttributeError):
        return None
    if unit is None or not (registry.Quantity(1, unit)._is_multiplicative or canonical in _TEMPERATURES):
        return None
    return canonical


@cache
def _registry() -> "pint.UnitRegistry[Fraction]":
    registry: pint.UnitRegistry[Fraction] = pint.UnitRegistry(non_int_type=Fraction)
    for definition in _lists()["definitions"]:
        registry.define(definition)
    return registry


@cache
def _lists() -> dict[str, list[str]]:
    """The lines of each list; read when the first unit is."""
    lists: dict[str, list[str]] = {}
    for line in Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = lists.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return lists


def _is_listed(word: str, name: str) -> bool:
    """Whether the word is in the list of currencies, or of measures without one size."""
    return normalise(word).casefold() in _lists()[name][0].split("|")


_LOOSENED: tuple[Callable[[str], str], ...] = (str, str.casefold, lambda spelling: fold(spelling).casefold())
"""Exact spelling first (``MW`` is not ``mW``), then without regard to case, then without Vietnamese marks."""


def _find_unit(word: str) -> tuple[Unit, ...]:
    """The unit a word names, and the others it may mean; empty = the word is not listed."""
    spelt = normalise(word).replace("-", " ")
    pairs = zip(_tables(), _LOOSENED, strict=True)
    return next((found for table, loosen in pairs if (found := table.get(loosen(spelt)))), ())


@cache
def _tables() -> tuple[Mapping[str, tuple[Unit, ...]], ...]:
    """Spellings by what each way of loosening leaves of them; what would then name two units names none."""
    rows = [line.split("\t") for line in _lists()["units"]]
    named = {name: Unit(name, vi, en, wanted) for name, vi, en, wanted, _ in rows}
    ambiguous = [line.split("\t") for line in _lists()["ambiguous"]]
    spellings = [(word, tuple(named[name] for name in names.split("|"))) for word, names in ambiguous]
    spellings += [(one, (named[row[0]],)) for row in rows for one in (row[0], *row[4].split("|")) if one]
    tables: list[dict[str, tuple[Unit, ...]]] = []
    for loosen in _LOOSENED:
        table: dict[str, tuple[Unit, ...]] = {}
        for spelling, units in spellings:
            known = table.setdefault(loosen(normalise(spelling).replace("-", " ")), units)
            if known[0:1] != units[0:1]:
                table[loosen(normalise(spelling).replace("-", " "))] = ()
        tables.append(table)
    return tuple(tables)
