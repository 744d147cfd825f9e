"""Questions the calendar or a table of units answers: working days between two days, “100 °F là bao nhiêu độ C”.

A question is one of the forms of the cues or it is not: “nghỉ phép được bao nhiêu ngày” asks for a policy, and “12 ngày
phép là bao nhiêu tiền” is no conversion, for its units measure different things. Days that are fully named come out as
ISO dates, others as they were said: only the calendar knows what day it is today.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache, lru_cache

from app.domain.plan import UNIT_TOOL
from app.reasoning.local.sums import Reckoning
from app.reasoning.local.wording import alternatives, named_lines, named_patterns
from app.text.dates import date_in, dates_in
from app.text.language import fold, normalise

_MAX_CHARS = 200
_UNITS = {"ngay": "days", "tuan": "weeks", "thang": "months", "nam": "years"}
_TODAY = "hôm nay"
_WORDS = r"[^\s\d?!.,][^\d?!,]{0,30}?(?:(?<=m)[23])?"
"""What may be a unit, the shortest first; whether it is one is looked up."""
_SLOTS = {
    "D": f"({alternatives('date_questions.day', __package__)}|{alternatives('date_questions.relative', __package__)})",
    "R": f"({alternatives('date_questions.relative', __package__)})",
    "Y": f"({alternatives('date_questions.month', __package__)})",
    "N": r"(\d{1,5})",
    "U": "(ngay|tuan|thang|nam|days?|weeks?|months?|years?)",
    "W": f"(?:{alternatives('date_questions.working', __package__)})",
    "L": f"(?:{alternatives('date_questions.which', __package__)})",
    "M": "(?:bao nhieu|may)",
    "Q": rf"(?P<number>-?\d+(?:[.,]\d+)*(?!\d)) ?(?P<unit>{_WORDS})",
    "X": f"(?P<target>{_WORDS})",
}
_SLOT = re.compile(r"(?<![a-zA-Z\\])[DRYNUWLMQX](?![a-zA-Z])")
_LEAD = rf"(?:(?:{alternatives('reckoning.lead')})[ ,:]+){{0,4}}"
_TAIL = rf"(?: (?:{alternatives('reckoning.tail')})){{0,4}}[ ?!.=,]*"
_KINDS = named_patterns("measure_questions.unit", __package__)
_INCLUSIVE = re.compile(alternatives("date_questions.inclusive", __package__))
_BEFORE = re.compile(r"\b(?:truoc|before)\b")
_SOME_DAY, _ANOTHER_DAY = date(2001, 1, 1), date(2012, 6, 6)
"""What both read alike does not depend on today."""


@cache
def _forms() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Every form a question may have, by name; compiled at the first question, for that takes a quarter of a second."""
    return tuple(
        (name, re.compile(rf"{_LEAD}(?:{_SLOT.sub(lambda mark: _SLOTS[mark[0]], written)}){_TAIL}"))
        for name, written in (
            *named_lines("date_questions.form", __package__),
            *named_lines("measure_questions.form", __package__),
        )
    )


@lru_cache(maxsize=512)
def measure_or_day_asked(query: str) -> Reckoning | None:
    """What a question asks of the calendar or a table of units; None when it asks anything else as well."""
    text = normalise(query)
    said = fold(text).lower()
    if len(text) > _MAX_CHARS or len(said) != len(text):
        return None
    bare = _INCLUSIVE.sub("", said)
    for name, form in _forms():
        match = form.fullmatch(bare)
        if match and "unit" not in form.groupindex:
            found = [group for group in match.groups() if group]
            tool, values = _day(name, found, bare, is_inclusive=bare != said)
            return Reckoning((tool,), values, tuple(found))
        if match and bare == said and (conversion := _conversion(name, match, text)):
            return conversion
    return None


def _conversion(name: str, match: re.Match[str], text: str) -> Reckoning | None:
    """An amount in another unit of the same kind, or of any kind where it is an order, which the tool refuses;
    “1 tuần được mấy ngày” asks what is allowed."""
    number, unit, target = (text[slice(*match.span(group))].strip() for group in ("number", "unit", "target"))
    kind, wanted = _kind_of_unit(unit), _kind_of_unit(target)
    if not kind or not wanted or (wanted != kind and name != "order") or (name == "has" and kind == "time"):
        return None
    values = {"value": number, "from_unit": unit, "to_unit": target}
    return Reckoning(("convert", UNIT_TOOL), values, (f"{number} {unit}", target))


def _kind_of_unit(written: str) -> str:
    said = fold(written).lower()
    return next((kind for kind, spelling in _KINDS if spelling.fullmatch(said)), "")


def _day(name: str, found: Sequence[str], said: str, *, is_inclusive: bool) -> tuple[str, Mapping[str, str]]:
    """What the calendar is to do, and with what."""
    match name.split()[0]:
        case "working":
            return "working_days", _span(*found)
        case "month":
            return "working_days", _whole_month(found[0])
        case "days":
            return "difference", _span(*found) | {"inclusive": str(is_inclusive).lower()}
        case "until":
            return "difference", {"start": _TODAY, "end": _iso(found[0])}
        case "since":
            return "difference", {"start": _iso(found[0]), "end": _TODAY}
        case "shift":
            return _shift(name, found, said)
        case "weekday" if found[0] not in ("hom nay", "today"):
            return "weekday", {"date": _iso(found[0])}
        case "parse":
            return "parse", {"text": found[0]}
        case _:
            return "today", {"date": _iso(found[0])} if found else {}


def _shift(name: str, found: Sequence[str], said: str) -> tuple[str, Mapping[str, str]]:
    """A day moved on or back; the day stands on either side of the amount."""
    amount = next(piece for piece in found if piece.isdigit())
    rest = [piece for piece in found if piece != amount]
    units = [piece for piece in rest if piece in _UNITS or piece.rstrip("s") in ("day", "week", "month", "year")]
    days = [piece for piece in rest if piece not in units]
    start = _iso(days[0]) if days else _TODAY
    signed = f"-{amount}" if _BEFORE.search(said) else amount
    if name.endswith("working"):
        return "add_working_days", {"start": start, "days": signed}
    return "add", {"start": start, "amount": signed, "unit": _UNITS.get(units[0], f"{units[0].rstrip('s')}s")}


def _span(start: str, end: str) -> dict[str, str]:
    """Both days; one without a year is of the year that puts them in order."""
    first, last = _dated(start), _dated(end)
    if last and not first and (near := date_in(start, last)):
        first = near if near <= last else date_in(start, last.replace(year=last.year - 1, day=1))
    elif first and not last and (near := date_in(end, first)):
        last = near if near >= first else date_in(end, first.replace(year=first.year + 1, day=1))
    return {"start": first.isoformat() if first else start, "end": last.isoformat() if last else end}


def _iso(said: str) -> str:
    day = _dated(said)
    return day.isoformat() if day else said


def _dated(said: str) -> date | None:
    """The day that words name whatever day today is; None of “hôm nay”, a day without a year and one that is none."""
    day = date_in(said, _SOME_DAY)
    return day if day == date_in(said, _ANOTHER_DAY) else None


def _whole_month(said: str) -> dict[str, str]:
    month = next(iter(dates_in(said, _SOME_DAY)), None)
    return {"start": month.first.isoformat(), "end": month.last.isoformat()} if month else {"start": said, "end": said}
