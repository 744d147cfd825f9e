"""`LocalDeepReasoner`: the agents of the deep flow where no language model thinks.

It does only what can be shown: splits a question at its clauses, searches each part, and quotes. It calculates a sum
the question states itself, or a formula that a quote states, with figures of the question or a quote. Where a part is
not found or a figure is missing it shows the rules it found, says what is missing, and the run is not answered.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from app import __version__
from app.domain.deep import Critique, DeepPlan, Report, Working
from app.domain.knowledge import Finding, Language
from app.domain.plan import FILES_TOOL, LOG_TOOL, MATH_TOOL, RAG_TOOL
from app.reasoning import Arguments
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
from app.reasoning.local.cues import sentences
from app.reasoning.local.decompose import sub_queries_of
from app.reasoning.local.intents import CURRENCIES, asks_money, intents_of, named_places, wants_log
from app.reasoning.local.math_arguments import math_arguments
from app.reasoning.local.numbers import amounts_in, numbers_of, ranges_in
from app.reasoning.local.reckoning import Reckoning
from app.reasoning.local.rendering import further_questions
from app.reasoning.local.sums import reckoning_asked
from app.text.language import fold, normalise
from app.text.numbers import plain

_MOST_QUOTES = 4
_MOST_CHARS = 1_200
_MOST_TRACE_CHARS = 400
_LANGUAGES: tuple[Language, ...] = ("vi", "en")
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
        return _plan(request)

    async def next_action(self, request: ActRequest) -> Action:
        """One more tool call, or the end of the step."""
        return _research(request) if request.role == "researcher" else _work(request)

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """Send back what is empty or states figures from nowhere."""
        step = request.research.step if request.research is not None else 0
        working, said, feedback = request.working, sentences("deep", request.asked.language), ""
        if request.research is None and working is not None and working.solved:
            strays = _strays(request, working)
            feedback = said["ungrounded"].format(figures=", ".join(strays)) if strays else ""
            feedback = feedback if working.answer.strip() else said["empty"]
        return Critique(of=request.of, approved=not feedback, feedback=feedback, step=step)

    async def tell(self, request: TellRequest) -> Report:
        """The quotes or the result, or what is missing; with the trace."""
        return _report(request)


def _plan(request: DecomposeRequest) -> DeepPlan:
    asked = request.asked
    said, question = sentences("deep", asked.language), asked.question.strip() or "?"
    steps: Sequence[str] = ()
    if reckoning_asked(question) is None and _search_tools(question, request.researcher, files=bool(asked.files)):
        earlier = request.previous.research if request.feedback and request.previous else ()
        steps = [step for step in (*earlier, *sub_queries_of(question, asked.language)) if step.strip()]
    logic = (said["logic"], said["logic_formula"]) if steps else (said["logic_sum"],)
    return DeepPlan(
        question=question, research=tuple(dict.fromkeys(steps))[: request.max_research_steps], logic=logic
    )  # fmt: skip


def _search_tools(task: str, offered: Sequence[ToolOffer], *, files: bool) -> list[str]:
    """The tools on offer that may hold what a task asks for, the fittest first."""
    wanted = [*named_places(normalise(task)), *([LOG_TOOL] if wants_log(task) else [])]
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
    """The expert: a stated sum, a stated formula, or the quotes; unsolved when anything is missing."""
    asked, said = request.asked, sentences("deep", request.asked.language)
    findings = _findings_of(request)
    own = reckoning_asked(asked.question) if not request.research else None
    if own is not None:
        return _computed(request, _wish_of(own, request), ())
    lacking = [one.task for one in request.research if not one.found]
    if lacking or not findings:
        parts = "; ".join(part.rstrip(" ?.") for part in lacking or [asked.question])
        return _unsolved(request, said["missing_parts"].format(parts=parts), findings)
    question = normalise(asked.question)
    if "calculation" in intents_of(question):
        read = math_arguments(question, findings, asked.language)
        if read.values.get("expression") and any(ground in question for ground in read.grounds):
            return _computed(request, _sum_wish(read, request), findings)
        why = said["missing_values"].format(values=", ".join(read.missing)) if read.missing else said["no_formula"]
        return _unsolved(request, why, findings)
    if not _speaks_of_figures(question, asked.language, findings) or _asks_sum(question, asked.language):
        return _unsolved(request, said["no_formula"], findings)
    text = "\n\n".join(dict.fromkeys(one.answer for one in findings))
    values = [one.value for research in request.research for one in research.observations if one.value]
    working = Working(
        answer=values[0] if len(findings) == len(values) == 1 else text, text=text, solved=True,
        steps=tuple(_rules(findings, asked.language)),
        confidence=min(one.confidence for one in findings), findings=findings, observations=request.observations,
    )  # fmt: skip
    return Solved(working=working)


def _findings_of(request: ActRequest) -> tuple[Finding, ...]:
    researched = (finding for one in request.research for finding in one.findings)
    own = (finding for one in request.observations for finding in one.findings)
    found = (finding for finding in (*researched, *own) if finding.found and finding.answer.strip())
    return tuple(dict.fromkeys(found))


def _wish_of(own: Reckoning, request: ActRequest) -> ToolWish | None:
    """The call that computes what the question states itself; None without a tool for it."""
    tool = next((tool.name for tool in request.tools if own.fits(tool.name)), None)
    if tool is None or own.missing:
        return None
    return ToolWish(tool=tool, query=request.asked.question, arguments=dict(own.values))


def _sum_wish(read: Arguments, request: ActRequest) -> ToolWish | None:
    if all(tool.name != MATH_TOOL for tool in request.tools):
        return None
    query = sentences("deep", request.asked.language)["calculate"].format(expression=read.values["expression"])
    return ToolWish(tool=MATH_TOOL, query=query, arguments=read.values, why="; ".join(read.grounds))


def _computed(request: ActRequest, wish: ToolWish | None, findings: Sequence[Finding]) -> Action:
    """The call, then its result; unsolved when there is no tool or it failed."""
    said = sentences("deep", request.asked.language)
    made = next(
        (one for one in request.observations if wish and (one.tool, one.query) == (wish.tool, wish.query)), None
    )
    if wish is not None and made is None and request.calls_left > 0:
        return wish
    result = "" if made is None or made.failed else (made.value or made.text).strip()
    if made is None or not result:
        reason = made.text if made is not None else request.task
        return _unsolved(request, said["tool_failed"].format(reason=reason), findings)
    working = Working(
        answer=result, text=made.text.strip() or result, solved=True,
        steps=(*_rules(findings, request.asked.language), made.text.strip() or result),
        confidence=min([_CALCULATED, *(one.confidence for one in findings)]),
        findings=(*findings, *made.findings), observations=request.observations,
    )  # fmt: skip
    return Solved(working=working)


def _speaks_of_figures(question: str, language: Language, findings: Sequence[Finding]) -> bool:
    """Whether quotes state each measured figure of the question, or a range that holds it: then they answer for it."""
    stated = [amount for amount in amounts_in(question, language) if amount.unit]
    texts = [(quote.text, quote.passage.language) for one in findings for quote in one.quotes]
    ranges = [found for text, written in texts for found in ranges_in(text, "en" if written == "en" else "vi")]
    amounts = {
        (amount.value, amount.unit) for text, written in texts
        for amount in amounts_in(text, "en" if written == "en" else "vi")
    }  # fmt: skip
    return all(
        (one.value, one.unit) in amounts or any(r.unit in ("", one.unit) and r.holds(one) for r in ranges)
        for one in stated
    )


def _asks_sum(question: str, language: Language) -> bool:
    """Whether an amount is asked for that depends on a stated amount of money: quoting its rule does not answer."""
    return asks_money(fold(question).lower()) and any(one.unit in CURRENCIES for one in amounts_in(question, language))


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


def _strays(request: CritiqueRequest, working: Working) -> list[str]:
    """Figures of an answer that neither the question, a quote nor a tool states."""
    texts = [request.asked.question]
    for finding in (*working.findings, *(found for one in request.earlier for found in one.findings)):
        texts += [finding.answer, *(f"{q.passage.section}\n{q.passage.text}" for q in finding.quotes)]
    texts += [text for one in working.observations if not one.failed for text in (one.text, one.value)]
    known = frozenset[Decimal]().union(*(numbers_of(text, language) for text in texts for language in _LANGUAGES))
    return [plain(one) for one in sorted(numbers_of(working.answer, request.asked.language)) if one not in known]


def _report(request: TellRequest) -> Report:
    """What the asker is told: the answer, or what is missing with the rules that were found; and the trace."""
    working, asked = request.working, request.asked
    is_solved = working is not None and working.solved and bool(working.answer.strip()) and not request.failure
    if is_solved and working is not None:
        answer = working.answer if asked.style == "short" else working.text or working.answer
    else:
        answer = sentences("deep", asked.language)["no_answer"].format(why=_why(request)).strip()
    findings = working.findings if working and is_solved and asked.style != "short" else ()
    most = request.max_follow_up_questions
    return Report(
        answer=answer,
        reasoning="\n".join(_trace(request, answer, is_solved=is_solved)),
        solved=is_solved,
        follow_up_questions=further_questions(asked.question, findings, asked.language, most),
    )


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
