"""The deep flow's report and its sentences where no language model writes them, in both languages."""

from collections.abc import Iterator

from app.domain.deep import Report
from app.reasoning.deep import TellRequest
from app.reasoning.local.cues import sentences
from app.reasoning.local.rendering import further_questions

_MOST_TRACE_CHARS = 400


def report(request: TellRequest) -> Report:
    """What the asker is told: the answer, or what is missing with the rules that were found; and the trace."""
    working, asked = request.working, request.asked
    is_solved = working is not None and working.solved and bool(working.answer.strip()) and not request.failure
    if is_solved and working is not None:
        answer = working.answer if asked.style == "short" else working.text or working.answer
    else:
        answer = sentences("deep", asked.language)["no_answer"].format(why=_why(request)).strip()
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
    said, working = sentences("deep", request.asked.language), request.working
    cause = said.get(request.failure, request.failure)
    text = working.text if working is not None and not working.solved else ""
    missed = "; ".join(one.task.rstrip(" ?.") for one in request.research if not one.found)
    told = text or (said["missing_parts"].format(parts=missed) if missed else "")
    return " ".join(filter(None, (cause, told))) or said["research"]


def _trace(request: TellRequest, answer: str, *, is_solved: bool) -> Iterator[str]:
    said = sentences("deep", request.asked.language)
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
