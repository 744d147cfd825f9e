"""The finalizer: the answer in the form that was asked for, or an honest message that there is none; and the trace."""

from collections.abc import Iterator

from app.domain.deep import Report
from app.reasoning.deep import TellRequest
from app.reasoning.local.deep.phrases import CAUSES, NO_ANSWER, NO_RULE, TRACE
from app.reasoning.local.further_questions import further_questions

_MAX_CHARS = 400


def tell(request: TellRequest) -> Report:
    """What is said, with the reasoning trace."""
    working, language = request.working, request.asked.language
    is_solved = working is not None and working.solved and bool(working.answer.strip()) and not request.failure
    if is_solved and working is not None:
        answer = working.answer if request.asked.style == "short" else working.text or working.answer
    else:
        answer = NO_ANSWER[language].format(why=_why(request)).strip()
    return Report(
        answer=answer,
        reasoning="\n".join(_trace(request, answer, is_solved=is_solved)),
        solved=is_solved,
        follow_up_questions=_further(request) if is_solved else (),
    )


def _further(request: TellRequest) -> tuple[str, ...]:
    """Questions from the documents the answer rests on; none beside an answer that is to be short."""
    if request.working is None or request.asked.style == "short":
        return ()
    findings = request.working.findings or tuple(one for research in request.research for one in research.findings)
    asked = request.asked
    return further_questions(asked.question, findings, asked.language, request.max_follow_up_questions)


def _why(request: TellRequest) -> str:
    """What is missing, or why the run ended."""
    working, language = request.working, request.asked.language
    cause = CAUSES[language].get(request.failure, request.failure)
    if working is not None and not working.solved and working.text:
        return " ".join(dict.fromkeys(part for part in (cause, working.text) if part))
    missed = [one.task for one in request.research if not one.found]
    told = f"{cause} {' '.join(missed)}".strip()
    return told or NO_RULE[language]


def _trace(request: TellRequest, answer: str, *, is_solved: bool) -> Iterator[str]:
    said = TRACE[request.asked.language]
    yield said["question"].format(text=request.asked.question.strip())
    if request.plan is not None:
        yield said["plan"].format(text="; ".join((*request.plan.research, *request.plan.logic)))
        if not request.plan.research:
            yield said["no_research"]
    for one in request.research:
        text = _short(one.text) if one.found else said["nothing"]
        yield said["research"].format(step=one.step, task=one.task, text=text)
    for critique in request.critiques:
        if not critique.approved:
            yield said["rejected"].format(of=critique.of, text=_short(critique.feedback))
    if request.working is not None:
        for line in request.working.steps:
            yield said["working"].format(text=_short(line))
    yield said["answer" if is_solved else "none"].format(text=_short(answer))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARS else f"{line[: _MAX_CHARS - 1]}…"
