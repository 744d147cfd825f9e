"""Who speaks in an answer: the agent whose findings it is made of, or the orchestrator for several."""

from app.domain.plan import ORCHESTRATOR
from app.flow.state import RunContext, RunState
from app.flow.trace import findings_of


def answering_agent(context: RunContext, state: RunState) -> str | None:
    """The department whose answer counted, the surest of several; None when none found anything."""
    told = _surest(context, state)
    readers = [agent for agent in told if _reads_documents(context, agent)]
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


def _reads_documents(context: RunContext, agent: str) -> bool:
    return agent in context.ports.agents.names and not context.ports.agents.is_pool(agent)
