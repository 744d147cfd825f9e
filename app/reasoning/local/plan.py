"""Planning: which agents are asked what, with which tools, in which tiers."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.knowledge import Language
from app.domain.plan import (
    LOG_TOOL,
    MATH_TOOL,
    RAG_TOOL,
    SUMMARY_TOOL,
    AgentPlan,
    ExecutionFlow,
    Plan,
    Planning,
    PlanPermission,
    Step,
)
from app.reasoning import AgentOffer, Assignment, PlanRequest, Probe
from app.reasoning.local.calculation import calculation_queries
from app.reasoning.local.effects import consequence_query
from app.reasoning.local.intents import Intent, intents_of, wants_log
from app.reasoning.local.plan_wording import PlanWording
from app.reasoning.local.pure_arithmetic import pure_expression
from app.reasoning.local.routing import Router

_FAR_MORE = 0.3
"""Relevance by which another department's documents must lead to be asked beside those that were assigned."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one agent is asked: queries with the tool that answers each."""

    agent: AgentOffer
    queries: tuple[str, ...]
    logs: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Queries in step order: documents first, then logs."""
        return (*self.queries, *self.logs)


class Planner:
    """Makes plans by rule and routing; names only agents and tools that are offered."""

    def __init__(self, router: Router):
        self._router = router

    async def plan(self, request: PlanRequest) -> Plan:
        """The plan of a request. A single question gives one tier; several, or work to do, give more."""
        classification = request.classification
        language, refined = classification.language, classification.refined_query or request.query
        wording = PlanWording(language)
        if pure_expression(refined) and (calculator := _first_with(request.agents, MATH_TOOL)):
            return _assembled(
                request, [_Asked(calculator, (refined,), ())], [[_math(calculator, wording, refined)]], wording
            )
        wanted = intents_of(refined) | _intents_of_tools(classification.assignments)
        proposed = _assigned(request) if classification.assignments else await self._asked(request)
        asked = _limited(proposed, request.max_queries_per_agent)
        tiers = _tiers(asked, wanted, wording, refined, many=len(classification.sub_queries) > 1 or len(asked) > 1)
        if classification.kind == "simple":
            tiers = tiers[:1]
        return _assembled(request, asked, tiers, wording, sequential="calculation" in wanted)

    async def _asked(self, request: PlanRequest) -> list[_Asked]:
        """Queries by agent, agents in the order of their first query.

        After a refused plan the fallback agent is asked every separate question too, as it stands.
        """
        language = request.classification.language
        sub_queries = request.classification.sub_queries or (request.query,)
        routes = await self._router.route(sub_queries, request.agents, request.probes)
        offers = {agent.name: agent for agent in request.agents}
        documents: dict[str, list[str]] = {}
        logs: dict[str, list[str]] = {}
        for route in routes:
            if wants_log(route.query) and (reader := _first_with(request.agents, LOG_TOOL)):
                logs.setdefault(reader.name, []).append(route.query)
                continue
            for position, name in enumerate(_readers(route.agents, request.agents)):
                queries = _expanded(route.query, language, leading=position == 0)
                documents.setdefault(name, []).extend(queries)
        if request.feedback:
            last_resort = _readers([a.name for a in request.agents if a.is_fallback], request.agents)[0]
            documents.setdefault(last_resort, []).extend(sub_queries)
        names = dict.fromkeys([*documents, *logs])
        return [_Asked(offers[n], _unique(documents.get(n, ())), _unique(logs.get(n, ()))) for n in names]


def _assigned(request: PlanRequest) -> list[_Asked]:
    """Queries as whoever classified assigned them, and where the evidence lies elsewhere, that agent's too."""
    language = request.classification.language
    offers = {agent.name: agent for agent in request.agents}
    documents: dict[str, list[str]] = {}
    logs: dict[str, list[str]] = {}
    for assignment in request.classification.assignments:
        reads_logs = LOG_TOOL in assignment.tools
        for position, query in enumerate(assignment.queries):
            if reads_logs and (wants_log(query) or RAG_TOOL not in assignment.tools):
                logs.setdefault(assignment.agent, []).append(query)
            else:
                expanded = _expanded(query, language, leading=position == 0)
                documents.setdefault(_readers([assignment.agent], request.agents)[0], []).extend(expanded)
    for probe in request.probes:
        if further := _overlooked(probe, [name for name in documents if probe.query in documents[name]], request):
            documents.setdefault(further, []).append(probe.query)
    names = dict.fromkeys([*documents, *logs])
    return [_Asked(offers[n], _unique(documents.get(n, ())), _unique(logs.get(n, ()))) for n in names]


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


def _expanded(query: str, language: Language, *, leading: bool) -> list[str]:
    """A query as the leading agent is asked it: a calculation by rules and formula, an effect with its consequences."""
    if leading and "calculation" in intents_of(query):
        return calculation_queries(query, language)
    further = consequence_query(query, language) if leading else ""
    return [query, further] if further else [query]


def _unique(queries: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(queries))


def _limited(asked: Sequence[_Asked], limit: int) -> list[_Asked]:
    return [_Asked(a.agent, a.queries[:limit], a.logs[: max(0, limit - len(a.queries[:limit]))]) for a in asked]


def _first_with(offers: Sequence[AgentOffer], tool: str) -> AgentOffer | None:
    return next((offer for offer in offers if tool in offer.tools), None)


def _tiers(
    asked: Sequence[_Asked], wanted: frozenset[Intent], wording: PlanWording, refined: str, *, many: bool
) -> list[list[Step]]:
    """Retrieval, then what digests it, then what calculates or merges."""
    calculates = "calculation" in wanted
    digests = [
        a for a in asked if SUMMARY_TOOL in a.agent.tools and (len(a.all) > 1 or "summary" in wanted or calculates)
    ]
    tiers = [[step for a in asked for step in _retrieval(a, wording, together=calculates)]]
    tiers.append([wording.summary(a.agent.name, a.all[0], calculates=calculates) for a in digests])
    calculator = next((a for a in asked if MATH_TOOL in a.agent.tools), None) if calculates else None
    if calculator:
        tiers.append([_math(calculator.agent, wording, calculator.all[-1])])
    if not calculates and (many or "comparison" in wanted or tiers[1]):
        tiers.append([wording.merge(refined)])
    return [tier for tier in tiers if tier]


def _retrieval(asked: _Asked, wording: PlanWording, *, together: bool) -> list[Step]:
    """One step a query, so that they run side by side; one step for all when they feed a calculation."""
    name = asked.agent.name
    if together and asked.queries and not asked.logs:
        return [wording.search(name, asked.queries[0], purposeful=True)]
    documents = [wording.search(name, query, purposeful=False) for query in asked.queries]
    return [*documents, *(wording.log(name, query) for query in asked.logs)]


def _math(agent: AgentOffer, wording: PlanWording, query: str) -> Step:
    return wording.math(agent.name, query)


def _assembled(
    request: PlanRequest,
    asked: Sequence[_Asked],
    tiers: list[list[Step]],
    wording: PlanWording,
    *,
    sequential: bool = False,
) -> Plan:
    """The plan record, with the tools each agent really uses."""
    steps = [step for tier in tiers for step in tier]
    agents = {}
    for a in asked:
        used = tuple(dict.fromkeys(step.tool for step in steps if step.agent == a.agent.name))
        order = used if sequential and MATH_TOOL in used else None
        tools = tuple(tool for tool in used if tool != SUMMARY_TOOL) if order else used
        agents[a.agent.name] = AgentPlan(queries=a.all, tools=tools, sequential_tools=order)
    return Plan(
        original_query=request.query,
        refined_query=request.classification.refined_query or request.query,
        agents=agents,
        permission=PlanPermission(user_access=request.user_access),
        execution_flow=ExecutionFlow(
            planning=Planning(tiers=tuple(tuple(tier) for tier in tiers)),
            conflict_resolution=wording.conflict([a.agent for a in asked]),
        ),
    )
