"""The finalizer: the answer as it was asked for and the reasoning trace, both held against what was handed over."""

import re

from app.domain.deep import Report, Working
from app.domain.evidence import without_citations
from app.domain.knowledge import Language
from app.reasoning.deep import TellRequest
from app.reasoning.llm.deep import telling
from app.reasoning.llm.grounds import Grounds
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import ReportShape
from app.reasoning.llm.structured import Question, ask
from app.text.amounts import CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR, amounts_in
from app.text.language import clean, content_words, fold

_LEAD_MARK = re.compile(r"^(?:final answer|answer|đáp án|đáp số|câu trả lời|trả lời)\s*[:：]\s*", re.IGNORECASE)
_WRAPPED = re.compile(r"^(?:\*\*|__|[`\"'“‘«])+(?P<inside>.*?)(?:\*\*|__|[`\"'”’»])+$")
_INITIALS = re.compile(r"(?:^|\s|\.)[^\W\d_]\.$")
_BETWEEN = re.compile(r"\s*;\s*|,\s+")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_BARE = re.compile(r"[+\-−]?\s?\d+(?:[.,]\d+)*")
_WITH_UNIT = re.compile(
    r"\b(?:with|include|including|state|give|kèm|gồm|ghi|nêu)\s(?:\w+\s){0,2}"
    r"(?:units?|symbol|currency|percent|%|đơn vị|ký hiệu)",
    re.IGNORECASE,
)
_NO_QUANTITY = frozenset({CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR})


def short_form(answer: str, language: Language, wanted: str = "") -> str:
    """The answer on one line, its numbers (as `language` writes them) without thousands separators, and without units
    unless `wanted` asks for them."""
    text = _LEAD_MARK.sub("", " ".join(clean(answer).split()))
    while wrapped := _WRAPPED.match(text):
        text = wrapped["inside"].strip()
    if text.endswith(".") and not _INITIALS.search(text):
        text = text.rstrip(". ")
    with_unit = _WITH_UNIT.search(wanted) is not None
    return ", ".join(part if with_unit else _element(part, language) for part in _BETWEEN.split(text) if part)


def _element(text: str, language: Language) -> str:
    if _BARE.fullmatch(text):
        sign = "-" if text[0] in "-−" else ""
        return sign + _DIGITS.sub(lambda found: _spelt(found[0], language), text.lstrip("+-− "))
    amounts = list(amounts_in(text, language))
    if len(amounts) != 1 or amounts[0].unit in _NO_QUANTITY or (amounts[0].start, amounts[0].end) != (0, len(text)):
        return text
    digits = _DIGITS.search(text)
    written = _spelt(digits[0], language) if digits else ""
    value = f"{amounts[0].value.normalize():f}"
    return written if _same(written, value) else value


def _spelt(digits: str, language: Language) -> str:
    """Digits without groups of thousands, as the language groups them."""
    group, point = (".", ",") if language == "vi" else (",", ".")
    if re.fullmatch(rf"\d{{1,3}}(?:\{group}\d{{3}})+(?:\{point}\d+)?", digits):
        digits = digits.replace(group, "")
    elif re.fullmatch(rf"\d{{1,3}}(?:\{point}\d{{3}}){{2,}}(?:\{group}\d+)?", digits):  # the other language's way
        return digits.replace(point, "").replace(group, ".")
    return digits.replace(",", ".") if digits.count(",") + digits.count(".") == 1 else digits


def _same(written: str, value: str) -> bool:
    return written.rstrip("0").rstrip(".") == value or written == value


PURPOSE = "deep_tell"
_MAX_TOKENS = 700
_SHARE = 0.6
_LINES, _LINE_CHARS = 12, 400
_ANSWER_CHARS, _SHORT_CHARS = 1_500, 200
_OWN_WORDS = 0.6
"""Share of the words of a short answer that the answer handed over must hold."""
_MOST_TOLD = 3


async def told(ladder: Ladder, request: TellRequest, working: Working, by_rule: Report) -> Report:
    """The model's report on an answer; the rules' trace where none of its own holds. Raises `ModelFailed`."""
    language = request.asked.language
    grounds = _grounds(request, working)
    question = Question(
        PURPOSE, language, telling.tell(request, working), ReportShape, _MAX_TOKENS, _SHARE,
        check=lambda reply: _wrong(reply, request, working, grounds),
    )  # fmt: skip
    reply = await ask(ladder, question)
    reasoning = _trace(reply, grounds) or by_rule.reasoning
    answer = _answer(reply, request, grounds)
    return by_rule.model_copy(update={"answer": answer, "reasoning": reasoning, "solved": True})


def _grounds(request: TellRequest, working: Working) -> Grounds:
    texts = (working.answer, working.text, *working.steps)
    return Grounds.of(
        request.asked, texts, request.asked.question, working.observations, request.research, working.findings
    )


def _wrong(reply: ReportShape, request: TellRequest, working: Working, grounds: Grounds) -> list[str]:
    answer = _answer(reply, request, grounds)
    handed = Grounds([working.answer], request.asked.question)
    is_short = request.asked.style == "short"
    most = max(_SHORT_CHARS, len(working.answer)) if is_short else _ANSWER_CHARS
    errors = [] if any(map(str.isalnum, answer)) else ["answer: is empty"]
    if len(answer) > most:
        errors.append(f"answer: is longer than {most} characters")
    unknown = list(dict.fromkeys((handed if is_short else grounds).unknown(answer)))[:_MOST_TOLD]
    errors += [f"answer: nobody stated {number}" for number in unknown]
    if not _is_same(answer, working, handed, is_short=is_short):
        errors.append("answer: is another one than was handed over")
    return errors


def _is_same(answer: str, working: Working, handed: Grounds, *, is_short: bool) -> bool:
    """Whether it is the answer that was worked out, in other words."""
    if handed.has_figures and not handed.knows_one(answer):
        return False
    said = {fold(word) for word in content_words(answer) if not word.isdigit()}
    if not is_short or not said:
        return True
    known = {fold(word) for word in content_words(f"{working.answer} {working.text}")}
    return len(said & known) >= _OWN_WORDS * len(said)


def _answer(reply: ReportShape, request: TellRequest, grounds: Grounds) -> str:
    asked = request.asked
    text = grounds.guard.clean(without_citations(clean(reply.answer))).strip()
    if asked.style != "short":
        return text
    wanted = f"{asked.question} {request.plan.answer_format if request.plan else ''}"
    return short_form(text, asked.language, wanted)


def _trace(reply: ReportShape, grounds: Grounds) -> str:
    """The lines that state nothing of their own."""
    lines = (" ".join(grounds.guard.clean(clean(line)).split())[:_LINE_CHARS] for line in reply.reasoning)
    return "\n".join([line for line in lines if line and not grounds.unknown(line)][:_LINES])
