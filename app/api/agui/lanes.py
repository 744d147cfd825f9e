"""Who works, at which step, with which tool: what was opened on the wire and has to be closed again."""

import json
from collections.abc import Iterator
from typing import Any

from app.events import (
    AgentResult,
    AgentTask,
    EndProcess,
    Event,
    NavigationError,
    StartProcess,
    ToolRequest,
    ToolResponse,
)

Told = dict[str, Any]


class Lanes:
    """The open subagents, steps and tool calls of one run."""

    def __init__(self, run_id: str):
        self._run_id = run_id
        self._count = 0
        self._agents: dict[str, str] = {}
        """Agent → its invocation."""
        self._steps: dict[str, str] = {}
        """Step → the invocation it belongs to, empty for the run itself."""
        self._calls: dict[str, str] = {}
        """Step → its tool call."""

    def of(self, event: Event) -> Iterator[Told]:
        """What an event opens and closes."""
        match event:
            case StartProcess(agent=agent):
                yield from self._agent_starts(agent)
            case EndProcess(agent=agent):
                yield from self._agent_ends(agent)
            case AgentTask(node_id=node, agent=agent):
                yield from self._step_starts(node, agent)
            case AgentResult(node_id=node):
                yield from self._step_ends(node, "completed")
            case NavigationError(node_id=node):
                yield from self._step_ends(node, "failed")
            case ToolRequest():
                yield from self._call(event)
            case ToolResponse(node_id=node, status=status, duration_ms=took):
                yield from self._answered(node, {"status": status, "duration_ms": took})
            case _:
                pass

    def close(self) -> Iterator[Told]:
        """Everything that is open ends here."""
        for step in reversed(list(self._steps)):
            yield from self._step_ends(step, "abandoned")
        for agent in list(self._agents):
            yield from self._agent_ends(agent)

    def _agent_starts(self, agent: str) -> Iterator[Told]:
        yield from self._agent_ends(agent)
        self._agents[agent] = self._number(agent)
        yield {"type": "SUBAGENT_STARTED", "subagentRunId": self._agents[agent], "name": agent}

    def _agent_ends(self, agent: str) -> Iterator[Told]:
        if (invocation := self._agents.pop(agent, None)) is None:
            return
        for step in [step for step, owner in self._steps.items() if owner == invocation]:
            yield from self._step_ends(step, "abandoned")
        yield {"type": "SUBAGENT_FINISHED", "subagentRunId": invocation, "outcome": {"type": "success"}}

    def _step_starts(self, node: str, agent: str) -> Iterator[Told]:
        yield from self._step_ends(node, "abandoned")
        self._steps[node] = self._agents.get(agent, "")
        yield self._attributed({"type": "STEP_STARTED", "stepName": node}, node)

    def _step_ends(self, node: str, status: str) -> Iterator[Told]:
        yield from self._answered(node, {"status": status})
        if node in self._steps:
            told = self._attributed({"type": "STEP_FINISHED", "stepName": node}, node)
            del self._steps[node]
            yield told

    def _call(self, event: ToolRequest) -> Iterator[Told]:
        node = event.node_id
        yield from self._answered(node, {"status": "abandoned"})
        self._calls[node] = call = self._number(node)
        arguments = json.dumps({"step": node, "input_hash": event.input_hash})
        yield self._attributed({"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": event.tool}, node)
        yield self._attributed({"type": "TOOL_CALL_ARGS", "toolCallId": call, "delta": arguments}, node)
        yield self._attributed({"type": "TOOL_CALL_END", "toolCallId": call}, node)

    def _answered(self, node: str, content: Told) -> Iterator[Told]:
        if (call := self._calls.pop(node, None)) is not None:
            told = {"type": "TOOL_CALL_RESULT", "messageId": f"{call}:result", "toolCallId": call, "role": "tool"}
            yield self._attributed({**told, "content": json.dumps(content)}, node)

    def _attributed(self, told: Told, node: str) -> Told:
        owner = self._steps.get(node)
        return {**told, "subagentRunId": owner} if owner else told

    def _number(self, name: str) -> str:
        self._count += 1
        return f"{self._run_id}:{name}:{self._count}"
