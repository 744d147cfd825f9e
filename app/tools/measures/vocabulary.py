"""Units by the names people give them, and what each is to the conversion; the lists are data (``units.tsv``).

Where a word means several sizes, the first is taken, said, and the others are told with it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.domain.knowledge import Language
from app.text.language import fold, normalise

COUNTERPARTS_OF_RATES: Mapping[tuple[tuple[str, int], ...], str] = {
    (("kilometer", 1), ("hour", -1)): "m/s", (("meter", 1), ("second", -1)): "km/h",
}  # fmt: skip
IMPERIAL = frozenset({"mile", "foot", "yard", "inch", "pound", "ounce", "gallon", "nautical_mile"})
_LONGEST_SYMBOL = 3
"""Anything longer that ends in s is an English plural."""


@dataclass(frozen=True)
class Unit:
    """A unit of one size."""

    name: str
    """Canonical, known to the conversion."""
    vi: str
    """How it is written in Vietnamese and, below, in English."""
    en: str
    counterpart: str = ""
    """What somebody who names no target most likely wants it in."""

    def label(self, language: Language, *, is_one: bool = False) -> str:
        """The unit as it is shown; `is_one`: in the singular."""
        if language == "vi":
            return self.vi
        return self.en.removesuffix("s") if is_one and len(self.en) > _LONGEST_SYMBOL else self.en

    @property
    def symbol(self) -> str:
        """The unit inside a product, the same in both languages."""
        return self.label("en", is_one=True)


def definitions() -> tuple[str, ...]:
    """Units in the words of the library that converts, which it does not know itself."""
    return tuple(_lists()["definitions"])


def find_unit(word: str) -> tuple[Unit, ...]:
    """The unit a word names, and the others it may mean; empty = the word is not in here.

    Exact spelling first (``MW`` is not ``mW``), then without regard to case, then without Vietnamese marks.
    """
    spelt = _spelt(word)
    keys = (spelt, spelt.casefold(), fold(spelt).casefold())
    return next((found for table, key in zip(_tables(), keys, strict=True) if (found := table.get(key))), ())


def is_currency(word: str) -> bool:
    """Whether the word names money, for which no rate is known here."""
    return normalise(word).casefold() in _words("currencies")


def is_unfixed(word: str) -> bool:
    """Whether the word names a measure without one size."""
    return normalise(word).casefold() in _words("unfixed")


@cache
def _lists() -> dict[str, list[str]]:
    """The lines of each list; read when the first unit is."""
    lists: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "units.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = lists.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return lists


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(_lists()[name][0].split("|"))


def _spelt(spelling: str) -> str:
    return normalise(spelling).replace("-", " ")


def _spellings() -> Iterator[tuple[str, tuple[Unit, ...]]]:
    rows = [line.split("\t") for line in _lists()["units"]]
    named = {name: Unit(name, vi, en, counterpart) for name, vi, en, counterpart, _ in rows}
    for line in _lists()["ambiguous"]:
        word, _, names = line.partition("\t")
        yield _spelt(word), tuple(named[name] for name in names.split("|"))
    for name, *_, spellings in rows:
        for spelling in filter(None, (name, *spellings.split("|"))):
            yield _spelt(spelling), (named[name],)


@cache
def _tables() -> tuple[Mapping[str, tuple[Unit, ...]], ...]:
    return _table(str), _table(str.casefold), _table(lambda spelling: fold(spelling).casefold())


def _table(loosen: Callable[[str], str]) -> Mapping[str, tuple[Unit, ...]]:
    """Spellings by what `loosen` leaves of them; what would then name two units names none."""
    table: dict[str, tuple[Unit, ...]] = {}
    for spelling, units in _spellings():
        held = table.setdefault(loosen(spelling), units)
        if held[0] != units[0]:
            table[loosen(spelling)] = ()
    return table
