"""Spans of time as people say them, Vietnamese and English: ``hôm qua``, ``tuần trước``, ``last 7 days``, ``12/11``.

Vietnamese phrases are meant in Vietnamese time, English ones in UTC. Dates are written day first in both languages.
A day, week, month, quarter or year is the calendar's; ``7 ngày qua`` and ``last 24 hours`` end now. A date without a
year is the last such day that has come.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from app.domain.knowledge import Language
from app.domain.zones import VIETNAM
from app.text.language import fold, normalise
from app.tools.period_rules import PARTS_OF_DAY, Span, span_of, span_of_days

MAX_PHRASE_CHARS = 200

_CLOCK = r"(?P<{0}_hour>[0-9]{{1,2}})(?:[h:](?P<{0}_minute>[0-9]{{2}})?| gio){1}"
_CLOCKS = re.compile(
    rf"\b(?:tu |from |between )?{_CLOCK.format('first', '?')} ?(?:den|toi|to|until|and|-) ?{_CLOCK.format('last', '')}"
)
_AFTERNOON = re.compile(r"\b(?:chieu|toi|afternoon|evening)\b")
_PART = re.compile(rf"^(?:vao |on the |in the )?(?P<part>{'|'.join(PARTS_OF_DAY)})\s(?:of )?(?P<day>.+)")
_FROM_TO = re.compile(r"\b(?:tu|from|between)\s(?P<first>.+?)\s(?:den|toi|to|until|till|and)(?: het)?\s(?P<last>.+)")
_SINCE = re.compile(r"^(?:ke tu|tinh tu|tu|since|from)\s(?P<first>.+)")
_BEFORE = re.compile(r"^(?:truoc|before|until)\s(?P<last>.+)")
_BARE_DAY = re.compile(r"(?:ngay )?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?")


@dataclass(frozen=True)
class Period:
    """A half-open span ``since <= t < until``; both ends aware, None = open."""

    since: datetime | None = None
    until: datetime | None = None

    def written(self, language: Language, zone: tzinfo | None = None) -> str:
        """The span for a person, in that person's time; empty when both ends are open."""
        zone = zone or zone_of(language)
        since = self.since.astimezone(zone) if self.since else None
        until = self.until.astimezone(zone) if self.until else None
        if since and until and since.time() == until.time() == time():
            return _written_days(since, until, language)
        start, end = ("từ", "đến") if language == "vi" else ("from", "until")
        told = [
            f"{word} {write_day(moment, language)} {moment:%H:%M}"
            for word, moment in ((start, since), (end, until))
            if moment
        ]
        return " ".join(told)


def _written_days(since: datetime, until: datetime, language: Language) -> str:
    last = until - timedelta(days=1)
    first_day, last_day = write_day(since, language), write_day(last, language)
    if last == since:
        return f"ngày {first_day}" if language == "vi" else f"on {first_day}"
    if language == "vi":
        return f"từ ngày {first_day} đến hết ngày {last_day}"
    return f"from {first_day} to the end of {last_day}"


def write_day(moment: datetime, language: Language) -> str:
    """``12/11/2026`` or ``12 Nov 2026``, of a moment that is already in the person's time zone."""
    return f"{moment:%d/%m/%Y}" if language == "vi" else f"{moment.day} {moment:%b %Y}"


def zone_of(language: Language) -> tzinfo:
    """The time zone a phrase of this language is meant in, where nobody says which."""
    return VIETNAM if language == "vi" else UTC


def resolve_period(phrase: str, now: datetime, language: Language, zone: tzinfo | None = None) -> Period | None:
    """The span `phrase` means at `now` (aware) in `zone`, or None when it means none that is known. Never raises."""
    text = fold(normalise(phrase[:MAX_PHRASE_CHARS])).lower()
    local = now.astimezone(zone or zone_of(language))
    try:
        found = _clocks(text, local) or _part_of_day(text, local) or _range(text, local)
        if found is None and (span := span_of(text, local)):
            found = Period(*span)
    except (ValueError, OverflowError):  # 31/02, the year 0, 9999 years ago
        return None
    return found


def read_moment(text: str, language: Language, *, end: bool = False, zone: tzinfo | None = None) -> datetime | None:
    """An ISO date or time, in `zone` (or the language's) when it names none; None when it is neither.

    Args:
        text: ``2026-11-12`` or ``2026-11-12T08:30:00+07:00``.
        language: Whose time zone a bare time is meant in.
        end: A date without a time means the end of that day.
        zone: Where a bare time is meant, where that is known.
    """
    written = text.strip()
    try:
        moment = datetime.fromisoformat(written)
        if end and len(written) <= len("2026-11-12"):
            moment += timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone or zone_of(language))


def _clocks(text: str, now: datetime) -> Period | None:
    """``từ 9h đến 10h30 ngày 12/11``, ``từ 2h đến 4h chiều qua``; today when no day is named."""
    match = _CLOCKS.search(text)
    if match is None:
        return None
    rest = text[: match.start()] + text[match.end() :]
    day = span_of(rest, now) or span_of_days(now.date(), 1, now.tzinfo)
    midnight = day[0].replace(hour=0, minute=0, second=0, microsecond=0)
    later = 12 if _AFTERNOON.search(rest) else 0
    first, last = (
        midnight + timedelta(hours=hour + (later if hour < 12 else 0), minutes=int(match[f"{name}_minute"] or 0))
        for name in ("first", "last")
        for hour in (int(match[f"{name}_hour"]),)
    )
    return Period(first, last if last > first else last + timedelta(days=1))


def _part_of_day(text: str, now: datetime) -> Period | None:
    """``chiều ngày 12/11``, ``sáng thứ hai``; a part of anything but one day is none."""
    match = _PART.search(text)
    day = span_of(match["day"], now) if match else None
    if match is None or day is None or day[1] - day[0] != timedelta(days=1) or _FROM_TO.search(f"tu {text}"):
        return None
    start, end = PARTS_OF_DAY[match["part"]]
    return Period(day[0] + timedelta(hours=start), day[0] + timedelta(hours=end))


def _range(text: str, now: datetime) -> Period | None:
    """``từ A đến B``, ``since A``, ``before B``."""
    if (match := _FROM_TO.search(text)) and (last := span_of(match["last"], now)):
        first = _bare_day(match["first"], last) or span_of(match["first"], now)
        if first and first[0] < last[1]:
            return Period(first[0], last[1])
    if (match := _SINCE.search(text)) and (first := span_of(match["first"], now)):
        return Period(first[0], now)
    if (match := _BEFORE.search(text)) and (last := span_of(match["last"], now)):
        return Period(None, last[0])
    return None


def _bare_day(text: str, last: Span) -> Span | None:
    """``từ ngày 5 đến 12/11``: the first day lies in the month of the last."""
    match = _BARE_DAY.fullmatch(text.strip())
    return (last[0].replace(day=int(match["day"])), last[1]) if match else None
