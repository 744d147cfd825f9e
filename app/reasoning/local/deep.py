"""`LocalDeepReasoner`: the agents of the deep flow where no language model thinks.

It does only what can be shown: splits a question at its clauses, searches each part, and quotes. It calculates a sum
the question states itself, or a formula that a quote states, with figures of the question or a quote. Where a part is
not found or a figure is missing it shows the rules it found, says what is missing, and the run is not answered.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from textwrap import shorten

from app import __version__
from app.domain.deep import Critique, DeepPlan, Report, Working
from app.domain.knowledge import Finding, Language
from app.domain.plan import FILES_TOOL, LOG_TOOL, MATH_TOOL, RAG_TOOL
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
        asked, steps = request.asked, list[str]()
        said, question = sentences("deep", asked.language), asked.question.strip() or "?"
        if reckoning_asked(question) is None and _search_tools(question, request.researcher, files=bool(asked.files)):
            earlier = request.previous.research if request.feedback and request.previous else ()
            steps = [step for step in (*earlier, *sub_queries_of(question, asked.language)) if step.strip()]
        logic = (said["logic"], said["logic_formula"]) if steps else (said["logic_sum"],)
        research = tuple(dict.fromkeys(steps))[: request.max_research_steps]
        return DeepPlan(question=question, research=research, logic=logic)

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
        tool = next((tool.name for tool in request.tools if own.fits(tool.name)), None)
        wish = ToolWish(tool=tool, query=asked.question, arguments=dict(own.values)) if tool else None
        return _computed(request, wish, ())
    lacking = [one.task for one in request.research if not one.found]
    if lacking or not findings:
        parts = "; ".join(part.rstrip(" ?.") for part in lacking or [asked.question])
        return _unsolved(request, said["missing_parts"].format(parts=parts), findings)
    question = normalise(asked.question)
    if "calculation" in intents_of(question):
        read = math_arguments(question, findings, asked.language)
        if read.values.get("expression") and any(ground in question for ground in read.grounds):
            query = said["calculate"].format(expression=read.values["expression"])
            wish = ToolWish(tool=MATH_TOOL, query=query, arguments=read.values, why="; ".join(read.grounds))
            return _computed(request, wish if MATH_TOOL in {tool.name for tool in request.tools} else None, findings)
        why = said["missing_values"].format(values=", ".join(read.missing)) if read.missing else said["no_formula"]
        return _unsolved(request, why, findings)
    if not _speaks_of_figures(question, asked.language, findings) or _asks_sum(question, asked.language):
        return _unsolved(request, said["no_formula"], findings)
    text = "\n\n".join(dict.fromkeys(one.answer for one in findings))
    values = [one.value for research in request.research for one in research.observations if one.value]
    answer = values[0] if len(findings) == len(values) == 1 else text
    return _solved(request, answer, text, findings, computed=False)


def _findings_of(request: ActRequest) -> tuple[Finding, ...]:
    researched = (finding for one in request.research for finding in one.findings)
    own = (finding for one in request.observations for finding in one.findings)
    found = (finding for finding in (*researched, *own) if finding.found and finding.answer.strip())
    return tuple(dict.fromkeys(found))


def _computed(request: ActRequest, wish: ToolWish | None, findings: Sequence[Finding]) -> Action:
    """The call, then its result; unsolved when there is no tool or it failed."""
    said, calls = (
        sentences("deep", request.asked.language),
        {(one.tool, one.query): one for one in request.observations},
    )
    made = calls.get((wish.tool, wish.query)) if wish else None
    if wish is not None and made is None and request.calls_left > 0:
        return wish
    if made is None or made.failed or not (result := (made.value or made.text).strip()):
        return _unsolved(request, said["tool_failed"].format(reason=made.text if made else request.task), findings)
    return _solved(request, result, made.text.strip() or result, (*findings, *made.findings), computed=True)


def _solved(request: ActRequest, answer: str, text: str, findings: Sequence[Finding], *, computed: bool) -> Solved:
    working = Working(
        answer=answer, text=text, solved=True,
        steps=(*_rules(findings, request.asked.language), *([text] if computed else [])),
        confidence=min([*([_CALCULATED] if computed else []), *(one.confidence for one in findings)]),
        findings=tuple(findings), observations=request.observations,
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
