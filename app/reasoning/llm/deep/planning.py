"""The planner and the critic. The planner reads the question and what is on offer, no documents."""

import re
from collections.abc import Sequence

from app.domain.deep import Asked, Critique, DeepPlan, Observation, Research
from app.reasoning.deep import CritiqueRequest, DecomposeRequest
from app.reasoning.llm.deep import telling
from app.reasoning.llm.grounds import Grounds, texts_of
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import CritiqueShape, DeepPlanShape
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean, content_words, fold

PURPOSE, REVIEW_PURPOSE = "deep_plan", "deep_review"
_MAX_TOKENS, _REVIEW_MAX_TOKENS = 700, 250
_SHARE = 0.2
_LOGIC_STEPS = 8
_STEP_CHARS, _FORMAT_CHARS = 400, 200
_OWN_WORDS = 0.5
"""Share of the words of an answer's format that the question must hold: nobody else says how it is wanted."""
_NO_REASON = "feedback: is empty, say what to do differently"
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+")


def deep_grounds(
    asked: Asked, plan: DeepPlan, texts: Sequence[str], observations: Sequence[Observation] = (),
    research: Sequence[Research] = (),
) -> Grounds:  # fmt: skip
    """What a stage may rest on: the question, what tools gave, and what steps found."""
    return Grounds([asked.question, plan.question, *texts, *texts_of(observations, research)], plan.question)


async def decomposed(ladder: Ladder, request: DecomposeRequest) -> DeepPlan:
    """The model's plan. Raises `ModelFailed`."""
    language, asked = request.asked.language, request.asked.question
    offered = [
        telling.tools(request.researcher, language, "tools_of_researcher"),
        telling.tools(request.expert, language, "tools_of_expert"),
    ]
    question = Question(
        PURPOSE, language, telling.decompose(request), DeepPlanShape, _MAX_TOKENS, _SHARE, "\n".join(offered),
        lambda reply: _wrong(reply, request),
    )  # fmt: skip
    reply = await ask(ladder, question)
    wanted = _format(reply.answer_format, asked)
    return DeepPlan(question=asked, research=_steps(reply.research), logic=_steps(reply.logic), answer_format=wanted)


def _wrong(reply: DeepPlanShape, request: DecomposeRequest) -> list[str]:
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
    return text if said and len(said & asked) >= _OWN_WORDS * len(said) else ""


async def criticised(ladder: Ladder, request: CritiqueRequest) -> Critique:
    """The verdict. Raises `ModelFailed`."""
    question = Question(
        REVIEW_PURPOSE, request.asked.language, telling.criticise(request), CritiqueShape, _REVIEW_MAX_TOKENS, _SHARE,
        check=lambda reply: [] if reply.approved or clean(reply.feedback).strip() else [_NO_REASON],
    )  # fmt: skip
    reply = await ask(ladder, question)
    feedback = "" if reply.approved else clean(reply.feedback).strip()
    step = request.research.step if request.research is not None else 0
    return Critique(of=request.of, approved=reply.approved, feedback=feedback, step=step)
