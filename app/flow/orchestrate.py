"""Node 1, orchestrator: what kind of input is this, who may answer it, and which path does it take?"""

from langgraph.runtime import Runtime

from app.agents.handover import Floor
from app.errors import AppError, ErrorCode
from app.flow.answer_cache import cache_key, look_up
from app.flow.planning import plan_directly
from app.flow.state import Asking, Decision, Ports, RunContext, RunState
from app.reasoning import AgentOffer, Classification


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
        draft = await plan_directly(context.ports, context.limits, context.asking, classification, offers)
        if draft.active_agent:
            context.trace.follows_up(draft.active_agent)
        found["plan"], found["probes"], found["hop"] = draft.plan, draft.probes, draft.hop
        found["floor"] = Floor(tuple(draft.plan.agents), context.limits.max_handovers)
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
    found = await ports.reasoner.classify(asking.request.query, asking.history, offers, today=asking.today)
    if asking.request.language is None:
        return found
    return found.model_copy(update={"language": asking.request.language})


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
