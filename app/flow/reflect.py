"""Node 2, reflection semantic router: where does the evidence live, which agents, queries and tools, in which tiers?

The plan is fixed here, before any document text is read: probes carry departments and scores only.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from app.domain.plan import Plan
from app.domain.principal import SCOPES
from app.errors import AppError, ErrorCode
from app.events import RenavigateRequest
from app.flow.state import Asking, FlowLimits, Ports, RunContext, RunState
from app.links import LinkGuard
from app.reasoning import AgentOffer, Classification, PlanRequest, Probe

REFLECTION_ROUTER = "reflection_router"


async def reflect(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Plan, review, and plan again with the review's reason, at most ``max_retries`` times."""
    context = runtime.context
    request = await plan_request(
        context.ports, context.limits, context.asking, state["classification"], state["offers"]
    )
    for _ in range(context.limits.max_retries + 1):
        plan = await context.ports.reasoner.plan(request)
        review = await context.ports.reasoner.review_plan(plan, request)
        if review.approved:
            return {"plan": checked(plan, state["offers"]), "probes": request.probes}
        reason = LinkGuard((), language=request.classification.language, known_text=request.query).clean(review.reason)
        context.run.writer.append(RenavigateRequest(node_id=REFLECTION_ROUTER, reason=reason))
        request = request.model_copy(update={"feedback": reason})
    context.trace.downgrade("plan_review")
    return {"plan": checked(plan, state["offers"]), "probes": request.probes}


async def draft_plan(
    ports: Ports, limits: FlowLimits, asking: Asking, classification: Classification, offers: tuple[AgentOffer, ...]
) -> Plan:
    """One plan without review, for the dry run."""
    request = await plan_request(ports, limits, asking, classification, offers)
    return checked(await ports.reasoner.plan(request), offers)


async def plan_request(
    ports: Ports, limits: FlowLimits, asking: Asking, classification: Classification, offers: tuple[AgentOffer, ...]
) -> PlanRequest:
    """Gather what a planner may know; embeds the sub-queries once for the whole run.

    What a follow-up says by itself is probed behind the sub-queries.
    """
    sub_queries = classification.sub_queries or (classification.refined_query,)
    own_words = (classification.own_words,) if classification.own_words and asking.active_agent else ()
    asked = tuple(dict.fromkeys((*sub_queries, *own_words)))
    found = await _probed(ports, asking, asked, classification)
    probes = [
        Probe(query=query, relevance_by_department=relevance) for query, relevance in zip(asked, found, strict=True)
    ]
    return request_with(limits, asking, classification, offers, probes)


async def _probed(
    ports: Ports, asking: Asking, asked: Sequence[str], classification: Classification
) -> Sequence[dict[str, float]]:
    """Where evidence lies. Nobody knows while the database is away: what reads documents fails by itself then, and what
    does not goes on."""
    try:
        return await ports.retriever.probe(asking.principal, asked, as_of=asking.searched_on(classification))
    except AppError as away:
        if away.code is not ErrorCode.DATABASE_UNAVAILABLE:
            raise
        return [{} for _ in asked]


def request_with(
    limits: FlowLimits,
    asking: Asking,
    classification: Classification,
    offers: tuple[AgentOffer, ...],
    probes: Sequence[Probe],
) -> PlanRequest:
    """What a planner may know, with what was probed before."""
    return PlanRequest(
        query=asking.request.query,
        classification=classification,
        agents=offers,
        probes=tuple(probes),
        user_access=tuple(scope for scope in SCOPES if scope in asking.principal.scopes),
        max_queries_per_agent=limits.max_queries_per_agent,
        files=len(asking.request.files),
    )


def checked(plan: Plan, offers: tuple[AgentOffer, ...]) -> Plan:
    """The plan, if every agent and tool in it is on offer; a planner's mistake must not widen rights."""
    offered = {offer.name: offer.tools for offer in offers}
    for planned in plan.steps:
        agent, tool = planned.step.agent, planned.step.tool
        if agent in offered and tool in offered[agent]:
            continue
        if agent == "orchestrator" and tool == "summary_tool":
            continue
        raise AppError(ErrorCode.PLAN_INVALID, f"The plan names {agent}/{tool}, which is not on offer.", status=500)
    return plan
