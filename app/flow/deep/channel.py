"""The shared message channel: everything the orchestrator and the agents say to one another, and who may see what."""

from app.domain.deep import Critique, DeepMessage, DeepPlan, Party, Research, Working


def visible_to(messages: tuple[DeepMessage, ...], party: Party, step: int = 0) -> tuple[DeepMessage, ...]:
    """The messages that concern an agent in its present work, in order.

    The orchestrator sees all, the finalizer what was reported and judged; everybody else only what it said and was told
    itself, and of research steps the one in hand: `step`, 0 = none.
    """
    match party:
        case "orchestrator":
            return messages
        case "finalizer":
            return tuple(one for one in messages if one.receiver in ("orchestrator", "finalizer"))
        case _:
            return tuple(one for one in messages if party in (one.sender, one.receiver) and one.step == step)


def plan_told(plan: DeepPlan) -> str:
    """A plan as the planner reports it: numbered steps, research first."""
    steps = [*(f"research: {text}" for text in plan.research), *(f"logic: {text}" for text in plan.logic)]
    return "\n".join(f"{number}. {text}" for number, text in enumerate(steps, 1))


def research_told(research: Research) -> str:
    """What a research step found, as its researcher reports it."""
    return research.text if research.found else f"not found: {research.task}"


def working_told(working: Working) -> str:
    """The expert's report."""
    return "\n".join((*working.steps, working.text)) if working.solved else f"not solved: {working.text}"


def critique_told(critique: Critique) -> str:
    """The critic's verdict."""
    return "approved" if critique.approved else f"rejected: {critique.feedback}"
