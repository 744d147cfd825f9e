"""Sums, conversions and days that a question states by itself, by the rules of the department flow."""

import re

from app.domain.plan import MATH_TOOL, UNIT_TOOL
from app.reasoning.local.deep.inquiry import Inquiry, in_digits
from app.reasoning.local.deep.puzzles.solution import ResultKind, Solution
from app.reasoning.local.measure_questions import measure_asked
from app.reasoning.local.reckoning import Reckoning, sum_of
from app.reasoning.local.reckoning_asked import reckoning_asked

_MOST_CHARS = 250

_DATES = {"add": "date", "add_working_days": "date", "today": "date", "parse": "date", "weekday": "text"}


def own_solution(inquiry: Inquiry) -> Solution | None:
    """The tool call of a question that names all its operands; None for any other."""
    text = in_digits(inquiry)
    asked = reckoning_asked(inquiry.text) or _converted(inquiry.text) or _held_in(text)
    if asked is None and text != inquiry.text:
        asked = measure_asked(text)
    if asked is None or asked.missing:
        return None
    if asked.expression:
        arguments = (
            ("expression", asked.expression),
            *((("unit", asked.values["unit"]),) if asked.values.get("unit") else ()),
        )
        return Solution(
            MATH_TOOL, asked.expression, arguments, "number", asked.values.get("unit", ""), asked.expression
        )
    own = asked.types[0]
    if UNIT_TOOL in asked.types:
        return Solution(UNIT_TOOL, inquiry.text, tuple(asked.values.items()), "number", "", inquiry.text)
    asks_weekday = own == "weekday" or _WEEKDAY.search(inquiry.text) is not None
    kind: ResultKind = "text" if asks_weekday else "date" if _DATES.get(own) == "date" else "number"
    unit = "day" if own in ("difference", "working_days") else ""
    return Solution(f"date.{own}", inquiry.text, tuple(asked.values.items()), kind, unit, inquiry.text)


_WEEKDAY = re.compile(r"thứ mấy|thu may|day of the week|which weekday|what weekday", re.IGNORECASE)
_TARGET = re.compile(
    r"(?:what is (?:that|this|it)|how (?:much|many|fast|far|long|heavy|hot|tall|high) is (?:that|this|"
    r"it)|(?:tức )?là bao nhiêu|tương đương (?:với )?bao nhiêu|bằng bao nhiêu|express(?:ed)?|give (?:it|"
    r"this|that)|"
    r"convert (?:it|this|that)?|đổi ra|quy ra|là)\s*(?:in|into|to|sang|ra|"
    r"as)?\s*(?P<unit>[^\d?.,]{1,30}?)\s*(?:\?|,|\.|$)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?<![\w.,])(?P<n>-?\d+(?:[.,]\d+)*)\s?(?P<unit>km/h|km/giờ|mph|m/s|°\s?[CF]|kilomet\w*|km|miles?|"
    r"dặm|kg|pounds?|lbs?|ounces?|oz|feet|foot|ft|inch(?:es)?|cm|mm|metres?|meters?|mét|m|litres?|"
    r"liters?|lít|gallons?|hectares?|ha|acres?|tấn|tạ|yến|tonnes?|tons?|grams?|gam|g|hours?|giờ|minutes?|"
    r"phút|days?|ngày|độ [CF])(?!\w)",
    re.IGNORECASE,
)


_HELD_IN = re.compile(
    r"(?:how many|bao nhiêu|mấy)\s(?P<u>[^\W\d_]+)\s(?:are there in|are in|in|make up|trong|"
    r"có trong)\s(?P<n>\d+(?:[.,]\d+)?)\s(?P<v>[^\W\d_]+)\s*\?",
    re.IGNORECASE,
)


def _held_in(text: str) -> Reckoning | None:
    """“How many minutes are there in 2.5 days?”."""
    mark = _HELD_IN.search(text)
    if not mark:
        return None
    above, below = _SECONDS.get(_stem(mark["v"])), _SECONDS.get(_stem(mark["u"]))
    number = mark["n"].replace(",", ".")
    if above and below and above >= below and above % below == 0:
        return sum_of(f"{number} * {above // below}", (mark[0],), is_stated=False)
    return measure_asked(f"convert {mark['n']} {mark['v']} to {mark['u']}")


_SECONDS = {
    "second": 1, "giây": 1, "minute": 60, "phút": 60, "hour": 3600, "giờ": 3600, "day": 86400, "ngày": 86400,
    "week": 604800, "tuần": 604800,
}  # fmt: skip


def _stem(word: str) -> str:
    return word.lower().rstrip("s") if word.isascii() else word.lower()


def _converted(text: str) -> Reckoning | None:
    """“A van drives at 90 km/h. What is that in miles per hour?”: one amount and the unit it is wanted in."""
    amounts, target = list(_AMOUNT.finditer(text)), _TARGET.search(text)
    if len(amounts) != 1 or target is None or len(text) > _MOST_CHARS:
        return None
    return measure_asked(f"convert {amounts[0]['n']} {amounts[0]['unit']} to {target['unit'].strip()}")
