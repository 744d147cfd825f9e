"""What an answer looks like: a figure of the right kind, a person, a place, steps, a verdict."""

import re

from app.reasoning.local.cues import alternatives
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.question import Measure, Question
from app.reasoning.local.sentences import Unit

_NUMBER_WORDS = rf"(?:{alternatives('shapes.number_words')})"
_AMOUNT = rf"(?:\d[\d.,]*|{_NUMBER_WORDS})"
_SPAN_UNIT = (
    r"(?:ngày|giờ|tiếng|phút|giây|tuần|tháng|quý|năm|đêm|(?:working |business |calendar |consecutive )?"
    r"(?:days?|hours?|minutes?|seconds?|weeks?|months?|years?|quarters?|nights?)|-day|-hour|-month)\b"
)
_FIGURES: dict[Measure, re.Pattern[str]] = {
    "duration": re.compile(rf"{_AMOUNT}[\s-]*(?:đến\s*\d+\s*|to\s*\d+\s*)?{_SPAN_UNIT}", re.IGNORECASE),
    "money": re.compile(
        r"\d[\d.,]*\s*(?:đồng|đ\b|vnđ|vnd|triệu|tỷ|nghìn|usd|eur|gbp|cad|dollars?|pounds?|euros?|k\b)"
        r"|[£$€]\s*\d|(?:USD|EUR|GBP|CAD|VND)\s*\d",
        re.IGNORECASE,
    ),
    "percent": re.compile(
        r"\d[\d.,]*\s*(?:%|phần trăm|per ?cent)|toàn bộ|nguyên lương|full pay|half pay", re.IGNORECASE
    ),
    "clock": re.compile(r"\b\d{1,2}(?::\d{2}|h\d{0,2}\b)|\b\d{1,2}\s*(?:giờ|am\b|pm\b|a\.m|p\.m)|24/7", re.IGNORECASE),
    "date": re.compile(alternatives("shapes.date"), re.IGNORECASE),
    "times": re.compile(
        rf"{_AMOUNT}\s*(?:lần|times?)\b|\b(?:once|twice|daily|weekly|monthly|yearly|annually|quarterly)\b|"
        rf"(?:hằng|mỗi|hàng|every|each)\s+(?:{_AMOUNT}\s+)?(?:ngày|tuần|tháng|quý|năm|day|week|month|quarter|year)|"
        rf"{_AMOUNT}\s*{_SPAN_UNIT}",
        re.IGNORECASE,
    ),
    "phone": re.compile(r"(?:máy lẻ|extension|ext\.?|số|gọi|call|\+)\s*\d{2,}", re.IGNORECASE),
    "count": re.compile(rf"\d|\b{_NUMBER_WORDS}\b", re.IGNORECASE),
}
_NAMED = {
    "who": re.compile(alternatives("question.person"), re.IGNORECASE),
    "where": re.compile(alternatives("question.place"), re.IGNORECASE),
    "why": re.compile(r"\bvì\b|\bdo\b|bởi|nhằm|để|because|since|so that|in order|due to|reason|caus", re.IGNORECASE),
}
_FORMULAS = (
    (1.0, re.compile(r"[^\W\d]{2}[^=\n]*=[^=\n]*[^\W\d]{2}[^=\n]*[/×*÷+][^=\n]*\w", re.IGNORECASE)),
    (0.5, re.compile(r"\d[^=\n]{0,40}[/×*÷][^=\n]{0,40}=\s*[£$€]?\d", re.IGNORECASE)),
    (0.2, re.compile(r"công thức|formula|nhân với|chia cho|multipl|divid", re.IGNORECASE)),
)
"""A formula in words, a worked example, a mention; with what each is worth."""
_STEP_OF_CALCULATION = 0.3
_NONE = re.compile(alternatives("question.none"), re.IGNORECASE)
"""“Nobody gets any” answers “how many” too."""
_SANCTION = re.compile(alternatives("shapes.sanction"), re.IGNORECASE)
_VERDICT = re.compile(r"^(?:có|không|được|yes|no|only|chỉ)\b[,.: ]", re.IGNORECASE)
_ENUMERATION = re.compile(r":[^:,]+,[^,]+(?:,| và | and )|,[^,]+,[^,]+ (?:và|and) ")


def fits(question: Question, unit: Unit) -> float:
    """How well the shape of a piece answers the question's kind: 1 it does, 0 nothing to say, -1 it cannot."""
    if question.measures:
        return _fits_measures(question, unit.text)
    match question.kind:
        case "who" | "where" | "why":
            return 1.0 if _NAMED[question.kind].search(unit.text) else -0.5
        case "overview":
            return 1.0 if amounts_in(unit.text) else 0.0
        case "consequence":
            return 1.0 if _SANCTION.search(unit.text) else 0.0
        case "formula":
            worth = next((worth for worth, pattern in _FORMULAS if pattern.search(unit.text)), -1.0)
            return worth + _STEP_OF_CALCULATION if unit.kind == "step" and worth > 0 else worth
        case "how_to":
            return 0.6 if unit.kind == "step" else 0.0
        case "list":
            return 0.6 if unit.kind != "sentence" or _ENUMERATION.search(unit.text) else -0.3
        case "yes_no":
            return 1.0 if _VERDICT.match(unit.text) else 0.0
        case _:
            return 0.0


def _fits_measures(question: Question, text: str) -> float:
    if any(_FIGURES[measure].search(text) for measure in question.measures):
        return 1.0
    if _NONE.search(text):
        return 0.0
    return -1.0 if question.kind == "quantity" else -0.5
