"""Planner, critic and finalizer by a language model; what it fails to do, the rules do, noted in the run's account.

The planner reads the question and what is on offer, no documents. What the finalizer says is held against what was
handed over.
"""

import re

from app.domain.deep import Critique, DeepPlan, Report, Working
from app.domain.knowledge import Language, without_citations
from app.reasoning.deep import Action, ActRequest, CritiqueRequest, DecomposeRequest, DeepReasoner, TellRequest
from app.reasoning.llm import acting, telling
from app.reasoning.llm.grounds import Grounds, texts_of
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import CritiqueShape, DeepPlanShape, ReportShape
from app.reasoning.llm.structured import Question, ask, or_else
from app.reasoning.sentences import digest
from app.text.amounts import CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR, amounts_in
from app.text.language import clean, content_words, fold
from app.text.numbers import plain, read_digits

_PLAN_TOKENS, _REVIEW_TOKENS, _TELL_TOKENS = 700, 250, 700
_SHARE, _TELL_SHARE = 0.2, 0.6
_LOGIC_STEPS = 8
_STEP_CHARS, _FORMAT_CHARS = 400, 200
_FORMAT_WORDS = 0.5
"""Share of the words of an answer's format that the question must hold: nobody else says how it is wanted."""
_NO_REASON = "feedback: is empty, say what to do differently"
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+")
_LINES, _LINE_CHARS = 12, 400
_ANSWER_CHARS, _SHORT_ANSWER_CHARS = 1_500, 200
_ANSWER_WORDS = 0.6
"""Share of the words of a short answer that the answer handed over must hold."""
_MOST_TOLD = 3
_LEAD_MARK = re.compile(r"^(?:final answer|answer|đáp án|đáp số|câu trả lời|trả lời)\s*[:：]\s*", re.IGNORECASE)
_WRAPPED = re.compile(r"^(?:\*\*|__|[`\"'“‘«])+(?P<inside>.*?)(?:\*\*|__|[`\"'”’»])+$")
_INITIALS = re.compile(r"(?:^|\s|\.)[^\W\d_]\.$")
_BARE = re.compile(r"(?P<sign>[+\-−]?)\s?(?P<digits>\d+(?:[.,]\d+)*)", re.ASCII)
_WITH_UNIT = re.compile(
    r"\b(?:with|include|including|state|give|kèm|gồm|ghi|nêu)\s(?:\w+\s){0,2}"
    r"(?:units?|symbol|currency|percent|%|đơn vị|ký hiệu)",
    re.IGNORECASE,
)
_NO_QUANTITY = frozenset({CLOCK, DATE, DAY_OF_MONTH, DAY_OF_YEAR})


class ModelDeepReasoner:
    """Implements `DeepReasoner`. Every method may do I/O; none raises for what a model says or fails to say."""

    def __init__(self, ladder: Ladder, rules: DeepReasoner):
        """`rules` does what no model could do."""
        self._ladder, self._rules = ladder, rules

    @property
    def identity(self) -> str:
        """Models and prompts, and the rules behind them."""
        models = "+".join(self._ladder.models)
        return f"llm/{models}/{digest()}/deep/{self._rules.identity}"

    async def decompose(self, request: DecomposeRequest) -> DeepPlan:
        """One call; no document is read."""
        asked = decomposed(self._ladder, request)
        return await or_else("deep_plan", asked, lambda _: self._rules.decompose(request))

    async def next_action(self, request: ActRequest) -> Action:
        """One call; a tool that is on offer, or the end of the work."""
        asked = acting.acted(self._ladder, request)
        return await or_else(acting.purpose_of(request), asked, lambda _: self._rules.next_action(request))

    async def criticise(self, request: CritiqueRequest) -> Critique:
        """One call, or none: where one step looks something up, and found it, both are judged with the answer."""
        found = request.research
        if len(request.plan.research) <= 1 and request.of != "expert" and (found is None or found.found):
            return Critique(of=request.of, approved=True, step=found.step if found else 0)
        asked = criticised(self._ladder, request)
        return await or_else("deep_review", asked, lambda _: self._rules.criticise(request))

    async def tell(self, request: TellRequest) -> Report:
        """One call for an answer that was found; that there is none is said by rule."""
        by_rule = await self._rules.tell(request)
        working = request.working
        if request.failure or working is None or not working.solved:
            return by_rule
        asked = told(self._ladder, request, working, by_rule)
        return await or_else("deep_tell", asked, lambda _: by_rule)


async def decomposed(ladder: Ladder, request: DecomposeRequest) -> DeepPlan:
    """The model's plan. Raises `ModelFailed`."""
    language, asked = request.asked.language, request.asked.question
    offered = [
        telling.tools(request.researcher, language, "tools_of_researcher"),
        telling.tools(request.expert, language, "tools_of_expert"),
    ]
    question = Question(
        "deep_plan", language, telling.decompose(request), DeepPlanShape, _PLAN_TOKENS, _SHARE, "\n".join(offered),
        lambda reply: _wrong_plan(reply, request),
    )  # fmt: skip
    reply = await ask(ladder, question)
    wanted = _format(reply.answer_format, asked)
    return DeepPlan(question=asked, research=_steps(reply.research), logic=_steps(reply.logic), answer_format=wanted)


def _wrong_plan(reply: DeepPlanShape, request: DecomposeRequest) -> list[str]:
    limits = {"research": max(request.max_research_steps, 0), "logic": _LOGIC_STEPS}
    steps = {"research": _steps(reply.research), "logic": _steps(reply.logic)}
    errors = [
        f"{name}: {len(own)} steps are too many, at most {limits[name]}"
        for name, own in steps.items()
        if len(own) > limits[name]
    ]
    if steps["research"] and not request.researcher:
        errors.append("research: there is no tool to look anything up with")
    if not steps["logic"]:
        errors.append("logic: there is no step")
    if any(len(step) > _STEP_CHARS for own in steps.values() for step in own):
        errors.append(f"a step is longer than {_STEP_CHARS} characters")
    return errors


def _steps(texts: list[str]) -> tuple[str, ...]:
    """Each step once, on one line, without a number of its own."""
    bare = (" ".join(_NUMBERED.sub("", clean(text)).split()) for text in texts)
    return tuple(dict.fromkeys(step for step in bare if any(map(str.isalnum, step))))


def _format(text: str, question: str) -> str:
    """How the answer is wanted, in words of the question; empty when it does not say so."""
    text = " ".join(clean(text).split())[:_FORMAT_CHARS]
    said = {fold(word) for word in content_words(text)}
    asked = {fold(word) for word in content_words(question)}
    return text if said and len(said & asked) >= _FORMAT_WORDS * len(said) else ""


async def criticised(ladder: Ladder, request: CritiqueRequest) -> Critique:
    """The verdict. Raises `ModelFailed`."""
    question = Question(
        "deep_review", request.asked.language, telling.criticise(request), CritiqueShape, _REVIEW_TOKENS, _SHARE,
        check=lambda reply: [] if reply.approved or clean(reply.feedback).strip() else [_NO_REASON],
    )  # fmt: skip
    reply = await ask(ladder, question)
    feedback = "" if reply.approved else clean(reply.feedback).strip()
    step = request.research.step if request.research is not None else 0
    return Critique(of=request.of, approved=reply.approved, feedback=feedback, step=step)


def short_form(answer: str, language: Language, wanted: str = "") -> str:
    """The answer on one line, its numbers (as `language` writes them) without thousands separators, and without units
    unless `wanted` asks for them."""
    text = _LEAD_MARK.sub("", " ".join(clean(answer).split()))
    while wrapped := _WRAPPED.match(text):
        text = wrapped["inside"].strip()
    if text.endswith(".") and not _INITIALS.search(text):
        text = text.rstrip(". ")
    parts = [part for part in re.split(r"\s*;\s*|,\s+", text) if part]
    return ", ".join(parts if _WITH_UNIT.search(wanted) else [_element(part, language) for part in parts])


def _element(text: str, language: Language) -> str:
    if bare := _BARE.fullmatch(text):
        value = read_digits(bare["digits"], language)
        return text if value is None else f"{'-' if bare['sign'] in ('-', '−') else ''}{plain(value)}"
    amounts = [one for one in amounts_in(text, language) if one.unit not in _NO_QUANTITY]
    whole = len(amounts) == 1 and (amounts[0].start, amounts[0].end) == (0, len(text))
    return plain(amounts[0].value) if whole else text


async def told(ladder: Ladder, request: TellRequest, working: Working, by_rule: Report) -> Report:
    """The model's report on an answer; the rules' trace where none of its own holds. Raises `ModelFailed`."""
    handed = (request.asked.question, working.answer, working.text, *working.steps)
    known = texts_of(working.observations, request.research, working.findings)
    grounds = Grounds([*handed, *known], request.asked.question)
    question = Question(
        "deep_tell", request.asked.language, telling.tell(request, working), ReportShape, _TELL_TOKENS,
        _TELL_SHARE, check=lambda reply: _wrong_answer(_answer(reply, request), request, working, grounds),
    )  # fmt: skip
    reply = await ask(ladder, question)
    lines = (" ".join(clean(line).split())[:_LINE_CHARS] for line in reply.reasoning)
    trace = "\n".join([line for line in lines if line and not grounds.unknown(line)][:_LINES])
    changes = {"answer": _answer(reply, request), "reasoning": trace or by_rule.reasoning, "solved": True}
    return by_rule.model_copy(update=changes)


def _wrong_answer(answer: str, request: TellRequest, working: Working, grounds: Grounds) -> list[str]:
    handed = Grounds([working.answer], request.asked.question)
    is_short = request.asked.style == "short"
    most = max(_SHORT_ANSWER_CHARS, len(working.answer)) if is_short else _ANSWER_CHARS
    errors = [] if any(map(str.isalnum, answer)) else ["answer: is empty"]
    if len(answer) > most:
        errors.append(f"answer: is longer than {most} characters")
    unknown = (handed if is_short else grounds).unknown(answer)[:_MOST_TOLD]
    errors += [f"answer: nobody stated {number}" for number in unknown]
    if not _is_same(answer, working, handed, is_short=is_short):
        errors.append("answer: is another one than was handed over")
    return errors


def _is_same(answer: str, working: Working, handed: Grounds, *, is_short: bool) -> bool:
    """Whether it is the answer that was worked out, in other words."""
    if handed.figures and not handed.states_one_of(answer):
        return False
    said = {fold(word) for word in content_words(answer) if not word.isdigit()}
    known = {fold(word) for word in content_words(f"{working.answer} {working.text}")}
    return not is_short or not said or len(said & known) >= _ANSWER_WORDS * len(said)


def _answer(reply: ReportShape, request: TellRequest) -> str:
    text, asked = without_citations(clean(reply.answer)).strip(), request.asked
    if asked.style != "short":
        return text
    return short_form(text, asked.language, f"{asked.question} {request.plan.answer_format if request.plan else ''}")
