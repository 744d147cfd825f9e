"""The sentences of a text with everything they can be compared by."""

import re
from dataclasses import dataclass
from functools import lru_cache

from app.claims.marks import FREQUENCY, marks_in
from app.claims.reading import Sentence, bounds_of, claims_in, sentences_of, validity_in, years_of
from app.claims.record import Claim, Polarity, Value, polarity_of, subject_words
from app.domain.knowledge import Language
from app.text.language import words

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
