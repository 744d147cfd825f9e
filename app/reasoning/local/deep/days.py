"""The days a text names."""

import calendar
import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from app.reasoning.local.deep.sayings import Saying

_MONTHS = {name.lower(): at for at, name in enumerate(calendar.month_name) if at}
_MONTHS |= {name[:3]: at for name, at in _MONTHS.items()} | {"sept": 9}
_MONTH_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_DAY = re.compile(
    r"\b(?P<y0>\d{4})-(?P<m0>\d{1,2})-(?P<d0>\d{1,2})\b"
    r"|(?<![\d/.,])(?P<d1>\d{1,2})\s?[/.-]\s?(?P<m1>\d{1,2})\s?[/.-]\s?(?P<y1>\d{4})\b"
    r"|\b(?P<d2>\d{1,2})\s+(?:tháng|thang)\s+(?P<m2>\d{1,2})(?:\s*,?\s*(?:năm|nam|/)?\s*(?P<y2>\d{4}))?\b"
    rf"|\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m3>{_MONTH_NAME})\b\.?,?(?:\s+(?P<y3>\d{{4}}))?"
    rf"|\b(?P<m4>{_MONTH_NAME})\.?\s+(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*(?:days|hours))(?:,?\s+(?P<y4>\d{{4}}))?"
    r"|(?<=ngày )(?P<d5>\d{1,2})/(?P<m5>\d{1,2})(?![/\d])|(?<=ngay )(?P<d6>\d{1,2})/(?P<m6>\d{1,2})(?![/\d])"
    r"|(?<![\d/.,])(?P<d7>\d{1,2})/(?P<m7>1[0-2]|0?\d)(?![/\d%])",
    re.IGNORECASE,
)
_TODAY_IS = re.compile(
    r"(?:hôm nay|hom nay)(?:\s[^\d,.;?]{0,20})?\s?(?:là|la)\s|today is|today were|hôm nay thứ", re.IGNORECASE
)
_TODAY = Saying("hôm nay", "ngày hôm nay", "today")


@dataclass(frozen=True, slots=True)
class Day:
    """A day the question names."""

    day: date
    text: str
    start: int
    end: int
    has_year: bool


@lru_cache(maxsize=1024)
def days_in(text: str, today: date) -> tuple[Day, ...]:
    """The days of a text in order; without a year those of this year, “hôm nay” is today."""
    found = [one for mark in _DAY.finditer(text) if (one := _day(mark, today))]
    if not _TODAY_IS.search(text):
        found += [Day(today, mark[0], mark.start(), mark.end(), has_year=True) for mark in _TODAY.finditer(text)]
    return tuple(sorted(found, key=lambda one: one.start))


def _day(mark: re.Match[str], today: date) -> Day | None:
    groups = mark.groupdict()
    form = next(str(at) for at in range(8) if groups.get(f"d{at}") is not None)
    month = groups[f"m{form}"]
    number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
    year = groups.get(f"y{form}")
    try:
        day = date(int(year) if year else today.year, number, int(groups[f"d{form}"]))
    except ValueError:
        return None
    return Day(day, mark[0], mark.start(), mark.end(), has_year=bool(year))
