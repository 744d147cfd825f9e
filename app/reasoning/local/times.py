"""The times a question names, for those that ask whose rules are meant, what changed and what logs hold."""

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from app.reasoning.local.cues import alternatives, lines
from app.text.dates import Mention, dates_in, flat_of

_NEAR = 60
"""Characters before a bare year that are looked at."""
_YEAR = re.compile(r"(?<![\d/.,-])(?:19|20)\d\d(?![\d/]|[.,-]\d)")
_MAKES_A_YEAR = re.compile(
    r"\b(?:(?:trong|hoi|tu|truoc|sau|year|in|during|for|of|since|from|before|after|until)(?: the)?|"
    rf"(?:{alternatives('as_of.rule')})(?: \w+){{0,3}}) $"
)
"""Before a bare number: “in 2024”, “chính sách nghỉ phép 2024”."""
_COUNTED = re.compile(r" ?(?:dong|vnd|usd|eur|gbp|cad|d\b|k\b|%|km|kg|m2|gio|phut|ngay|nguoi|lan|hours|days|people|\+)")
_YEAR_OF_RULES = re.compile(rf" (?:\w+ ){{0,3}}?(?:{alternatives('as_of.rule_after')})\b")
"""After it: “the 2024 leave policy”."""
_AGO = re.compile(r"(?P<count>\d|mot|hai|ba|bon|one|two|three|four) (?:nam truoc|years? ago)")
_OTHER = re.compile(rf"\b(?:{alternatives('times.other')})\b|(?<!\d)\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}(?!\d)")
_IS_RATE = re.compile(r"(?:ngay |gio |buoi )?(?:mot|a|an|one)\b(?! \w+ (?:truoc|sau|toi|nua|ago|from))")
"""“mấy ngày một tuần”."""
_DAY_WORD = "ngay "
_UNIT, _DATE = rf"(?:{alternatives('log.unit')})", rf"(?:{alternatives('log.date')})"
_MONTHS = "jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
_PERIODS = tuple(
    re.compile(pattern.format(unit=_UNIT, date=_DATE, month=_MONTHS), re.IGNORECASE) for pattern in lines("log.periods")
)
"""Tried in this order: the first phrase found is the span asked for."""


@dataclass(frozen=True, slots=True)
class Times:
    """Every time a text mentions."""

    known: tuple[Mention, ...]
    others: int
    """Mentions of other times: today, this week, next year, a year that may be a mere number, a day that is none."""


def period_of(text: str) -> str:
    """The first phrase of a text that names a span of time; empty when none does."""
    return next((mark[0].strip() for pattern in _PERIODS if (mark := pattern.search(text))), "")


@lru_cache(maxsize=512)
def times_in(text: str, today: date) -> Times:
    """The times a normalised text names, in order."""
    flat = flat_of(text)
    known: list[Mention] = []
    others = 0
    mentions = dates_in(text, today)
    for mention in mentions:
        time = _known(flat, mention, today)
        others += time is None and not _IS_RATE.match(flat, mention.start)
        known += [time] if time else []
    spans = [(mention.start, mention.end) for mention in mentions] + [(time.start, time.end) for time in known]
    for mark in (*_YEAR.finditer(flat), *_OTHER.finditer(flat)):
        if any(start < mark.end() and mark.start() < end for start, end in spans):
            continue
        spans.append(mark.span())
        if mark.re is _YEAR and _stands_for_a_year(flat, *mark.span()):
            known.append(_whole_year(*mark.span(), int(mark[0])))
        else:
            others += 1
    return Times(tuple(sorted(known, key=lambda time: time.start)), others)


def _known(flat: str, mention: Mention, today: date) -> Mention | None:
    """A mention whose rules may be asked for; None of one that only says when something is or was."""
    said = flat[mention.start : mention.end]
    if _AGO.fullmatch(said):
        return _whole_year(mention.start, mention.end, mention.first.year)
    if _YEAR.fullmatch(said) and not _stands_for_a_year(flat, mention.start, mention.end):
        return None
    is_relative = not any(map(str.isdigit, said)) and mention.is_dated
    is_over = mention.last < today and mention.grain in ("month", "quarter", "year")
    if (is_relative and not is_over) or mention.grain not in ("day", "month", "quarter", "year"):
        return None
    middle = mention.first + (mention.last - mention.first) / 2
    parts = {"early": (mention.first,) * 2, "mid": (middle, middle), "late": (mention.last,) * 2}
    first, last = parts.get(mention.part, (mention.first, mention.last))
    start = mention.start - len(_DAY_WORD) * flat[: mention.start].endswith(_DAY_WORD)
    return mention._replace(start=start, first=first, last=last)


def _whole_year(start: int, end: int, year: int) -> Mention:
    return Mention(start, end, date(year, 1, 1), date(year, 12, 31), "year", is_dated=True, part="")


def _stands_for_a_year(flat: str, start: int, end: int) -> bool:
    """Whether something around a number says that it is a year."""
    if _COUNTED.match(flat, end):
        return False
    return bool(_MAKES_A_YEAR.search(flat[max(0, start - _NEAR) : start]) or _YEAR_OF_RULES.match(flat, end))
