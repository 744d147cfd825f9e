"""What a question gives: its amounts with what each counts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache

from app.domain.knowledge import Language
from app.reasoning.local.deep.days import days_in
from app.reasoning.local.deep.sayings import Saying, words_of
from app.reasoning.local.number_words import spelt_numbers
from app.reasoning.local.numbers import Amount, amounts_in
from app.reasoning.local.terms import Bag, bag_of
from app.text.language import fold, normalise

MONEY = frozenset({"VND", "GBP", "USD", "EUR", "CAD"})
_SURELY_MONEY = 100_000
_NOUN_WORDS = 3
_WORD = re.compile(r"[^\W\d_]+(?:[-’'][^\W\d_]+)*")
_NIGHT = re.compile(r"\b(?:đêm|dem|nights?)\b", re.IGNORECASE)
_WORKING = Saying("ngày làm việc", "ngày công", r"(?:working|business|work) days?")
_MILES = re.compile(r"^\s*(?:miles?|dặm)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?:\b(?:tháng|thang|ngày|ngay|quý|quy|kỳ|ky|năm|nam|lần thứ|lan thu|thứ|bậc|bac|loại|loai|hạng|hang|mục|điều|"
    r"dieu|tầng|tang|ca|nhóm|band|level|grade|stage|week|quarter|in|of|since|year|month|sev|rtx|version|phòng số|"
    r"form|article|section)\s*|[A-Za-zĐđ]-?|#)$",
    re.IGNORECASE,
)
_YEAR_LABEL = re.compile(r"(?:\b(?:năm|nam|in|of|since|year|policy|chính sách|tháng|thang|from|the|từ|tu)\s*|/)$", re.I)
_STOP_NOUNS = words_of(
    "và va của cua thì thi là la trong ở o tại tai được duoc bị bi có co cho với voi and of in at the a "
    "an to for is are from on with by per mỗi moi một mot này nay đó do rồi roi nên phải phai thì mà ma "
    "khi nếu neu will would if when that this how"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount the question gives."""

    value: Decimal
    kind: str
    """``money day night hour minute week month year time % km mile person …``; empty for what is only counted."""
    unit: str
    """The currency of money where it is said; else the kind."""
    text: str
    start: int
    end: int
    noun: str
    """The words that follow it: what is counted."""
    around: str
    """Its part of the sentence."""
    is_working: bool = False
    """Working days."""

    @property
    def bag(self) -> Bag:
        """The words around it."""
        return bag_of(self.around)


@lru_cache(maxsize=1024)
def quantities_in(text: str, language: Language, today: date) -> tuple[Quantity, ...]:
    """The amounts a question gives, in order; numbers of articles, months, years and dates are none."""
    taken = [(one.start, one.end) for one in days_in(text, today)]
    found = [_read(text, amount) for amount in _amounts(text, language) if not _is_label(text, amount, taken)]
    found += [one for one in _single(text) if not any(one.start < q.end and q.start < one.end for q in found)]
    return tuple(_elliptical(text, sorted(found, key=lambda one: one.start)))


_SINGLE = re.compile(
    r"(?<![\w/])(?:a|one|một|mot)\s(?:(?:full|whole|single|entire|trọn|đầy đủ)\s)?(?P<unit>week|night|"
    r"day|tuần|đêm|ngày)(?!\w)|(?<![\w/])(?:one|một|mot)\s(?P<noun>[^\W\d]+(?:\s[^\W\d]+)?)",
    re.IGNORECASE,
)
_FULL = re.compile(r"full|whole|single|entire|trọn|đầy đủ|^one|^một", re.IGNORECASE)
_PER_UNIT = re.compile(
    r"(?:hours?|days?|times?|nights?|\d|khách sạn|trần|phòng|giờ|ngày|lần|đồng|tiền|triệu|nghìn|pounds?|"
    r"km|USD|mỗi|trong)\s*$",
    re.IGNORECASE,
)
_PERSONS = re.compile(
    r"(?:nhân viên|trưởng|giám|phó|chuyên|kỹ sư|người|anh|chị|bạn|khách|lập trình|số|tháng|năm|lần|giờ|"
    r"cách|of|time|employee|engineer|colleague|month|year|"
    r"hour|day|way|decimal|chữ)",
    re.IGNORECASE,
)
_LASTING = re.compile(r"[-\w]*\s+(?:of|lasting|kéo dài|dài)\s+\d", re.IGNORECASE)
"""“one call-out of 2 hours” counts hours."""
_FULL_EN = re.compile(r"one\s|(?:một|mot)\s(?:tuần|lần|người|đêm|lan|nguoi)", re.IGNORECASE)
_ONE = re.compile(r"(?:một|one|a)\s", re.IGNORECASE)
_SINGLE_UNITS = {"week": "week", "night": "night", "day": "day", "tuần": "week", "đêm": "night", "ngày": "day"}


def _single(text: str) -> Iterator[Quantity]:
    """“a full week”, “one bank holiday”: one of something; not “30 hours a week”."""
    for mark in _SINGLE.finditer(text):
        if _PER_UNIT.search(text[: mark.start()]) or (mark["unit"] and not _FULL.search(mark[0])):
            continue
        unit = _SINGLE_UNITS.get(mark["unit"].lower(), "") if mark["unit"] else ""
        noun = "" if mark["unit"] else mark["noun"].lower()
        if noun and (_PERSONS.match(noun) or _LASTING.match(text[mark.end() :])):
            continue
        around = part_around(text, mark.start(), mark.end())
        yield Quantity(Decimal(1), unit, unit, mark[0], mark.start(), mark.end(), noun, around)


def _elliptical(text: str, found: Sequence[Quantity]) -> Iterator[Quantity]:
    """“4 hours on Saturday and 2 on Sunday”: the second takes the unit of the first."""
    before: Quantity | None = None
    for one in found:
        is_bare = (
            not one.kind
            and not one.noun
            and one.value < _SURELY_MONEY
            and re.match(r"\s(?:on|in|at|vào|ở|trong|tại|for)\s", text[one.end :], re.I)
        )
        if (
            is_bare
            and before is not None
            and before.kind not in ("", "money", "%")
            and re.search(r"(?:and|và|,)\s*$", text[: one.start], re.I)
        ):
            before = replace(one, kind=before.kind, unit=before.unit, noun=before.noun)
        else:
            before = one
        yield before


def _amounts(text: str, language: Language) -> list[Amount]:
    """Amounts in digits and in words; a spelt number takes the unit that stands behind it."""
    written = [tight(text, one) for one in amounts_in(text, language)]
    for spelt in spelt_numbers(text, language):
        if spelt.is_share or any(spelt.start < one.end and one.start < spelt.end for one in written if one.unit):
            continue
        digits = f"{spelt.written}{text[spelt.end :]}"
        behind = next((one for one in amounts_in(digits[:40], language) if one.start == 0), None)
        if behind is None or (not behind.unit and behind.value < 10):
            continue
        length = len(behind.text) - len(spelt.written)
        written = [one for one in written if one.end <= spelt.start or one.start >= spelt.end]
        end = spelt.end + max(length, 0)
        written.append(replace(behind, start=spelt.start, end=end, text=text[spelt.start : end]))
    return sorted(written, key=lambda one: one.start)


def tight(text: str, amount: Amount) -> Amount:
    """The amount without the spaces around it."""
    start = text.index(amount.text, amount.start)
    return replace(amount, start=start, end=start + len(amount.text))


def _is_label(text: str, amount: Amount, taken: list[tuple[int, int]]) -> bool:
    if any(start < amount.end and amount.start < end for start, end in taken):
        return True
    before, behind = text[max(0, amount.start - 16) : amount.start], text[amount.end : amount.end + 1]
    if _ONE.match(amount.text) and (_PER_UNIT.search(before) or not _FULL_EN.match(amount.text)):
        return True
    if re.search(r"(?:thứ|thu)\s$", before, re.IGNORECASE) and amount.text[:1].isalpha():
        return True
    bare = not amount.unit and not re.search(r"[^\d.,\s]", amount.text)
    if bare and 1990 <= amount.value <= 2100 and (_YEAR_LABEL.search(before) or not _WORD.match(text[amount.end :])):
        return True
    if amount.unit == "month" and re.search(r"(?:lương|luong)\s*$", text[max(0, amount.start - 7) : amount.start]):
        return True
    return bare and (bool(_LABEL.search(before)) or behind in (":", "/", "_"))


def _read(text: str, amount: Amount) -> Quantity:
    behind = text[amount.end :]
    if not amount.unit and _METRES.search(amount.text):
        metres = amount.value / 1_000_000
        return Quantity(
            metres, "m", "m", amount.text, amount.start, amount.end, "", part_around(text, amount.start, amount.end)
        )
    kind, unit = kind_of_unit(amount.unit), amount.unit
    if not kind and _MILES.match(behind):
        kind = unit = "mile"
    if kind == "day" and _NIGHT.search(amount.text):
        kind = unit = "night"
    around = part_around(text, amount.start, amount.end)
    if (
        (not kind and not _noun(behind) and amount.value >= _SURELY_MONEY)
        or (
            not kind
            and amount.value >= _SURELY_MONEY
            and re.search(r"(?:tr|triệu|trieu|tỷ|ty|k|nghìn|nghin)\b", amount.text)
        )
        or (not kind and amount.value >= 1000 and _MONEY_BEFORE.search(text[: amount.start]))
    ):
        kind = "money"
    noun = "" if kind == "money" else _noun(behind)
    kind = kind or _unit_in(noun)
    is_working = kind == "day" and bool(_WORKING.search(f"{amount.text} {behind[:12]}"))
    return Quantity(amount.value, kind, unit, amount.text, amount.start, amount.end, noun, around, is_working)


_METRES = re.compile(r"^\d+(?:[.,]\d+)?\sm$")
"""“12 m” with a space is a length; “£12m” is money."""
_MONEY_BEFORE = re.compile(
    r"(?:lương|luong|giá|gia|phí|phi|tiền|tien|salary|pay|price|cost|costs|wage|earns?|budget|hóa đơn|hoa don)"
    r"(?:\s\w+){0,3}\s*$",
    re.IGNORECASE,
)


def kind_of_unit(unit: str) -> str:
    """``money`` for currencies, else the unit itself."""
    return "money" if unit in MONEY else unit


_UNIT_NOUNS = {
    "hours": "hour", "hour": "hour", "days": "day", "day": "day", "nights": "night", "weeks": "week",
    "months": "month", "years": "year",
    "giờ": "hour", "ngày": "day", "đêm": "night", "tháng": "month", "năm": "year", "lần": "time", "times": "time",
    "minutes": "minute",
}  # fmt: skip


def _unit_in(noun: str) -> str:
    """The unit behind an adjective: “4 agreed hours”."""
    words = noun.split()[:2]
    return next((_UNIT_NOUNS[word] for word in words[1:] if word in _UNIT_NOUNS and words[0] not in _UNIT_NOUNS), "")


def _noun(behind: str) -> str:
    """The first words behind a number, up to one that only joins."""
    words = list[str]()
    at = 0
    for mark in _WORD.finditer(behind):
        if behind[at : mark.start()].strip() or fold(mark[0]).lower() in _STOP_NOUNS or mark[0].lower() in _STOP_NOUNS:
            break
        words.append(mark[0].lower())
        at = mark.end()
        if len(words) == _NOUN_WORDS:
            break
    return " ".join(words)


_JOINT = re.compile(r"[,;.?!](?!\d)|\s(?:và|va|and|rồi|roi|then|nhưng|but|còn)\s", re.IGNORECASE)


def part_around(text: str, start: int, end: int) -> str:
    """The part of a sentence a span stands in, between commas and joining words."""
    first, last = 0, len(text)
    for mark in _JOINT.finditer(text):
        if mark.end() <= start:
            first = mark.end()
        elif mark.start() >= end:
            last = mark.start()
            break
    return text[first:last].strip()


def spelt(text: str) -> str:
    """A question as it is read: one spelling, single spaces."""
    return normalise(text)
