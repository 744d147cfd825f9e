"""Claims a mind read in two quotes, held against each other: what both say of one thing and cannot both hold.

That two claims are about one thing is the mind's word; the values, permissions and days are the text's. So that no text
can make a quarrel out of nothing, the sentences of one language share a word of what they speak of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from app.claims.cases import is_other_case
from app.claims.marks import COUNT
from app.claims.polarity import makes_exception, opposes
from app.claims.proposed import ProposedClaim, validated
from app.claims.record import Claim, subject_words
from app.claims.sides import Clash, Text, overlap_of
from app.claims.statements import PERMISSION, WORDING
from app.domain.knowledge import Language
from app.text.language import fold, words

_STEM = 4


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
    found = sorted(_clashes(mine, theirs, one, other), key=_rank)
    best: dict[str, Clash] = {}
    for clash in found:
        best.setdefault(clash.one.unit, clash)
    return list(best.values())


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
    if one.unit == WORDING and _stems(one) & _stems(other):
        return False
    return one.excludes(other)


def _stems(claim: Claim) -> frozenset[str]:
    """Beginnings of the words of a value, which may stand there in another form."""
    return frozenset(str(value)[:_STEM] for value in claim.values)


def _named(text: str) -> frozenset[str]:
    """What a mind calls a thing, whatever the order of the words."""
    return frozenset(fold(word) for word in words(text))


def _rank(clash: Clash) -> tuple[float, tuple[str, ...]]:
    return -clash.overlap, tuple(sorted((clash.one.sentence, clash.other.sentence)))
