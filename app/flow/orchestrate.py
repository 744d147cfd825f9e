"""Node 1, orchestrator: what kind of input is this, who may answer it, and which path does it take?"""

from langgraph.runtime import Runtime

from app.errors import AppError, ErrorCode
from app.flow.reflect import draft_plan
from app.flow.state import Asking, Decision, Ports, RunContext, RunState
from app.reasoning import AgentOffer, Classification


async def orchestrate(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Settle the caller's agents, classify the question, and plan at once where no reflection is needed."""
    context = runtime.context
    started_at = context.ports.now()
    offers = offers_for(context.ports, context.asking)
    classification = await classify(context.ports, context.asking, offers)
    decision = decide(classification, offers)
    context.trace.router(started_at, decision)
    if decision == "chitchat":
        return {"decision": decision, "offers": offers, "classification": classification}
    departments = context.ports.agents.accessible_departments(context.asking.principal)
    context.trace.permission(context.ports.now(), sorted(context.asking.principal.scopes), departments)
    found: RunState = {"decision": decision, "offers": offers, "classification": classification}
    if decision == "direct_execution":
        found["plan"] = await draft_plan(context.ports, context.limits, context.asking, classification, offers)
    return found


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
    found = await ports.reasoner.classify(asking.request.query, asking.history, offers)
    if asking.request.language is None:
        return found
    return found.model_copy(update={"language": asking.request.language})


def decide(classification: Classification, offers: tuple[AgentOffer, ...]) -> Decision:
    """Chitchat is answered, a simple question or a single agent goes straight to execution, the rest reflects."""
    match classification.kind:
        case "chitchat":
            return "chitchat"
        case "simple":
            return "direct_execution"
        case "task":
            return "direct_execution" if len(offers) == 1 else "reflection_needed"
