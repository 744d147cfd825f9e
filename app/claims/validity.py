"""From when and until when a sentence says that it holds: “từ 01/7/2026”, “until 2025”, “hết hiệu lực ngày …”."""

import re
from datetime import date, timedelta
from decimal import Decimal

from app.claims.record import Validity
from app.domain.knowledge import Passage
from app.text.amounts import DATE, amounts_in

_BEGINS = re.compile(
    r"\btừ(?:\s(?:ngày|năm))?\s*$"
    r"|\b(?:from|since|as of|effective|starting|beginning)(?:\s(?:on|from))?\s*$",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:đến|tới|hết)(?:\s(?:ngày|năm|hết))*\s*$"
    r"|\b(?:until|till|through|up to|(?:expires?|ends?)(?:\son)?)\s*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_BEFORE = 24
"""Letters looked at in front of a date."""


def validity_in(sentence: str) -> Validity:
    """The days a sentence gives for itself; open where it says nothing."""
    begins = ends = None
    for first, last, start in _days(sentence):
        before = sentence[max(0, start - _BEFORE) : start]
        if _BEGINS.search(before):
            begins = begins or first
        elif _ENDS.search(before):
            ends = ends or last
    return Validity(begins, ends) if begins is None or ends is None or begins <= ends else Validity()


def validity_of(passage: Passage) -> Validity:
    """The days a passage's document is in force; it began at the latest when it was last updated."""
    return Validity(passage.effective_from or passage.created_at.date(), passage.effective_to)


def _days(sentence: str) -> list[tuple[date, date, int]]:
    """(first day, last day, place) of every date, and of every year that stands alone."""
    found: list[tuple[date, date, int]] = []
    taken: list[tuple[int, int]] = []
    for amount in amounts_in(sentence):
        day = _day(amount.value) if amount.unit == DATE else None
        if day:
            found.append((day, day, amount.start))
            taken.append((amount.start, amount.end))
    for year in _YEAR.finditer(sentence):
        if not any(start <= year.start() < end for start, end in taken):
            number = int(year[0])
            found.append((date(number, 1, 1), date(number + 1, 1, 1) - timedelta(days=1), year.start()))
    return found


def _day(value: Decimal) -> date | None:
    number = int(value)
    try:
        return date(number // 10_000, number // 100 % 100, number % 100)
    except ValueError:
        return None
