"""The planner: research steps and logic steps. It reads the question and what is on offer, no documents."""

import re

from app.domain.deep import DeepPlan
from app.links import LinkGuard
from app.reasoning.deep import DecomposeRequest
from app.reasoning.llm.deep import telling
from app.reasoning.llm.deep.grounds import addresses_of
from app.reasoning.llm.deep.shapes import DeepPlanShape
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.prompts import load
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean, content_words, fold

PURPOSE = "deep_plan"
_MAX_TOKENS = 700
_SHARE = 0.2
_LOGIC_STEPS = 8
_STEP_CHARS, _FORMAT_CHARS = 400, 200
_OWN_WORDS = 0.5
"""Share of the words of an answer's format that the question must hold: nobody else says how it is wanted."""
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+")


async def decomposed(ladder: Ladder, request: DecomposeRequest) -> DeepPlan:
    """The model's plan. Raises `ModelFailed`."""
    language = request.asked.language
    offered = [
        telling.tools(request.researcher, language, "researcher"),
        telling.tools(request.expert, language, "expert"),
    ]
    prompt = load(PURPOSE, language).with_instructions("\n".join(offered))
    question = Question(
        PURPOSE, prompt, telling.decompose(request), DeepPlanShape, _MAX_TOKENS, language,
        lambda reply: _wrong(reply, request), _SHARE,
    )  # fmt: skip
    reply = await ask(ladder, question)
    guard = LinkGuard(tuple(addresses_of(request.asked.question)), language=language, known_text=request.asked.question)
    return DeepPlan(
        question=request.asked.question,
        research=tuple(guard.clean(step) for step in _steps(reply.research)),
        logic=tuple(guard.clean(step) for step in _steps(reply.logic)),
        answer_format=_format(reply.answer_format, request.asked.question),
    )


def _wrong(reply: DeepPlanShape, request: DecomposeRequest) -> list[str]:
    research, logic = _steps(reply.research), _steps(reply.logic)
    errors = []
    if len(research) > max(request.max_research_steps, 0):
        errors.append(f"research: {len(research)} steps are too many, at most {max(request.max_research_steps, 0)}")
    if research and not request.researcher:
        errors.append("research: there is no tool to look anything up with")
    if not logic:
        errors.append("logic: there is no step")
    if len(logic) > _LOGIC_STEPS:
        errors.append(f"logic: {len(logic)} steps are too many, at most {_LOGIC_STEPS}")
    if any(len(step) > _STEP_CHARS for step in (*research, *logic)):
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
