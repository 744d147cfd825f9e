"""A question of the deep flow, read: what is given, what is asked for, and in which form."""

import re
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from app.domain.deep import Asked
from app.domain.knowledge import Language
from app.reasoning.local.deep.days import Day, days_in
from app.reasoning.local.deep.derived import compounds, family_of, hours_in, spans_of
from app.reasoning.local.deep.formats import Form, split_form
from app.reasoning.local.deep.goals import Operation, operation_of, wanted_in
from app.reasoning.local.deep.quantities import Quantity, quantities_in
from app.reasoning.local.deep.sayings import words_of
from app.reasoning.local.deep.weekdays import with_days
from app.reasoning.local.number_words import spelt_numbers
from app.reasoning.local.question import Kind, read_question
from app.reasoning.local.terms import Term, terms_of
from app.text.language import fold, is_unaccented_vietnamese, normalise


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What a question gives and asks."""

    text: str
    """Without what it says about the form of the answer."""
    language: Language
    is_bare: bool
    """Typed in Vietnamese without diacritics."""
    form: Form
    quantities: tuple[Quantity, ...]
    days: tuple[Day, ...]
    wanted: str
    """Kind of the answer: ``money day hour % date …``, ``count``, ``text``; empty when nothing tells."""
    operation: Operation
    kind: Kind
    files: tuple[str, ...]
    today: date

    @property
    def terms(self) -> tuple[Term, ...]:
        """What it is about; amounts and days are none of it."""
        return _weighted(self)

    def of_kind(self, *kinds: str) -> tuple[Quantity, ...]:
        """What it gives of some kinds."""
        return tuple(one for one in self.quantities if one.kind in kinds)


def read_inquiry(asked: Asked, today: date) -> Inquiry:
    """The question, read."""
    return _read(normalise(asked.question), asked.language, asked.files, today)


@lru_cache(maxsize=512)
def _read(question: str, language: Language, files: tuple[str, ...], today: date) -> Inquiry:
    text, form = split_form(question)
    scale = _SCALE.search(text)
    if scale and not form.scale:
        form = replace(form, scale=_POWERS[fold(scale[1]).lower()])
    days = days_in(text, today)
    wanted = wanted_in(text, form)
    return Inquiry(
        text=text,
        language=language,
        is_bare=is_unaccented_vietnamese(text),
        form=form,
        quantities=_given(text, language, days, today),
        days=days,
        wanted=wanted,
        operation=operation_of(text),
        kind=read_question(text, language).kind,
        files=files,
        today=today,
    )


_ASKED_WEIGHT = 1.6
_NOTHING = words_of(
    "how what who which when she he it they his her their has have had now đồng buổi tiền ngày giờ tính "
    "nêu do does is are was thì là bao tong cong total anh chị ông bà bạn em cô thứ lần kỳ vnd pounds "
    "pound dollars whose him them dong tien ngay gio"
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|(?<=,)\s+(?=(?:thì|hỏi|how|what|who|which|when)\b)", re.IGNORECASE)


@lru_cache(maxsize=512)
def _weighted(inquiry: Inquiry) -> tuple[Term, ...]:
    """The terms of a question; those of the sentence that asks count more."""
    parts = _SENTENCE.split(inquiry.text)
    asking = next((part for part in reversed(parts) if "?" in part), parts[-1])
    asked = subject_terms(asking, quantities_in(asking, inquiry.language, inquiry.today), (), is_bare=inquiry.is_bare)
    own = {term.stems for term in asked} if len(parts) > 1 else frozenset()
    found = subject_terms(inquiry.text, inquiry.quantities, inquiry.days, is_bare=inquiry.is_bare)
    kept = [term for term in found if term.text not in _NOTHING and not term.text.isdigit()]
    return tuple(
        replace(term, weight=term.weight * _ASKED_WEIGHT) if term.stems in own else term for term in kept or found
    )


def subject_terms(
    text: str, quantities: tuple[Quantity, ...], days: tuple[Day, ...], *, is_bare: bool, in_days: bool = True
) -> tuple[Term, ...]:
    """The terms of a text without its amounts and days; units that stand with an amount tell nothing.

    `in_days`: days of the week are told in one way, to be compared; else they stay as they are, to be searched for.
    """
    blank = list(text)
    for start, end in [*((one.start, one.end) for one in quantities), *((one.start, one.end) for one in days)]:
        blank[start:end] = " " * (end - start)
    left = "".join(blank)
    return terms_of(re.sub(r"\s+", " ", with_days(left) if in_days else left).strip(), is_bare)


_SCALE = re.compile(
    r"(?:bao nhiêu|mấy|bao nhieu|may)\s(tỷ|tỉ|triệu|nghìn|ngàn|ty|ti|"
    r"trieu|nghin|ngan)(?!\w)",
    re.IGNORECASE,
)
_POWERS = {"ty": 9, "ti": 9, "trieu": 6, "nghin": 3, "ngan": 3}


def _given(text: str, language: Language, days: tuple[Day, ...], today: date) -> tuple[Quantity, ...]:
    """What is stated, and the lengths of time between the lines."""
    stated = compounds(text, quantities_in(text, language, today))
    clocked = [one for one in hours_in(text) if not any(one.start < q.end and q.start < one.end for q in stated)]
    spans = [] if any(q.kind in ("month", "year") for q in stated) else list(spans_of(text, days, today))
    family = list(family_of(text))
    stated = [one for one in stated if not any(one.start < q.end and q.start < one.end for q in family)]
    return tuple(sorted((*stated, *clocked, *spans, *family), key=lambda one: one.start))


_NO_NUMBER = re.compile(r"(?:một|mot|one|an?)\b|năm (?:nay|sau|trước|ngoái|tới)", re.IGNORECASE)
"""“Một” and “one” stand for a thing far more often than for the number; “năm nay” is no five."""


def in_digits(inquiry: Inquiry) -> str:
    """The question with its numbers in digits."""
    text, shift = inquiry.text, 0
    for one in spelt_numbers(inquiry.text, inquiry.language):
        if one.is_share or _NO_NUMBER.match(inquiry.text, one.start):
            continue
        text = f"{text[: one.start + shift]}{one.written}{text[one.end + shift :]}"
        shift += len(one.written) - (one.end - one.start)
    return text
