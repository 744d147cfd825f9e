"""The deep flow's report and its sentences where no language model writes them, in both languages."""

from collections.abc import Iterator

from app.domain.deep import Report
from app.domain.knowledge import Language
from app.reasoning.deep import TellRequest
from app.reasoning.local.rendering import further_questions

_MOST_TRACE_CHARS = 400

SAID: dict[Language, dict[str, str]] = {
    "vi": {
        "calculate": "Tính {expression}",
        "logic": "Trích dẫn quy định tìm được cho từng phần của câu hỏi.",
        "logic_formula": "Chỉ tính khi có công thức và đủ số liệu; nếu thiếu thì nói thiếu gì.",
        "logic_sum": "Tính trực tiếp từ số liệu của câu hỏi.",
        "nothing_for": "Không tìm thấy thông tin cho: {task}",
        "rule": "Quy định ({title}): “{text}”",
        "missing_parts": "Chưa tìm thấy: {parts}.",
        "missing_values": "Chưa tính được vì thiếu: {values}.",
        "no_formula": "Nội dung tìm được không nêu công thức hay mức cho số liệu của câu hỏi, nên không tính.",
        "found": "Nội dung tìm được:",
        "tool_failed": "Công cụ không làm được: {reason}",
        "no_answer": "Tôi không tìm được câu trả lời chắc chắn. {why}",
        "no_research": "Câu hỏi cần tra cứu tài liệu: hãy thêm bước tìm kiếm.",
        "too_many": "Quá nhiều bước tìm: chỉ giữ {most} bước.",
        "not_found": "Chưa tìm thấy; hãy hỏi lại bằng từ khóa: {terms}.",
        "empty": "Đáp án trống.",
        "ungrounded": "Số {figures} không có trong câu hỏi hay nội dung tìm được.",
        "plan": "Không lập được kế hoạch phù hợp.",
        "research": "Không tìm được thông tin cần thiết.",
        "expert": "Không có câu trả lời nào đứng vững khi kiểm tra lại.",
        "deadline": "Hết thời gian.",
        "budget": "Hết hạn mức sử dụng.",
        "trace_question": "Câu hỏi: {text}",
        "trace_plan": "Kế hoạch: {text}",
        "trace_research": "Bước {step}: {task} → {text}",
        "trace_nothing": "không tìm thấy",
        "trace_rejected": "Bị trả lại ({of}): {text}",
        "trace_working": "Suy luận: {text}",
        "trace_answer": "Trả lời: {text}",
        "trace_none": "Không có câu trả lời: {text}",
    },
    "en": {
        "calculate": "Calculate {expression}",
        "logic": "Quote the rule that was found for each part of the question.",
        "logic_formula": "Calculate only with a stated formula and all its figures; else say what is missing.",
        "logic_sum": "Calculate with the figures of the question itself.",
        "nothing_for": "Nothing was found for: {task}",
        "rule": "Rule ({title}): “{text}”",
        "missing_parts": "Not found: {parts}.",
        "missing_values": "This cannot be calculated; missing: {values}.",
        "no_formula": "Nothing found states a formula or rate for the figures of the question: nothing is calculated.",
        "found": "What was found:",
        "tool_failed": "The tool could not do it: {reason}",
        "no_answer": "I could not find a reliable answer. {why}",
        "no_research": "The question needs a document: add a research step.",
        "too_many": "Too many research steps: keep {most}.",
        "not_found": "Nothing was found; ask again by keywords: {terms}.",
        "empty": "The answer is empty.",
        "ungrounded": "{figures} stands neither in the question nor in what was found.",
        "plan": "No plan that fits could be made.",
        "research": "What is needed could not be found.",
        "expert": "No answer stood up to being checked.",
        "deadline": "Time ran out.",
        "budget": "The budget ran out.",
        "trace_question": "Question: {text}",
        "trace_plan": "Plan: {text}",
        "trace_research": "Step {step}: {task} → {text}",
        "trace_nothing": "nothing was found",
        "trace_rejected": "Sent back ({of}): {text}",
        "trace_working": "Reasoning: {text}",
        "trace_answer": "Answer: {text}",
        "trace_none": "No answer: {text}",
    },
}  # fmt: skip


def report(request: TellRequest) -> Report:
    """What the asker is told: the answer, or what is missing with the rules that were found; and the trace."""
    working, asked = request.working, request.asked
    is_solved = working is not None and working.solved and bool(working.answer.strip()) and not request.failure
    if is_solved and working is not None:
        answer = working.answer if asked.style == "short" else working.text or working.answer
    else:
        answer = SAID[asked.language]["no_answer"].format(why=_why(request)).strip()
    return Report(
        answer=answer,
        reasoning="\n".join(_trace(request, answer, is_solved=is_solved)),
        solved=is_solved,
        follow_up_questions=_further(request) if is_solved and asked.style != "short" else (),
    )


def _further(request: TellRequest) -> tuple[str, ...]:
    """Questions from the documents the answer rests on."""
    findings = request.working.findings if request.working else ()
    return further_questions(
        request.asked.question, findings, request.asked.language, request.max_follow_up_questions
    )  # fmt: skip


def _why(request: TellRequest) -> str:
    """Why the run ended, and what is missing."""
    said, working = SAID[request.asked.language], request.working
    cause = said.get(request.failure, request.failure)
    text = working.text if working is not None and not working.solved else ""
    missed = "; ".join(one.task.rstrip(" ?.") for one in request.research if not one.found)
    told = text or (said["missing_parts"].format(parts=missed) if missed else "")
    return " ".join(filter(None, (cause, told))) or said["research"]


def _trace(request: TellRequest, answer: str, *, is_solved: bool) -> Iterator[str]:
    said = SAID[request.asked.language]
    yield said["trace_question"].format(text=request.asked.question.strip())
    if request.plan is not None:
        yield said["trace_plan"].format(text="; ".join((*request.plan.research, *request.plan.logic)))
    for one in request.research:
        text = _short(one.text) if one.found else said["trace_nothing"]
        yield said["trace_research"].format(step=one.step, task=one.task, text=text)
    for critique in request.critiques:
        if not critique.approved:
            yield said["trace_rejected"].format(of=critique.of, text=_short(critique.feedback))
    for line in request.working.steps if request.working is not None else ():
        yield said["trace_working"].format(text=_short(line))
    yield said["trace_answer" if is_solved else "trace_none"].format(text=_short(answer))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TRACE_CHARS else f"{line[: _MOST_TRACE_CHARS - 1]}…"
