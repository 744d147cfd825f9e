"""A reasoner over a model server, an account to pay from, and calls of every method of the port."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import uuid4

from app.reasoning import AgentOffer, AnswerRequest, Classification, ComposeRequest, Composition, PlanRequest
from app.reasoning.budget import Account, Ledger, charged_to
from app.reasoning.llm import Ladder, ModelReasoner, Rung, TimeLimits
from app.reasoning.llm.endpoint import Endpoint
from app.reasoning.llm.ladder import Breaker
from app.reasoning.llm.reasoner import AnswerMode
from app.reasoning.local import LocalReasoner
from tests import factories
from tests.fakes.ledger import MemoryLedger

QUICK = TimeLimits(first_token=0.4, between_tokens=0.3, call=1.5)
LEAVE = factories.passage("Nhân viên có 12 ngày phép năm. Tối đa 5 ngày được chuyển sang quý 1.", document="leave")
PAY = factories.passage("Lương cơ bản là 15.000.000 đồng mỗi tháng, trả vào ngày 28.", document="pay")
FOUND = factories.finding(LEAVE, PAY)
OFFERS = (
    AgentOffer(
        name="hr", description="chấm công, nghỉ phép, tiền lương",
        tools={"rag_tool": "documents", "summary_tool": "gist", "math_tool": "sums"},
        exemplars=("Mỗi năm được nghỉ bao nhiêu ngày phép?",), departments=("hr",),
    ),
    AgentOffer(
        name="general", description="giá trị cốt lõi, quy định chung", tools={"rag_tool": "documents"},
        exemplars=("Giá trị cốt lõi là gì?",), departments=("general",), is_fallback=True,
    ),
)  # fmt: skip
QUERY = "Mỗi năm được nghỉ bao nhiêu ngày phép?"


@contextmanager
def paid(seconds: float = 30.0, ledger: Ledger | None = None) -> Iterator[Account]:
    """An account open for what is inside."""
    deadline = asyncio.get_running_loop().time() + seconds
    with charged_to(Account(factories.principal(), uuid4(), deadline, ledger or MemoryLedger())) as account:
        yield account


def ladder_to(*addresses: tuple[str, str], limits: TimeLimits = QUICK, seed: int = 0, threshold: int = 1_000) -> Ladder:
    """Models by address and name, with pauses cut short and no open circuits in the way."""

    async def short(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.02))

    rungs = [
        Rung(Endpoint.at(url, model, limits=limits), Breaker(asyncio.get_running_loop().time, threshold=threshold))
        for url, model in addresses
    ]
    return Ladder(rungs, rng=random.Random(seed), sleep=short)


@asynccontextmanager
async def reasoner_to(
    rules: LocalReasoner,
    *addresses: tuple[str, str],
    mode: AnswerMode = "model",
    limits: TimeLimits = QUICK,
    seed: int = 0,
    is_small: bool = False,
) -> AsyncIterator[ModelReasoner]:
    """A reasoner over models, closed afterwards."""
    ladder = ladder_to(*addresses, limits=limits, seed=seed)
    try:
        yield ModelReasoner(ladder, rules, answer_mode=mode, is_small=is_small)
    finally:
        await ladder.aclose()


def _classified(**changes: Any) -> Classification:
    values = {"kind": "task", "language": "vi", "refined_query": QUERY, "sub_queries": (QUERY,), "confidence": 0.9}
    return Classification.model_validate({**values, **changes})


def plan_request() -> PlanRequest:
    return PlanRequest(
        query=QUERY, classification=_classified(), agents=OFFERS, probes=(), user_access=("public",),
        max_queries_per_agent=10,
    )  # fmt: skip


def answer_request() -> AnswerRequest:
    return AnswerRequest(
        query=QUERY, language="vi", agent="hr", index=1, passages=(LEAVE, PAY), min_relevance_score=0.7
    )


def compose_request() -> ComposeRequest:
    return ComposeRequest(query=QUERY, language="vi", findings=(FOUND,), evidence=FOUND.evidence)


async def composed(reasoner: ModelReasoner, request: ComposeRequest | None = None) -> tuple[str, Composition]:
    """What was streamed, and the composition at its end."""
    told, last = "", None
    async for piece in reasoner.compose(request or compose_request()):
        if isinstance(piece, Composition):
            assert last is None
            last = piece
        else:
            assert last is None, "text after the composition"
            told += piece
    assert last is not None
    return told, last


CALLS: dict[str, Callable[[ModelReasoner], Coroutine[None, None, Any]]] = {
    "plan": lambda reasoner: reasoner.classify(QUERY, (), OFFERS),
    "answer": lambda reasoner: reasoner.answer(answer_request()),
    "arguments": lambda reasoner: reasoner.arguments("math_tool", "Cho biết tổng của những thứ ấy", (), "vi"),
    "compose": composed,
}
"""A call of the port by the stage its prompt belongs to."""
MODES: dict[str, AnswerMode] = {"answer": "strict"}
"""The mode in which a call asks a model, where it is not ``model``."""
