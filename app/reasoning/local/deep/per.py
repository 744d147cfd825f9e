"""Reading what a rate is for: “mỗi lần”, “a night”, “/km”, “từ lần thứ 3”, “the first two hours are free”."""

import re
from decimal import Decimal

from app.reasoning.local.glossary import stem

_UNIT_WORDS = {
    "lần": "time", "lượt": "time", "ngày": "day", "đêm": "night", "giờ": "hour", "tiếng": "hour", "phút": "minute",
    "tuần": "week", "tháng": "month", "năm": "year", "km": "km", "người": "person", "dặm": "mile", "kwh": "kwh",
    "time": "time", "times": "time", "occasion": "time", "day": "day", "days": "day", "night": "night",
    "nights": "night",
    "hour": "hour", "hours": "hour", "minute": "minute", "minutes": "minute", "week": "week", "weeks": "week",
    "month": "month", "months": "month", "year": "year", "years": "year", "annum": "year", "kilometre": "km",
    "kilometer": "km", "mile": "mile", "miles": "mile", "person": "person", "people": "person", "head": "person",
    "quý": "quarter", "quarter": "quarter", "kỳ": "period", "period": "period",
}  # fmt: skip
_NOUN = r"(?P<noun>[^\W\d_][^\s,.;:()|]*(?:\s[^\W\d_][^\s,.;:()|]*){0,3})"
_BEHIND = re.compile(
    rf"^\s*(?:(?:[^\W\d]+\s){{1,3}}(?=cho (?:một|mỗi)\s|mỗi\s|per\s|for (?:each|every)\s|"
    rf"each\s))?(?:VND\s*|VAT\s*|tiền mặt\s*|extra\s*|thêm\s*|cash\s*|gross\s*)?"
    rf"(?:/|(?:cho )?(?:một|mỗi)\s(?!phần)|cho (?:một|mỗi|từng)\s|per\s|an?\s|each\s|every\s|for (?:each|"
    rf"every)\s)(?:started |"
    rf"completed |full |late |working |additional |further |extra |subsequent |)\s*{_NOUN}",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"(?:^|[\s(])(?:cứ mỗi|mỗi|từng|for each|for every|each|every|per)\s(?:một |additional |further |"
    rf"completed |subsequent |extra )?{_NOUN}"
    r"(?=[^.;|]*$)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    rf"(?:một|mỗi|/|\ban?\b|\bper\b|\beach\b|\bdaily\b|\bnightly\b|hằng|hàng|theo)\s*{_NOUN}", re.IGNORECASE
)
_DAILY = {"daily": "day", "nightly": "night", "hourly": "hour", "weekly": "week", "monthly": "month"}
_ORDINALS = {
    "nhất": 1, "hai": 2, "ba": 3, "tư": 4, "bốn": 4, "năm": 5, "sáu": 6, "bảy": 7, "tám": 8, "chín": 9, "mười": 10,
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip
_NTH = "|".join(_ORDINALS)
_FROM_NTH = re.compile(
    rf"(?:kể )?từ (?:lần|giờ|ngày|đêm|người|lượt|tháng|km|con|năm|tuần|"
    rf"phút)(?: [^\W\d]+)? (?:thứ )?(?P<vi>\d+|{_NTH})(?!\w)"
    rf"|(?:from|starting (?:with|from|at)|beginning with|as of|with) the (?P<en>{_NTH}|\d+(?:st|nd|rd|th))(?!\w)(?! of)"
    rf"|the (?P<on>{_NTH}|\d+(?:st|nd|rd|th))[^.;,]{{0,30}} (?:onwards?|and (?:each|every|all|any|"
    rf"further|later|subsequent))",
    re.IGNORECASE,
)
_SMALL = {
    "một": 1, "hai": 2, "ba": 3, "bốn": 4, "năm": 5, "sáu": 6, "one": 1, "two": 2, "three": 3, "four": 4,
    "five": 5, "six": 6,
    "ten": 10, "mười": 10,
}  # fmt: skip
_COUNT = rf"(?P<n>\d+(?:[.,]\d+)*|{'|'.join(_SMALL)})"
_UNIT = rf"(?:{'|'.join(sorted(_UNIT_WORDS, key=len, reverse=True))})"
_FREE = re.compile(
    rf"(?:miễn phí|không tính phí|không khấu trừ|không bị trừ)(?: [^\W\d]+)? {_COUNT} [^\W\d]+ đầu"
    rf"|{_COUNT.replace('?P<n>', '?P<n2>')} [^\W\d]+ đầu(?: tiên)?[^.;,]{{0,20}}(?:miễn phí|không tính|"
    rf"không bị|không khấu)"
    rf"|(?:the )?first {_COUNT.replace('?P<n>', '?P<n3>')} [^\W\d]+[^.;,]{{0,30}}(?:free|not (?:charged|"
    rf"counted|deducted)|without)"
    rf"|free for the first {_COUNT.replace('?P<n>', '?P<n4>')}",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    rf"(?:mỗi|each|every|per|for each|for every|cho mỗi) [^.;,\d]{{0,40}}?(?:vượt quá|vượt|quá|trên|"
    rf"ngoài|above|beyond|over|after|more than|"
    rf"in excess of|exceeding)\s(?:the first |hạn mức |mức )?{_COUNT}\s?{_UNIT}"
    rf"|(?:beyond|above|in excess of|after) the first {_COUNT.replace('?P<n>', '?P<n2>')}"
    rf"|(?:sau|ngoài|quá) {_COUNT.replace('?P<n>', '?P<n3>')} {_UNIT} đầu",
    re.IGNORECASE,
)


def unit_of_word(word: str) -> str:
    """``day`` for “ngày”; the stem of any other word."""
    low = word.lower()
    return _UNIT_WORDS.get(low) or _UNIT_WORDS.get(stem(low)) or stem(low)


def unit_of_noun(noun: str) -> str:
    """The unit a noun phrase begins or ends with, else its words."""
    words = noun.lower().split()
    if not words:
        return ""
    if words[0] in _UNIT_WORDS:
        return _UNIT_WORDS[words[0]]
    if words[0] in _DAILY:
        return _DAILY[words[0]]
    if len(words) > 1 and words[0].isascii() and words[1] in _UNIT_WORDS:
        return _UNIT_WORDS[words[1]]  # per teaching hour
    return " ".join(words)


def per_of(text: str, start: int, end: int) -> str:
    """What the amount at a place is per; of a header (an empty place at its end) what the column is per."""
    if start == end == len(text):
        mark = _HEADER.search(text)
        daily = re.search(r"\b(daily|nightly|hourly|weekly|monthly)\b", text, re.IGNORECASE)
        return _DAILY[daily[1].lower()] if daily else unit_of_noun(mark["noun"]) if mark else ""
    behind = _BEHIND.match(text[end:])
    if behind:
        return unit_of_noun(behind["noun"])
    part = re.split(r"[.;|](?:\s|$)", text[:start])[-1]
    marks = [mark for mark in _BEFORE.finditer(part) if not re.search(r"\d", mark["noun"])]
    if not marks or len(re.findall(r"\d[\d.,]*\s?(?:đồng|VND|%|£|\$)", part[marks[-1].end() :])):
        return ""
    return unit_of_noun(marks[-1]["noun"])


_MANY = re.compile(
    r"^\s*(?:per|for (?:each|every)|cho (?:mỗi )?|mỗi|một|"
    r"/)\s*(?P<n>\d+(?:[.,]\d+)*)\s?(?P<unit>[^\W\d_]+)",
    re.IGNORECASE,
)


def per_many(behind: str) -> tuple[str, Decimal]:
    """Unit and number of “per 1,000 km”; no unit where a rate is for one."""
    mark = _MANY.match(behind)
    if not mark:
        return "", Decimal(1)
    return unit_of_word(mark["unit"]), Decimal(re.sub(r"[.,](?=\d{3}\b)", "", mark["n"]).replace(",", "."))


def counted_from(text: str, kind: str) -> int:
    """From which one on a rate counts: 3 in “từ lần thứ 3”; 0 where every one does."""
    if kind in ("time",):
        return 0
    mark = _FROM_NTH.search(text)
    if not mark:
        return 0
    word = (mark["vi"] or mark["en"] or mark["on"]).lower()
    return _ORDINALS.get(word) or int(re.sub(r"\D", "", word) or 0)


def free_before(text: str) -> Decimal:
    """How much is free before a rate counts."""
    mark = _FREE.search(text) or _BEYOND.search(text)
    if not mark:
        return Decimal(0)
    word = next(value for name, value in mark.groupdict().items() if name.startswith("n") and value).lower()
    if word in _SMALL:
        return Decimal(_SMALL[word])
    digits = re.sub(r"[.,](?=\d{3}\b)", "", word).replace(",", ".")
    return Decimal(digits)
