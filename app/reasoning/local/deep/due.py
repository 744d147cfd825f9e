"""Days that follow from a rule: a deadline so many days after, an application so many working days before."""

import re
from collections.abc import Iterator
from fractions import Fraction

from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.days import Day, days_in
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.rates import unused
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.deep.weighing import Weighed
from app.reasoning.local.numbers import plain

_UNITS = {"day": "days", "week": "weeks", "month": "months", "year": "years", "night": "days"}
_BACK_IN_RULE = re.compile(
    r"\b(?:báo trước|trước (?:ngày|khi|ít nhất)|before|in advance|ahead|notice|"
    r"chậm nhất[^.;|]{0,40}trước|prior to|earlier)\b",
    re.IGNORECASE,
)
_BACK_ASKED = Saying(
    r"(?:muộn|chậm|trễ) nhất (?:là )?(?:ngày nào|"
    r"khi nào|vào ngày|phải)",
    r"phải (?:báo|nộp|gửi|đăng ký|xin|đặt|tạo|thông báo)",
    r"(?:by|before) (?:when|what|which)",
    "the latest",
    r"latest (?:date|day)",
    r"must (?:I|she|he|they|we|"
    r"an? \w+) (?:apply|give|send|"
    r"submit|ask|tell|book)",
)
_EVENT_STARTS = Saying(
    r"(?:muốn |xin |dự định |"
    r"định )?nghỉ (?:phép )?(?:\d+ ngày )?(?:từ|bắt đầu)",
    r"bắt đầu (?:nghỉ|từ|vào)",
    "khởi hành",
    "ngày đi",
    r"(?:leave|trip|holiday|absence|departure|travel)\w* (?:starts?|starting|"
    r"begins?|beginning|from|on)",
    "start(?:s|ing)? (?:on|from)",
    "from",
    "dự sinh",
    "due date",
    "departs?",
)
_NOTICE_GIVEN = Saying(
    "nộp đơn",
    "gửi đơn",
    "báo nghỉ",
    "nộp",
    "hands? in",
    "submits?",
    "gives? notice",
    "resigns?",
    "gửi",
    "đưa đơn",
    "handed in",
    "gave notice",
    "xin thôi việc",
    "xin nghỉ việc",
    "thông báo",
)
_COUNTRIES: tuple[tuple[re.Pattern[str], dict[str, str]], ...] = (
    (re.compile(r"\bToronto\b|Ontario"), {"country": "CA", "subdivision": "ON"}),
    (re.compile(r"£|\bLeeds\b|\bLondon\b|\bUK\b|bank holiday"), {"country": "GB", "subdivision": "ENG"}),
)


def due_derivations(case: Case) -> Iterator[Derivation]:
    """The day a length of time of a rule leads to from a day of the question."""
    days = case.inquiry.days or _days_of_file(case)
    if not days or case.inquiry.wanted != "date":
        return
    candidates = [
        one for one in case.stated if one.kind in _UNITS and not one.is_condition and not one.piece.is_example
    ]
    ranked = case.scales.ranked(candidates, case.inquiry.quantities)
    for one in ranked[:4]:
        yield _shifted(case, one, _start(case, days))


_DATED = re.compile(r"ngày|date|issued|dated|lập|ban hành", re.IGNORECASE)


def _days_of_file(case: Case) -> tuple[Day, ...]:
    """The day an attached file bears itself."""
    if not case.inquiry.files:
        return ()
    dated = [
        piece for piece in case.pieces if piece.passage.authority == "attachment" and _DATED.search(piece.unit.text)
    ]
    found = [day for piece in dated for day in days_in(piece.unit.text, case.inquiry.today)]
    return tuple(found[:1])


def _start(case: Case, days: tuple[Day, ...]) -> Day:
    return days[0] if len(days) == 1 else days[-1]


def _shifted(case: Case, weighed: Weighed, day: Day) -> Derivation:
    stated = weighed.stated
    is_back = _is_back(case, stated, day)
    amount = plain(stated.value if not is_back else -stated.value)
    arguments = {"start": day.day.isoformat()}
    if stated.is_working and stated.kind == "day":
        tool = "date.add_working_days"
        arguments |= {"days": amount, **country_of(case, stated)}
    else:
        tool = "date.add"
        arguments |= {"amount": amount, "unit": _UNITS[stated.kind]}
    return Derivation(
        route="date",
        score=weighed.score + 0.25 - unused(case, weighed.held) - 0.4 * (stated.value != int(stated.value)),
        unit="date",
        value=Fraction(stated.value),
        rules=(stated,),
        given=weighed.held,
        tool=tool,
        arguments=arguments,
        notes=(stated.segment.strip(),),
        day=day.day,
    )


def _is_back(case: Case, stated: Stated, day: Day) -> bool:
    """Whether the length of time lies before the day: notice that has to be given, a form that has to be sent."""
    inquiry = case.inquiry
    rule = f"{stated.column} {stated.piece.unit.lead} {stated.piece.unit.text} {stated.piece.unit.heading}"
    near = inquiry.text[max(0, day.start - 60) : day.start]
    if near in _NOTICE_GIVEN and near not in _EVENT_STARTS:
        return False
    behind = stated.piece.unit.text[stated.end : stated.end + 40]
    before = stated.piece.unit.text[max(0, stated.start - 40) : stated.start]
    if re.search(r"(?:kể từ|sau|after|from|of)\b", behind, re.IGNORECASE) and not _BACK_IN_RULE.search(behind):
        return False
    if re.search(r"(?:trong vòng|within|trong)\s*$", before, re.IGNORECASE):
        return False
    return bool(_BACK_IN_RULE.search(rule)) and (inquiry.text in _BACK_ASKED or near in _EVENT_STARTS)


def country_of(case: Case, stated: Stated | None) -> dict[str, str]:
    """Where people work, as far as the question or the document tells; Vietnam otherwise."""
    texts = [case.inquiry.text, *([f"{stated.piece.unit.text} {stated.piece.passage.text}"] if stated else [])]
    for text in texts:
        found = next((place for pattern, place in _COUNTRIES if pattern.search(text)), None)
        if found:
            return dict(found)
    english = stated is not None and stated.piece.passage.language == "en" and "VND" not in stated.piece.passage.text
    return (
        {"country": "GB", "subdivision": "ENG"} if english and "Acme" not in stated_text(stated) else {"country": "VN"}
    )


def stated_text(stated: Stated | None) -> str:
    """The passage of an amount."""
    return f"{stated.piece.passage.title} {stated.piece.passage.url} {stated.piece.passage.text}" if stated else ""
