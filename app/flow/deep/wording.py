"""The few sentences the deep flow itself says, in both languages."""

from app.domain.knowledge import Language
from app.flow.deep.limits import DeepLimits
from app.flow.deep.state import Cause, DeepState

_WHY: dict[Language, dict[Cause, str]] = {
    "vi": {
        "plan": "sau {tries} lần lập kế hoạch vẫn chưa có kế hoạch nào dùng được",
        "research": "sau {tries} lần tìm vẫn chưa có thông tin đủ tin cậy cho bước {step}: {task}",
        "expert": "sau {tries} lần tính toán, suy luận vẫn chưa có câu trả lời đứng vững",
        "deadline": "đã hết thời gian dành cho câu hỏi này",
        "budget": "đã dùng hết hạn mức gọi mô hình ngôn ngữ dành cho câu hỏi này",
    },
    "en": {
        "plan": "no usable plan was made in {tries} tries",
        "research": "nothing reliable was found for step {step} in {tries} tries: {task}",
        "expert": "no answer stood up to review in {tries} tries",
        "deadline": "the time for this question is over",
        "budget": "the budget of model calls for this question is used up",
    },
}
_NO_ANSWER: dict[Language, str] = {
    "vi": "Chưa tìm được câu trả lời: {why}.",
    "en": "No answer was found: {why}.",
}
_APPROVED: dict[Language, tuple[str, str]] = {
    "vi": ("chấp nhận", "trả lại"),
    "en": ("approved", "sent back"),
}


def why_given_up(cause: Cause, state: DeepState, limits: DeepLimits) -> str:
    """Why there is no answer, as part of a sentence."""
    tries = {"plan": limits.max_plan_tries, "research": limits.max_research_tries, "expert": limits.max_expert_tries}
    task = state.plan.research[state.step - 1] if state.plan is not None and state.step else ""
    return _WHY[state.asked.language][cause].format(tries=tries.get(cause, 0), step=state.step, task=task).rstrip(".")


def no_answer(why: str, language: Language) -> str:
    """The honest message, where no mind is left to say it."""
    return _NO_ANSWER[language].format(why=why)


def account_of(state: DeepState) -> str:
    """What was tried, a line each, where no mind is left to tell it."""
    yes, no = _APPROVED[state.asked.language]
    lines = [f"{number}. {text}" for number, text in enumerate(state.plan.research if state.plan else (), 1)]
    lines += [f"{one.task}: {one.text}" for one in state.research]
    for critique in state.critiques:
        name = f"{critique.of}:{critique.step}" if critique.step else critique.of
        lines.append(f"{name}: {yes}" if critique.approved else f"{name}: {no} – {critique.feedback}")
    return "\n".join(lines)
