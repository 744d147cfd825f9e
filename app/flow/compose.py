"""The text of the answer: what it may be made of, how it streams, and that no unknown address is in it."""

from collections.abc import Sequence

from app.agents.run import guard_of
from app.agents.step import StepOutcome
from app.domain.plan import MATH_TOOL, ORCHESTRATOR, RAG_TOOL, RETRIEVAL_TOOLS, SUMMARY_TOOL
from app.flow.outputs import findings_of
from app.flow.state import RunContext, RunState
from app.flow.wording import as_of_lead
from app.reasoning import ComposeRequest, Composition

_DELTA_CHARS = 48
"""Text is streamed in pieces of about this length: smooth to read, few rows in the journal."""


async def composed(
    context: RunContext, state: RunState, failed_agents: tuple[str, ...], *, stream: bool
) -> Composition:
    """Run the composer to its end; the day that was asked for is named first. The answer is what was streamed."""
    request = compose_request(context, state, failed_agents)
    hosts = context.limits.trusted_link_hosts
    guard = guard_of([request.query], request.findings, request.language, hosts, request.evidence)
    agent = speaker(context, state) if stream else ""
    told, held = "", _lead(context, state)
    composition: Composition | None = None

    def tell(text: str) -> None:
        nonlocal told
        told += text
        if agent and text:
            context.stream_text(text, agent, streaming=True)

    async for piece in context.ports.reasoner.compose(request):
        if isinstance(piece, Composition):
            composition = piece
            continue
        held += guard.feed(piece)
        if len(held) >= _DELTA_CHARS:
            tell(held)
            held = ""
    tell(held + guard.finish())
    if composition is None:
        raise RuntimeError("the composer ended without a composition")
    further = tuple(map(guard.clean, composition.follow_up_questions))
    cleaned = {"answer": told, "reasoning": guard.clean(composition.reasoning), "follow_up_questions": further}
    return composition.model_copy(update=cleaned)


def compose_request(context: RunContext, state: RunState, failed_agents: tuple[str, ...]) -> ComposeRequest:
    """All the answer may be made of; works for a cut run as well."""
    classification, limits = state["classification"], context.limits
    findings = state["findings"] if "findings" in state else findings_of(context.outcomes)
    return ComposeRequest(
        query=classification.refined_query, language=classification.language, findings=findings,
        summaries=_texts(context.outcomes, SUMMARY_TOOL), computations=_texts(context.outcomes, MATH_TOOL),
        refusals=_refusals(context.outcomes), conflicts=state.get("conflicts", ()), evidence=state.get("evidence", ()),
        failed_agents=failed_agents,
        max_follow_up_questions=limits.max_follow_up_questions if limits.enable_follow_up_questions else 0,
    )  # fmt: skip


def _lead(context: RunContext, state: RunState) -> str:
    """As of which day the answer speaks; empty when today's documents were read, or none."""
    as_of = context.asking.as_of(state["classification"])
    if as_of is None or not any(outcome.tool == RAG_TOOL for outcome in context.outcomes):
        return ""
    return f"{as_of_lead(as_of.day, state['classification'].language)}\n\n"


def _texts(outcomes: Sequence[StepOutcome], tool: str) -> tuple[str, ...]:
    """What a tool said, in plan order."""
    ended = [outcome for outcome in _in_order(outcomes) if outcome.step.step.tool == tool]
    return tuple(outcome.result.text for outcome in ended if outcome.result is not None and outcome.result.text)


def _refusals(outcomes: Sequence[StepOutcome]) -> tuple[str, ...]:
    """Why tools that compute or fetch could not; of those that read the company's own sources the run itself tells."""
    ended = [o for o in _in_order(outcomes) if o.step.step.tool not in RETRIEVAL_TOOLS and o.error is not None]
    return tuple(dict.fromkeys(o.error.message for o in ended if o.error and o.error.error_type == "tool_failed"))


def _in_order(outcomes: Sequence[StepOutcome]) -> list[StepOutcome]:
    return sorted(outcomes, key=lambda outcome: outcome.step.number)


def answering_agent(context: RunContext, state: RunState) -> str | None:
    """The department whose answer counted, the surest of several; None when none found anything."""
    told = _surest(context, state)
    agents = context.ports.agents
    readers = [agent for agent in told if agent in agents.names and not agents.spec(agent).is_pool]
    return max(readers, key=lambda agent: told[agent], default=None)


def is_found(context: RunContext, state: RunState) -> bool:
    """Whether anybody found anything, a pool of tools included."""
    return bool(_surest(context, state))


def speaker(context: RunContext, state: RunState) -> str:
    """Who tells the answer: the one agent that found something, else the orchestrator."""
    found = _surest(context, state)
    return next(iter(found)) if len(found) == 1 else ORCHESTRATOR


def _surest(context: RunContext, state: RunState) -> dict[str, float]:
    """Each agent that found something, with its best confidence; of a remembered answer all are as sure."""
    if "remembered" in state:
        return {output.agent: 1.0 for output in state["remembered"].outputs if any(q.answer for q in output.queries)}
    findings = state["findings"] if "findings" in state else findings_of(context.outcomes)
    best: dict[str, float] = {}
    for finding in findings:
        if finding.found:
            best[finding.agent] = max(best.get(finding.agent, 0.0), finding.confidence)
    return best
