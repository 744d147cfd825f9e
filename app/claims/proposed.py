"""Claims a model wrote: held against the text they quote, and those of two texts against one another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from app.claims.marks import COUNT, marks_in
from app.claims.record import (
    Claim,
    Clash,
    Polarity,
    Text,
    Value,
    clearest,
    makes_exception,
    opposes,
    overlap_of,
    polarity_of,
    subject_words,
)
from app.claims.sentences import is_other_case, plain_claim
from app.claims.statements import PERMISSION, WORDING, share_a_stem
from app.domain.knowledge import Language
from app.domain.record import Record
from app.text.amounts import amounts_in
from app.text.language import content_words, fold, normalise, words


class ProposedClaim(Record):
    """A claim as a model writes it."""

    quote: str
    """The words it rests on, copied from the text."""
    subject: str
    """What is spoken about, in any words; only shown."""
    attribute: str
    """What of it is given a value; only shown."""
    value: str
    """As written in the quote: ``12 ngày``, ``room B338``, ``chị Hà``."""
    polarity: Polarity = "stated"


def validated(proposed: ProposedClaim, text: str, language: Language | None = None) -> Claim | None:
    """The claim in our own reading of it; None when quote, value or polarity are not in `text`.

    Case, spacing and the place of tones do not matter; figures are read again, so that a model cannot change one.
    """
    quote, value = _plain(proposed.quote), _plain(proposed.value)
    if not quote or not value or quote not in _plain(text) or value not in quote:
        return None
    spoken = polarity_of(proposed.quote)
    if proposed.polarity != spoken and (proposed.polarity != "stated" or opposes("stated", spoken)):
        return None
    return _read(proposed, language)


def _read(proposed: ProposedClaim, language: Language | None) -> Claim | None:
    amounts = list(amounts_in(proposed.value, language))
    values: frozenset[Value]
    if amounts:
        unit = amounts[0].unit
        values = frozenset(amount.value for amount in amounts if amount.unit == unit)
    elif marks := list(marks_in(proposed.value)):
        unit = marks[0].unit
        values = frozenset(mark.value for mark in marks if mark.unit == unit)
    else:
        unit, values = "wording", frozenset(fold(word) for word in content_words(proposed.value))
    return plain_claim(proposed.quote, unit, values, (proposed.value,)) if values else None


def _plain(text: str) -> str:
    return normalise(text).casefold()


@dataclass(frozen=True, slots=True)
class ReadClaim:
    """A claim that stood up to its text, and what the mind says it is about."""

    subject: frozenset[str]
    attribute: frozenset[str]
    claim: Claim


def standing(
    proposals: Sequence[ProposedClaim], quoted: str, language: Language | None = None
) -> tuple[ReadClaim, ...]:
    """The proposals that stand in the quoted text; the others are dropped."""
    read = ((proposed, validated(proposed, quoted, language)) for proposed in proposals)
    return tuple(
        ReadClaim(_named(proposed.subject), _named(proposed.attribute), claim) for proposed, claim in read if claim
    )


def paired_clashes(mine: Sequence[ReadClaim], theirs: Sequence[ReadClaim], one: Text, other: Text) -> list[Clash]:
    """Claims of two texts about one thing that cannot both hold, the clearest of each kind first; the same both ways
    but for the sides."""
    return clearest(_clashes(mine, theirs, one, other))


def _clashes(mine: Sequence[ReadClaim], theirs: Sequence[ReadClaim], one: Text, other: Text) -> Iterator[Clash]:
    for left, right in product(mine, theirs):
        a, b = left.claim, right.claim
        if not _about_one_thing(left, right) or is_other_case(
            f"{a.sentence} {one.title}", f"{b.sentence} {other.title}"
        ):
            continue
        overlap = overlap_of(subject_words(a.sentence), subject_words(b.sentence))
        if not overlap and one.language == other.language:
            continue
        if _cannot_both_hold(a, b) and not (_is_told(a, other) or _is_told(b, one)):
            yield Clash(a, b, overlap)


def _is_told(claim: Claim, text: Text) -> bool:
    """Whether a text has the value as well, wherever: then it is agreed."""
    there = f" {' '.join(map(fold, words(text.whole)))} "
    return all(f" {' '.join(map(fold, words(written)))} " in there for written in claim.amounts)


def _about_one_thing(one: ReadClaim, other: ReadClaim) -> bool:
    return bool(one.subject) and (one.subject, one.attribute) == (other.subject, other.attribute)


def _cannot_both_hold(one: Claim, other: Claim) -> bool:
    if opposes(one.polarity, other.polarity) and one.unit in (PERMISSION, WORDING):
        return not makes_exception(f"{one.sentence} {other.sentence}") and one.validity.overlaps(other.validity)
    if one.unit != other.unit or one.unit.startswith(COUNT):
        return False
    if one.unit == WORDING and share_a_stem(one.values, other.values):
        return False
    return one.excludes(other)


def _named(text: str) -> frozenset[str]:
    """What a mind calls a thing, whatever the order of the words."""
    return frozenset(fold(word) for word in words(text))
