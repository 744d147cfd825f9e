"""`LocalDeepReasoner`: the agents of the deep flow where no language model thinks.

It does only what can be shown: splits a question at its clauses, searches each part, and quotes; a sum that the
question states itself it calculates. Where a part is not found, or the question gives figures of its own that the rules
found would have to be applied to, it shows these rules, says what is missing, and the run is not answered.
"""

from collections.abc import Iterator, Sequence
from textwrap import shorten

from app import __version__
from app.domain.deep import Critique, DeepPlan, Report, Working
from app.domain.knowledge import Finding, Language
from app.domain.plan import FILES_TOOL, LOG_TOOL, RAG_TOOL
from app.reasoning.deep import (
    Action,
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    Found,
    Solved,
    TellRequest,
    ToolOffer,
    ToolWish,
)
from app.reasoning.local.intents import intents_of, named_places, sub_queries_of, wants_tool
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.rendering import further_questions
from app.reasoning.local.sums import reckoning_asked
from app.reasoning.local.wording import sentences
from app.text.language import normalise

_MOST_QUOTES = 4
_MOST_CHARS = 1_200
_MOST_TRACE_CHARS = 400
_CALCULATED = 0.85
"""Confidence in the result of a tool that traced its operands."""


class LocalDeepReasoner:
    """Quotes and stated formulas only; Vietnamese and English. Implements `DeepReasoner`."""

    @property
    def identity(self) -> str:
        """The rules of this release."""
        return f"local-deep/{__version__}"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        """One research step a clause that asks something; none where the question is a sum of its own."""
        asked, steps = request.asked, list[str]()
        said, question = sentences("deep", asked.language), asked.question.strip() or "?"
        if reckoning_asked(question) is None and _search_tools(question, request.researcher, files=bool(asked.files)):
            earlier = request.previous.research if request.feedback and request.previous else ()
            steps = [step for step in (*earlier, *sub_queries_of(question, asked.language)) if step.strip()]
        logic = (said["logic" if steps else "logic_sum"],)
        research = tuple(dict.fromkeys(steps))[: request.max_research_steps]
        return DeepPlan(question=question, research=research, logic=logic)

    async def next_action(self, request: ActRequest) -> Action:
        """One more tool call, or the end of the step."""
        return _research(request) if request.role == "researcher" else _work(request)

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """Send back an answer that is empty: what is quoted or computed here needs no second look."""
        step = request.research.step if request.research is not None else 0
        working = request.working if request.research is None else None
        is_empty = working is not None and working.solved and not working.answer.strip()
        feedback = sentences("deep", request.asked.language)["empty"] if is_empty else ""
        return Critique(of=request.of, approved=not is_empty, feedback=feedback, step=step)

    async def tell(self, request: TellRequest) -> Report:
        """The quotes or the result, or what is missing with the rules that were found; with the trace."""
        working, asked = request.working, request.asked
        answer, findings = "", tuple[Finding, ...]()
        if working is not None and working.solved and working.answer.strip() and not request.failure:
            answer = working.answer if asked.style == "short" else working.text or working.answer
            findings = working.findings if asked.style != "short" else ()
        is_solved = bool(answer)
        answer = answer or sentences("deep", asked.language)["no_answer"].format(why=_why(request)).strip()
        most = request.max_follow_up_questions
        return Report(
            answer=answer,
            reasoning="\n".join(_trace(request, answer, is_solved=is_solved)),
            solved=is_solved,
            follow_up_questions=further_questions(asked.question, findings, asked.language, most),
        )


def _search_tools(task: str, offered: Sequence[ToolOffer], *, files: bool) -> list[str]:
    """The tools on offer that may hold what a task asks for, the fittest first."""
    wanted = [*named_places(normalise(task)), *([LOG_TOOL] if wants_tool(LOG_TOOL, task) else [])]
    wanted += [*([FILES_TOOL] if files else []), RAG_TOOL]
    names = {tool.name for tool in offered}
    return [tool for tool in dict.fromkeys(wanted) if tool in names]


def _research(request: ActRequest) -> Action:
    findings = [finding for one in request.observations for finding in one.findings]
    kept = [at for at, finding in enumerate(findings) if finding.found and finding.answer.strip()]
    done = {one.tool for one in request.observations}
    tools = _search_tools(request.task, request.tools, files=bool(request.asked.files))
    wish = next((tool for tool in tools if tool not in done), None)
    if wish is not None and not kept and request.calls_left > 0:
        return ToolWish(tool=wish, query=request.task, why=request.task)
    text = "\n".join(dict.fromkeys(findings[at].answer for at in kept))[:_MOST_CHARS]
    told = text or sentences("deep", request.asked.language)["nothing_for"].format(task=request.task)
    return Found(text=told, found=bool(text), findings=tuple(kept))


def _work(request: ActRequest) -> Action:
    """The expert: a stated sum, or the quotes; unsolved when anything is missing."""
    asked, said = request.asked, sentences("deep", request.asked.language)
    findings = _findings_of(request)
    own = reckoning_asked(asked.question) if not request.research else None
    if own is not None:
        tool = next((tool.name for tool in request.tools if own.fits(tool.name)), None)
        wish = ToolWish(tool=tool, query=asked.question, arguments=dict(own.values)) if tool else None
        return _computed(request, wish)
    lacking = [one.task for one in request.research if not one.found]
    if lacking or not findings:
        parts = "; ".join(part.rstrip(" ?.") for part in lacking or [asked.question])
        return _unsolved(request, said["missing_parts"].format(parts=parts), findings)
    question = normalise(asked.question)
    if "calculation" in intents_of(question) or any(one.unit for one in amounts_in(question, asked.language)):
        return _unsolved(request, said["no_formula"], findings)
    text = "\n\n".join(dict.fromkeys(one.answer for one in findings))
    values = [one.value for research in request.research for one in research.observations if one.value]
    return _solved(
        request, values[0] if len(findings) == len(values) == 1 else text, text,
        steps=_rules(findings, asked.language), confidence=min(one.confidence for one in findings), findings=findings,
    )  # fmt: skip


def _findings_of(request: ActRequest) -> tuple[Finding, ...]:
    researched = (finding for one in request.research for finding in one.findings)
    own = (finding for one in request.observations for finding in one.findings)
    found = (finding for finding in (*researched, *own) if finding.found and finding.answer.strip())
    return tuple(dict.fromkeys(found))


def _computed(request: ActRequest, wish: ToolWish | None) -> Action:
    """The call, then its result; unsolved when there is no tool or it failed."""
    calls = {(one.tool, one.query): one for one in request.observations}
    made = calls.get((wish.tool, wish.query)) if wish else None
    if wish is not None and made is None and request.calls_left > 0:
        return wish
    if made is None or made.failed or not (result := (made.value or made.text).strip()):
        said = sentences("deep", request.asked.language)
        return _unsolved(request, said["tool_failed"].format(reason=made.text if made else request.task), ())
    text = made.text.strip() or result
    return _solved(request, result, text, steps=[text], confidence=_CALCULATED, findings=made.findings)


def _solved(
    request: ActRequest, answer: str, text: str, *, steps: Sequence[str], confidence: float, findings: Sequence[Finding]
) -> Solved:
    working = Working(
        answer=answer, text=text, solved=True, steps=tuple(steps), confidence=confidence, findings=tuple(findings),
        observations=request.observations,
    )  # fmt: skip
    return Solved(working=working)


def _rules(findings: Sequence[Finding], language: Language) -> list[str]:
    quotes = dict.fromkeys((quote.passage.title, quote.text) for one in findings for quote in one.quotes)
    return [
        sentences("deep", language)["rule"].format(title=title, text=text)
        for title, text in list(quotes)[:_MOST_QUOTES]
    ]


def _unsolved(request: ActRequest, why: str, findings: Sequence[Finding]) -> Solved:
    """What is missing, with the rules that were found."""
    said, rules = sentences("deep", request.asked.language), _rules(findings, request.asked.language)
    text = "\n".join([why, said["found"], *(f"- {rule}" for rule in rules)]) if rules else why
    working = Working(
        answer="", text=text, solved=False, steps=tuple(rules), findings=tuple(findings)[:_MOST_QUOTES],
        observations=request.observations,
    )  # fmt: skip
    return Solved(working=working)


def _why(request: TellRequest) -> str:
    """Why the run ended, and what is missing."""
    said, working = sentences("deep", request.asked.language), request.working
    text = working.text if working is not None and not working.solved else ""
    missed = "; ".join(one.task.rstrip(" ?.") for one in request.research if not one.found)
    told = text or (said["missing_parts"].format(parts=missed) if missed else "")
    return " ".join(filter(None, (said.get(request.failure, request.failure), told))) or said["research"]


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
    return shorten(text, _MOST_TRACE_CHARS, placeholder="…")
