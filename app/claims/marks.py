"""Values that are no amounts: rooms, floors, forms, extensions, addresses, weekdays, how often, how many of a thing."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.claims.record import CUES
from app.text.amounts import COUNTS_ONE, UNIT_WORDS
from app.text.language import fold
from app.text.numbers import Number, numbers_in, plain, read_number

EMAIL, LINK, CHANNEL, CODE, WEEKDAY, YEAR, FREQUENCY, COUNT = (
    "email", "link", "channel", "code", "weekday", "calendar year", "frequency", "count of ",
)  # fmt: skip
_NUMBERED: dict[str, list[str]] = CUES["numbered"]
_THINGS = {fold(spelling): unit for unit, listed in _NUMBERED.items() for spelling in listed}
_CALLED = "|".join(sorted((spelling for listed in _NUMBERED.values() for spelling in listed), key=len, reverse=True))
_ORDINALS = ("ground", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NGAY = ("hai", "ba", "tư", "năm", "sáu", "bảy")
_PERIODS = {
    "day": "day ngày", "week": "week tuần", "month": "month tháng", "quarter": "quarter quý", "year": "year năm",
}  # fmt: skip
_PERIOD_OF = {fold(word): unit for unit, listed in _PERIODS.items() for word in listed.split()}
_EVERY = "day|week|month|quarter|year|ngày|tuần|tháng|quý|năm"
_ADVERBS = {
    "daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year", "annually": "year",
    "annual": "year",
}  # fmt: skip
_OFTEN = {"once": 1, "twice": 2, "một lần": 1, "hai lần": 2, "ba lần": 3}
_MARK = re.compile(
    r"(?P<email>[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<link>https?://[^\s)>\]]+)"
    r"|(?<![\w#])(?P<channel>#[A-Za-z][\w-]{1,60})"
    rf"|\b(?P<thing>{_CALLED})\s(?:(?:số|no\.?|number)\s)?"
    r"(?P<name>[A-ZĐ]{1,4}-?\d{1,5}[A-Z]?\b|\d{1,5}[A-Z]?\b|[A-Z]\b)"
    r"|\b(?P<nth>\d{1,2}(?:st|nd|rd|th)|" + "|".join(_ORDINALS) + r")\s(?P<storey>floor|level)\b"
    r"|\b(?P<cellar>basement|tầng hầm|tầng trệt)\b"
    r"|\b(?P<code>[A-ZĐ]{2,6}-\d{1,6}[A-Z]?)\b"
    rf"|\b(?P<weekday>{'|'.join(_DAYS)})s?\b|\bthứ\s(?P<thu>{'|'.join(_NGAY)}|[2-7])\b|\b(?P<sunday>chủ nhật)\b"
    rf"|\b(?P<often>once|twice|(?:một|hai|ba)\slần)\s(?:a|an|per|each|every|mỗi|một)\s(?P<per>{_EVERY})\b"
    rf"|\b(?:every|mỗi|sau\smỗi|cứ)\s(?P<many>\d{{1,3}}|(?!(?:{_EVERY})\b)[^\W\d_]+(?:[\s-][^\W\d_]+)?)\s(?P<span>(?:{_EVERY})s?)\b"
    rf"|\b(?:hằng|hàng|each|every|mỗi)\s(?P<each>{_EVERY})\b"
    rf"|\b(?P<adverb>{'|'.join(_ADVERBS)})\b"
    r"|(?<![\w.,/£$€])(?P<year>1[5-9]\d\d|20\d\d)(?!\w|,\d|[-./]\d)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\s([^\W\d_]+)")
_NOT_COUNTING = re.compile(r"[\w.,/£$€-]")
"""Right before digits that belong to something longer."""
_MOST_COUNTED = 10_000
_FUNCTION_WORDS = """
    of in on at to and or for the per by is are was la va den toi cua trong thi hang moi tieng working business calendar
    more
    """
_NO_THING = frozenset(_FUNCTION_WORDS.split())


class Mark(NamedTuple):
    """A value with its kind, where it stands in the text."""

    unit: str
    """``room floor … email channel weekday frequency``, or ``count of `` something."""
    value: str
    start: int
    end: int


def marks_in(text: str) -> Iterator[Mark]:
    """All marks of `text` in order; `text` is one sentence or cell."""
    found: list[Mark] = []
    taken: list[tuple[int, int]] = []
    for match in _MARK.finditer(text):
        taken.append(match.span())
        if read := _address(match) or _place(match) or _day(match) or _frequency(match):
            found.append(Mark(*read, *match.span()))
    for number in numbers_in(text):
        if not any(start < number.end and number.start < end for start, end in taken):
            found += _count(text, number)
    yield from sorted(found, key=lambda mark: mark.start)


def _address(match: re.Match[str]) -> tuple[str, str] | None:
    for unit in (EMAIL, LINK, CHANNEL, CODE):
        if match[unit]:
            return unit, match[unit].lower().rstrip(".,;:/")
    return None


def _place(match: re.Match[str]) -> tuple[str, str] | None:
    if match["thing"]:
        is_name = match["name"][0].isdigit() or match["name"][0].isupper()
        unit = _THINGS[fold(match["thing"].lower())]
        return (unit, match["name"].lower()) if is_name else None
    if match["nth"]:
        nth = match["nth"].lower()
        return "floor", str(_ORDINALS.index(nth)) if nth in _ORDINALS else nth[:-2]
    if match["cellar"]:
        return "floor", "0" if "trệt" in match["cellar"].lower() else "basement"
    return None


def _day(match: re.Match[str]) -> tuple[str, str] | None:
    if match["year"]:
        return YEAR, match["year"]
    if match["weekday"]:
        return WEEKDAY, match["weekday"].lower()
    if match["thu"]:
        thu = match["thu"].lower()
        return WEEKDAY, _DAYS[int(thu) - 2 if thu.isdigit() else _NGAY.index(thu)]
    return (WEEKDAY, "sunday") if match["sunday"] else None


def _frequency(match: re.Match[str]) -> tuple[str, str] | None:
    """As ``times/period``: ``2/year``, ``1/2 week``."""
    if match["often"]:
        return FREQUENCY, f"{_OFTEN[match['often'].lower()]}/{_PERIOD_OF[fold(match['per'].lower())]}"
    if match["many"]:
        read = read_number(match["many"], "vi") or read_number(match["many"], "en")
        many = plain(read) if read else ""
        period = _PERIOD_OF[fold(match["span"].lower()).removesuffix("s")]
        return FREQUENCY, f"1/{period}" if many == "1" else f"1/{many} {period}"
    if match["each"]:
        return FREQUENCY, f"1/{_PERIOD_OF[fold(match['each'].lower())]}"
    return (FREQUENCY, f"1/{_ADVERBS[match['adverb'].lower()]}") if match["adverb"] else None


def _count(text: str, number: Number) -> Iterator[Mark]:
    written, counted = text[number.start : number.end], _COUNTED.match(text, number.end)
    before = text[max(0, number.start - 8) : number.start]
    if counted is None or number.is_share or not 0 < number.exact < _MOST_COUNTED or _NOT_COUNTING.match(before[-1:]):
        return
    noun = fold(counted[1]).lower().removesuffix("s")
    is_article = written.lower() == "một" and not COUNTS_ONE.search(before)
    if not is_article and noun not in _NO_THING and noun not in UNIT_WORDS and f"{noun}s" not in UNIT_WORDS:
        yield Mark(f"{COUNT}{noun}", plain(number.value), number.start, counted.end())
