"""How every flow begins and ends, and node 1, orchestrator: what is asked, who may answer it, which path it takes."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

from cachetools import TTLCache
from langgraph.runtime import Runtime

from app.domain.plan import ChitchatPlan, Plan
from app.domain.principal import Principal
from app.domain.tasks import ChatRequest, Message, Recollection
from app.errors import AppError, ErrorCode
from app.flow.answer_cache import MAX_ENTRIES, AnswerCache, cache_key, look_up
from app.flow.planning import plan_directly
from app.flow.state import RESERVE_SHARE, Asking, Decision, Floor, FlowLimits, Ports, RunContext, RunState
from app.flow.trace import Trace
from app.flow.wording import DEADLINE_MESSAGE
from app.links import LinkGuard
from app.reasoning import AgentOffer, Classification, Composition
from app.reasoning.budget import Account, charged_to
from app.reasoning.sentences import sentence
from app.tasks.run import TaskRun
from app.telemetry import CacheUse, counting_cache_use
from app.text.dates import zone_named


class Flow(ABC):
    """What the flows of the service have in common: how a run is opened and ended, and how a plan is shown."""

    def __init__(self, ports: Ports, limits: FlowLimits):
        self.ports, self.limits = ports, limits
        self._memory: AnswerCache = TTLCache(MAX_ENTRIES, limits.cache_ttl_seconds)
        """The flow's own: no other flow, with other tools or settings, ever reads it."""

    async def run(self, run: TaskRun) -> None:
        """Take a claimed chat task to its terminal event, or to where a person has to decide: then it returns without
        one. Raises `StaleAttempt` when the run was lost to another."""
        with counting_cache_use() as caches:
            context = await self._opened(run, caches)
            with charged_to(context.account):
                await self.go_on(context)

    @abstractmethod
    async def go_on(self, context: RunContext) -> None:
        """Take an opened run to its end."""

    async def recall(self, principal: Principal, session_id: UUID, request: ChatRequest) -> Recollection:
        """What is known of the conversation a question stands in; a history the caller gave counts instead of ours."""
        return await self.ports.memory.recall(principal, session_id, request.query, request.history_chat)

    async def dry_run(
        self, principal: Principal, request: ChatRequest, known: Recollection | None = None
    ) -> Plan | ChitchatPlan:
        """The plan a question would get, before anything is found; nothing is executed or stored. `known` is the
        conversation it stands in, None = the request's own. Raises `AppError` for unknown agents."""
        asking = await self._asking(principal, request, known or Recollection(history=request.history_chat))
        offers = offers_for(self.ports, asking)
        with charged_to(self._account(principal, uuid4(), self.limits.task_deadline_ms / 1000)):
            found = await classify(self.ports, asking, offers)
            if (reply := reply_to(found)) is not None:
                return ChitchatPlan(is_chitchat=True, chitchat_response=reply.answer)
            return await self._drafted(asking, found, offers)

    @abstractmethod
    async def _drafted(self, asking: Asking, found: Classification, offers: tuple[AgentOffer, ...]) -> Plan:
        """The plan of a question that asks something."""

    async def _opened(self, run: TaskRun, caches: CacheUse) -> RunContext:
        """The world of a claimed run; reads the conversation it stands in."""
        request = ChatRequest.model_validate(run.task.request)
        known = await self.recall(run.principal, run.task.session_id, request)
        now = self.ports.now()
        limit_seconds = self.limits.task_deadline_ms / 1000
        if run.task.deadline is not None:
            limit_seconds = min(limit_seconds, max((run.task.deadline - now).total_seconds(), 0.0))
        account = self._account(run.principal, run.task.task_id, limit_seconds)
        listener = self.ports.memory.listener(run.principal, run.task.session_id, run.task.task_id)
        listener.on_message(Message(role="user", content=request.query))
        return RunContext(
            ports=self.ports, limits=self.limits, run=run, asking=await self._asking(run.principal, request, known),
            deadline=asyncio.get_running_loop().time() + limit_seconds,
            trace=Trace(self.ports.now, caches, account.doings), memory=self._memory, account=account,
            listener=listener,
        )  # fmt: skip

    async def _asking(self, principal: Principal, request: ChatRequest, known: Recollection) -> Asking:
        """A question with its asker, on the day it is in the asker's zone."""
        own = await self.ports.clock.own(principal)
        today = self.ports.now().astimezone(zone_named(own.time_zone)).date()
        return Asking(principal, request, known.history, today, own.time_zone, own.is_strict, known.active_agent)

    def _account(self, principal: Principal, run_id: UUID, limit_seconds: float) -> Account:
        """Models have to be done a little before the run, so that the rules can still answer."""
        now = asyncio.get_running_loop().time()
        return Account(principal, run_id, now + limit_seconds * (1 - RESERVE_SHARE), self.ports.ledger)


@asynccontextmanager
async def ending_with(
    context: RunContext, fail: Callable[[ErrorCode, str], Awaitable[None]]
) -> AsyncGenerator[None, None]:
    """End with `fail` a run that is refused, or cut at its deadline."""
    try:
        async with asyncio.timeout_at(context.deadline) as limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        await fail(ErrorCode.RUN_DEADLINE_EXCEEDED, DEADLINE_MESSAGE)
    except AppError as refusal:
        if refusal.code is ErrorCode.DATABASE_UNAVAILABLE:
            raise  # nothing is wrong with the run: its next attempt goes on when the database is back
        await fail(refusal.code, refusal.detail)


async def orchestrate(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Settle the caller's agents, then look whether the answer is known already; if not classify the question, and
    plan at once where no reflection is needed."""
    context = runtime.context
    started_at = context.ports.now()
    offers = offers_for(context.ports, context.asking)
    key = await cache_key(context)
    known = look_up(context.memory, key) if key else None
    if known:
        context.trace.router(started_at, "remembered", known.as_of)
        if known.plan:
            settle_permission(context)
        return {"decision": "remembered", "offers": offers, "remembered": known}
    classification = await classify(context.ports, context.asking, offers)
    if context.is_deep(classification):
        return {"decision": "deep", "offers": offers, "classification": classification}
    decision = decide(classification, offers)
    found: RunState = {
        "decision": decision, "offers": offers, "classification": classification, "answer_key": key,
    }  # fmt: skip
    if decision in ("chitchat", "refused"):
        context.trace.router(started_at, decision, None)
        return found
    context.trace.router(started_at, decision, context.asking.as_of(classification))
    settle_permission(context)
    if decision == "direct_execution":
        found |= await plan_directly(context.ports, context.limits, context.asking, classification, offers)
        if "follows_up" in found:
            context.trace.follows_up(found["follows_up"])
        found["floor"] = Floor(tuple(found["plan"].agents), context.limits.max_handovers)
    return found


def settle_permission(context: RunContext) -> None:
    """Tell the trace what the caller may read."""
    principal = context.asking.principal
    departments = context.ports.agents.accessible_departments(principal)
    context.trace.permission(context.ports.now(), sorted(principal.scopes), departments)


def offers_for(ports: Ports, asking: Asking) -> tuple[AgentOffer, ...]:
    """The agents and tools this caller may use, narrowed to those asked for; others are never shown to a planner.

    Raises `AppError` for unknown names and when nothing is left.
    """
    offers = ports.agents.offers_for(asking.principal, asking.request.agents)
    if not offers:
        raise AppError(ErrorCode.PERMISSION_DENIED, "No agent may be used by this account.", status=403)
    return offers


async def classify(ports: Ports, asking: Asking, offers: tuple[AgentOffer, ...]) -> Classification:
    """Ask the reasoner; a language forced by the request wins."""
    found = await ports.reasoner.classify(
        asking.request.query, asking.history, offers, today=asking.today, department=asking.principal.department
    )
    if asking.request.language is None:
        return found
    return found.model_copy(update={"language": asking.request.language})


def reply_to(found: Classification) -> Composition | None:
    """What is said where nothing is asked; None where something is."""
    match found.kind:
        case "chitchat":
            text = LinkGuard((), language=found.language).clean(found.chitchat_response)
            return Composition(answer=text, outcome="chitchat", confidence=found.confidence)
        case "refused":
            return Composition(answer=sentence("refused", found.language), outcome="refused")
        case _:
            return None


def decide(classification: Classification, offers: tuple[AgentOffer, ...]) -> Decision:
    """Chitchat is answered, a simple question or a single department goes straight to execution, the rest reflects."""
    match classification.kind:
        case "chitchat" | "refused":
            return classification.kind
        case "simple":
            return "direct_execution"
        case "task":
            readers = sum(1 for offer in offers if offer.departments)
            return "direct_execution" if readers <= 1 else "reflection_needed"
