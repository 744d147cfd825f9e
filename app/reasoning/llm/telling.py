"""What models are told: the variable part of each prompt, as JSON, so that no text can pretend to be a heading of ours.

Data of documents reaches only calls that choose nothing: answering, arguments, claims, composing. In the deep flow each
text is bounded, so that a prompt has the same size after the first step and after the last.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from app.domain.deep import DeepPlan, Observation, Research, Working
from app.domain.knowledge import Finding, Language, Passage
from app.domain.tasks import Message
from app.reasoning import AgentOffer, AnswerRequest
from app.reasoning.deep import ActRequest, CritiqueRequest, DecomposeRequest, TellRequest, ToolOffer
from app.reasoning.sentences import sentence
from app.text.language import clean

_EXEMPLARS, _EARLIER_QUESTIONS, _EARLIER_CHARS = 3, 4, 500
PASSAGES = 12
"""Told to the model of those that were found: more cost more."""
_PASSAGE_CHARS = 1_200
"""Of one passage at most."""


def line(**fields: Any) -> str:
    """One object on one line."""
    return json.dumps(fields, ensure_ascii=False)


def offers(agents: Sequence[AgentOffer], language: Language) -> str:
    """The agents on offer; the same for everybody with the same rights."""
    lines = [
        line(agent=one.name, about=one.description, tools=list(one.tools), examples=list(one.exemplars[:_EXEMPLARS]))
        for one in agents
    ]
    return "\n".join([sentence("agents", language), *lines])


def question(
    query: str, history: Sequence[Message], feedback: str = "", *, today: date | None = None, department: str = ""
) -> str:
    """The question with the asker's own earlier ones. Earlier answers stay out: they hold text of documents, and this
    call chooses tools."""
    recalled = [message for message in history if message.role == "user" and message.is_recalled]
    last = [message for message in history if message.role == "user" and not message.is_recalled]
    asked = [message.content[:_EARLIER_CHARS] for message in (*recalled, *last[-_EARLIER_QUESTIONS:])]
    told: dict[str, Any] = {"earlier_questions": asked} if asked else {}
    if feedback:
        told["previous_plan_was_refused"] = feedback
    return line(**told, **asker(today, department), question=query)


def asker(today: date | None, department: str) -> dict[str, Any]:
    """The day it is, and the asker's department, as far as they are known."""
    told = {"today": today.isoformat()} if today else {}
    return {**told, "asker_department": department} if department else told


def passages(request: AnswerRequest) -> str:
    """The best passages numbered from 1, then the question."""
    read = request.passages[:PASSAGES]
    lines = passages_told(read, [one.text[:_PASSAGE_CHARS] for one in read])
    return "\n".join([*lines, line(**asker(request.today, request.department), question=request.query)])


def passages_told(passages: Sequence[Passage], texts: Sequence[str]) -> list[str]:
    """Passages numbered from 1 with what is told of them, each document before its first one."""
    documents: dict[UUID, str] = {}
    lines: list[str] = []
    for number, (passage, text) in enumerate(zip(passages, texts, strict=True), 1):
        if passage.document_id not in documents:
            documents[passage.document_id] = f"D{len(documents) + 1}"
            lines.append(line(document=documents[passage.document_id], **_document(passage)))
        section = {"section": passage.section} if passage.section else {}
        lines.append(line(n=number, of=documents[passage.document_id], **section, text=text))
    return lines


def _document(passage: Passage) -> dict[str, Any]:
    """What is known of a passage's document; an internal policy is the usual one, and not called so."""
    made = passage.created_at.date()
    told = {"title": passage.title, "department": passage.department, "date": str(made)}
    further = {
        "scope": passage.scope, "authority": passage.authority, "valid_from": passage.effective_from,
        "valid_until": passage.effective_to,
    }  # fmt: skip
    usual = ("internal", "policy", made, None)
    return {**told, **{name: str(one) for name, one in further.items() if one not in usual}}


def findings(query: str, found: Sequence[Finding], **further: str) -> str:
    """Findings numbered from 1, then the question."""
    lines = [
        line(n=number, query=finding.query, answer=finding.answer, quotes=[quote.text for quote in finding.quotes])
        for number, finding in enumerate(found, 1)
    ]
    return "\n".join([*lines, line(question=query, **further)])


def around(text: str, quoted: str, most: int) -> str:
    """A passage cut around what is quoted of it."""
    start = max(text.find(quoted) - max(most - len(quoted), 0) // 2, 0)
    return text[max(min(start, len(text) - most), 0) :][:most]


_CALLS_CHARS, _CALL_CHARS, _RESEARCH_CHARS = 7_000, 2_400, 9_000
"""Of all calls' results, of one, and of all earlier research."""
_NEWEST, _MOST_CALLS = 2, 14
"""Calls that are always shown, and calls that are named at least."""
_TEXT_CHARS, _LONG_CHARS, _QUOTE_CHARS, _QUESTION_CHARS = 400, 1_200, 700, 4_000
_LEAST_CHARS, _SHORT_CHARS = 120, 240
_FINDINGS, _QUOTES, _STEPS, _MESSAGES, _TOOLS, _ARGUMENTS, _CHOICES = 6, 2, 12, 4, 24, 12, 20


def findings_of(observations: Iterable[Observation]) -> tuple[Finding, ...]:
    """The findings of all observations in order: their places are what a reply's sources count."""
    return tuple(finding for one in observations for finding in one.findings)


def cut(text: str, most: int = _TEXT_CHARS) -> str:
    """A text that may be long, without anything invisible; what is missing at its end is marked."""
    text = clean(text[: 2 * most])  # what is composed gets shorter
    return text if len(text) <= most else f"{text[: most - 1]}…"


def tools(offers: Sequence[ToolOffer], language: Language, whose: str = "tools") -> str:
    """The tools on offer, with their arguments; the same for every step of a run."""
    return "\n".join([sentence(whose, language), *(_offer(offer) for offer in offers[:_TOOLS])])


def _offer(offer: ToolOffer) -> str:
    told: dict[str, Any] = {"tool": offer.name, "does": cut(offer.description, _SHORT_CHARS)}
    if offer.arguments is not None:
        required = offer.arguments.get("required") or ()
        own = list((offer.arguments.get("properties") or {}).items())[:_ARGUMENTS]
        told["arguments"] = {cut(name): _argument(of, is_required=name in required) for name, of in own}
    return line(**told)


def _argument(of: Any, *, is_required: bool) -> dict[str, Any]:
    """What a property takes, in few words."""
    told: dict[str, Any] = {"required": True} if is_required else {}
    if not isinstance(of, Mapping):
        return told
    named = {"type": "type", "description": "is"}
    told |= {key: cut(str(of[name]), _LEAST_CHARS) for name, key in named.items() if name in of}
    choices = [cut(str(choice), _LEAST_CHARS) for choice in (of.get("enum") or ())[:_CHOICES]]
    return {**told, "one_of": choices} if choices else told


def decompose(request: DecomposeRequest) -> str:
    """The question to plan, and why the plan before was refused."""
    asked, told = request.asked, []
    if request.previous is not None:
        told.append(line(previous_plan=_plan(request.previous)))
    if request.feedback:
        told.append(line(previous_plan_was_refused=cut(request.feedback)))
    rest = {"today": request.today.isoformat(), "most_research_steps": request.max_research_steps}
    return "\n".join([*told, line(**_files(asked.files), **rest, question=cut(asked.question, _QUESTION_CHARS))])


def act(request: ActRequest) -> str:
    """What a researcher or expert knows: earlier research, its own calls, what it is told, and the task at the end."""
    asked, plan, previous = request.asked, request.plan, request.previous
    own = _calls(request.observations)
    if request.role == "expert":
        lines = [*own, *_research(request.research, 1 + len(findings_of(request.observations)))]
    else:
        lines = [*_research(request.research), *own]
    said = [one for one in request.messages if clean(one.content).strip()]
    lines += [line(message=cut(one.content), sender=one.sender) for one in said[-_MESSAGES:]]
    if previous is not None:
        result = {"found": previous.found} if isinstance(previous, Research) else {"answer": cut(previous.answer)}
        lines.append(line(sent_back={"text": cut(previous.text), **result}))
    if request.feedback:
        lines.append(line(because=cut(request.feedback)))
    lines.append(line(**_files(asked.files), today=request.today.isoformat(), question=_question(plan, asked.question)))
    rest = {"answer_format": cut(plan.answer_format)} if plan.answer_format else {}
    return "\n".join([*lines, line(task=cut(request.task, _QUESTION_CHARS), **rest, calls_left=request.calls_left)])


def criticise(request: CritiqueRequest) -> str:
    """The work to be judged, then the question."""
    asked, plan, work = request.asked, request.plan, request.research
    if work is not None:
        done = {"task": cut(work.task), "found": work.found, "text": cut(work.text, _LONG_CHARS)}
        lines = [*_calls(work.observations), line(research=done)]
    elif request.working is not None:
        lines = [*_research(request.earlier), *_working(request.working)]
    else:
        lines = [line(tool=offer.name, does=cut(offer.description)) for offer in request.tools]
        lines.append(line(plan=_plan(plan)))
    rest = {"style": asked.style, "least_relevance": request.min_relevance_score}
    return "\n".join([*lines, line(**rest, **_files(asked.files), question=_question(plan, asked.question))])


def tell(request: TellRequest, working: Working) -> str:
    """All that was done, and the answer to be given."""
    lines = [] if request.plan is None else [line(plan=_plan(request.plan))]
    lines += _research(request.research)
    back = [one for one in request.critiques if not one.approved][-_STEPS:]
    lines += [line(sent_back=one.of, step=one.step, because=cut(one.feedback)) for one in back]
    question = cut(request.asked.question, _QUESTION_CHARS)
    return "\n".join([*lines, *_working(working), line(style=request.asked.style, question=question)])


def _question(plan: DeepPlan, asked: str) -> str:
    return cut(plan.question or asked, _QUESTION_CHARS)


def _files(files: Sequence[str]) -> dict[str, Any]:
    return {"files": [cut(name) for name in files[:_CHOICES]]} if files else {}


def _plan(plan: DeepPlan) -> dict[str, Any]:
    return {
        "research": [cut(step) for step in plan.research[:_STEPS]],
        "logic": [cut(step) for step in plan.logic[:_STEPS]],
        "answer_format": plan.answer_format,
    }


def _working(working: Working) -> list[str]:
    steps = [cut(step) for step in working.steps[:_STEPS]]
    answer = {"answer": cut(working.answer), "solved": working.solved, "text": cut(working.text, _LONG_CHARS)}
    return [*_calls(working.observations), line(answer={**answer, "steps": steps})]


def _calls(observations: Sequence[Observation]) -> list[str]:
    """One line a call, oldest first, findings numbered through from 1: the newest as far as there is room, of the
    others only that they were made."""
    lines, number, left = [], 1, _CALLS_CHARS
    for one in observations:
        lines.append(_call(one, number))
        number += len(one.findings)
    for at in reversed(range(len(lines))):
        left -= len(lines[at])
        if left < 0 and at < len(lines) - _NEWEST:
            one = observations[at]
            lines[at] = line(tool=one.tool, query=cut(one.query, _SHORT_CHARS), left_out=True)
    return lines[-_MOST_CALLS:]


def _call(one: Observation, number: int) -> str:
    """What a call gave; its findings are numbered from `number`."""
    told: dict[str, Any] = {"tool": one.tool, "query": cut(one.query, _SHORT_CHARS)}
    if one.failed:
        return line(**told, failed=cut(one.text))
    shown = one.findings[:_FINDINGS]
    most = min(_CALL_CHARS // (1 + _QUOTES) // max(len(shown), 1), _QUOTE_CHARS)
    told["gave"] = cut(one.text, _TEXT_CHARS if shown else _CALL_CHARS)
    told |= {"value": cut(one.value)} if one.value else {}
    findings = [_finding(number + place, finding, most) for place, finding in enumerate(shown)]
    return line(**told, findings=findings) if findings else line(**told)


def _finding(number: int, finding: Finding, most: int) -> dict[str, Any]:
    """A finding with its strongest quotes in their surroundings; every text of at most `most` characters."""
    quotes = [
        {"title": cut(quote.passage.title, _LEAST_CHARS), "section": cut(quote.passage.section, _LEAST_CHARS),
         "text": clean(around(quote.passage.text, quote.text, most)),
         "relevance": round(quote.passage.relevance_score, 2)}
        for quote in finding.quotes[:_QUOTES]
    ]  # fmt: skip
    return {"n": number, "found": finding.found, "answer": cut(finding.answer, most), "quotes": quotes}


def _research(research: Sequence[Research], first: int = 0) -> list[str]:
    """What steps found; their findings are numbered from `first`, or left out."""
    lines: list[str] = []
    shares = len(research) * (1 + (1 + _QUOTES) * _QUOTES if first else 1)
    most = min(max(_RESEARCH_CHARS // max(shares, 1), _LEAST_CHARS), _LONG_CHARS)
    for one in research:
        told: dict[str, Any] = {"step": one.step, "asked": cut(one.task, _SHORT_CHARS), "found": one.found}
        told["learned"] = cut(one.text, min(2 * most, _LONG_CHARS) if first else most)
        if first:
            shown = one.findings[:_QUOTES]
            told["findings"] = [_finding(first + n, finding, min(most, _TEXT_CHARS)) for n, finding in enumerate(shown)]
            first += len(one.findings)
        lines.append(line(research=told))
    return lines[:_STEPS]
