"""The form an answer is asked for: “chỉ ghi số”, “in USD, two decimals”, “dd/mm/yyyy”, “a comma-separated list”."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from app.domain.knowledge import Language
from app.reasoning.local.deep.sayings import Saying
from app.text.language import fold

_ASKS_FORM = Saying(
    r"(?:hãy |vui lòng |xin )?(?:chỉ (?:ghi|trả lời|cần|đưa|nêu|viết|cho)|trả lời (?:bằng|dưới dạng|"
    r"theo|ngắn|chỉ|là|đúng)|"
    r"ghi (?:đáp án|đáp số|kết quả|câu trả lời|số|dưới dạng|bằng|theo|rõ|ngày|tên)|làm tròn|đáp (?:án|số) |"
    r"viết (?:đáp án|kết quả|dưới dạng|theo|số|ngày)|"
    r"kết quả (?:ghi|làm tròn|là|dưới|bằng|theo)|định dạng|(?:tính |ghi )?(?:theo )?đơn vị(?: là| tính)?\b)[^?]*",
    r"(?:please )?(?:answer (?:with|in|as|only|just|using)|"
    r"give (?:only|just|(?:me )?(?:the|your) (?:final )?(?:answer|number|amount|result|date)|it|a (?:whole )?number|"
    r"a date|the names?)|just (?:the|give|a)|only (?:the|give|a|state)|express|round(?:ed)?\b|report|format|"
    r"write (?:the|your|only|just|it|a|them)|use (?:the format|dots?|commas?)|state|return|reply|"
    r"as an? (?:integer|whole|"
    r"plain|comma|date|single)|(?:your|the) answer should)[^?]*",
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|\s*\n+\s*|\s*(?=\()|(?<=\))\s*")
_TAIL = Saying(
    r"[,;–-]?\s*(?:(?:kết quả |đáp án )?(?:được )?làm tròn|chỉ ghi|chỉ trả lời|chỉ cần|chỉ nêu|ghi (?:đáp án|kết quả)|"
    r"viết theo dạng|theo định dạng|dạng (?:dd|yyyy|ngày))[^?]*",
    r"[,;–-]\s*(?:rounded|round|to the nearest|in (?:the )?format|as a comma|expressed|"
    r"answer(?:ing)? (?:with|in)|written as"
    r"|formatted|to (?:one|two|three|1|2|3) decimals?)[^?]*",
    starts=False,
)
_PLACES = Saying(
    r"(?P<n>\d+|một|hai|ba|bốn|one|two|three|four)[- ](?:chữ số (?:thập phân|sau dấu phẩy|lẻ)|số lẻ|số thập phân|"
    r"chữ số|decimals?(?: places?| digits)?)"
)
_WORDS = {"một": 1, "mot": 1, "hai": 2, "ba": 3, "bốn": 4, "bon": 4, "one": 1, "two": 2, "three": 3, "four": 4}
_WHOLE = Saying(
    "số nguyên",
    "làm tròn đến (?:hàng )?đơn vị",
    "làm tròn đến đồng",
    "whole number",
    "integer",
    r"nearest (?:whole|unit|integer|dollar|pound|dong|day|hour|đồng|vnd|euro|minute|km|kilometre|kilometer|percent)",
    "không (?:có )?(?:phần |số )?(?:lẻ|thập phân)",
    "no decimals?",
)
_NEAREST: tuple[tuple[int, Saying], ...] = (
    (3, Saying(r"(?:làm tròn|tròn) (?:đến |tới )?(?:hàng )?(?:nghìn|ngàn)", "nearest thousand")),
    (6, Saying(r"(?:làm tròn|tròn) (?:đến |tới )?(?:hàng )?triệu", "nearest million")),
    (2, Saying(r"(?:làm tròn|tròn) (?:đến |tới )?(?:hàng )?trăm", "nearest hundred")),
    (1, Saying(r"(?:làm tròn|tròn) (?:đến |tới )?(?:hàng )?chục", "nearest ten")),
)
_SCALED: tuple[tuple[int, Saying], ...] = (
    (
        3,
        Saying(
            "(?:đơn vị|bằng|theo|tính bằng|ghi bằng|số) (?:là |tính |tính bằng )?(?:nghìn|ngàn)(?: đồng)?",
            "in thousands?(?: of)?",
        ),
    ),
    (
        6,
        Saying(
            "(?:đơn vị|bằng|theo|tính bằng|ghi bằng|số) (?:là |tính |tính bằng )?triệu(?: đồng)?",
            "in millions?(?: of)?",
        ),
    ),
)
_BARE = Saying(
    r"chỉ (?:ghi |trả lời (?:bằng )?|cần |đưa (?:ra )?|nêu |viết |cho )?(?:một |con |đúng |duy nhất )*số(?! tiền)",
    "không (?:kèm|ghi|cần) (?:theo )?đơn vị",
    r"(?:only|just) (?:the|a) number",
    "without (?:the )?units?",
    "no units?",
    "plain number",
    "as an? (?:integer|number|whole number)",
    "number only",
)
_WITH_UNIT = Saying(
    "(?:kèm|có|cả|ghi rõ) (?:theo )?đơn vị", "(?:with|including|include) (?:the |its )?(?:unit|currency)"
)
_LIST = Saying(
    "(?:cách nhau|phân cách|ngăn cách)(?: nhau)? (?:bằng|bởi) (?:dấu )?phẩy",
    "danh sách",
    "comma[- ]separated",
    "as a list",
    "separated by commas?",
)
_DAY_FORMS: tuple[tuple[str, Saying], ...] = (
    ("%Y-%m-%d", Saying("yyyy[-/.]mm[-/.]dd", "năm[-/]tháng[-/]ngày", "iso(?: 8601)?", "year-month-day")),
    ("%d/%m/%Y", Saying("dd/mm/(?:yyyy|yy)", "ngày/tháng/năm", "day/month/year", "d/m/yyyy")),
    ("%m/%d/%Y", Saying("mm/dd/yyyy", "month/day/year")),
    ("%d-%m-%Y", Saying("dd-mm-yyyy", "ngày-tháng-năm")),
    ("%d.%m.%Y", Saying("dd.mm.yyyy")),
)
_WRITTEN_DAY = Saying(r"(?:as|like|e\.g\.,?|for example,?) [\"“']?\d{1,2} [A-Z][a-z]+(?: \d{4})?", "day month year")
_ALPHABETICAL = Saying("(?:theo )?(?:thứ tự )?(?:bảng chữ cái|abc|alphabet)", "alphabetical(?:ly)?(?: order)?")


@dataclass(frozen=True, slots=True)
class Form:
    """How the answer shall be written."""

    words: str = ""
    """As the question says it; empty = not at all."""
    places: int | None = None
    nearest: int = 0
    """Power of ten it is rounded to."""
    scale: int = 0
    """Power of ten it is divided by: 3 for thousands."""
    is_bare: bool = False
    """A number and nothing beside it."""
    with_unit: bool = False
    is_list: bool = False
    is_alphabetical: bool = False
    day: str = ""
    """`strftime` of a date; ``written`` for ``1 March 2026``."""


def split_form(question: str) -> tuple[str, Form]:
    """The question without what it says about the form of the answer, and that form."""
    core, told = list[str](), list[str]()
    for piece in _SENTENCE.split(question):
        bare = piece.strip(" ()")
        mark = _ASKS_FORM.match(bare)
        if mark and (core or "?" not in bare) and len(question) > len(piece) + 10:
            told.append(bare[: mark.end()].strip(" ."))
            if rest := bare[mark.end() :].strip(" ."):
                core.append(rest)
            continue
        core.append(piece.strip())
    text = " ".join(piece for piece in core if piece)
    tail = _TAIL.search(text)
    if tail and tail.start() > len(text) / 3:
        told.append(tail[0].strip(" ,;–-."))
        text = f"{text[: tail.start()]}{text[tail.end() :]}".strip()
    return text or question, read_form("; ".join(told))


def read_form(words: str) -> Form:
    """What the words ask for."""
    if not words:
        return Form()
    places = _PLACES.search(words)
    day = next((form for form, saying in _DAY_FORMS if words in saying), "")
    return Form(
        words=words,
        places=_number(places["n"]) if places else 0 if words in _WHOLE else None,
        nearest=next((power for power, saying in _NEAREST if words in saying), 0),
        scale=next((power for power, saying in _SCALED if words in saying), 0),
        is_bare=words in _BARE,
        with_unit=words in _WITH_UNIT,
        is_list=words in _LIST,
        is_alphabetical=words in _ALPHABETICAL,
        day=day or ("written" if words in _WRITTEN_DAY else ""),
    )


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _WORDS.get(word.lower(), 0)


def bare_number(value: Fraction, form: Form, unit: str) -> str:
    """The number alone, as exact-match scoring compares it: ``150000``, ``16.5``; money as its currency is counted."""
    scaled = value / 10**form.scale if form.scale else value
    if form.nearest:
        step = 10**form.nearest
        return str(int(_rounded(scaled / step, 0)) * step)
    places = form.places
    if places is None:
        places = 0 if unit == "VND" and not form.scale else 2
        shown = _rounded(scaled, places)
        text = format(shown, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return format(_rounded(scaled, places), "f")


def _rounded(value: Fraction, places: int) -> Decimal:
    exact = value * 10**places
    whole = int(exact + Fraction(1, 2)) if exact >= 0 else -int(-exact + Fraction(1, 2))
    return Decimal(whole).scaleb(-places).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def written_day(day: date, form: Form, language: Language) -> str:
    """A date as asked for; else day first in Vietnamese and ISO in English."""
    if form.day == "written":
        return f"{day.day} {day:%B %Y}"
    return day.strftime(form.day or ("%d/%m/%Y" if language == "vi" else "%Y-%m-%d"))


_WEEKDAYS: dict[Language, tuple[str, ...]] = {
    "vi": ("Thứ Hai", "Thứ Ba", "Thứ Tư", "Thứ Năm", "Thứ Sáu", "Thứ Bảy", "Chủ nhật"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}


def weekday_of(text: str, language: Language) -> str:
    """The day of the week of an ISO date; empty for any other text."""
    try:
        return _WEEKDAYS[language][date.fromisoformat(text.strip()[:10]).weekday()]
    except ValueError:
        return ""


def joined(items: list[str], form: Form) -> str:
    """A comma separated list."""
    ordered = sorted(items, key=lambda item: fold(item).casefold()) if form.is_alphabetical else items
    return ", ".join(ordered)


_UNITS: dict[str, tuple[str, str, str]] = {
    "day": ("ngày", "day", "days"), "night": ("đêm", "night", "nights"), "hour": ("giờ", "hour", "hours"),
    "minute": ("phút", "minute", "minutes"), "week": ("tuần", "week", "weeks"), "month": ("tháng", "month", "months"),
    "year": ("năm", "year", "years"), "time": ("lần", "time", "times"), "person": ("người", "person", "people"),
    "second": ("giây", "second", "seconds"), "km": ("km", "km", "km"), "mile": ("dặm", "mile", "miles"),
    "character": ("ký tự", "character", "characters"), "point": ("điểm", "point", "points"),
}  # fmt: skip
_SIGNS = {"GBP": "£", "USD": "$", "EUR": "€", "CAD": "C$"}


def amount_told(value: Fraction, unit: str, language: Language, *, noun: str = "") -> str:
    """A value for people: ``150.000 đồng``, ``£42.50``, ``16,5 ngày``."""
    places = 0 if unit == "VND" else 2
    shown = _rounded(value, places)
    text = f"{shown:,.{places}f}"
    if unit not in _SIGNS and "." in text:
        text = text.rstrip("0").rstrip(".")
    if language == "vi":
        text = text.translate(str.maketrans(",.", ".,"))
    if unit == "VND":
        return f"{text} {'đồng' if language == 'vi' else 'VND'}"
    if unit in _SIGNS:
        return f"{_SIGNS[unit]}{text}"
    if unit == "%":
        return f"{text}%"
    words = _UNITS.get(unit)
    word = noun if words is None else words[0] if language == "vi" else words[1] if value == 1 else words[2]
    return f"{text} {word}".strip()
