"""The wording of everything the local reasoner says itself, Vietnamese and English."""

from collections.abc import Sequence

from app.domain.knowledge import Language
from app.domain.plan import (
    CHANGES_TOOL,
    FILES_TOOL,
    LOG_TOOL,
    MATH_TOOL,
    ORCHESTRATOR,
    RAG_TOOL,
    SUMMARY_TOOL,
    TRANSCRIPT_TOOL,
    WEB_TOOL,
    WIKIPEDIA_TOOL,
    Step,
)
from app.reasoning import AgentOffer
from app.reasoning.local.cues import sentences
from app.reasoning.local.wording import lower_first


def listed(items: Sequence[str], language: Language) -> str:
    """``a, b và c``."""
    word = sentences("composed", language)["and"]
    return word.join([", ".join(items[:-1]), items[-1]]) if len(items) > 1 else "".join(items)


def titles_of(titles: Sequence[str], language: Language) -> str:
    """Document titles as they stand in a sentence."""
    return listed([f"“{title}”" for title in titles], language)


_ACRONYM = 3
_NAMES = {
    RAG_TOOL: "search", SUMMARY_TOOL: "summary", LOG_TOOL: "log", CHANGES_TOOL: "changes", FILES_TOOL: "files",
    WEB_TOOL: "web", WIKIPEDIA_TOOL: "web", TRANSCRIPT_TOOL: "web",
}  # fmt: skip
"""Tools with a sentence of their own."""
_PURPOSES = {RAG_TOOL: "gather", SUMMARY_TOOL: "digest", MATH_TOOL: "math"}


def shown(agent: str) -> str:
    """An agent's name for people: short names are acronyms."""
    return agent.upper() if len(agent) <= _ACRONYM else agent


def worded_step(agent: str, tool: str, query: str, language: Language, *, purposeful: bool = False) -> Step:
    """One query for one tool of an agent; `purposeful` steps, of a calculation, say what they gather and why."""
    texts, topic = sentences("plan", language), lower_first(query.rstrip(" ?."))
    values = {"agent": shown(agent), "tool": tool, "query": query, "topic": topic}
    if tool == MATH_TOOL or purposeful:
        name, values["query"] = _PURPOSES[tool], query.rstrip(" ?")
        message = texts[f"{name}_message"].format(**values)
        return Step(agent=agent, tool=tool, purpose=texts[name].format(**values), message=message)
    name = "merge" if agent == ORCHESTRATOR else _NAMES.get(tool, "other")
    return Step(agent=agent, tool=tool, message=texts[name].format(**values))


def settled_by(agents: Sequence[AgentOffer], language: Language) -> str:
    """How disagreement will be settled, one sentence."""
    texts, experts = sentences("plan", language), [shown(agent.name) for agent in agents if not agent.is_fallback]
    if len(agents) < 2 or not experts:
        return texts["one"]
    return texts["many"].format(experts=listed(experts, language))
