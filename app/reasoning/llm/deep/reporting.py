"""The finalizer: the answer as it was asked for and the reasoning trace, both held against what was handed over."""

import re

from app.domain.deep import Report, Working
from app.domain.evidence import without_citations
from app.domain.knowledge import Language
from app.reasoning.deep import TellRequest
from app.reasoning.llm.deep import telling
from app.reasoning.llm.grounds import Grounds, texts_of
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import ReportShape
from app.reasoning.llm.structured import Question, ask
from app.text.amounts import CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR, amounts_in
from app.text.language import clean, content_words, fold
from app.text.numbers import plain, read_digits

PURPOSE = "deep_tell"
_MAX_TOKENS = 700
_SHARE = 0.6
_LINES, _LINE_CHARS = 12, 400
_ANSWER_CHARS, _SHORT_CHARS = 1_500, 200
_OWN_WORDS = 0.6
"""Share of the words of a short answer that the answer handed over must hold."""
_MOST_TOLD = 3
_LEAD_MARK = re.compile(r"^(?:final answer|answer|đáp án|đáp số|câu trả lời|trả lời)\s*[:：]\s*", re.IGNORECASE)
_WRAPPED = re.compile(r"^(?:\*\*|__|[`\"'“‘«])+(?P<inside>.*?)(?:\*\*|__|[`\"'”’»])+$")
_INITIALS = re.compile(r"(?:^|\s|\.)[^\W\d_]\.$")
_BARE = re.compile(r"(?P<sign>[+\-−]?)\s?(?P<digits>\d+(?:[.,]\d+)*)", re.ASCII)
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
    parts = [part for part in re.split(r"\s*;\s*|,\s+", text) if part]
    return ", ".join(parts if _WITH_UNIT.search(wanted) else [_element(part, language) for part in parts])


def _element(text: str, language: Language) -> str:
    if bare := _BARE.fullmatch(text):
        value = read_digits(bare["digits"], language)
        return text if value is None else f"{'-' if bare['sign'] in ('-', '−') else ''}{plain(value)}"
    amounts = [one for one in amounts_in(text, language) if one.unit not in _NO_QUANTITY]
    whole = len(amounts) == 1 and (amounts[0].start, amounts[0].end) == (0, len(text))
    return plain(amounts[0].value) if whole else text


async def told(ladder: Ladder, request: TellRequest, working: Working, by_rule: Report) -> Report:
    """The model's report on an answer; the rules' trace where none of its own holds. Raises `ModelFailed`."""
    handed = (request.asked.question, working.answer, working.text, *working.steps)
    known = texts_of(working.observations, request.research, working.findings)
    grounds = Grounds([*handed, *known], request.asked.question)
    question = Question(
        PURPOSE, request.asked.language, telling.tell(request, working), ReportShape, _MAX_TOKENS, _SHARE,
        check=lambda reply: _wrong(_answer(reply, request), request, working, grounds),
    )  # fmt: skip
    reply = await ask(ladder, question)
    lines = (" ".join(clean(line).split())[:_LINE_CHARS] for line in reply.reasoning)
    trace = "\n".join([line for line in lines if line and not grounds.unknown(line)][:_LINES])
    changes = {"answer": _answer(reply, request), "reasoning": trace or by_rule.reasoning, "solved": True}
    return by_rule.model_copy(update=changes)


def _wrong(answer: str, request: TellRequest, working: Working, grounds: Grounds) -> list[str]:
    handed = Grounds([working.answer], request.asked.question)
    is_short = request.asked.style == "short"
    most = max(_SHORT_CHARS, len(working.answer)) if is_short else _ANSWER_CHARS
    errors = [] if any(map(str.isalnum, answer)) else ["answer: is empty"]
    if len(answer) > most:
        errors.append(f"answer: is longer than {most} characters")
    unknown = (handed if is_short else grounds).unknown(answer)[:_MOST_TOLD]
    errors += [f"answer: nobody stated {number}" for number in unknown]
    if not _is_same(answer, working, handed, is_short=is_short):
        errors.append("answer: is another one than was handed over")
    return errors


def _is_same(answer: str, working: Working, handed: Grounds, *, is_short: bool) -> bool:
    """Whether it is the answer that was worked out, in other words."""
    if handed.figures and not handed.states_one_of(answer):
        return False
    said = {fold(word) for word in content_words(answer) if not word.isdigit()}
    known = {fold(word) for word in content_words(f"{working.answer} {working.text}")}
    return not is_short or not said or len(said & known) >= _OWN_WORDS * len(said)


def _answer(reply: ReportShape, request: TellRequest) -> str:
    text, asked = without_citations(clean(reply.answer)).strip(), request.asked
    if asked.style != "short":
        return text
    return short_form(text, asked.language, f"{asked.question} {request.plan.answer_format if request.plan else ''}")
