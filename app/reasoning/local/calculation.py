"""What must be looked up before something can be calculated: the rules on it, and the formula."""

import re
from dataclasses import dataclass

from app.domain.knowledge import Language
from app.reasoning.local.cues import alternatives
from app.reasoning.local.terms import Term, terms_of
from app.reasoning.local.wording import lower_first
from app.text.language import normalise

_SUBJECT = re.compile(
    rf"\b(?:tính toán|tính|calculate|compute|work out)\s+(?:{alternatives('calculation.subject')})?(?P<subject>.+)$",
    re.IGNORECASE,
)
_END = re.compile(rf"\s*(?:{alternatives('calculation.end')})", re.IGNORECASE)
_AMOUNT_HEAD = re.compile(
    rf"^(?:(?:the|một|tổng|số|mức|my|our)\s+)*(?:{alternatives('calculation.amount_head')})\s+", re.IGNORECASE
)
_AMOUNT_TAIL = re.compile(r"\s+(?:costs?|pay|amount|payment)$", re.IGNORECASE)
_PAY = re.compile(alternatives("calculation.pay"), re.IGNORECASE)
_FIND: dict[Language, str] = {"vi": "Tìm chính sách {topic} của công ty", "en": "Find the company policy on {topic}"}
_CALCULATE: dict[Language, str] = {
    "vi": "Tính toán {subject} dựa trên {basis}",
    "en": "Calculate {subject} from {basis}",
}
_FORMULA: dict[Language, str] = {"vi": "Công thức tính {topic}", "en": "Formula to calculate {topic}"}
_PAY_BASIS: dict[Language, str] = {"vi": "lương cơ bản", "en": "the basic salary"}
_OTHER_BASIS: dict[Language, str] = {"vi": "công thức trong tài liệu", "en": "the formula in the documents"}
_TOLD_WEIGHT = 0.9
_BASE_PAY = frozenset({"lương", "lương cơ bản", "tiền lương", "salari", "basic salari", "basic pay", "pay"})


@dataclass(frozen=True, slots=True)
class Calculation:
    """What is to be calculated, as it was said."""

    subject: str
    """“chi phí nghỉ phép”."""
    topic: str
    """“nghỉ phép”."""


def calculation_queries(query: str, language: Language) -> list[str]:
    """The queries that find rules and formula: for an order its policy and its calculation, for a question with stated
    figures the question itself and the formula."""
    ordered = ordered_calculation(query)
    if ordered is None:
        topic = _named_topic(query)
        return [query, _FORMULA[language].format(topic=topic)] if topic else [query]
    basis = (_PAY_BASIS if _PAY.search(ordered.subject) else _OTHER_BASIS)[language]
    return [
        _FIND[language].format(topic=ordered.topic),
        _CALCULATE[language].format(subject=ordered.subject, basis=basis),
    ]


def ordered_calculation(query: str) -> Calculation | None:
    """The object of an order to calculate; None when nothing was ordered."""
    mark = _SUBJECT.search(normalise(query))
    if mark is None:
        return None
    end = _END.search(mark["subject"])
    subject = (mark["subject"][: end.start()] if end else mark["subject"]).strip()
    topic = _AMOUNT_TAIL.sub("", _AMOUNT_HEAD.sub("", subject)).strip()
    return Calculation(lower_first(subject), lower_first(topic)) if topic else None


def _named_topic(query: str) -> str:
    """What the amount is paid for, among the subjects a question with stated figures names."""
    named: list[Term] = [term for term in terms_of(normalise(query)) if term.concepts and term.weight >= _TOLD_WEIGHT]
    topics = [term.text for term in named if term.text not in _BASE_PAY]
    return topics[0] if topics else ""
