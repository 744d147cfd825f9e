"""Words dates are written with, folded, in both languages, and the patterns that are put together of them."""

import calendar
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from app.text.numerals import VALUES, WORD_CLASSES_FOLDED

MONTH_NAMES = {
    name.lower(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
} | {"sept": 9}
"""English, lower case, whole and short, to 1–12."""
VI_MONTHS = {
    "gieng": 1, "mot": 1, "hai": 2, "ba": 3, "tu": 4, "nam": 5, "s6u": 6, "bay": 7, "tam": 8, "chin": 9, "muoi mot": 11,
    "muoi hai": 12, "muoi": 10, "chap": 12,
}  # fmt: skip
"""“sáu” is written ``s6u`` here: “tháng sau” is the next one."""
VI_WEEKDAYS = {
    "hai": 0, "2": 0, "ba": 1, "3": 1, "tu": 2, "4": 2, "nam": 3, "5": 3, "sau": 4, "s6u": 4, "6": 4, "bay": 5, "7": 5,
}  # fmt: skip
EN_WEEKDAYS = {name.lower(): at for at, name in enumerate(calendar.day_name)}
SHORT_WEEKDAYS = {name[:3]: at for name, at in EN_WEEKDAYS.items()} | {"tues": 1, "thur": 3, "thurs": 3}
UNIT_MINUTES = {
    "phut": 1, "minute": 1, "h": 60, "gio": 60, "tieng": 60, "hour": 60, "ngay": 1440, "hom": 1440, "day": 1440,
    "tuan": 10080, "week": 10080, "fortnight": 20160, "thang": 0, "month": 0, "quy": 0, "quarter": 0, "nam": 0,
    "year": 0,
}  # fmt: skip
UNIT_MONTHS = {"thang": 1, "month": 1, "quy": 3, "quarter": 3, "nam": 12, "year": 12}
DAY_MINUTES = 1440
PARTS_OF_DAY = {
    "sang": (5, 12), "morning": (5, 12), "trua": (11, 14), "chieu": (12, 18), "afternoon": (12, 18), "toi": (18, 24),
    "evening": (18, 24), "dem": (18, 30), "night": (18, 30),
}  # fmt: skip
"""Hours; beyond 24 they lie on the next day."""
ORDERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4, "mot": 1, "hai": 2,
           "ba": 3, "bon": 4, "tu": 4, "i": 1, "ii": 2, "iii": 3, "iv": 4}  # fmt: skip
SMALL = {word: VALUES[word] for word, letter in WORD_CLASSES_FOLDED.items() if letter in "uwtOE" and word in VALUES}
SMALL |= {"a": 1, "an": 1, "muoi": 10, "s6u": 6}
BACK = {
    "truoc": -1, "ngoai": -1, "roi": -1, "vua roi": -1, "vua qua": -1, "qua": -1, "last": -1, "previous": -1,
    "the previous": -1, "past": -1, "kia": -2, "nay": 0, "this": 0, "the current": 0, "current": 0, "sau": 1,
    "toi": 1, "ke tiep": 1, "tiep theo": 1, "next": 1, "coming": 1, "the coming": 1,
    "the following": 1,
}  # fmt: skip
"""How far a time lies from this one: years, weeks or months."""
_TABLES: dict[str, Iterable[str]] = {
    "SMALL": SMALL, "VIMONTHS": VI_MONTHS, "VIDAYS": VI_WEEKDAYS, "MONTHS": MONTH_NAMES, "DAYS": EN_WEEKDAYS,
    "SHORTDAYS": SHORT_WEEKDAYS,
}  # fmt: skip
_SLOT = re.compile("@([A-Z]+)")


@cache
def patterns(section: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Name of the rule and pattern of each line of ``date_patterns.txt``, compiled when the first text is read."""
    return tuple((rule, re.compile(_filled(pattern))) for rule, pattern in _sections()[section])


@cache
def _sections() -> dict[str, list[tuple[str, str]]]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for line in (Path(__file__).parent / "date_patterns.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, _, pattern = line.partition(" = ")
            current.append((name, pattern))
    return sections


def _filled(pattern: str) -> str:
    """The pattern with the words of the tables and the named parts in their places."""
    while slot := _SLOT.search(pattern):
        table = _TABLES.get(slot[1])
        part = dict(_sections()["parts"])[slot[1]] if table is None else "|".join(sorted(table, key=len, reverse=True))
        pattern = pattern[: slot.start()] + part + pattern[slot.end() :]
    return pattern
