"""What models are told in the deep flow: JSON lines, so that no text can pretend to be a heading of ours, each bounded,
so that a prompt has the same size after the first step and after the last."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.domain.deep import Critique, DeepMessage, DeepPlan, Observation, Research, Working
from app.domain.knowledge import Finding, Language
from app.reasoning.deep import ActRequest, CritiqueRequest, DecomposeRequest, TellRequest, ToolOffer
from app.reasoning.llm.telling import line
from app.text.language import clean, content_words, fold

_MOST_CHARS = 7_000
"""Of all observations together."""
_ONE_CHARS = 2_400
_NEWEST = 2
"""Always shown, whatever they are about."""
_NAMED = 12
"""Calls that are named although what they gave is left out."""
_QUERY_CHARS, _FAILURE_CHARS, _QUOTE_CHARS, _TITLE_CHARS = 240, 300, 700, 160
_FINDINGS, _QUOTES = 6, 2


def findings_of(observations: Sequence[Observation]) -> tuple[Finding, ...]:
    """The findings of all observations in order: their places are what a reply's sources count."""
    return tuple(finding for one in observations for finding in one.findings)


def told_observations(task: str, observations: Sequence[Observation], first: int = 1) -> list[dict[str, Any]]:
    """One object a call, oldest first. Findings are numbered through from `first`, shown or not."""
    numbers = list(_numbers(observations, first))
    shown = _chosen(task, observations)
    named = [place for place in range(len(observations)) if place not in shown][-_NAMED:]
    return [
        _shown(observations[place], numbers[place]) if place in shown else _named(observations[place])
        for place in sorted({*shown, *named})
    ]


def told_finding(number: int, finding: Finding, most: int = _QUOTE_CHARS) -> dict[str, Any]:
    """A finding with its strongest quotes in their surroundings; every text of at most `most` characters."""
    quotes = [
        {"title": cut(quote.passage.title, _TITLE_CHARS), "section": cut(quote.passage.section, _TITLE_CHARS),
         "text": _around(quote.passage.text, quote.text, most),
         "relevance": round(quote.passage.relevance_score, 2)}
        for quote in finding.quotes[:_QUOTES]
    ]  # fmt: skip
    return {"n": number, "found": finding.found, "answer": cut(finding.answer, most), "quotes": quotes}


def cut(text: str, most: int) -> str:
    """A text that may be long, without anything invisible; what is missing at its end is marked."""
    text = clean(text[: 2 * most])  # what is composed gets shorter
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _around(text: str, quoted: str, most: int) -> str:
    """A passage cut around what is quoted of it."""
    start = max(text.find(quoted) - max(most - len(quoted), 0) // 2, 0)
    start = max(min(start, len(text) - most), 0)
    return clean(text[start : start + most])


def _numbers(observations: Sequence[Observation], first: int) -> Iterator[int]:
    """The number of each observation's first finding."""
    for one in observations:
        yield first
        first += len(one.findings)


def _chosen(task: str, observations: Sequence[Observation]) -> frozenset[int]:
    """Places of those that are shown: the newest, then the closest to the task as long as there is room."""
    wanted = {fold(word) for word in content_words(task)}
    newest = range(max(0, len(observations) - _NEWEST), len(observations))
    older = sorted(
        range(max(0, len(observations) - _NEWEST)), key=lambda place: (-_closeness(wanted, observations[place]), -place)
    )
    chosen: list[int] = []
    left = _MOST_CHARS
    for place in (*reversed(newest), *older):
        size = min(_size(observations[place]), _ONE_CHARS)
        if place in newest or size <= left:
            chosen.append(place)
            left -= size
    return frozenset(chosen)


def _closeness(wanted: set[str], one: Observation) -> float:
    if one.failed or not wanted:
        return 0.0
    texts = [one.query, one.text[:_ONE_CHARS], *(finding.answer[:_QUOTE_CHARS] for finding in one.findings[:_FINDINGS])]
    return len(wanted & {fold(word) for word in content_words(" ".join(texts))}) / len(wanted)


def _size(one: Observation) -> int:
    quotes = (quote for finding in one.findings[:_FINDINGS] for quote in finding.quotes[:_QUOTES])
    return len(one.text) + sum(min(len(quote.passage.text), _QUOTE_CHARS) for quote in quotes)


def _named(one: Observation) -> dict[str, Any]:
    return {"tool": one.tool, "query": cut(one.query, _QUERY_CHARS), "left_out": True}


def _shown(one: Observation, number: int) -> dict[str, Any]:
    told: dict[str, Any] = {"tool": one.tool, "query": cut(one.query, _QUERY_CHARS)}
    if one.failed:
        return {**told, "failed": cut(one.text, _FAILURE_CHARS)}
    findings: list[dict[str, Any]] = []
    left = _ONE_CHARS
    for place, finding in enumerate(one.findings[:_FINDINGS]):
        shown = told_finding(number + place, finding)
        left -= sum(len(quote["text"]) for quote in shown["quotes"]) + len(shown["answer"])
        if left < 0 and findings:
            break
        findings.append(shown)
    told["gave"] = cut(one.text, max(min(_ONE_CHARS, left), _FAILURE_CHARS) if findings else _ONE_CHARS)
    if one.value:
        told["value"] = cut(one.value, _FAILURE_CHARS)
    return {**told, "findings": findings} if findings else told


_QUESTION_CHARS, _STEP_CHARS, _LINE_CHARS = 4_000, 600, 400
_RESEARCH_CHARS, _RESEARCHES, _RESEARCH_FINDINGS = 1_200, 12, 2
_ALL_RESEARCH_CHARS, _LEAST_CHARS = 9_000, 120
"""Shared by all steps, a part for what was learned and one for each text of their findings."""
_STEPS, _FILES, _MESSAGES, _CRITIQUES = 12, 20, 4, 12
_TOOLS, _DESCRIPTION_CHARS, _ARGUMENTS, _ARGUMENT_CHARS, _CHOICES = 24, 300, 12, 120, 20
_TOOLS_OF: dict[Language, dict[str, str]] = {
    "vi": {"researcher": "Công cụ của người tìm kiếm:", "expert": "Công cụ của chuyên gia:", "own": "Công cụ:"},
    "en": {"researcher": "The researcher's tools:", "expert": "The expert's tools:", "own": "The tools:"},
}


def tools(offers: Sequence[ToolOffer], language: Language, whose: str = "own") -> str:
    """The tools on offer, with their arguments; the same for every step of a run."""
    return "\n".join([_TOOLS_OF[language][whose], *(_offer(offer) for offer in offers[:_TOOLS])])


def _offer(offer: ToolOffer) -> str:
    told: dict[str, Any] = {"tool": offer.name, "does": cut(offer.description, _DESCRIPTION_CHARS)}
    if offer.arguments is not None:
        required = listed(offer.arguments.get("required"))
        told["arguments"] = {
            cut(str(name), _LINE_CHARS): _argument(of, is_required=name in required)
            for name, of in list(properties_of(offer.arguments).items())[:_ARGUMENTS]
        }
    return line(**told)


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of an object schema; none where it is of another make."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def listed(value: Any) -> Sequence[Any]:
    """A list of a schema; empty where it is of another make."""
    return value if isinstance(value, list | tuple) else ()


def _argument(of: Any, *, is_required: bool) -> dict[str, Any]:
    """What a property takes, in few words."""
    told: dict[str, Any] = {"required": True} if is_required else {}
    if not isinstance(of, Mapping):
        return told
    if isinstance(of.get("type"), str):
        told["type"] = cut(of["type"], _ARGUMENT_CHARS)
    if choices := listed(of.get("enum")):
        told["one_of"] = [cut(str(choice), _ARGUMENT_CHARS) for choice in choices[:_CHOICES]]
    if isinstance(of.get("description"), str):
        told["is"] = cut(of["description"], _ARGUMENT_CHARS)
    return told


def decompose(request: DecomposeRequest) -> str:
    """The question to plan, and why the plan before was refused."""
    told: list[str] = []
    if request.previous is not None:
        told.append(line(previous_plan=_plan(request.previous)))
    if request.feedback:
        told.append(line(previous_plan_was_refused=cut(request.feedback, _STEP_CHARS)))
    rest = {"today": request.today.isoformat(), "most_research_steps": request.max_research_steps}
    asked = request.asked
    return "\n".join([*told, line(**_files(asked.files), **rest, question=cut(asked.question, _QUESTION_CHARS))])


def act(request: ActRequest) -> str:
    """What a researcher or expert knows: earlier research, its own calls, what it is told, and the task at the end."""
    observations = request.observations
    own = told_observations(f"{request.task} {request.plan.question}", observations)
    first = 1 + len(findings_of(observations))
    if request.role == "expert":
        lines = [*map(_line_of, own), *_research(request.research, first)]
    else:
        lines = [*_research(request.research, None), *map(_line_of, own)]
    lines += [line(message=cut(one.content, _LINE_CHARS), sender=one.sender) for one in _last(request.messages)]
    if request.previous is not None:
        lines.append(line(sent_back=_sent_back(request.previous)))
    if request.feedback:
        lines.append(line(because=cut(request.feedback, _STEP_CHARS)))
    asked, plan = request.asked, request.plan
    rest = {"answer_format": cut(plan.answer_format, _LINE_CHARS)} if plan.answer_format else {}
    lines.append(line(**_files(asked.files), today=request.today.isoformat(), question=_question(plan, asked.question)))
    task = cut(request.task, _QUESTION_CHARS)
    return "\n".join([*lines, line(task=task, **rest, calls_left=max(request.calls_left, 0))])


def criticise(request: CritiqueRequest) -> str:
    """The work to be judged, then the question."""
    lines: list[str] = []
    if request.research is not None:
        lines += _judged_research(request.research)
    elif request.working is not None:
        lines += [*_research(request.earlier, None), *_judged_working(request.working)]
    else:
        lines += [line(tool=offer.name, does=cut(offer.description, _DESCRIPTION_CHARS)) for offer in request.tools]
        lines.append(line(plan=_plan(request.plan)))
    asked = request.asked
    rest = {"style": asked.style, "least_relevance": request.min_relevance_score}
    return "\n".join([*lines, line(**rest, **_files(asked.files), question=_question(request.plan, asked.question))])


def tell(request: TellRequest, working: Working) -> str:
    """All that was done, and the answer to be given."""
    lines = [] if request.plan is None else [line(plan=_plan(request.plan))]
    lines += _research(request.research, None)
    lines += [_critique(one) for one in request.critiques[-_CRITIQUES:] if not one.approved]
    lines += _judged_working(working)
    asked = request.asked
    return "\n".join([*lines, line(style=asked.style, question=cut(asked.question, _QUESTION_CHARS))])


def _line_of(told: Mapping[str, Any]) -> str:
    return line(**told)


def _question(plan: DeepPlan, asked: str) -> str:
    return cut(plan.question or asked, _QUESTION_CHARS)


def _files(files: Sequence[str]) -> dict[str, Any]:
    return {"files": [cut(name, _LINE_CHARS) for name in files[:_FILES]]} if files else {}


def _cut_all(texts: Iterable[str], most: int = _LINE_CHARS) -> list[str]:
    return [cut(text, most) for text in list(texts)[:_STEPS]]


def _plan(plan: DeepPlan) -> dict[str, Any]:
    return {"research": _cut_all(plan.research), "logic": _cut_all(plan.logic), "answer_format": plan.answer_format}


def _research(research: Sequence[Research], first: int | None) -> list[str]:
    """What steps found; their findings are numbered from `first`, or left out."""
    lines: list[str] = []
    part = _ALL_RESEARCH_CHARS // (max(len(research), 1) * (1 if first is None else 1 + 3 * _RESEARCH_FINDINGS))
    most = min(max(part, _LEAST_CHARS), _RESEARCH_CHARS)
    for place, one in enumerate(research):
        told: dict[str, Any] = {"step": one.step, "asked": cut(one.task, _LINE_CHARS), "found": one.found}
        told["learned"] = cut(one.text, most if first is None else min(2 * most, _RESEARCH_CHARS))
        if first is not None:
            shown = one.findings[:_RESEARCH_FINDINGS]
            told["findings"] = [
                told_finding(first + n, finding, min(most, _LINE_CHARS)) for n, finding in enumerate(shown)
            ]
            first += len(one.findings)
        if place < _RESEARCHES:
            lines.append(line(research=told))
    return lines


def _last(messages: Sequence[DeepMessage]) -> Sequence[DeepMessage]:
    return [one for one in messages if clean(one.content).strip()][-_MESSAGES:]


def _sent_back(work: Working | Research) -> dict[str, Any]:
    if isinstance(work, Research):
        return {"text": cut(work.text, _STEP_CHARS), "found": work.found}
    return {"answer": cut(work.answer, _LINE_CHARS), "text": cut(work.text, _STEP_CHARS)}


def _judged_research(research: Research) -> list[str]:
    told = told_observations(research.task, research.observations)
    result = {"task": cut(research.task, _STEP_CHARS), "found": research.found}
    return [*map(_line_of, told), line(research={**result, "text": cut(research.text, _RESEARCH_CHARS)})]


def _judged_working(working: Working) -> list[str]:
    told = told_observations(working.text, working.observations)
    answer = {"answer": cut(working.answer, _LINE_CHARS), "solved": working.solved}
    steps = {"text": cut(working.text, _RESEARCH_CHARS), "steps": _cut_all(working.steps)}
    return [*map(_line_of, told), line(answer={**answer, **steps})]


def _critique(critique: Critique) -> str:
    return line(sent_back=critique.of, step=critique.step, because=cut(critique.feedback, _LINE_CHARS))
