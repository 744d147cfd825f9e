"""Planning: which agents are asked what, with which tools, in which tiers."""

from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from app.domain.knowledge import Language
from app.domain.plan import (
    CHANGES_TOOL,
    FILES_TOOL,
    LOG_TOOL,
    MATH_TOOL,
    ORCHESTRATOR,
    RAG_TOOL,
    SUMMARY_TOOL,
    AgentPlan,
    ExecutionFlow,
    Plan,
    Planning,
    PlanPermission,
    Step,
    answers_a_query,
)
from app.reasoning import AgentOffer, Assignment, PlanRequest, Probe, Review
from app.reasoning.local.intents import Intent, intents_of, tool_for, wants_tool
from app.reasoning.local.routing import Router
from app.reasoning.local.sums import reckoning_asked
from app.reasoning.local.terms import EMPTY, bag_of, share_in
from app.reasoning.local.wording import sentences, settled_by, worded_step

_FAR_MORE = 0.3
"""Relevance by which another department's documents must lead to be asked beside those that were assigned."""
_COVERED = 0.6
"""Share of a sub-query's weight the plan's queries must mention."""


_Call = tuple[str, str]
"""A tool, and the query it answers; `RAG_TOOL` where documents do."""
_Calls = dict[str, list[_Call]]
"""What agents are asked, in the order of their first query."""


class _Asked(NamedTuple):
    """What one agent is asked, from documents first."""

    agent: AgentOffer
    calls: list[_Call]

    @property
    def queries(self) -> tuple[str, ...]:
        """In step order."""
        return tuple(query for _, query in self.calls)


async def plan(request: PlanRequest, router: Router) -> Plan:
    """The plan of a request, by rule and routing; it names only agents and tools that are offered.

    A single question gives one tier; several, or work to do, give more.
    """
    classification = request.classification
    language, refined = classification.language, classification.refined_query or request.query
    alone = None if classification.assignments else tool_for(refined, request.agents, files=request.files)
    if alone and alone.is_whole and len(classification.sub_queries) <= 1:
        asked_alone = _Asked(alone.agent, [(alone.tool, refined)])
        return _assembled(request, [asked_alone], [_steps(asked_alone, language, together=False)])
    beside_sums = [query for query in classification.sub_queries if not reckoning_asked(query)]
    wanted = _intents_of_tools(classification.assignments).union(*map(intents_of, beside_sums or (refined,)))
    asked = _limited(_assigned(request) if classification.assignments else await _calls(request, router), request)
    tiers = _tiers(asked, wanted, language, refined, many=len(classification.sub_queries) > 1 or len(asked) > 1)
    if classification.kind == "simple":
        tiers = tiers[:1]
    return _assembled(request, asked, tiers, sequential="calculation" in wanted)


async def _calls(request: PlanRequest, router: Router) -> _Calls:
    """Who is asked what.

    After a refused plan the fallback agent is asked every separate question too, as it stands.
    """
    sub_queries = request.classification.sub_queries or (request.query,)
    routed = [offer for offer in request.agents if offer.departments or offer.own_tool] or list(request.agents)
    own_tools = {offer.name: offer.own_tool for offer in routed if not offer.departments}
    calls: _Calls = defaultdict(list)
    routes = await router.route(sub_queries, routed, request.probes)
    for query, names in zip(sub_queries, routes, strict=True):
        if choice := tool_for(query, request.agents, files=request.files):
            calls[choice.agent.name].append((choice.tool, query))
            if choice.is_whole:
                continue
        if tool := own_tools.get(names[0]):
            calls[names[0]].append((tool, query))
        elif comparers := _comparers(query, names, request.agents):
            for name in comparers:
                calls[name].append((CHANGES_TOOL, query))
        else:
            for name in _readers(names, request.agents):
                calls[name].append((RAG_TOOL, query))
    if request.feedback:
        last_resort = _readers([a.name for a in request.agents if a.is_fallback], request.agents)[0]
        calls[last_resort] += [(RAG_TOOL, query) for query in sub_queries]
    return calls


def _limited(calls: _Calls, request: PlanRequest) -> list[_Asked]:
    """Each agent's calls once, and only the first ones."""
    offers = {offer.name: offer for offer in request.agents}
    ordered = {name: sorted(dict.fromkeys(own), key=lambda call: call[0] != RAG_TOOL) for name, own in calls.items()}
    return [_Asked(offers[name], own[: request.max_queries_per_agent]) for name, own in ordered.items()]


def _assigned(request: PlanRequest) -> _Calls:
    """Queries as whoever classified assigned them, and where the evidence lies elsewhere, that agent's too."""
    calls: _Calls = defaultdict(list)
    for assignment in request.classification.assignments:
        for query in assignment.queries:
            tool = _assigned_tool(assignment, query, request)
            name = assignment.agent if tool else _readers([assignment.agent], request.agents)[0]
            calls[name].append((tool or RAG_TOOL, query))
    for probe in request.probes:
        about = [name for name, own in calls.items() if (RAG_TOOL, probe.query) in own]
        if further := _overlooked(probe, about, request):
            calls[further].append((RAG_TOOL, probe.query))
    # Attached files are read also where whoever assigned the queries did not think of them.
    thought_of = any(FILES_TOOL in assignment.tools for assignment in request.classification.assignments)
    reader = next((offer for offer in request.agents if FILES_TOOL in offer.tools), None)
    if request.files and reader and not thought_of:
        calls[reader.name].append((FILES_TOOL, request.classification.refined_query or request.query))
    return calls


def _assigned_tool(assignment: Assignment, query: str, request: PlanRequest) -> str:
    """The tool that answers an assigned query instead of a search in documents; empty when none does.

    Where several would do, the rules choose among those that were assigned.
    """
    able = [tool for tool in assignment.tools if answers_a_query(tool) and tool != RAG_TOOL]
    if not able or (
        RAG_TOOL in assignment.tools and len(able) == 1 and able[0] in _MEANT and not wants_tool(able[0], query)
    ):
        return ""
    if CHANGES_TOOL in able and wants_tool(CHANGES_TOOL, query):
        return CHANGES_TOOL
    own = [offer for offer in request.agents if offer.name == assignment.agent]
    choice = tool_for(query, own, files=request.files)
    if choice and choice.tool in able:
        return choice.tool
    return "" if RAG_TOOL in assignment.tools and len(assignment.queries) > 1 and len(able) == 1 else able[0]


_MEANT = (LOG_TOOL, CHANGES_TOOL)
"""Tools whose need the question's own words tell."""


def _overlooked(probe: Probe, asked: Sequence[str], request: PlanRequest) -> str | None:
    """The agent whose documents bear far more on a query than those of the agents that are asked."""
    if not asked:
        return None

    def relevance(agent: AgentOffer) -> float:
        return max((probe.relevance_by_department.get(name, 0.0) for name in agent.departments), default=0.0)

    able = [agent for agent in request.agents if RAG_TOOL in agent.tools]
    known = max((relevance(agent) for agent in able if agent.name in asked), default=0.0)
    best = max(able, key=relevance, default=None)
    return best.name if best is not None and relevance(best) >= known + _FAR_MORE else None


def _intents_of_tools(assignments: Sequence[Assignment]) -> frozenset[Intent]:
    tools = {tool for assignment in assignments for tool in assignment.tools}
    named: dict[str, Intent] = {MATH_TOOL: "calculation", SUMMARY_TOOL: "summary"}
    return frozenset(intent for tool, intent in named.items() if tool in tools)


def _readers(names: Sequence[str], offers: Sequence[AgentOffer]) -> list[str]:
    """The routed agents that can search documents; any other that can when none of them does."""
    able = [offer.name for offer in offers if RAG_TOOL in offer.tools]
    return [name for name in names if name in able] or able[:1] or [offers[0].name]


def _comparers(query: str, names: Sequence[str], offers: Sequence[AgentOffer]) -> list[str]:
    """Who lays versions of documents side by side, where the query asks what changed: the routed agents and the one for
    everything else; any that can where none of those can. What has ended shows in no probe."""
    if not wants_tool(CHANGES_TOOL, query):
        return []
    able = [offer for offer in offers if CHANGES_TOOL in offer.tools]
    routed = [name for name in names if any(offer.name == name for offer in able)]
    further = [offer.name for offer in able if offer.is_fallback or not routed]
    return list(dict.fromkeys([*routed, *further]))


def _tiers(
    asked: Sequence[_Asked], wanted: frozenset[Intent], language: Language, refined: str, *, many: bool
) -> list[list[Step]]:
    """Retrieval, then what digests it, then what calculates or merges."""
    calculates = "calculation" in wanted
    digests = [
        a for a in asked if SUMMARY_TOOL in a.agent.tools and (len(a.queries) > 1 or "summary" in wanted or calculates)
    ]
    tiers = [[step for a in asked for step in _steps(a, language, together=calculates)]]
    tiers.append(
        [worded_step(a.agent.name, SUMMARY_TOOL, a.queries[0], language, purposeful=calculates) for a in digests]
    )
    calculator = next((a for a in asked if MATH_TOOL in a.agent.tools), None) if calculates else None
    if calculator:
        tiers.append([worded_step(calculator.agent.name, MATH_TOOL, calculator.queries[-1], language)])
    if not calculates and (many or tiers[1]):
        tiers.append([worded_step(ORCHESTRATOR, SUMMARY_TOOL, refined, language)])
    return [tier for tier in tiers if tier]


def _steps(asked: _Asked, language: Language, *, together: bool) -> list[Step]:
    """One step a query, so that they run side by side; one step for all when they feed a calculation."""
    name = asked.agent.name
    if together and all(tool == RAG_TOOL for tool, _ in asked.calls):
        return [worded_step(name, RAG_TOOL, asked.queries[0], language, purposeful=True)]
    return [worded_step(name, tool, query, language) for tool, query in asked.calls]


def _assembled(
    request: PlanRequest, asked: Sequence[_Asked], tiers: list[list[Step]], *, sequential: bool = False
) -> Plan:
    """The plan record, with the tools each agent really uses."""
    steps = [step for tier in tiers for step in tier]
    agents = {}
    for a in asked:
        used = tuple(dict.fromkeys(step.tool for step in steps if step.agent == a.agent.name))
        order = used if sequential and MATH_TOOL in used else None
        tools = tuple(tool for tool in used if tool != SUMMARY_TOOL) if order else used
        agents[a.agent.name] = AgentPlan(queries=a.queries, tools=tools, sequential_tools=order)
    return Plan(
        original_query=request.query,
        refined_query=request.classification.refined_query or request.query,
        agents=agents,
        permission=PlanPermission(user_access=request.user_access),
        execution_flow=ExecutionFlow(
            planning=Planning(tiers=tuple(tuple(tier) for tier in tiers)),
            conflict_resolution=settled_by([a.agent for a in asked], request.classification.language),
        ),
    )


def review_plan(plan: Plan, request: PlanRequest) -> Review:
    """Refuses sub-queries nobody is asked; whoever plans limits the queries itself, the flow holds it to the offer."""
    reasons = sentences("review", request.classification.language)
    queries = [query for agent_plan in plan.agents.values() for query in agent_plan.queries]
    told = reduce(or_, map(bag_of, queries), EMPTY)
    for wanted in request.classification.sub_queries:
        if wanted not in queries and share_in(wanted, told) < _COVERED:
            return Review(approved=False, reason=reasons["uncovered"].format(query=wanted))
    return Review(approved=True)
