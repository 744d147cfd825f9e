"""A claim: one statement of a text in a form that can be compared."""

import re
import tomllib
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

from app.domain.knowledge import Language
from app.text.amounts import UNIT_WORDS, length_of_time
from app.text.language import content_words, fold
from app.text.numerals import is_english_number

Value = Decimal | str
"""Figures as `app.text.amounts` reads them; everything else in its folded, canonical spelling (``b338``)."""
Weight = Callable[[str], float]
"""How much a folded word tells of what is spoken about, above 0: a rare word more than one of every document."""
Polarity = Literal["stated", "allowed", "forbidden", "required", "exempt", "denied"]
"""``stated`` = plainly so; ``denied`` = plainly not so; the others are what may, may not, must and need not be done."""
CUES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))
"""The words by which claims are read."""
ADDRESS = re.compile(r"https?://\S+|[^\s@]{1,64}@\S+")
_HALF_SURE = 6.0
"""Weight of shared words at which likeness reaches half of what it can: two or three rare words."""


class Validity(NamedTuple):
    """The days a claim holds on, both included; None = open."""

    begins: date | None = None
    ends: date | None = None

    def overlaps(self, other: "Validity") -> bool:
        """Whether there is a day on which both hold."""
        return not self.ended_before(other) and not other.ended_before(self)

    def ended_before(self, other: "Validity") -> bool:
        """Whether this was over when the other began."""
        return self.ends is not None and other.begins is not None and self.ends < other.begins

    def within(self, other: "Validity") -> "Validity":
        """This, where it says nothing the other's."""
        return Validity(self.begins or other.begins, self.ends or other.ends)


ALWAYS = Validity()


@dataclass(frozen=True, slots=True)
class Claim:
    """What one sentence, or one cell of a table, says in values of one unit."""

    sentence: str
    """As people read it; a table row becomes ``Dưới 3 năm: 14 ngày``."""
    amounts: tuple[str, ...]
    """The values as written: ``14 ngày``, ``room B338``."""
    unit: str
    """The attribute that is given a value: a unit of `app.text.amounts`, or a kind of `app.claims.marks`."""
    values: frozenset[Value]
    clause: str
    """The part of the sentence the values stand in."""
    beside: frozenset[str]
    """Folded content words next to the values."""
    surroundings: str
    """The sentence with what it stands under: question, lead line, table head, section."""
    conditions: dict[str, frozenset[Value]]
    """Other amounts of the sentence by unit: the case it holds for, perhaps."""
    bounds: frozenset[str]
    """``least``, ``most``: which side the sentence limits."""
    rates: frozenset[str]
    """For what the amounts are given: ``day`` in “350.000 đồng một ngày”."""
    years: frozenset[str]
    """Years the sentence names."""
    is_working_time: bool = False
    """Whether working days are meant, not days of the calendar."""
    polarity: Polarity = "stated"
    validity: Validity = ALWAYS
    """What the sentence itself says (“từ 01/7/2026”); the document's own days are its passage's."""

    @property
    def subject(self) -> frozenset[str]:
        """Folded content words of the sentence and what it stands under, without the unit's own."""
        return subject_words(self.surroundings, self.unit)

    def excludes(self, other: "Claim") -> bool:
        """Whether both cannot hold if they speak of one thing: no value in common in the same unit, rate and case."""
        if self.unit != other.unit or self._stated & other.values or other._stated & self.values:
            return False
        return self.is_same_case(other) and self.validity.overlaps(other.validity)

    def is_same_case(self, other: "Claim") -> bool:
        """Whether conditions, limits, rates and years allow both to be meant for one case."""
        units = self.conditions.keys() & other.conditions.keys()
        if any(self.conditions[unit] != other.conditions[unit] for unit in units):
            return False
        pairs = ((self.bounds, other.bounds), (self.rates, other.rates), (self.years, other.years))
        return all(not mine or not theirs or mine & theirs for mine, theirs in pairs)

    def equals(self, other: "Claim") -> bool:
        """Whether a value is common, durations compared by their length: two weeks are 14 days."""
        if self.unit == other.unit and self._stated & other._stated:
            return True
        return bool(_lengths(self) & _lengths(other))

    @property
    def _stated(self) -> frozenset[Value]:
        return self.values | self.conditions.get(self.unit, frozenset())


def _lengths(claim: Claim) -> frozenset[tuple[str, Decimal]]:
    found = (length_of_time(claim.unit, value) for value in claim.values if isinstance(value, Decimal))
    return frozenset(length for length in found if length)


def subject_words(text: str, unit: str = "") -> frozenset[str]:
    """Folded content words of `text` without addresses, numbers and the words of `unit`."""
    words = {fold(word) for word in content_words(ADDRESS.sub(" ", text))}
    return frozenset(
        word
        for word in words
        if not word.isdigit() and not is_english_number(word) and UNIT_WORDS.get(word, "-") != unit
    )


def likeness(one: Set[str], other: Set[str], weight: Weight) -> float:
    """How far two sets of words name the same thing, 0–1: shared weight against both and against the smaller one,
    damped where little is shared."""
    shared, mine, theirs = (sum(map(weight, words)) for words in (one & other, one, other))
    if not shared:
        return 0.0
    return (shared / (mine + theirs) + shared / (2 * min(mine, theirs))) * shared / (shared + _HALF_SURE)


@dataclass(frozen=True)
class Text:
    """One side: what was quoted, and the passage it stands in."""

    quoted: str
    whole: str
    title: str = ""
    section: str = ""
    language: Language | None = None


@dataclass(frozen=True)
class Clash:
    """Two claims that cannot both hold, in the order the texts were given."""

    one: Claim
    other: Claim
    overlap: float
    """How far the sentences speak of the same, 0–1."""


def clearest(found: Iterable[Clash]) -> list[Clash]:
    """Keep the clearest clash of each kind of value, clearest first; of equals the text decides, not the side."""
    best: dict[str, Clash] = {}
    for clash in sorted(found, key=lambda one: (-one.overlap, sorted((one.one.sentence, one.other.sentence)))):
        best.setdefault(clash.one.unit, clash)
    return list(best.values())


def overlap_of(one: Set[str], other: Set[str]) -> float:
    """Share of the smaller set that stands in both, 0–1."""
    return len(one & other) / max(1, min(len(one), len(other)))


def dice_of(one: Set[str], other: Set[str]) -> float:
    """Share of both sets that stands in both, 0–1."""
    return 2 * len(one & other) / max(1, len(one) + len(other))


_CUES: tuple[tuple[Polarity, re.Pattern[str]], ...] = tuple(
    (polarity, re.compile("|".join(patterns), re.IGNORECASE)) for polarity, patterns in CUES["polarity"].items()
)
_OPPOSED = frozenset(
    frozenset(pair)
    for pair in (
        ("allowed", "forbidden"), ("required", "exempt"), ("required", "forbidden"), ("stated", "denied"),
        ("allowed", "denied"), ("required", "denied"), ("stated", "forbidden"),
    )
)  # fmt: skip
"""Pairs that cannot both hold; who must may as well, and what need not be done may still be allowed or forbidden."""
_EXCEPTION = re.compile(r"\b(?:unless|except|other than|apart from|ngoại trừ|trừ)\b", re.IGNORECASE)
_MODALS = """
    may must can cannot allowed permitted eligible entitled required require requires mandatory optional voluntary
    compulsory prohibited forbidden banned need needs not don doesn phai duoc khong cam bat buoc can cho phep quyen mien
    nghiem the co
    """
_MODAL_WORDS = frozenset(_MODALS.split())


def polarity_of(sentence: str) -> Polarity:
    """The first that applies, from what leaves open to what allows; ``stated`` without any cue."""
    return next((polarity for polarity, cue in _CUES if cue.search(sentence)), "stated")


def opposes(one: Polarity, other: Polarity) -> bool:
    """Whether the same thing cannot be both."""
    return frozenset((one, other)) in _OPPOSED


def makes_exception(sentence: str) -> bool:
    """Whether the sentence leaves some case out, so that the contrary may hold there."""
    return bool(_EXCEPTION.search(sentence))


def without_modals(words: frozenset[str]) -> frozenset[str]:
    """Folded words without those that only say may, must or not."""
    return words - _MODAL_WORDS
