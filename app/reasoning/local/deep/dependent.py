"""Whether a question needs several steps that build on one another: rules looked up, then calculated with."""

from datetime import date

from app.domain.deep import Asked
from app.domain.knowledge import Language
from app.reasoning.local.deep.inquiry import Inquiry, read_inquiry
from app.reasoning.local.deep.planning import is_self_contained
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.intents import intents_of

_TOTAL = Saying("tổng cộng", "tổng số tiền", "tổng chi phí", "in total", "altogether", "total cost", "cả thảy")
_COUNTED = frozenset({"time", "day", "night", "hour", "km", "mile", "person", "month", "week", "minute"})
_DEADLINE = Saying(
    "hạn (?:chót|cuối|nộp)",
    "chậm nhất",
    "muộn nhất",
    "trước ngày nào",
    "ngày làm việc cuối(?: cùng)?",
    "last day",
    "latest",
    "deadline",
    "by which date",
    "by when",
    "must (?:I|he|she|we|they)",
)
_MOST_CHARS, _SEVERAL = 600, 3


def is_dependent(query: str, language: Language) -> bool:
    """True only for questions that give several figures and ask for an amount that follows from rules, or for a day
    that a rule puts so long after one of theirs; a formula with all its figures, a plain look-up and a sum in digits
    are none."""
    if len(query) > _MOST_CHARS or sum(map(str.isdigit, query)) < 1:
        return False
    inquiry = read_inquiry(Asked(question=query, language=language), date.min.replace(year=2000))
    if is_self_contained(inquiry) or "log" in intents_of(query):
        return False
    return _needs_rules(inquiry) if inquiry.wanted == "money" else _is_due(inquiry)


def _is_due(inquiry: Inquiry) -> bool:
    """Whether a day is asked for that lies so long after or before a day of the question, as a rule says."""
    return (
        inquiry.wanted == "date" and len(inquiry.days) == 1 and inquiry.days[0].has_year and inquiry.text in _DEADLINE
    )


def _needs_rules(inquiry: Inquiry) -> bool:
    counted = [one for one in inquiry.quantities if one.kind in _COUNTED]
    kinds = {one.kind for one in counted}
    says_total = inquiry.text in _TOTAL
    return (says_total and bool(counted)) or (len(kinds) > 1 and inquiry.operation in ("total", "left", "difference"))
