"""Researcher and expert: one action at a time, a tool call or the end, held against what is on offer and what is known.

What they read is untrusted. It may fill the values of a call, never choose what may be called or name an address that
stands nowhere. The flow keeps words of the house inside (`app.flow.deep.acting`), tools check their own arguments.
"""

import re
from collections.abc import Sequence

from app.domain.deep import Working
from app.domain.knowledge import Finding
from app.reasoning.budget import note_downgrade
from app.reasoning.deep import Action, ActRequest, Found, Solved, ToolWish
from app.reasoning.llm import telling
from app.reasoning.llm.grounds import Grounds, texts_of
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import ACTIONS, FoundShape, SolvedShape, ToolShape
from app.reasoning.llm.structured import Question, ask
from app.reasoning.llm.telling import findings_of
from app.reasoning.sentences import sentence
from app.text.language import clean, normalise

RESEARCH, SOLVE = "deep_research", "deep_solve"
_TOKENS = {"researcher": 700, "expert": 1_100}
_SHARE = 0.25
_MOST_SURE = 0.95
_MOST_TOLD = 3
_QUERY_CHARS, _WHY_CHARS = 1_000, 300
_ADDRESS = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]{0,20}:[/\\]{2}|(?<!:)//|\bwww\.|\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?::\d{1,5})?/)[^\s\"'<>`]+",
    re.IGNORECASE,
)
"""With a scheme or without one: `host.example/path` reaches as far."""
_BEHIND_ADDRESS = ".,;:!?*_~)]}|”’"


def purpose_of(request: ActRequest) -> str:
    """What a call of the role is for."""
    return RESEARCH if request.role == "researcher" else SOLVE


async def acted(ladder: Ladder, request: ActRequest) -> Action:
    """The model's next action. Raises `ModelFailed`."""
    language, grounds = request.asked.language, _grounds(request)
    shape = ACTIONS[request.role, request.calls_left > 0 and bool(request.tools)]
    question = Question(
        purpose_of(request), language, telling.act(request), shape, _TOKENS[request.role], _SHARE,
        telling.tools(request.tools, language), lambda reply: _wrong(reply.action, request, grounds),
    )  # fmt: skip
    match (await ask(ladder, question)).action:
        case ToolShape() as call:
            return _wished(call, request)
        case FoundShape() as end:
            return _found(end, request, grounds)
        case SolvedShape() as answer:
            return _solved(answer, request, grounds)


def _wrong(reply: ToolShape | FoundShape | SolvedShape, request: ActRequest, grounds: Grounds) -> Sequence[str]:
    """What is wrong with an action, each as a sentence for the model; empty = it is taken."""
    match reply:
        case ToolShape():
            return _wrong_call(reply, request)
        case FoundShape(found=True):
            own = findings_of(request.observations)
            errors = _wrong_sources(reply.sources, own)
            if not any(not one.failed for one in request.observations) and not any(
                one.found for one in request.research
            ):
                errors.append("found: nothing was looked up yet")
            if any(one.found for one in own) and not reply.sources:
                errors.append("sources: name the findings the text rests on")
            return [*errors, *_unsupported({"text": reply.text}, grounds)]
        case SolvedShape(solved=True):
            known = _addresses("\n".join((request.asked.question, *grounds.texts)))
            made_up = ["answer: holds an address that stands nowhere"] if _addresses(reply.answer) - known else []
            errors = [*_wrong_sources(reply.sources, _known_findings(request)), *made_up]
            return [*errors, *_unsupported({"answer": reply.answer, "text": reply.text}, grounds)]
    return ()


def _wrong_call(reply: ToolShape, request: ActRequest) -> list[str]:
    offer = next((one for one in request.tools if one.name == reply.tool), None)
    if offer is None:
        return [f"tool {reply.tool!r} is not on the list"]
    wish, errors = _wished(reply, request), []
    earlier = (one for one in request.observations if one.tool == reply.tool and not one.failed)
    made = {normalise(one.query).casefold() for one in earlier}
    if offer.arguments is not None and wish.arguments:
        known, required = offer.arguments.get("properties", {}), offer.arguments.get("required", ())
        errors += [f"{offer.name} has no argument {name!r}" for name in wish.arguments if name not in known]
        errors += [f"argument {name!r} is missing" for name in required if name not in wish.arguments]
    elif not wish.query:
        errors.append("query: is empty")
    elif normalise(wish.query).casefold() in made:
        errors.append("this call was made already: use what it gave, or ask something else")
    if len(reply.query) > _QUERY_CHARS:
        errors.append(f"query: is longer than {_QUERY_CHARS} characters")
    calls = (*request.observations, *(one for step in request.research for one in step.observations))
    known_addresses = _addresses("\n".join((request.asked.question, *texts_of(calls))))
    named = _addresses("\n".join((wish.query, *wish.arguments.values())))
    return [*errors, *(f"address {one[:80]!r} stands nowhere" for one in sorted(named - known_addresses)[:_MOST_TOLD])]


def _addresses(text: str) -> frozenset[str]:
    return frozenset(address.rstrip(_BEHIND_ADDRESS) for address in _ADDRESS.findall(text))


def _wrong_sources(sources: Sequence[int], findings: Sequence[Finding]) -> list[str]:
    wrong = [number for number in sources if not 1 <= number <= len(findings)]
    return [f"sources: there is no finding {number}" for number in wrong[:_MOST_TOLD]]


def _unsupported(texts: dict[str, str], grounds: Grounds) -> list[str]:
    """Which of the texts are empty, and which figures in them nobody stated."""
    unknown = grounds.unknown("\n".join(texts.values()))[:_MOST_TOLD]
    return [
        *(f"{name}: is empty" for name, text in texts.items() if not clean(text).strip()),
        *(f"the number {number} is stated nowhere: find it out or calculate it with a tool" for number in unknown),
    ]


def _grounds(request: ActRequest) -> Grounds:
    """All that a researcher or expert may rest on."""
    asked, plan, day = request.asked, request.plan, request.today
    task = (request.task,) if request.role == "researcher" else ()
    given = (asked.question, plan.question, *asked.files, f"{day.isoformat()} {day:%d/%m/%Y}", *task)
    return Grounds([*given, *texts_of(request.observations, request.research)], plan.question)


def _known_findings(request: ActRequest) -> tuple[Finding, ...]:
    """As they are numbered for the expert: its own, then those of the research."""
    return (*findings_of(request.observations), *(one for step in request.research for one in step.findings))


def _wished(reply: ToolShape, request: ActRequest) -> ToolWish:
    """The call as it will be made; a tool that reads its query itself gets no arguments."""
    takes = any(one.name == reply.tool and one.arguments is not None for one in request.tools)
    values = {clean(one.name).strip(): clean(one.value).strip() for one in reply.arguments if takes}
    arguments = {name: value for name, value in values.items() if value}
    query = clean(reply.query).strip() or (clean(request.task).strip()[:_QUERY_CHARS] if arguments else "")
    return ToolWish(tool=reply.tool, query=query, arguments=arguments, why=clean(reply.why).strip()[:_WHY_CHARS])


def _found(reply: FoundShape, request: ActRequest, grounds: Grounds) -> Found:
    text = clean(reply.text).strip()
    if not reply.found and grounds.unknown(text):
        text = ""  # why nothing was found is no place for figures of its own
    own = len(findings_of(request.observations))
    places = dict.fromkeys(number - 1 for number in reply.sources if 1 <= number <= own)
    return Found(text=text, found=reply.found, findings=tuple(places))


def _solved(reply: SolvedShape, request: ActRequest, grounds: Grounds) -> Solved:
    findings, text = _known_findings(request), clean(reply.text).strip()
    if not reply.solved and (not text or grounds.unknown(text)):
        text = sentence("not_solved", request.asked.language)
    used = dict.fromkeys(number - 1 for number in reply.sources if 1 <= number <= len(findings))
    working = Working(
        answer=clean(reply.answer).strip() if reply.solved else "", text=text, solved=reply.solved,
        steps=_steps(reply.steps, grounds),
        confidence=round(min(reply.confidence, _MOST_SURE), 3) if reply.solved else 0.0,
        findings=tuple(findings[place] for place in used), observations=request.observations,
    )  # fmt: skip
    return Solved(working=working)


def _steps(steps: Sequence[str], grounds: Grounds) -> tuple[str, ...]:
    """The lines that state nothing of their own."""
    lines = [line for step in steps if (line := " ".join(clean(step).split()))]
    kept = tuple(line for line in lines if not grounds.unknown(line))
    if len(kept) < len(lines):
        note_downgrade(f"{SOLVE}: {len(lines) - len(kept)} steps without support left out")
    return kept
