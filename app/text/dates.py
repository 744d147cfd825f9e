"""Days, times and spans of time as people write them, Vietnamese and English: ``hôm qua``, ``quý 2``, ``since March``.

Dates are written day first in both languages and read for the moment the caller gives, in the time zone of its name;
``last 24 hours`` end now. Dates of the lunar calendar are none.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple
from zoneinfo import ZoneInfo

from app.domain.knowledge import Language
from app.text.date_rules import RULES, Found, Grain, Lean, Said
from app.text.date_words import MONTH_NAMES, PARTS_OF_DAY, patterns
from app.text.language import fold, normalise

HOME = "Asia/Ho_Chi_Minh"
VIETNAM = timezone(timedelta(hours=7), HOME)
"""A fixed offset: Vietnam has known no other since 1975, and it needs no time zone database."""


def zone_named(name: str) -> tzinfo:
    """The zone of that name. Raises `ValueError` when there is none."""
    if name in ("", HOME):
        return VIETNAM
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as unknown:
        raise ValueError(f"there is no time zone {name[:60]!r}; names are written like Europe/London") from unknown


def today_in(zone: tzinfo) -> date:
    """The day it is now in a time zone."""
    return datetime.now(zone).date()


MAX_PHRASE_CHARS = 200
LUNAR = re.compile(r"\b(?:am lich|lunar|tet|ram thang)\b")
"""Folded words of the lunar calendar."""
_DATE_LIKE = re.compile(
    r"\d|hom |ngay |mai\b|tuan|thang|quy |nam\b|dau|cuoi|thu |chu nhat|cn|sang |chieu|toi |dem |trua|mot$|day|week"
    r"|month|year|quarter|half|night|morning|evening|noon|hour|minute|tomorrow|now|jan|feb|mar|apr|may|jun|jul|aug|sep|oct"
    r"|nov|dec|mon|tue|wed|thu|fri|sat|sun|early|late|mid"
)
"""Cheap to look for; without it there is no date in a text."""
_CLOCK = r"(?P<{0}_hour>[0-9]{{1,2}})(?:[h:](?P<{0}_minute>[0-9]{{2}})?| gio){1}"
_CLOCKS = re.compile(
    rf"\b(?:tu |from |between )?{_CLOCK.format('first', '?')} ?(?:den|toi|to|until|and|-) ?{_CLOCK.format('last', '')}"
)
_AFTERNOON = re.compile(r"\b(?:chieu|toi|afternoon|evening)\b")
_PART = re.compile(rf"^(?:vao |on the |in the )?(?P<part>{'|'.join(PARTS_OF_DAY)})\s(?:of )?(?P<day>.+)")
_FROM_TO = re.compile(
    r"\b(?:tu|from|between)\s(?P<first>.+?)\s?(?:\b(?:den|toi|to|until|till|through|and)\b|[-–])(?: het)?\s?"
    r"(?P<last>.+)"
)
_DASH = re.compile(r"(?P<first>\S.*?)(?:\s?[-–]\s?|\s(?:to|through|den|toi)\s)(?P<last>.+)")
_SINCE = re.compile(r"^(?:ke tu|tinh tu|tu|since|from)\s(?P<first>.+?)(?: (?:den nay|toi nay|tro di|on|onwards))?$")
_BEFORE_OR_AFTER = re.compile(r"^(?P<word>truoc|before|sau|after)\s(?P<one>.+)")
_UNTIL = re.compile(r"^(?:cho )?(?:den|toi|until|till|through|by|up to)\s(?:het )?(?P<last>.+)")
_BARE_DAY = re.compile(r"(?:ngay |the )?(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?")
_BARE_MONTH = re.compile(r"(?:thang )?(?P<month>[0-9]{1,2})|(?P<name>[a-z]{3,9})")
_BARE_YEAR = re.compile(r"(?:nam )?(?P<year>(?:19|20)[0-9]{2})")
_SPELLINGS = {
    "weekday": re.compile(r"(?:thứ|thu) (?:hai|ba|tư|tu|năm|nam|sáu|sau|bảy|bẩy|bay|[2-7])\b|(?:chủ|chu) |cn\b"),
    "today +2": re.compile(r"(?:(?:ngày|ngay) )?(?:kia|kìa|mốt|mot)\b"),
}
"""How what a rule found is written where it is written with diacritics: “thứ tự” is no “thứ tư”, “một” no “mốt”."""


class Mention(NamedTuple):
    """A time that a text names, and where."""

    start: int
    end: int
    first: date
    last: date
    """Included."""
    grain: Grain
    is_dated: bool
    """Names its year or counts from today; otherwise the leaning chose the year."""
    part: str
    """``early``, ``mid`` or ``late`` of what it names; empty = the whole."""


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


def dates_in(text: str, today: date, lean: Lean = "past") -> list[Mention]:
    """The times `text` (in NFC) names, in order; of overlapping ones the first, then the longest; none that do not
    exist."""
    found = _found_in(text, datetime.combine(today, time(12), UTC), lean)
    return [
        Mention(start, end, one.since.date(), (one.until - timedelta(microseconds=1)).date(),
                one.grain, one.is_dated, one.part)
        for start, end, one in found
    ]  # fmt: skip


def date_in(text: str, today: date) -> date | None:
    """The one day that the whole of `text` means; None of anything else, and of a day that does not exist."""
    spelt = normalise(text[:MAX_PHRASE_CHARS]).strip(" .,;!?")
    mentions = dates_in(spelt, today, "year")
    if len(mentions) == 2 and mentions[0].first.weekday() == mentions[1].first.weekday():
        weekday, mentions = mentions[0], mentions[1:]  # “thứ năm, 18/6/2026”
        before = spelt[: weekday.start] + spelt[weekday.end : mentions[0].start].lstrip(" ,")
    else:
        before = spelt[: mentions[0].start] if mentions else ""
    is_whole = len(mentions) == 1 and not spelt[mentions[0].end :] and _is_filler(before)
    return mentions[0].first if is_whole and mentions[0].first == mentions[0].last else None


def period_in(phrase: str, now: datetime, language: Language = "vi", zone: tzinfo | None = None) -> Period | None:
    """The span `phrase` means at `now` (aware): ranges, open spans, hours, parts of a day; None for none. Never
    raises."""
    spelt = normalise(phrase[:MAX_PHRASE_CHARS])
    local = now.astimezone(zone or zone_of(language))
    try:
        return _Phrase(spelt, local).read()
    except (ValueError, OverflowError):  # 31/02, the year 0, 9999 years ago
        return None


def read_moment(text: str, language: Language, *, end: bool = False, zone: tzinfo | None = None) -> datetime | None:
    """An ISO date or time, in `zone` (or the language's) when it names none; with `end` a bare date means its end. None
    when it is neither."""
    written = text.strip()
    try:
        moment = datetime.fromisoformat(written)
        if end and len(written) <= len("2026-11-12"):
            moment += timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone or zone_of(language))


def write_day(moment: date, language: Language) -> str:
    """``12/11/2026`` or ``12 Nov 2026``, of a moment that is already in the person's time zone."""
    return f"{moment:%d/%m/%Y}" if language == "vi" else f"{moment.day} {moment:%b %Y}"


def zone_of(language: Language) -> tzinfo:
    """The time zone a phrase of this language is meant in, where nobody says which."""
    return VIETNAM if language == "vi" else UTC


def flat_of(text: str) -> str:
    """`text` in lower case without diacritics, every character at its old place; “sáu” (six) is ``s6u``."""
    lower = "".join(one if len(one := char.lower()) == 1 else char for char in text)
    return "".join(bare if len(bare := fold(char)) == 1 else char for char in re.sub(r"\bsáu\b", "s6u", lower))


def _written_days(since: datetime, until: datetime, language: Language) -> str:
    last = until - timedelta(days=1)
    first_day, last_day = write_day(since, language), write_day(last, language)
    if last == since:
        return f"ngày {first_day}" if language == "vi" else f"on {first_day}"
    if language == "vi":
        return f"từ ngày {first_day} đến hết ngày {last_day}"
    return f"from {first_day} to the end of {last_day}"


def _is_filler(before: str) -> bool:
    """Whether words before a day say nothing of it: “vào ngày”, “on”."""
    return not before or bool(re.fullmatch(r"(?:(?:vao|ngay|hom|on|luc|the) ?)*", flat_of(before)))


def _found_in(text: str, now: datetime, lean: Lean = "past") -> list[tuple[int, int, Found]]:
    flat = flat_of(text)
    if not _DATE_LIKE.search(flat) or LUNAR.search(flat):
        return []
    lower = "".join(one if len(one := char.lower()) == 1 else char for char in text)
    marks = sorted(
        (
            (mark, RULES[name])
            for said, section in ((flat, "vi"), (lower, "en"))
            for name, pattern in patterns(section)
            for mark in pattern.finditer(said)
            if section == "en" or name not in _SPELLINGS or _SPELLINGS[name].match(lower, mark.start())
        ),
        key=lambda pair: (pair[0].start(), -pair[0].end()),
    )
    found: list[tuple[int, int, Found]] = []
    end = 0
    for mark, rule in marks:
        if mark.start() < end:
            continue
        end = mark.end()
        with suppress(ValueError, OverflowError):
            found.append((mark.start(), end, rule(Said(mark, now, lean))))
    return found


class _Phrase:
    """A phrase that is to mean one span of time."""

    def __init__(self, spelt: str, now: datetime):
        self._spelt, self._now = spelt, now
        self._flat = flat_of(spelt)

    def read(self) -> Period | None:
        """The span; None when the phrase means none."""
        if found := self._clocks() or self._part_of_day() or self._range() or self._open():
            return found
        span = self._span(0, len(self._flat))
        return Period(span.since, span.until) if span else None

    def _span(self, start: int, end: int) -> Found | None:
        """The first time that is named in a part of the phrase."""
        return next((one for _, _, one in _found_in(self._spelt[start:end], self._now)), None)

    def _group(self, match: re.Match[str], name: str) -> Found | None:
        return self._span(*match.span(name))

    def _clocks(self) -> Period | None:
        """``từ 9h đến 10h30 ngày 12/11``, ``từ 2h đến 4h chiều qua``; today when no day is named."""
        match = _CLOCKS.search(self._flat)
        if match is None:
            return None
        rest = self._spelt[: match.start()] + self._spelt[match.end() :]
        day = next((one.since for _, _, one in _found_in(rest, self._now)), self._now)
        midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
        later = 12 if _AFTERNOON.search(flat_of(rest)) else 0
        first, last = (
            midnight + timedelta(hours=hour + (later if hour < 12 else 0), minutes=int(match[f"{name}_minute"] or 0))
            for name in ("first", "last")
            for hour in (int(match[f"{name}_hour"]),)
        )
        return Period(first, last if last > first else last + timedelta(days=1))

    def _part_of_day(self) -> Period | None:
        """``chiều ngày 12/11``, ``sáng thứ hai``; a part of anything but one day is none."""
        match = _PART.search(self._flat)
        day = self._group(match, "day") if match else None
        if match is None or day is None or day.grain != "day" or _FROM_TO.search(f"tu {self._flat}"):
            return None
        start, end = PARTS_OF_DAY[match["part"]]
        return Period(day.since + timedelta(hours=start), day.since + timedelta(hours=end))

    def _range(self) -> Period | None:
        """``từ A đến B``, ``between A and B``, ``A-B``; A may lack what B says (``1-5/3``, ``tháng 1-3/2026``)."""
        for pattern, is_whole in ((_FROM_TO, False), (_DASH, True)):
            if match := pattern.search(self._flat):
                last = self._group(match, "last")
                begins = last and (self._completed(match["first"], last) or self._group(match, "first"))
                if begins and last and begins.since < last.until and (not is_whole or not self._is_date(match)):
                    return Period(begins.since, last.until)
        return None

    def _is_date(self, match: re.Match[str]) -> bool:
        """Whether the dash stands inside one date (``12-11-2026``, ``mid-June``)."""
        return any(start < match.end("first") < end for start, end, _ in _found_in(self._spelt, self._now))

    def _completed(self, first: str, last: Found) -> Found | None:
        """The first end of a range that takes month or year from the last: ``5 đến 12/11``, ``tháng 1-3/2026``."""
        since, first = last.since, first.strip()
        if last.grain == "day" and (match := _BARE_DAY.fullmatch(first)):
            return Found(since.replace(day=int(match["day"])), last.until, "day")
        if last.grain == "month" and (match := _BARE_MONTH.fullmatch(first)):
            month = int(match["month"]) if match["month"] else MONTH_NAMES.get(match["name"], 0)
            return Found(since.replace(month=month), last.until, "month") if month else None
        if last.grain == "year" and (match := _BARE_YEAR.fullmatch(first)):
            return Found(since.replace(year=int(match["year"])), last.until, "year")
        return None

    def _open(self) -> Period | None:
        """``since A`` (until now, where that is over), ``trước A``, ``sau A``, ``đến hết A``."""
        if (match := _SINCE.search(self._flat)) and (first := self._group(match, "first")):
            return Period(first.since, self._now if first.since <= self._now else None)
        if (match := _BEFORE_OR_AFTER.search(self._flat)) and (one := self._group(match, "one")):
            return Period(None, one.since) if match["word"] in ("truoc", "before") else Period(one.until, None)
        if (match := _UNTIL.search(self._flat)) and (last := self._group(match, "last")):
            return Period(None, last.until)
        return None
