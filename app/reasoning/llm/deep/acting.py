"""Researcher and expert: one action at a time, a tool call or the end, held against what is on offer and what is known.

What they read is untrusted. It may fill the values of a call, never choose what may be called.
"""

from collections.abc import Sequence

from app.domain.deep import Working
from app.domain.knowledge import Finding
from app.links import LinkGuard
from app.reasoning.budget import note_downgrade
from app.reasoning.deep import Action, ActRequest, Found, Solved
from app.reasoning.llm.deep import telling
from app.reasoning.llm.deep.calls import grounds_of, wished, wrong_call
from app.reasoning.llm.deep.planning import NOT_SOLVED
from app.reasoning.llm.deep.telling import findings_of
from app.reasoning.llm.grounds import Grounds
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import (
    ActionShape,
    FoundShape,
    ResearchEndShape,
    ResearchShape,
    SolvedShape,
    SolveEndShape,
    SolveShape,
    ToolShape,
)
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean

RESEARCH, SOLVE = "deep_research", "deep_solve"
_TOKENS = {"researcher": 700, "expert": 1_100}
_SHAPES: dict[tuple[str, bool], type[ActionShape]] = {
    ("researcher", True): ResearchShape, ("researcher", False): ResearchEndShape,
    ("expert", True): SolveShape, ("expert", False): SolveEndShape,
}  # fmt: skip
"""What is asked of each role, by whether it may still call a tool."""
_SHARE = 0.25
_MOST_SURE = 0.95
_MOST_TOLD = 3


def purpose_of(request: ActRequest) -> str:
    """What a call of the role is for."""
    return RESEARCH if request.role == "researcher" else SOLVE


async def acted(ladder: Ladder, request: ActRequest) -> Action:
    """The model's next action. Raises `ModelFailed`."""
    purpose, language = purpose_of(request), request.asked.language
    shape = _SHAPES[request.role, request.calls_left > 0 and bool(request.tools)]
    question = Question(
        purpose, language, telling.act(request), shape, _TOKENS[request.role], _SHARE,
        telling.tools(request.tools, language), lambda reply: _wrong(reply.action, request),
    )  # fmt: skip
    match (await ask(ladder, question)).action:
        case ToolShape() as call:
            return wished(call, request)
        case FoundShape() as end:
            return _found(end, request)
        case SolvedShape() as answer:
            return _solved(answer, request)


def _wrong(reply: ToolShape | FoundShape | SolvedShape, request: ActRequest) -> Sequence[str]:
    match reply:
        case ToolShape():
            return wrong_call(reply, request)
        case FoundShape():
            return _wrong_end(reply, request)
        case SolvedShape():
            return _wrong_answer(reply, request)


def _wrong_end(reply: FoundShape, request: ActRequest) -> list[str]:
    if not reply.found:
        return []
    own, errors = findings_of(request.observations), []
    if not clean(reply.text).strip():
        errors.append("text: is empty")
    if not any(not one.failed for one in request.observations) and not any(one.found for one in request.research):
        errors.append("found: nothing was looked up yet")
    errors += _wrong_sources(reply.sources, own)
    if any(one.found for one in own) and not reply.sources:
        errors.append("sources: name the findings the text rests on")
    return [*errors, *_ungrounded(reply.text, grounds_of(request))]


def _wrong_answer(reply: SolvedShape, request: ActRequest) -> list[str]:
    if not reply.solved:
        return []
    errors = [f"{name}: is empty" for name, text in (("answer", reply.answer), ("text", reply.text))
              if not clean(text).strip()]  # fmt: skip
    errors += _wrong_sources(reply.sources, _known_findings(request))
    grounds = grounds_of(request)
    grounds.guard.clean(clean(reply.answer))
    if grounds.guard.removed:
        errors.append("answer: holds an address that stands nowhere")
    return [*errors, *_ungrounded(f"{reply.answer}\n{reply.text}", grounds)]


def _wrong_sources(sources: Sequence[int], findings: Sequence[Finding]) -> list[str]:
    wrong = [number for number in sources if not 1 <= number <= len(findings)]
    return [f"sources: there is no finding {number}" for number in wrong[:_MOST_TOLD]]


def _ungrounded(text: str, grounds: Grounds) -> list[str]:
    unknown = list(dict.fromkeys(grounds.unknown(text)))[:_MOST_TOLD]
    return [f"the number {number} is stated nowhere: find it out or calculate it with a tool" for number in unknown]


def _known_findings(request: ActRequest) -> tuple[Finding, ...]:
    """As they are numbered for the expert: its own, then those of the research."""
    return (*findings_of(request.observations), *(one for step in request.research for one in step.findings))


def _found(reply: FoundShape, request: ActRequest) -> Found:
    own = findings_of(request.observations)
    grounds = grounds_of(request)
    text = grounds.guard.clean(clean(reply.text)).strip()
    if not reply.found and grounds.unknown(text):
        text = ""  # why nothing was found is no place for figures of its own
    places = dict.fromkeys(number - 1 for number in reply.sources if 1 <= number <= len(own))
    return Found(text=text, found=reply.found, findings=tuple(places))


def _solved(reply: SolvedShape, request: ActRequest) -> Solved:
    grounds = grounds_of(request)
    guard, findings = grounds.guard, _known_findings(request)
    text = guard.clean(clean(reply.text)).strip()
    if not reply.solved and (not text or grounds.unknown(text)):
        text = NOT_SOLVED[request.asked.language]
    used = dict.fromkeys(number - 1 for number in reply.sources if 1 <= number <= len(findings))
    working = Working(
        answer=guard.clean(clean(reply.answer)).strip() if reply.solved else "",
        text=text,
        solved=reply.solved,
        steps=_steps(reply.steps, grounds, guard),
        confidence=round(min(reply.confidence, _MOST_SURE), 3) if reply.solved else 0.0,
        findings=tuple(findings[place] for place in used),
        observations=request.observations,
    )
    return Solved(working=working)


def _steps(steps: Sequence[str], grounds: Grounds, guard: LinkGuard) -> tuple[str, ...]:
    """The lines that state nothing of their own."""
    lines = [line for step in steps if (line := " ".join(guard.clean(clean(step)).split()))]
    kept = [line for line in lines if not grounds.unknown(line)]
    if len(kept) < len(lines):
        note_downgrade(f"{SOLVE}: {len(lines) - len(kept)} steps without support left out")
    return tuple(kept)
