"""The phrases that name one span of time, as rules over folded lower-case text; `periods` puts them together."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from app.text.months import MONTH_NAMES

_WEEKDAYS = {
    "thu hai": 0, "thu 2": 0, "monday": 0, "thu ba": 1, "thu 3": 1, "tuesday": 1, "thu tu": 2, "thu 4": 2,
    "wednesday": 2, "thu nam": 3, "thu 5": 3, "thursday": 3, "thu sau": 4, "thu 6": 4, "friday": 4, "thu bay": 5,
    "thu 7": 5, "saturday": 5, "chu nhat": 6, "sunday": 6,
}  # fmt: skip
_WORD_NUMBERS = {
    "mot": 1, "hai": 2, "ba": 3, "bon": 4, "nam": 5, "sau": 6, "bay": 7, "tam": 8, "chin": 9, "muoi": 10, "one": 1,
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "an": 1, "a": 1,
}  # fmt: skip
_UNIT_MINUTES = {
    "phut": 1, "minute": 1, "h": 60, "gio": 60, "tieng": 60, "hour": 60, "ngay": 1440, "day": 1440, "tuan": 10080,
    "week": 10080, "thang": 43200, "month": 43200, "nam": 525600, "year": 525600,
}  # fmt: skip
_DAY_MINUTES = 1440
PARTS_OF_DAY = {
    "sang": (5, 12), "morning": (5, 12), "trua": (11, 14), "chieu": (12, 18), "afternoon": (12, 18), "toi": (18, 24),
    "evening": (18, 24), "dem": (18, 30), "night": (18, 30),
}  # fmt: skip
"""Hours; beyond 24 they lie on the next day."""

_COUNT = rf"(?P<count>[0-9]{{1,4}}|{'|'.join(_WORD_NUMBERS)})"
_UNIT = rf"(?P<unit>{'|'.join(_UNIT_MINUTES)})s?"
_WEEKDAY = rf"(?P<weekday>{'|'.join(_WEEKDAYS)})"
_DAY = r"(?P<day>[0-9]{1,2})"
_MONTH = r"(?P<month>[0-9]{1,2})"
_YEAR = r"(?P<year>[0-9]{4})"
_NAMED = rf"\b(?P<named>{'|'.join(MONTH_NAMES)})\b\.?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_PAST = "qua|gan day|gan nhat|vua qua|vua roi|tro lai"

Span = tuple[datetime, datetime]
"""``since <= t < until``, both aware."""


@dataclass(frozen=True)
class Reading:
    """What a rule may look at: its match and the asker's clock."""

    match: re.Match[str]
    now: datetime
    """In the asker's time zone."""

    @property
    def today(self) -> date:
        """The asker's day."""
        return self.now.date()

    def group(self, name: str) -> str | None:
        """A group of the match; None as well when the rule has no such group."""
        return self.match.groupdict().get(name)

    def says(self, pattern: str) -> bool:
        """Whether the matched words contain `pattern`."""
        return re.search(pattern, self.match[0]) is not None

    @property
    def count(self) -> int:
        """How many units; 1 when none is named."""
        written = self.group("count") or "1"
        return int(written) if written.isdigit() else _WORD_NUMBERS[written]

    @property
    def month(self) -> int:
        """The month that is named or numbered."""
        named = self.group("named")
        return MONTH_NAMES[named] if named else int(self.group("month") or 0)

    def days(self, first: date, count: int = 1) -> Span:
        """`count` whole days from `first` on."""
        return span_of_days(first, count, self.now.tzinfo)


def span_of_days(first: date, count: int, zone: tzinfo | None) -> Span:
    """`count` whole days from midnight of `first` on."""
    since = datetime.combine(first, time(), zone)
    return since, since + timedelta(days=count)


def span_of(text: str, now: datetime) -> Span | None:
    """The span of the first rule that matches; raises `ValueError` or `OverflowError` for days that do not exist."""
    for pattern, rule in _RULES:
        match = pattern.search(text)
        if match:
            return rule(Reading(match, now))
    return None


def _days_ago(back: int) -> Callable[[Reading], Span]:
    return lambda at: at.days(at.today - timedelta(days=back))


def _part_of_day(at: Reading) -> Span:
    """``sáng nay``, ``tối qua``, ``last night``."""
    start, end = PARTS_OF_DAY[at.match["part"]]
    day = at.today - timedelta(days=1 if at.says("qua|yesterday|last") else 0)
    midnight, _ = at.days(day)
    return midnight + timedelta(hours=start), midnight + timedelta(hours=end)


def _rolling(at: Reading) -> Span:
    """``7 ngày qua``, ``last 24 hours``: ends now."""
    return at.now - timedelta(minutes=at.count * _UNIT_MINUTES[at.match["unit"]]), at.now


def _ago(at: Reading) -> Span:
    """``3 ngày trước``, ``two weeks ago``: that whole day; of minutes and hours, everything since."""
    minutes = _UNIT_MINUTES[at.match["unit"]]
    if minutes < _DAY_MINUTES:
        return _rolling(at)
    return at.days(at.today - timedelta(minutes=at.count * minutes))


def _week(back: int) -> Callable[[Reading], Span]:
    return lambda at: at.days(at.today - timedelta(days=at.today.weekday() + 7 * back), 7)


def _weekend(at: Reading) -> Span:
    """The weekend that began last; when "last" is said during it, the one before."""
    saturday = at.today - timedelta(days=(at.today.weekday() - 5) % 7)
    if at.today.weekday() >= 5 and at.says("truoc|last"):
        saturday -= timedelta(days=7)
    return at.days(saturday, 2)


def _weekday(at: Reading) -> Span:
    """``thứ hai``: the last one that has come; with ``tuần trước`` that of the week before."""
    wanted = _WEEKDAYS[at.match["weekday"]]
    if at.says("tuan (?:truoc|roi)|last week"):
        return at.days(at.today - timedelta(days=at.today.weekday() + 7 - wanted))
    back = (at.today.weekday() - wanted) % 7
    if back == 0 and at.says("truoc|qua|last"):
        back = 7
    return at.days(at.today - timedelta(days=back))


def _months(at: Reading, year: int, month: int, count: int = 1) -> Span:
    """`count` whole months; `month` may lie outside 1–12 and is carried into the year."""
    first, behind = (_first_of(year, month), _first_of(year, month + count))
    return at.days(first, (behind - first).days)


def _first_of(year: int, month: int) -> date:
    return date(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)


def _month_back(back: int) -> Callable[[Reading], Span]:
    return lambda at: _months(at, at.today.year, at.today.month - back)


def _quarter(back: int) -> Callable[[Reading], Span]:
    return lambda at: _months(at, at.today.year, (at.today.month - 1) // 3 * 3 + 1 - 3 * back, 3)


def _named_month(at: Reading) -> Span:
    """``tháng 11``, ``11/2026``, ``November``: without a year, the last that has begun."""
    if not 1 <= at.month <= 12:
        raise ValueError("no such month")
    year = at.group("year")
    return _months(at, int(year) if year else at.today.year - (at.month > at.today.month), at.month)


def _year(at: Reading) -> Span:
    back = 0 if at.says("nay|this") else 1
    named = at.group("year")
    return _months(at, int(named) if named else at.today.year - back, 1, 12)


def _date(at: Reading) -> Span:
    """A day; without a year, the last such day that has come."""
    day, year = int(at.match["day"]), at.group("year")
    if year:
        return at.days(date(int(year) + (2000 if len(year) == 2 else 0), at.month, day))
    found = date(at.today.year, at.month, day)
    return at.days(found if found <= at.today else found.replace(year=at.today.year - 1))


def _day_of_month(at: Reading) -> Span:
    """``ngày 12``, ``the 12th``: the last such day that has come."""
    day = int(at.match["day"])
    month = _first_of(at.today.year, at.today.month - (day > at.today.day))
    return at.days(month.replace(day=day))


_RULES: tuple[tuple[re.Pattern[str], Callable[[Reading], Span]], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (rf"\b{_YEAR}-{_MONTH}-{_DAY}\b", _date),
        (rf"\b{_DAY}[/.-]{_MONTH}[/.-](?P<year>[0-9]{{4}}|[0-9]{{2}})\b", _date),
        (rf"\b{_DAY} thang {_MONTH}(?:(?: nam | ?[/,] ?){_YEAR})?\b", _date),
        (rf"\b{_DAY}{_ORDINAL} (?:of )?{_NAMED}(?:,? {_YEAR})?(?!\w)", _date),
        (rf"{_NAMED} {_DAY}{_ORDINAL}(?![0-9])(?:,? {_YEAR})?(?!\w)", _date),
        (rf"\bthang {_MONTH}(?:(?: nam | ?[/-] ?){_YEAR})?\b", _named_month),
        (rf"(?<![0-9/]){_MONTH}/{_YEAR}\b", _named_month),
        (rf"(?<![0-9/.]){_DAY}/{_MONTH}(?![0-9/])", _date),
        (r"\bhom kia\b|\bday before yesterday\b", _days_ago(2)),
        (r"\b(?P<part>sang|trua|chieu|toi|dem) (?:hom |ngay )?(?:nay|qua)\b", _part_of_day),
        (r"\b(?:this|yesterday|last) (?P<part>morning|afternoon|evening|night)\b", _part_of_day),
        (r"\bto(?P<part>night)\b", _part_of_day),
        (r"\bhom qua\b|\byesterday\b", _days_ago(1)),
        (r"\bhom nay\b|\btoday\b", _days_ago(0)),
        (rf"\b(?:last )?{_WEEKDAY}(?: (?:tuan truoc|tuan roi|(?:of )?last week|truoc|qua))?\b", _weekday),
        (rf"\b{_COUNT} ?{_UNIT} (?:truoc|ago)\b", _ago),
        (rf"\b{_COUNT} ?{_UNIT} (?:{_PAST})\b", _rolling),
        (rf"\b(?:last|past|previous|recent|vong) {_COUNT} ?{_UNIT}\b", _rolling),
        (r"\bcuoi tuan(?: truoc| qua| roi| nay)?\b|\b(?:last |this )?weekend\b", _weekend),
        (r"\b(?:tuan nay|this week)\b", _week(0)),
        (r"\b(?:tuan (?:truoc|(?:vua )?roi)|(?:last|previous) week)\b", _week(1)),
        (r"\b(?:thang nay|this month)\b", _month_back(0)),
        (r"\b(?:thang (?:truoc|(?:vua )?roi)|(?:last|previous) month)\b", _month_back(1)),
        (r"\b(?:quy nay|this quarter)\b", _quarter(0)),
        (r"\b(?:quy (?:truoc|(?:vua )?roi)|(?:last|previous) quarter)\b", _quarter(1)),
        (r"\b(?:nam (?:nay|ngoai|truoc|(?:vua )?roi)|(?:this|last|previous) year)\b", _year),
        (rf"\b{_UNIT} (?:vua )?qua\b", _rolling),
        (rf"\b(?:past|last) {_UNIT}\b", _rolling),
        (rf"{_NAMED}(?: {_YEAR})?(?!\w)", _named_month),
        (r"\b(?:nam|in|year) (?P<year>(?:19|20)[0-9]{2})\b", _year),
        (rf"\b(?:ngay|the) {_DAY}(?:st|nd|rd|th)?(?![\w/.-])", _day_of_month),
    )
)
"""In order of precedence."""
