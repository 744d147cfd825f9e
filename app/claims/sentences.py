"""The sentences of a text with everything they can be compared by.

Also what a question wants to know, as far as it tells which values are compared, and words that tell cases apart.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from app.claims.marks import FREQUENCY, marks_in
from app.claims.reading import Sentence, bounds_of, claims_in, sentences_of, validity_in, years_of
from app.claims.record import CUES, Claim, Polarity, Value, polarity_of, subject_words
from app.domain.knowledge import Language
from app.text.language import fold, normalise, words

_EACH = re.compile(r"(?:each|every|mỗi|hằng|hàng)\s(?!\d|hai|ba|two|three|four|six)", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """One sentence."""

    text: str
    claims: tuple[Claim, ...]
    """Its amounts and marks."""
    subject: frozenset[str]
    """Folded content words of the sentence alone."""
    polarity: Polarity
    key: tuple[str, ...]
    """Its words: equal for the same sentence in another layout."""


@lru_cache(maxsize=2048)
def read_sentences(text: str, section: str = "", language: Language | None = None) -> tuple[Said, ...]:
    """The sentences and rows of `text`, in order."""
    stated = claims_in(text, section, language)
    return tuple(
        _said(sentence, section, [c for c in stated if c.sentence == sentence.text]) for sentence in sentences_of(text)
    )


def _said(sentence: Sentence, section: str, amounts: list[Claim]) -> Said:
    polarity = polarity_of(sentence.text)
    marked = marked_claims(sentence.text, f"{sentence.context} {section}")
    found = [*amounts, *(claim for claim in marked if not amounts or not _is_rate(claim))]
    return Said(sentence.text, tuple(found), subject_words(sentence.text), polarity, tuple(words(sentence.text)))


def _is_rate(claim: Claim) -> bool:
    """Beside an amount “mỗi ngày” is what the amount is given for, no answer of its own."""
    return claim.unit == FREQUENCY and all(_EACH.match(written) for written in claim.amounts)


def marked_claims(sentence: str, context: str = "") -> list[Claim]:
    """The marks of one sentence as claims, one for each kind."""
    marks = list(marks_in(sentence))
    return [
        plain_claim(
            sentence,
            unit,
            frozenset(mark.value for mark in marks if mark.unit == unit),
            tuple(dict.fromkeys(sentence[mark.start : mark.end] for mark in marks if mark.unit == unit)),
            context,
        )
        for unit in dict.fromkeys(mark.unit for mark in marks)
    ]


def plain_claim(
    sentence: str, unit: str, values: frozenset[Value], written: tuple[str, ...], context: str = ""
) -> Claim:
    """A claim whose case is the sentence it stands in."""
    return Claim(
        sentence=sentence,
        amounts=written,
        unit=unit,
        values=values,
        clause=sentence,
        beside=frozenset(),
        surroundings=f"{sentence} {context}",
        conditions={},
        bounds=bounds_of(sentence),
        rates=frozenset(),
        years=years_of(sentence),
        polarity=polarity_of(sentence),
        validity=validity_in(sentence),
    )


_CASES = tuple(
    tuple(re.compile(rf"\b(?:{alternative})\b", re.IGNORECASE) for alternative in group) for group in CUES["cases"]
)
_EXTRA = re.compile(
    r"\b(?:additional|extra|another)\s\S+|\b\S+\s(?:more|additional|extra)\s(?!than\b)\w+|\bthêm\s\d+"
    r"|\b(?:also|as well|cũng|ngoài ra)\b",
    re.IGNORECASE,
)
"""What comes on top says nothing of what it is added to."""


def is_other_case(one: str, other: str) -> bool:
    """Whether two texts name different alternatives of one matter and none in common, or one what is added."""
    one, other = normalise(one), normalise(other)
    if bool(_EXTRA.search(one)) != bool(_EXTRA.search(other)):
        return True
    for group in _CASES:
        mine = {at for at, case in enumerate(group) if case.search(one)}
        theirs = {at for at, case in enumerate(group) if case.search(other)}
        if mine and theirs and not mine & theirs:
            return True
    return False


Want = Literal["amount", "time", "person", "place", "thing", "list", "yes_no"]
_READ = tuple((want, re.compile("|".join(patterns))) for want, patterns in CUES["wants"].items())


class Asked(NamedTuple):
    """A question, read."""

    wants: frozenset[Want]
    """Empty for a question that says nothing of it: then everything is compared."""
    words: frozenset[str]
    """Folded."""


@lru_cache(maxsize=512)
def read_asked(question: str) -> Asked:
    """Read a question of either language, with or without diacritics."""
    folded = fold(normalise(question)).lower().strip(" ?.!")
    wants = frozenset(want for want, pattern in _READ if pattern.search(folded))
    return Asked(wants, frozenset(map(fold, words(question))))
