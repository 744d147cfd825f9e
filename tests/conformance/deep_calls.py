"""Requests of the deep flow's minds, and a mind over a model server to put them to."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

from app.domain.deep import Asked, Critique, DeepPlan, Observation, Report, Research, Working
from app.domain.knowledge import Finding
from app.reasoning.deep import (
    ActRequest,
    CritiqueRequest,
    DecomposeRequest,
    DeepReasoner,
    Found,
    Solved,
    TellRequest,
    ToolOffer,
    ToolWish,
)
from app.reasoning.llm import TimeLimits
from app.reasoning.llm.deep import ModelDeepReasoner
from tests import factories
from tests.conformance.asking_models import ladder_to
from tests.fakes.deep_model import MarkedRules

TODAY = date(2026, 11, 22)
QUESTION = "Đi muộn quá 3 lần một tháng thì mỗi lần bị trừ bao nhiêu, và 4 * 50000 là bao nhiêu?"
RULE = factories.passage("Đi muộn quá 3 lần một tháng thì mỗi lần bị trừ 50.000 đồng.", document="late")
FOUND = factories.finding(RULE, query="Đi muộn bị trừ bao nhiêu?")
ASKED = Asked(question=QUESTION, language="vi")
PLAN = DeepPlan(question=QUESTION, research=("Mức trừ khi đi muộn",), logic=("Nhân với số lần",))
SEARCH = ToolOffer(name="search_documents", description="tìm trong tài liệu công ty")
WEB = ToolOffer(
    name="web_tool", description="đọc trang web",
    arguments={"type": "object", "properties": {"url": {"type": "string"}, "question": {"type": "string"}},
               "required": ["url"]},
)  # fmt: skip
WIKIPEDIA = ToolOffer(name="wikipedia_tool", description="đọc Wikipedia")
MATH = ToolOffer(name="math_tool", description="tính toán")
UNITS = ToolOffer(
    name="unit_tool", description="đổi đơn vị",
    arguments={"type": "object", "properties": {
        "value": {"type": "number"}, "unit": {"enum": ["km", "mile"]}, "places": {"type": "integer"},
        "list": {"type": "array"}, "exact": {"type": "boolean"}, "note": {"type": "string", "maxLength": 5},
    }, "required": ["value", "unit"]},
)  # fmt: skip
SEARCHED = Observation(tool="search_documents", query="Đi muộn bị trừ bao nhiêu?", text=RULE.text, findings=(FOUND,))
COMPUTED = Observation(tool="math_tool", query="4 * 50000", text="4 × 50.000 = 200.000", value="200000")
RESEARCH = Research(
    step=1, task=PLAN.research[0], text=RULE.text, found=True, findings=(FOUND,), observations=(SEARCHED,)
)
WORKING = Working(
    answer="200000", text="Bốn lần bị trừ tổng cộng 200.000 đồng.", solved=True, steps=("4 × 50.000 = 200.000",),
    confidence=0.9, findings=(FOUND,), observations=(COMPUTED,),
)  # fmt: skip


def decompose_request(**changes: Any) -> DecomposeRequest:
    values = {"asked": ASKED, "researcher": (SEARCH,), "expert": (MATH,), "today": TODAY}
    return DecomposeRequest.model_validate({**values, **changes})


def research_request(**changes: Any) -> ActRequest:
    values = {"role": "researcher", "asked": ASKED, "plan": PLAN, "task": PLAN.research[0], "step": 1,
              "tools": (SEARCH,), "today": TODAY, "calls_left": 4}  # fmt: skip
    return ActRequest.model_validate({**values, **changes})


def expert_request(**changes: Any) -> ActRequest:
    values = {"role": "expert", "asked": ASKED, "plan": PLAN, "task": "\n".join(PLAN.logic), "tools": (MATH,),
              "research": (RESEARCH,), "today": TODAY, "calls_left": 4}  # fmt: skip
    return ActRequest.model_validate({**values, **changes})


def critique_request(**changes: Any) -> CritiqueRequest:
    values = {"of": "expert", "asked": ASKED, "plan": PLAN, "earlier": (RESEARCH,), "working": WORKING}
    return CritiqueRequest.model_validate({**values, **changes})


def tell_request(**changes: Any) -> TellRequest:
    values = {"asked": ASKED, "plan": PLAN, "research": (RESEARCH,), "working": WORKING}
    return TellRequest.model_validate({**values, **changes})


DEEP_CALLS: dict[str, Callable[[DeepReasoner], Coroutine[None, None, Any]]] = {
    "deep_plan": lambda mind: mind.decompose(decompose_request()),
    "deep_research": lambda mind: mind.next_action(research_request()),
    "deep_solve": lambda mind: mind.next_action(expert_request(observations=(COMPUTED,))),
    "deep_review": lambda mind: mind.criticise(critique_request()),
    "deep_tell": lambda mind: mind.tell(tell_request()),
}
"""A call of the port by the stage its prompt belongs to."""
DEEP_RESULTS: dict[str, tuple[type[Any], ...]] = {
    "deep_plan": (DeepPlan,), "deep_research": (ToolWish, Found), "deep_solve": (ToolWish, Solved),
    "deep_review": (Critique,), "deep_tell": (Report,),
}  # fmt: skip


def finding(text: str, document: str = "doc", **changes: Any) -> Finding:
    """A finding that quotes one passage whole."""
    return factories.finding(factories.passage(text, document=document, **changes))


@asynccontextmanager
async def deep_reasoner_to(
    *addresses: tuple[str, str], rules: DeepReasoner | None = None, limits: TimeLimits | None = None, seed: int = 0
) -> AsyncIterator[ModelDeepReasoner]:
    """A mind over models, closed afterwards."""
    ladder = ladder_to(*addresses, limits=limits or TimeLimits(), seed=seed)
    try:
        yield ModelDeepReasoner(ladder, rules or MarkedRules())
    finally:
        await ladder.aclose()
