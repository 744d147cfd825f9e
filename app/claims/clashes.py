"""Which claims of two texts that answer one question cannot both hold.

What both texts state is agreed. Of the rest, sentences about the same thing are held against each other: amounts and
marks of one kind without a common value, the same act allowed here and forbidden there, and, where the question asks
for a person, a place or a thing, other words in the place of the answer. Versions of one page are compared more closely
than two documents: their wording is the same but for what was changed.
"""

from collections.abc import Iterator, Set
from decimal import Decimal
from itertools import product

from app.claims.marks import COUNT, YEAR
from app.claims.record import Claim, Clash, Text, clearest, overlap_of, subject_words
from app.claims.sentences import Asked, Said, is_other_case, plain_claim, read_asked, read_sentences
from app.claims.statements import aligned, permissions, wordings
from app.text.amounts import DATE, length_of_time
from app.text.language import fold

RULE = "rule"
"""The kind of a claim that only one version has."""
_SHARED_SUBJECT, _SHARED_WORDS = 0.5, 2
"""Least overlap of the two subjects, as a share of the smaller one and in words, to be about the same thing."""
_NEARLY_ALL = 0.9
_ANSWERING = 0.34
"""Share of the question's words, against the best sentence of the quote, that a sentence needs to answer it."""
_RESTATED = 0.4
_COPIED, _LONG = 0.85, 10
"""Least share of the words that run alike in sentences of so many words, for one to be copied from the other."""
_TOLD = 0.7
"""Least overlap with some sentence to say that a version tells it in other words."""
_DAYS_AT_WORK = frozenset({"working", "business", "calendar"})


def clashes(question: str, one: Text, other: Text, *, is_one_page: bool) -> list[Clash]:
    """The clearest clash of each kind of value, clearest first; the same both ways but for the sides.

    Permissions and wording are looked at where no value clashes.
    """
    asked = read_asked(question)
    mine, theirs = _disputable(asked, one, other), _disputable(asked, other, one)
    if not is_one_page:
        mine, theirs = _of_one_case(mine, theirs, one, other), _of_one_case(theirs, mine, other, one)
    found = list(_values(asked, one, other, mine, theirs, is_one_page=is_one_page))
    if not found:
        found = list(permissions(asked, mine, theirs, is_one_page=is_one_page))
    if not found:
        found = list(wordings(asked, one, other, mine, theirs, is_one_page=is_one_page))
    if not found and is_one_page:
        found = list(_added(one, other, mine)) + [_turned(clash) for clash in _added(other, one, theirs)]
    return clearest(found)


def _read(text: Text, *, whole: bool = False) -> tuple[Said, ...]:
    return read_sentences(text.whole if whole else text.quoted, text.section, text.language)


def _disputable(asked: Asked, text: Text, other: Text) -> list[Said]:
    """The quoted sentences that answer the question and that the other text does not state as well."""
    agreed = {said.key for said in (*_read(other, whole=True), *_read(other))}
    beside = () if _are_foreign(text, other) else _read(other)
    least = _ANSWERING * max((_share(asked, said) for said in (*_read(text), *beside)), default=0)
    return [said for said in _read(text) if said.key not in agreed and _share(asked, said) >= least]


def _are_foreign(one: Text, other: Text) -> bool:
    return one.language is not None and other.language is not None and one.language != other.language


def _share(asked: Asked, said: Said) -> int:
    return len(asked.words.intersection(map(fold, said.key)))


def _of_one_case(mine: list[Said], theirs: list[Said], text: Text, other: Text) -> list[Said]:
    """Those that some sentence of the other document may be held against."""
    return [
        left
        for left in mine
        if any(not is_other_case(f"{left.text} {text.title}", f"{right.text} {other.title}") for right in theirs)
    ]


def _values(
    asked: Asked, one: Text, other: Text, mine: list[Said], theirs: list[Said], *, is_one_page: bool
) -> Iterator[Clash]:
    apart = _are_foreign(one, other)
    for left, right in product(mine, theirs):
        if not is_one_page and is_other_case(f"{left.text} {one.title}", f"{right.text} {other.title}"):
            continue
        overlap = 1.0 if apart else overlap_of(left.subject, right.subject)
        for a, b in product(left.claims, right.claims):
            about = _are_answers(asked, a, b) if apart else _same_subject(asked, a, b)
            about = about or (is_one_page and overlap >= _SHARED_SUBJECT)
            if not about or not _is_wanted(asked, a) or not _is_wanted(asked, b):
                continue
            is_restated = overlap >= _RESTATED if is_one_page else _is_copied(left, right)
            if _cannot_both_hold(asked, a, b, is_restated=is_restated):
                yield Clash(a, b, overlap)


def _is_copied(one: Said, other: Said) -> bool:
    """Whether a sentence of another document runs alike word for word, but for what was changed in it."""
    return len(one.key) >= _LONG <= len(other.key) and aligned(one.text, other.text).ratio >= _COPIED


def _cannot_both_hold(asked: Asked, one: Claim, other: Claim, *, is_restated: bool) -> bool:
    """No value in common; in restated sentences also: one of several values changed, or another unit is used."""
    if one.unit != other.unit:
        return is_restated and not one.equals(other) and _is_restated(asked, one, other)
    if one.unit in (DATE, YEAR) and not one.values & other.values:
        return True  # the years are what differs, no other period
    if one.excludes(other):
        return True
    changed = bool(one.values - other.values) and bool(other.values - one.values)
    return is_restated and changed and one.is_same_case(other)


def _are_answers(asked: Asked, one: Claim, other: Claim) -> bool:
    """Whether two amounts in two languages, where no words meet, both say how much is asked for."""
    is_amount = all(isinstance(value, Decimal) for value in one.values | other.values)
    return "amount" in asked.wants and is_amount and one.is_working_time == other.is_working_time


def _same_subject(asked: Asked, one: Claim, other: Claim) -> bool:
    """Whether both speak of one thing with what they stand under, or in words of their own that were asked about."""
    if _is_alike(one, other, one.subject - _DAYS_AT_WORK, other.subject - _DAYS_AT_WORK):
        return True
    parts = (one.sentence, other.sentence), (one.clause, other.clause)
    own = ([subject_words(text, one.unit) - _DAYS_AT_WORK for text in texts] for texts in parts)
    return any(len(a & b & asked.words) >= _SHARED_WORDS and _is_alike(one, other, a, b) for a, b in own)


def _is_alike(one: Claim, other: Claim, mine: Set[str], theirs: Set[str]) -> bool:
    """Whether enough words are shared, some of them beside the values, unless nearly all are."""
    shared, smaller = mine & theirs, max(1, min(len(mine), len(theirs)))
    if len(shared) < _SHARED_WORDS or len(shared) / smaller < _SHARED_SUBJECT:
        return False
    is_beside = not one.beside or not other.beside or bool(one.beside & other.beside)
    return is_beside or len(shared) / smaller >= _NEARLY_ALL


def _is_wanted(asked: Asked, claim: Claim) -> bool:
    """Counts of things are compared only where a number is asked for, years where a time is."""
    if claim.unit == YEAR:
        return "time" in asked.wants
    return not claim.unit.startswith(COUNT) or "amount" in asked.wants


def _is_restated(asked: Asked, one: Claim, other: Claim) -> bool:
    """Whether two versions answer “how much” in durations that no longer are the same."""
    if "amount" not in asked.wants or one.unit == other.unit:
        return False
    return all(
        any(isinstance(value, Decimal) and length_of_time(claim.unit, value) for value in claim.values)
        for claim in (one, other)
    )


def _added(one: Text, other: Text, mine: list[Said]) -> Iterator[Clash]:
    """What one version says and the other does not, although it has what stands around it."""
    there = (*_read(other, whole=True), *_read(other))
    around = {said.key for said in _read(one, whole=True)}
    if not any(said.key in around for said in _read(other)):
        return
    for left in mine:
        is_told = any(
            len(left.subject & said.subject) >= _SHARED_WORDS and overlap_of(left.subject, said.subject) >= _TOLD
            for said in there
        )
        if len(left.subject) > _SHARED_WORDS and not is_told:
            yield Clash(
                plain_claim(left.text, RULE, frozenset({left.text}), (left.text,)),
                plain_claim("", RULE, frozenset(), ()),
                0.0,
            )


def _turned(clash: Clash) -> Clash:
    return Clash(clash.other, clash.one, clash.overlap)
