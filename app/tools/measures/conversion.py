"""Converting exactly: the factors are the library's, the arithmetic is of fractions."""

import threading
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import pint
from pint.util import UnitsContainer

from app.tools.measures.reading import CannotConvert, Measure, Refusal, read_measure
from app.tools.measures.vocabulary import COUNTERPARTS_OF_RATES, IMPERIAL, definitions

_TEMPERATURES = frozenset({"degree_Celsius", "degree_Fahrenheit", "kelvin"})
_WITH_OFFSET = frozenset({"degree_Celsius", "degree_Fahrenheit"})
_ONE_AT_A_TIME = threading.Lock()
"""The registry fills caches while it reads."""


@dataclass(frozen=True)
class Conversion:
    """A converted quantity."""

    amount: Fraction
    source: Measure
    result: Fraction
    """Exact, but for angles, whose circle is cut after fifty digits."""
    target: Measure


def convert(amount: Fraction, source: Measure, target: Measure) -> Conversion:
    """`amount` of `source` in `target`. Raises `CannotConvert`.

    Computes for about a millisecond, the first time some 200 ms to read the library's tables: not on the event loop.
    """
    with _ONE_AT_A_TIME:
        registry = _registry()
        given = registry.Quantity(amount, registry.Unit(_container(source, target)))
        wanted = registry.Unit(_container(target, source))
        try:
            if _is_temperature(source) and not target.is_difference and given.to("kelvin").magnitude < 0:
                raise CannotConvert(Refusal.BELOW_ZERO)
            result = given.to(wanted).magnitude
        except pint.DimensionalityError as different:
            raise CannotConvert(Refusal.INCOMPATIBLE) from different
    if source.is_difference != target.is_difference:
        source, target = replace(source, is_difference=True), replace(target, is_difference=True)
    return Conversion(amount, source, Fraction(result), target)


def counterpart(source: Measure) -> Measure:
    """What somebody most likely wants `source` in. Raises `CannotConvert` where that cannot be told."""
    if len(source.factors) == 1 and source.factors[0][1] == 1:
        wanted = source.factors[0][0].counterpart
        if not wanted:
            raise CannotConvert(Refusal.NO_TARGET)
        return Measure(read_measure(wanted).factors, is_difference=source.is_difference)
    if rate := COUNTERPARTS_OF_RATES.get(source.key):
        return read_measure(rate)
    factors = tuple(
        (read_measure(unit.counterpart).factors[0][0] if unit.name in IMPERIAL else unit, power)
        for unit, power in source.factors
    )
    if factors == source.factors:
        raise CannotConvert(Refusal.NO_TARGET)
    return Measure(factors)


def _is_temperature(measure: Measure) -> bool:
    return not measure.is_difference and len(measure.key) == 1 and measure.key[0] in {(n, 1) for n in _TEMPERATURES}


def _container(measure: Measure, other: Measure) -> UnitsContainer:
    """The measure for the library, every name checked. Raises `CannotConvert`.

    A difference stays one where only the other side says so.
    """
    # In a product (degrees a metre) a temperature can only be a difference.
    is_difference = measure.is_difference or other.is_difference or len(measure.key) > 1 or measure.key[0][1] != 1
    powers: dict[str, int] = {}
    for name, power in measure.key:
        canonical = _canonical(name)
        if is_difference and canonical in _WITH_OFFSET:
            canonical = f"delta_{canonical}"
        powers[canonical] = powers.get(canonical, 0) + power
    return UnitsContainer({name: power for name, power in powers.items() if power})


@cache
def _known(name: str) -> str | None:
    """The library's canonical name; None where it has no such unit, or one that is no multiple of others."""
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


def _canonical(name: str) -> str:
    known = _known(name)
    if known is None:
        raise CannotConvert(Refusal.UNKNOWN, name)
    return known


@cache
def _registry() -> "pint.UnitRegistry[Fraction]":
    registry: pint.UnitRegistry[Fraction] = pint.UnitRegistry(non_int_type=Fraction)
    for definition in definitions():
        registry.define(definition)
    return registry
