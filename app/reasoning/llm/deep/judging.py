"""The critic: a model's verdict on a plan, a research result or an answer. What states figures from nowhere is sent
back before any model is asked, unless the rules come to the same result themselves."""

from app.domain.deep import Critique
from app.links import LinkGuard
from app.reasoning.deep import CritiqueRequest, DeepReasoner
from app.reasoning.llm.deep import telling
from app.reasoning.llm.deep.grounds import Grounds, addresses_of, texts_of
from app.reasoning.llm.deep.shapes import CritiqueShape
from app.reasoning.llm.deep.wording import UNGROUNDED
from app.reasoning.llm.ladder import Ladder
from app.reasoning.llm.prompts import load
from app.reasoning.llm.structured import Question, ask
from app.text.language import clean

PURPOSE = "deep_review"
_MAX_TOKENS = 250
_SHARE = 0.2
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
        PURPOSE,
        load(PURPOSE, language),
        telling.criticise(request),
        CritiqueShape,
        _MAX_TOKENS,
        language,
        _wrong,
        _SHARE,
    )
    reply = await ask(ladder, question)
    feedback = "" if reply.approved else _guard(request, grounds).clean(clean(reply.feedback)).strip()
    return Critique(of=request.of, approved=reply.approved, feedback=feedback, step=step)


def _wrong(reply: CritiqueShape) -> list[str]:
    if not reply.approved and not clean(reply.feedback).strip():
        return ["feedback: is empty, say what to do differently"]
    return []


def _grounds(request: CritiqueRequest) -> Grounds:
    texts = [request.asked.question, request.plan.question, *request.asked.files, *texts_of(research=request.earlier)]
    if request.research is not None:
        texts += [request.research.task, *texts_of(request.research.observations, (), request.research.findings)]
    if request.working is not None:
        texts += texts_of(request.working.observations, (), request.working.findings)
    return Grounds(texts, request.plan.question)


def _guard(request: CritiqueRequest, grounds: Grounds) -> LinkGuard:
    steps = request.earlier if request.research is None else (*request.earlier, request.research)
    observations = request.working.observations if request.working is not None else ()
    allowed = tuple(addresses_of(request.asked.question, observations, steps))
    return grounds.guard(request.asked.language, allowed)


def _unknown(request: CritiqueRequest, grounds: Grounds) -> list[str]:
    """Figures of the result that nothing states; of an answer only its bare form, the text around it may name days."""
    if request.research is not None:
        return grounds.unknown(request.research.text) if request.research.found else []
    if request.working is not None:
        return grounds.unknown(request.working.answer) if request.working.solved else []
    return []
