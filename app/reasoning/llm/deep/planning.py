"""The planner and the critic.

The planner reads the question and what is on offer, no documents. The critic is not asked of a model about what states
figures from nowhere, unless the rules come to the same result themselves: that is sent back."""

import re

from app.domain.deep import Critique, DeepPlan
from app.domain.knowledge import Language
from app.reasoning.deep import CritiqueRequest, DecomposeRequest, DeepReasoner
from app.reasoning.llm.deep import telling
from app.reasoning.llm.grounds import Grounds
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.shapes import CritiqueShape, DeepPlanShape
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
    offered = (
        telling.tools(request.researcher, language, "researcher"),
        telling.tools(request.expert, language, "expert"),
    )
    question = Question(
        PURPOSE, language, telling.decompose(request), DeepPlanShape, _MAX_TOKENS, _SHARE, "\n".join(offered),
        lambda reply: _wrong(reply, request),
    )  # fmt: skip
    reply = await ask(ladder, question)
    guard = Grounds.of(request.asked, (), "").guard
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


NOT_SOLVED: dict[Language, str] = {
    "vi": "Những gì tìm được chưa đủ để trả lời câu hỏi này.",
    "en": "What was found is not enough to answer this question.",
}
UNGROUNDED: dict[Language, str] = {
    "vi": "Các số sau không có trong câu hỏi, kết quả tìm kiếm hay phép tính nào: {figures}. Hãy tra hoặc tính lại.",
    "en": "These figures stand in no question, finding or calculation: {figures}. Look them up or calculate them.",
}


REVIEW_PURPOSE = "deep_review"
_REVIEW_MAX_TOKENS = 250
_MOST_TOLD = 5


async def criticised(ladder: Ladder, rules: DeepReasoner, request: CritiqueRequest) -> Critique:
    """The verdict. Raises `ModelFailed`."""
    step = request.research.step if request.research is not None else 0
    grounds, language = _grounds(request), request.asked.language
    unknown = _unknown(request, grounds)
    if unknown and not (await rules.criticise(request)).approved:
        told = ", ".join(list(dict.fromkeys(unknown))[:_MOST_TOLD])
        return Critique(of=request.of, approved=False, feedback=UNGROUNDED[language].format(figures=told), step=step)
    question = Question(
        REVIEW_PURPOSE, language, telling.criticise(request), CritiqueShape, _REVIEW_MAX_TOKENS, _SHARE,
        check=_wrong_review,
    )  # fmt: skip
    reply = await ask(ladder, question)
    feedback = "" if reply.approved else grounds.guard.clean(clean(reply.feedback)).strip()
    return Critique(of=request.of, approved=reply.approved, feedback=feedback, step=step)


def _wrong_review(reply: CritiqueShape) -> list[str]:
    if not reply.approved and not clean(reply.feedback).strip():
        return ["feedback: is empty, say what to do differently"]
    return []


def _grounds(request: CritiqueRequest) -> Grounds:
    """What the work may rest on: what it was given and looked up, never its own words."""
    work = request.research or request.working
    texts = [request.plan.question, *request.asked.files, *([request.research.task] if request.research else ())]
    given = (work.observations, request.earlier, work.findings) if work else ((), request.earlier, ())
    return Grounds.of(request.asked, texts, request.plan.question, *given)


def _unknown(request: CritiqueRequest, grounds: Grounds) -> list[str]:
    """Figures of the result that nothing states; of an answer only its bare form, the text around it may name days."""
    if request.research is not None:
        return grounds.unknown(request.research.text) if request.research.found else []
    if request.working is not None:
        return grounds.unknown(request.working.answer) if request.working.solved else []
    return []
