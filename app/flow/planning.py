"""Node 2, reflection semantic router, and hand-over: which agents, queries and tools, in which tiers, and who is next.

Every plan is fixed before any document text is read: from the question, from probes (departments and scores only) and
from whether anything was found. So no document chooses who is asked, or with which tool. A follow-up goes to the
session's active agent first, and an agent hands over what is not its own.
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from app.domain.knowledge import Finding
from app.domain.plan import CHANGES_TOOL, RAG_TOOL, Plan, Planning
from app.domain.principal import SCOPES
from app.errors import AppError, ErrorCode
from app.events import EndProcess, RenavigateRequest, StartProcess
from app.flow.state import Asking, Floor, FlowLimits, Hop, Ports, Reason, RunContext, RunState, successor
from app.flow.wording import findings_of
from app.links import LinkGuard
from app.reasoning import AgentOffer, Classification, PlanRequest, Probe

REFLECTION_ROUTER = "reflection_router"


async def reflect(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Plan, review, and plan again with the review's reason, at most ``max_retries`` times."""
    context, reasoner, offers = runtime.context, runtime.context.ports.reasoner, state["offers"]
    first = request = await plan_request(context.ports, context.limits, context.asking, state["classification"], offers)
    for _ in range(context.limits.max_retries + 1):
        plan = await reasoner.plan(request)
        review = await reasoner.review_plan(plan, request)
        if review.approved:
            break
        reason = LinkGuard((), language=request.classification.language, known_text=request.query).clean(review.reason)
        context.run.writer.append(RenavigateRequest(node_id=REFLECTION_ROUTER, reason=reason))
        request = request.model_copy(update={"feedback": reason})
    else:
        context.trace.downgrade("plan_review")
    return {"plan": checked(plan, offers), "request": first}


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
    pairs = zip(asked, found, strict=True)
    return PlanRequest(
        query=asking.request.query, classification=classification, agents=offers,
        probes=tuple(Probe(query=query, relevance_by_department=relevance) for query, relevance in pairs),
        user_access=tuple(scope for scope in SCOPES if scope in asking.principal.scopes),
        max_queries_per_agent=limits.max_queries_per_agent, files=len(asking.request.files),
    )  # fmt: skip


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


async def plan_directly(
    ports: Ports, limits: FlowLimits, asking: Asking, classification: Classification, offers: tuple[AgentOffer, ...]
) -> RunState:
    """The plan of the direct path, and the hand-over that stands already: for the active agent when a follow-up asks
    one plain thing, else by routing."""
    request = await plan_request(ports, limits, asking, classification, offers)
    routed = checked(await ports.reasoner.plan(request), offers)
    active = _active_agent(asking, classification, offers)
    if active is None or not _is_search(routed):
        return {"plan": routed, "request": request, "hop": None}
    plan = await _plan_for(ports, request, active, classification.sub_queries[0])
    hop = await _better_match(ports, limits, request, active)
    return {"plan": plan, "request": request, "hop": hop, "follows_up": active.name}


def _active_agent(asking: Asking, classification: Classification, offers: Sequence[AgentOffer]) -> AgentOffer | None:
    """The agent a follow-up goes to; None for other questions, and where a mind has assigned it to others."""
    plain = classification.is_follow_up and classification.kind == "simple" and len(classification.sub_queries) == 1
    if not plain or asking.request.files:
        return None
    assigned = {assignment.agent for assignment in classification.assignments}
    if assigned and asking.active_agent not in assigned:
        return None
    return next((offer for offer in _readers(offers) if offer.name == asking.active_agent), None)


async def _better_match(ports: Ports, limits: FlowLimits, request: PlanRequest, active: AgentOffer) -> Hop | None:
    """The hand-over of a follow-up whose own words belong to another agent, by what agents are for and by the probe."""
    asked = request.classification.own_words
    if not asked:
        return None
    elsewhere = await ports.reasoner.plan(_asking_only(request, asked, request.agents))
    if active.name in elsewhere.agents or not _is_search(elsewhere):
        return None
    relevance = _relevance(request.probes, asked, request.agents)
    other, least = next(iter(elsewhere.agents)), max(limits.min_relevance_score, relevance.get(active.name, 0.0))
    if relevance.get(other, -1.0) < least or not Floor((active.name,), limits.max_handovers).may_pass_to(other):
        return None
    return await _hop(ports, request, other, "better_match", asked)


async def next_hop(context: RunContext, state: RunState, floor: Floor) -> Hop | None:
    """The hand-over of a plain question nothing was found for; None when something was, a search failed, or nobody is
    left whose documents bear on it."""
    classification, limits = state["classification"], context.limits
    if classification.kind != "simple" or floor.is_final or not _is_search(state["plan"]):
        return None
    if any(not outcome.ok for outcome in context.outcomes):
        return None
    if _is_found(findings_of(context.outcomes), limits.min_relevance_score):
        return None
    asked = classification.sub_queries[0]
    request = state["request"]
    best = successor(floor, _relevance(request.probes, asked, request.agents), limits.min_relevance_score)
    if best is None:
        return None
    return await _hop(context.ports, request, best, "no_evidence", asked)


async def hand_over(state: RunState, runtime: Runtime[RunContext]) -> RunState:
    """Node: the floor passes on. What the next agent is asked becomes the plan's further tiers, or its only ones when
    the agent that hands over has not searched."""
    context, hop, floor = runtime.context, state["hop"], state["floor"]
    assert hop is not None  # the edge to this node asks for it
    has_searched = state.get("tiers_run", 0) > 0
    if not has_searched:
        context.run.writer.append(StartProcess(agent=floor.held_by[-1]))
        context.run.writer.append(EndProcess(agent=floor.held_by[-1]))
    floor, event = floor.handover_to(hop.to_agent, hop.reason)
    context.run.writer.append(event)
    told = {"from_agent": event.from_agent, "to_agent": event.to_agent, "reason": event.reason}
    context.trace.add("Handover", "handover", agent=event.to_agent, metadata=told)
    asked = {"refined_query": hop.question, "sub_queries": (hop.question,), "own_words": "", "assignments": ()}
    return {
        "floor": floor,
        "hop": None,
        "plan": extended(state["plan"], hop.plan) if has_searched else hop.plan,
        "classification": state["classification"].model_copy(update=asked),
    }


def extended(plan: Plan, further: Plan) -> Plan:
    """A plan with the tiers of another behind its own; the agents of the two differ."""
    flow = plan.execution_flow
    planning = Planning(tiers=(*plan.tiers, *further.tiers), aggregate_status=flow.planning.aggregate_status)
    return plan.model_copy(
        update={
            "refined_query": further.refined_query,
            "agents": {**plan.agents, **further.agents},
            "execution_flow": flow.model_copy(update={"planning": planning}),
        }
    )


async def _hop(ports: Ports, request: PlanRequest, agent: str, reason: Reason, question: str) -> Hop:
    offer = next(offer for offer in request.agents if offer.name == agent)
    return Hop(agent, reason, question, await _plan_for(ports, request, offer, question))


async def _plan_for(ports: Ports, request: PlanRequest, agent: AgentOffer, question: str) -> Plan:
    """A plan of one agent that is asked one plain question."""
    return checked(await ports.reasoner.plan(_asking_only(request, question, (agent,))), (agent,))


def _asking_only(request: PlanRequest, question: str, agents: tuple[AgentOffer, ...]) -> PlanRequest:
    """The same request, about one question and of these agents."""
    asked = {"refined_query": question, "sub_queries": (question,), "assignments": (), "kind": "simple"}
    classification = request.classification.model_copy(update=asked)
    return request.model_copy(update={"classification": classification, "agents": agents})


def _relevance(probes: Sequence[Probe], question: str, offers: Sequence[AgentOffer]) -> dict[str, float]:
    """How much the documents an agent reads bear on a question, at best (0-1)."""
    found = next((probe.relevance_by_department for probe in probes if probe.query == question), {})
    return {offer.name: max(found.get(name, 0.0) for name in offer.departments) for offer in _readers(offers)}


def _readers(offers: Sequence[AgentOffer]) -> list[AgentOffer]:
    return [offer for offer in offers if offer.departments and RAG_TOOL in offer.tools]


def _is_search(plan: Plan) -> bool:
    """Whether the plan does nothing but search documents, those of today or their versions."""
    return all(planned.step.tool in (RAG_TOOL, CHANGES_TOOL) for planned in plan.steps)


def _is_found(findings: Sequence[Finding], least: float) -> bool:
    """Whether anything was found that rests on evidence of at least this relevance."""
    return any(f.found and any(evidence.relevance_score >= least for evidence in f.evidence) for f in findings)
