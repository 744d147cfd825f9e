"""Questions the calendar answers: working days between two days, how far apart they are, what day another one is.

A question is one of the forms of the cues or it is not: “nghỉ phép được bao nhiêu ngày” asks for a policy. Days that
are fully named come out as ISO dates, others as they were said: only the calendar knows what day it is today.
"""

import calendar
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache

from app.reasoning.local.cues import alternatives, named_lines
from app.reasoning.local.reckoning import SPELT, Reckoning
from app.text.date_words import MONTH_NAMES
from app.text.language import fold, normalise

_MAX_CHARS = 200
_UNITS = {"ngay": "days", "tuan": "weeks", "thang": "months", "nam": "years", "day": "days", "week": "weeks",
          "month": "months", "year": "years"}  # fmt: skip
_MONTHS = {
    **MONTH_NAMES, **{word: int(value) for word, value in SPELT.items() if value <= 10},
    "tu": 4, "gieng": 1, "muoi mot": 11, "muoi hai": 12, "chap": 12,
}  # fmt: skip
_TODAY = "hôm nay"
_LETTERS = {
    "D": f"({alternatives('date_questions.day')}|{alternatives('date_questions.relative')})",
    "R": f"({alternatives('date_questions.relative')})",
    "Y": f"({alternatives('date_questions.month')})",
    "N": rf"(\d{{1,5}}|{'|'.join(SPELT)})",
    "U": "(ngay|tuan|thang|nam|days?|weeks?|months?|years?)",
    "W": f"(?:{alternatives('date_questions.working')})",
    "L": f"(?:{alternatives('date_questions.which')})",
    "M": "(?:bao nhieu|may)",
}
_LETTER = re.compile(r"(?<![a-zA-Z\\])[DRYNUWLM](?![a-zA-Z])")
_LEAD = rf"(?:(?:{alternatives('reckoning.lead')})[ ,:]+){{0,4}}"
_TAIL = rf"(?: (?:{alternatives('reckoning.tail')})){{0,4}}[ ?!.=,]*"
_FORMS = tuple(
    (name, re.compile(rf"{_LEAD}(?:{_LETTER.sub(lambda mark: _LETTERS[mark[0]], written)}){_TAIL}"))
    for name, written in named_lines("date_questions.form")
)
_INCLUSIVE = re.compile(alternatives("date_questions.inclusive"))
_BEFORE = re.compile(r"\b(?:truoc|before)\b")
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_DIGITS = re.compile(r"(\d{1,2})\s?[/.-]\s?(\d{1,2})(?:(?:\s?[/.-]\s?|\snam\s)(\d{4}))?")
_NAMED_VI = re.compile(r"(\d{1,2}) thang ([a-z]+(?: mot| hai)?|\d{1,2})(?:\D+(\d{4}))?")
_NAMED_EN = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?(?: of)? ([a-z]+)\.?,?(?: (\d{4}))?")
_NAMED_US = re.compile(r"([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?")
_ARTICLE = re.compile(
    r"^(?:the )?(?:(?:ngay|mung|mong|hom) )?(?=\d|thu |jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
_DayOfYear = tuple[int | None, int, int]
"""Year, where it is said, month and day."""


def date_asked(text: str) -> Reckoning | None:
    """What a question asks of the calendar; None when it asks anything else as well."""
    return _read(normalise(text)) if len(text) <= _MAX_CHARS else None


@lru_cache(maxsize=512)
def _read(text: str) -> Reckoning | None:
    said = fold(text).lower()
    plain = _INCLUSIVE.sub("", said)
    for name, form in _FORMS:
        match = form.fullmatch(plain)
        if match:
            found = [group for group in match.groups() if group]
            return _reckoned(name, found, plain, is_inclusive=plain != said)
    return None


def _reckoned(name: str, found: list[str], said: str, *, is_inclusive: bool) -> Reckoning | None:
    match name.split()[0]:
        case "working":
            return _made("working_days", _span(*found), found)
        case "month":
            return _made("working_days", _whole_month(found[0]), found)
        case "days":
            return _made("difference", _span(*found) | {"inclusive": str(is_inclusive).lower()}, found)
        case "until" | "since":
            ends = {"start": _TODAY, "end": _iso(found[0])}
            return _made("difference", ends if name == "until" else {"start": ends["end"], "end": _TODAY}, found)
        case "shift":
            return _shift(name, found, said)
        case "today":
            return _made("today", {}, found)
        case "weekday":
            return _made("today" if found[0] in ("hom nay", "today") else "weekday", {"date": _iso(found[0])}, found)
        case _:
            return _made("parse", {"text": found[0]}, found)


def _made(kind: str, values: Mapping[str, str], grounds: list[str]) -> Reckoning:
    return Reckoning((kind,), values, tuple(grounds))


def _shift(name: str, found: list[str], said: str) -> Reckoning:
    """A day moved on or back; the day stands on either side of the amount."""
    amounts = [piece for piece in found if piece.isdigit() or piece in SPELT]
    amount = int(amounts[0]) if amounts[0].isdigit() else int(SPELT[amounts[0]])
    days = [piece for piece in found if piece not in amounts and piece.rstrip("s") not in _UNITS]
    start = _iso(days[0]) if days else _TODAY
    signed = str(-amount if _BEFORE.search(said) else amount)
    if name.endswith("working"):
        return _made("add_working_days", {"start": start, "days": signed}, found)
    unit = next(_UNITS[piece.rstrip("s")] for piece in found if piece.rstrip("s") in _UNITS and piece not in amounts)
    return _made("add", {"start": start, "amount": signed, "unit": unit}, found)


def _span(start: str, end: str) -> dict[str, str]:
    """Both days; one without a year is of the year that puts them in order."""
    first, last = _parts(start), _parts(end)
    if first and last and first[0] is None and last[0]:
        later = first[1:] > last[1:]
        first = (last[0] - later, *first[1:])
    elif first and last and first[0] and last[0] is None:
        earlier = last[1:] < first[1:]
        last = (first[0] + earlier, *last[1:])
    return {"start": _written(first, start), "end": _written(last, end)}


def _iso(said: str) -> str:
    return _written(_parts(said), said)


def _parts(said: str) -> _DayOfYear | None:
    """Year, month and day of a day that is named by them; None for “hôm nay” and the like."""
    bare = _ARTICLE.sub("", said).strip(" ,")
    if match := _ISO.fullmatch(bare):
        return int(match[1]), int(match[2]), int(match[3])
    if match := _DIGITS.fullmatch(bare):
        return _year(match[3]), int(match[2]), int(match[1])
    if match := _NAMED_VI.fullmatch(bare) or _NAMED_EN.fullmatch(bare):
        return _in_month(match[3], match[2], match[1])
    if match := _NAMED_US.fullmatch(bare):
        return _in_month(match[3], match[1], match[2])
    return None


def _in_month(year: str | None, month: str, day: str) -> _DayOfYear | None:
    number = int(month) if month.isdigit() else _MONTHS.get(month)
    return (_year(year), number, int(day)) if number else None


def _year(written: str | None) -> int | None:
    return int(written) if written else None


def _written(parts: _DayOfYear | None, said: str) -> str:
    """An ISO date where the year is known; day and month without one; else, and for days that are none, the words."""
    if parts is None:
        return said
    year, month, day = parts
    if year is None:
        return f"{day}/{month}"
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return f"{day}/{month}/{year}"


def _whole_month(said: str) -> dict[str, str]:
    """The first and the last day of “tháng 9/2026”, “September 2026”."""
    name, year = re.findall(r"[a-z]+|\d+", said.removeprefix("thang").replace("nam", ""))[:2]
    month = int(name) if name.isdigit() else _MONTHS[name]
    if not 1 <= month <= 12 or not int(year):
        return {"start": f"1/{month}/{year}", "end": f"31/{month}/{year}"}
    last = calendar.monthrange(int(year), month)[1]
    return {"start": f"{year}-{month:02}-01", "end": f"{year}-{month:02}-{last}"}
