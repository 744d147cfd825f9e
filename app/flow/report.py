"""The Synthesizer's report: what the pools computed, as Markdown, a section a pool and a line an operation."""

import re
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from app.agents.registry import AgentRegistry
from app.agents.step import StepOutcome

_DECIMAL = re.compile(r"-?\d+")
_PLAIN = re.compile(r"[\w:+.,/ -]{1,80}")
"""A number, a day, a name: a result that says more is told in the answer, where its links are checked."""


def report_of(outcomes: Sequence[StepOutcome], agents: AgentRegistry) -> str:
    """``## Math Results:`` and ``- **sum**: 6.0`` below it; empty when no pool computed anything."""
    sections: dict[str, list[str]] = {}
    for outcome in sorted(outcomes, key=lambda one: one.step.number):
        agent = outcome.step.step.agent
        if outcome.result is None or agent not in agents.names or not agents.spec(agent).is_pool:
            continue
        kind = agents.spec(agent).type_of(outcome.tool) or outcome.tool
        lines = [f"- **{kind}**: {told}" for told in _results(outcome.result.value)]
        sections.setdefault(agent, []).extend(lines)
    return "\n\n".join(
        "\n".join([f"## {agent.replace('_', ' ').title()} Results:", *lines])
        for agent, lines in sections.items()
        if lines
    )


def _results(value: JsonValue) -> Iterator[str]:
    """What a step's results say in a word; several where it answered several queries."""
    for one in value if isinstance(value, list) else [value]:
        told = _told(one.get("result")) if isinstance(one, dict) else ""
        if told:
            yield told


def _told(result: JsonValue) -> str:
    """Exact decimals, which servers send as text, have at least one place; counts have none."""
    if isinstance(result, bool) or result is None:
        return "" if result is None else str(result).lower()
    if isinstance(result, int | float):
        return str(result)
    if not isinstance(result, str) or not _PLAIN.fullmatch(result):
        return ""
    return f"{result}.0" if _DECIMAL.fullmatch(result) else result
