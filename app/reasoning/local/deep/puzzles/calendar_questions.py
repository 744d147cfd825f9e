"""Days counted: so many days after one, weekdays of a month, times of the day, ages of leap years."""

import re

from pydantic import JsonValue

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.solution import Solution, program
from app.reasoning.local.deep.sayings import words_of

_WEEKDAYS = {
    "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4, "saturday": 5, "sunday": 6,
    "thứ hai": 0, "thứ ba": 1,
    "thứ tư": 2, "thứ năm": 3, "thứ sáu": 4, "thứ bảy": 5, "chủ nhật": 6, "thứ 2": 0, "thứ 3": 1, "thứ 4": 2,
    "thứ 5": 3,
    "thứ 6": 4, "thứ 7": 5,
}  # fmt: skip
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_DAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_COUNT = re.compile(
    rf"(?:how many|bao nhiêu|mấy)(?: ngày)? (?P<day>{_DAY})s?\b[^?]*?(?:(?:tháng|"
    rf"in)\s+(?:(?P<name>{'|'.join(_MONTHS)})|(?P<m>\d{{1,2}}))(?:\s*/\s*|\s+năm\s+|"
    rf",?\s+(?:of\s+)?)(?P<y>\d{{4}})"
    rf"|(?:năm|in|the year)\s+(?P<y2>\d{{4}}))",
    re.IGNORECASE,
)
_NTH = re.compile(
    rf"(?:(?P<last>last|cuối cùng)|(?P<n>first|second|third|fourth|fifth|\d(?:st|nd|rd|"
    rf"th)))\s+(?P<day>{_DAY})\s+(?:of|in)\s+(?P<name>{'|'.join(_MONTHS)})\s+(?P<y>\d{{4}})"
    rf"|(?P<day2>{_DAY})\s+(?:thứ\s+(?P<n2>nhất|hai|ba|tư|năm|\d)|(?P<last2>cuối cùng|cuối)|"
    rf"(?P<first2>đầu tiên))\s+(?:của|trong)\s+tháng\s+(?P<m2>\d{{1,2}})(?:/|\s+năm\s+)(?P<y2>\d{{4}})",
    re.IGNORECASE,
)
_ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "nhất": 1, "hai": 2, "ba": 3, "tư": 4, "năm": 5}
_AFTER = re.compile(
    r"(?:ngày thứ (?P<n1>\d+) (?P<w1>sau|trước|kể từ)|(?P<n2>\d+) (?P<u2>ngày|tuần|tháng|năm|days?|"
    r"weeks?|months?|years?) (?P<w2>sau|trước|kể từ|tính từ|after|before|from|following|later)|"
    r"(?:sau|after) (?P<n3>\d+) (?P<u3>ngày|tuần|tháng|năm|days?|weeks?|months?|years?))",
    re.IGNORECASE,
)
_UNITS = {"ngày": "days", "tuần": "weeks", "tháng": "months", "năm": "years"}
_SMALL_WORDS = words_of(
    "ngày nào là ngay sau trước kể từ tính thứ hỏi vào what is the date day after before from which falls "
    "on it days weeks months later will be of in nếu thì thứ hai ba tư năm sáu bảy chủ nhật monday "
    "tuesday wednesday thursday friday saturday sunday mấy gì hôm nay tuần tháng năm weekday trong if "
    "today was bao nhiêu then counting starting and of that"
)
_WEEKDAY_ASKED = re.compile(
    r"thứ mấy|which (?:day of the week|weekday)|what (?:day of the week|weekday)|day of the week", re.IGNORECASE
)
_BETWEEN = re.compile(r"(?:how many|bao nhiêu|mấy) (?P<u>days|weeks|ngày|tuần)\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?P<h>\d{1,2})(?:[:h](?P<m>\d{2})|\s?giờ(?:\s?(?P<m2>\d{1,2})(?:\s?phút)?)?|h\b|"
    r"\s?(?=[ap]\.?m))\s*(?P<half>[ap]\.?m\.?|sáng|chiều|tối)?",
    re.IGNORECASE,
)
_LASTS = re.compile(
    r"(?:kéo dài|mất|lasts?|takes?|for|trong|dài)\s+(?:(?P<h>\d+)\s?(?:giờ|tiếng|hours?|h)\s*(?:and\s|"
    r"và\s)?)?(?:(?P<m>\d+)\s?(?:phút|minutes?|mins?))?",
    re.I,
)
_END_ASKED = re.compile(
    r"(?:kết thúc|xong|đến nơi|tới nơi|hạ cánh|về đến|ends?|finish(?:es)?|over|arrives?|"
    r"lands?)[^?]*(?:mấy giờ|lúc nào|what time|when)|(?:what time|when|mấy giờ)[^?]*(?:ends?|finish|over|"
    r"arrive|land|kết thúc|đến|xong)",
    re.I,
)
_LENGTH_ASKED = re.compile(
    r"(?:bao nhiêu|mấy) (?P<u>phút|giờ|tiếng)|bao lâu|how (?:long|many (?P<u2>minutes|hours))", re.IGNORECASE
)
_LEAP = re.compile(r"(?:năm (?P<y>\d{4}) có phải (?:là )?năm nhuận|is (?P<y2>\d{4}) a leap year)", re.IGNORECASE)
_DAYS_OF = re.compile(
    rf"(?:how many days (?:are there )?in|tháng) (?:(?P<name>{'|'.join(_MONTHS)})|(?P<m>\d{{1,2}}))(?:/|"
    rf"\s+năm\s+|,?\s+)(?P<y>\d{{4}})(?P<vi> có (?:bao nhiêu|mấy) ngày)?\s*\?",
    re.I,
)


def calendar_puzzle(inquiry: Inquiry) -> Solution | None:
    """The puzzle about days or times a question is."""
    for rule in (_weekdays, _nth_weekday, _leap, _length_of_month, _clock):
        found = rule(inquiry.text)
        if found:
            return found
    return _weekday_later(inquiry) or _shifted(inquiry) or _between(inquiry)


def _month(name: str | None, number: str | None) -> int:
    return int(number) if number else _MONTHS.index(name.lower()) + 1 if name else 0


def _weekdays(text: str) -> Solution | None:
    mark = _COUNT.search(text)
    if not mark or re.search(r"làm việc|phép|working|leave", text, re.IGNORECASE):
        return None
    year = int(mark["y"] or mark["y2"])
    months = [_month(mark["name"], mark["m"])] if mark["y"] else list(range(1, 13))
    code = (
        "import datetime as d\nall_days = [d.date(year, 1, 1) + d.timedelta(n) for n in range(366)]\n"
        "{'result': sum(1 for x in all_days if x.year == year and x.month in months and x.weekday() == day)}"
    )
    inputs: dict[str, JsonValue] = {"year": year, "months": list(months), "day": _WEEKDAYS[mark["day"].lower()]}
    return program(code, inputs, kind="number", how=mark[0])


def _nth_weekday(text: str) -> Solution | None:
    mark = _NTH.search(text)
    if not mark:
        return None
    day = _WEEKDAYS[(mark["day"] or mark["day2"]).lower()]
    year, month = int(mark["y"] or mark["y2"]), _month(mark["name"], mark["m2"])
    said = (mark["n"] or mark["n2"] or ("first" if mark["first2"] else "")).lower()
    place = -1 if mark["last"] or mark["last2"] else _ORDER.get(said) or int(re.sub(r"\D", "", said) or 1)
    code = (
        "import datetime as d\nall_days = [d.date(year, 1, 1) + d.timedelta(n) for n in range(366)]\n"
        "chosen = [x for x in all_days if x.year == year and x.month == month and x.weekday() == day]\n"
        "{'result': chosen[place - 1 if place > 0 else -1].isoformat()}"
    )
    return program(code, {"year": year, "month": month, "day": day, "place": place}, kind="date", how=mark[0])


def _leap(text: str) -> Solution | None:
    mark = _LEAP.search(text)
    if not mark:
        return None
    yes, no = ("Có", "Không") if mark["y"] else ("Yes", "No")
    code = "{'result': yes if year % 4 == 0 and (year % 100 or year % 400 == 0) else no}"
    return program(code, {"year": int(mark["y"] or mark["y2"]), "yes": yes, "no": no}, kind="text", how=mark[0])


def _length_of_month(text: str) -> Solution | None:
    mark = _DAYS_OF.search(text)
    if not mark or (mark["m"] and not mark["vi"]):
        return None
    code = (
        "import datetime as d\nfollowing = d.date(year + month // 12, month % 12 + 1, 1)\n"
        "{'result': (following - d.date(year, month, 1)).days}"
    )
    return program(code, {"year": int(mark["y"]), "month": _month(mark["name"], mark["m"])}, kind="number", how=mark[0])


def _minutes(mark: re.Match[str]) -> int:
    hour, half = int(mark["h"]), (mark["half"] or "").lower().replace(".", "")
    if half in ("pm", "chiều", "tối") and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return hour * 60 + int(mark["m"] or mark["m2"] or 0)


def _clock(text: str) -> Solution | None:
    """When something ends that begins at a time, or how long it takes."""
    lasting = [mark for mark in _LASTS.finditer(text) if mark["h"] or mark["m"]]
    inside = [(mark.start(), mark.end()) for mark in lasting]
    times = [
        mark
        for mark in _CLOCK.finditer(text)
        if int(mark["h"]) <= 24 and not any(start <= mark.start() < end for start, end in inside)
    ]
    if (
        re.search(
            r"nghỉ bù|trực|bị gọi|on call|called|lương|salary|làm thêm|overtime|paid|£|đồng|quy định|"
            r"policy|theo tệp|attached",
            text,
            re.IGNORECASE,
        )
        or len(text) > 300
    ):
        return None
    if len(times) == 1 and len(lasting) == 1 and _END_ASKED.search(text):
        return _ending(times[0], lasting[0])
    asked = _LENGTH_ASKED.search(text)
    if len(times) == 2 and asked and not re.search(r"\d+\s?(?:km|%|người)", text):
        unit = (asked["u"] or asked["u2"] or "").lower()
        by = 60 if unit in ("giờ", "tiếng", "hours") else 1
        code = "t = (end - start) % 1440\n{'result': str(t // by if t % by == 0 else t / by)}"
        inputs = {"start": _minutes(times[0]), "end": _minutes(times[1]), "by": by}
        return program(
            code,
            inputs,
            kind="number",
            how=f"{times[0][0].strip()} → {times[1][0].strip()}",
            unit="hour" if by == 60 else "minute",
        )
    return None


_TODAY_WEEKDAY = re.compile(
    rf"(?:today is|hôm nay là|if today is|nếu hôm nay là)\s+(?:a\s+)?(?P<day>{_DAY})(?!\s*(?:,\s*)?(?:ngày\s+)?\d)",
    re.IGNORECASE,
)
_IN_DAYS = re.compile(
    r"(?:in|after|sau)\s+(?P<n>\d+)\s+(?:days|ngày)|(?P<n2>\d+)\s+(?:days|ngày)\s+(?:from (?:now|today)|"
    r"later|sau|nữa|tới)|(?P<n3>\d+)\s+(?:days ago|ngày trước)",
    re.IGNORECASE,
)


def _weekday_later(inquiry: Inquiry) -> Solution | None:
    """“Today is Wednesday. What day will it be in 100 days?”."""
    today, later = _TODAY_WEEKDAY.search(inquiry.text), _IN_DAYS.search(inquiry.text)
    if not today or not later:
        return None
    amount = int(later["n"] or later["n2"] or 0) - int(later["n3"] or 0)
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    if inquiry.language == "vi":
        names = ["Thứ Hai", "Thứ Ba", "Thứ Tư", "Thứ Năm", "Thứ Sáu", "Thứ Bảy", "Chủ nhật"]
    inputs: dict[str, JsonValue] = {"day": _WEEKDAYS[today["day"].lower()], "amount": amount, "names": list(names)}
    return program("{'result': names[(day + amount) % 7]}", inputs, kind="text", how=f"{today['day']} + {amount}")


def _ending(start: re.Match[str], lasting: re.Match[str]) -> Solution:
    """The time of the day so many hours and minutes after another."""
    length = int(lasting["h"] or 0) * 60 + int(lasting["m"] or 0)
    code = "t = (start + length) % 1440\n{'result': f'{t // 60:02d}:{t % 60:02d}'}"
    inputs = {"start": _minutes(start), "length": length}
    return program(code, inputs, kind="text", how=f"{start[0].strip()} + {length} min")


def _shifted(inquiry: Inquiry) -> Solution | None:
    """“Ngày thứ 100 sau ngày 15/03/2027 là ngày nào?”; nothing else is said."""
    text = inquiry.text
    mark = _AFTER.search(text)
    if not mark or len(inquiry.days) != 1 or not (inquiry.wanted == "date" or _WEEKDAY_ASKED.search(text)):
        return None
    day = inquiry.days[0]
    rest = f"{text[: day.start]} {text[day.end :]}".replace(mark[0], " ")
    if any(word not in _SMALL_WORDS for word in re.findall(r"[^\W\d_]+", rest.lower())):
        return None
    amount = int(mark["n1"] or mark["n2"] or mark["n3"])
    unit = (mark["u2"] or mark["u3"] or "days").lower()
    unit = _UNITS.get(unit, unit if unit.endswith("s") else f"{unit}s")
    before = (mark["w1"] or mark["w2"] or "").lower() in ("trước", "before")
    arguments = (("start", day.day.isoformat()), ("amount", str(-amount if before else amount)), ("unit", unit))
    return Solution(
        "date.add",
        mark[0],
        arguments,
        "text" if _WEEKDAY_ASKED.search(text) else "date",
        how=f"{day.text} {'−' if before else '+'} {amount} {unit}",
    )


def _between(inquiry: Inquiry) -> Solution | None:
    """How many days or weeks lie between two days; nothing else is said."""
    mark = _BETWEEN.search(inquiry.text)
    if (
        not mark
        or len(inquiry.days) != 2
        or inquiry.quantities
        or re.search(r"phép|làm việc|leave|working|công ty|thử việc", inquiry.text, re.I)
    ):
        return None
    first, last = inquiry.days
    by = 7 if mark["u"].lower() in ("weeks", "tuần") else 1
    code = (
        "import datetime as d\nn = abs((d.date.fromisoformat(b) - d.date.fromisoformat(a)).days)\n"
        "{'result': str(n // by if n % by == 0 else n / by)}"
    )
    return program(
        code,
        {"a": first.day.isoformat(), "b": last.day.isoformat(), "by": by},
        kind="number",
        how=f"{first.text} → {last.text}",
    )
