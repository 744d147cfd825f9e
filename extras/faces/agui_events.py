"""Write a run as AG-UI 1.0 events, in the protocol's own types."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ag_ui.core import events as agui

from app import events as journal
from app.faces.updates import ANSWER_FIELDS, Answered, Chunk, Failed, Progressed, Update, tokens_of
from extras.faces.following import StepProjection

PROTOCOL_VERSION = "1.0"
PLAN = "PLAN"
_DECISION = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "feedback": {"type": "string"}},
    "required": ["approved"],
}
Events = Iterator[agui.BaseEvent]


@dataclass(frozen=True)
class Run:
    """A run as its client names it, and as we do."""

    thread_id: str
    run_id: str
    task_id: UUID
    session_id: UUID
    sent: int = 0
    """What the journal holds up to here was sent in an earlier run of the thread."""
    decided: int = 0
    """Up to here nothing waits for a person any more."""


class OpenScopes:
    """The subagents, steps and tool calls of one run that were opened on the wire and have to be closed again."""

    def __init__(self, run_id: str):
        self._run_id, self._count = run_id, 0
        self._agents: dict[str, str] = {}
        """Agent → its invocation."""
        self._steps: dict[str, str] = {}
        """Step → the invocation it belongs to, empty for the run itself."""
        self._calls: dict[str, str] = {}
        """Step → its tool call."""

    def follow(self, update: Update) -> Events:
        """What an update opens and closes."""
        match update:
            case journal.StartProcess(agent=agent):
                yield from self._end_agent(agent)
                self._agents[agent] = self._number(agent)
                yield agui.SubagentStartedEvent(subagent_run_id=self._agents[agent], name=agent)
            case journal.EndProcess(agent=agent):
                yield from self._end_agent(agent)
            case journal.AgentTask(node_id=node, agent=agent):
                yield from self._end_step(node, "abandoned")
                self._steps[node] = self._agents.get(agent, "")
                yield agui.StepStartedEvent(step_name=node, subagent_run_id=self._owner(node))
            case journal.AgentResult(node_id=node):
                yield from self._end_step(node, "completed")
            case journal.NavigationError(node_id=node):
                yield from self._end_step(node, "failed")
            case journal.ToolRequest():
                yield from self._start_call(update)
            case journal.ToolResponse(node_id=node, status=status, duration_ms=took):
                yield from self._end_call(node, {"status": status, "duration_ms": took})
            case _:
                pass

    def close(self) -> Events:
        """Everything that is open ends here."""
        for step in reversed(list(self._steps)):
            yield from self._end_step(step, "abandoned")
        for agent in list(self._agents):
            yield from self._end_agent(agent)

    def _end_agent(self, agent: str) -> Events:
        if (invocation := self._agents.pop(agent, None)) is None:
            return
        for step in [step for step, owner in self._steps.items() if owner == invocation]:
            yield from self._end_step(step, "abandoned")
        yield agui.SubagentFinishedEvent(subagent_run_id=invocation, outcome=agui.SubagentFinishedSuccessOutcome())

    def _end_step(self, node: str, status: str) -> Events:
        yield from self._end_call(node, {"status": status})
        if node in self._steps:
            owner = self._owner(node)
            del self._steps[node]
            yield agui.StepFinishedEvent(step_name=node, subagent_run_id=owner)

    def _start_call(self, event: journal.ToolRequest) -> Events:
        node = event.node_id
        yield from self._end_call(node, {"status": "abandoned"})
        self._calls[node] = call = self._number(node)
        owner, arguments = self._owner(node), json.dumps({"step": node, "input_hash": event.input_hash})
        yield agui.ToolCallStartEvent(tool_call_id=call, tool_call_name=event.tool, subagent_run_id=owner)
        yield agui.ToolCallArgsEvent(tool_call_id=call, delta=arguments, subagent_run_id=owner)
        yield agui.ToolCallEndEvent(tool_call_id=call, subagent_run_id=owner)

    def _end_call(self, node: str, content: Mapping[str, Any]) -> Events:
        if (call := self._calls.pop(node, None)) is not None:
            yield agui.ToolCallResultEvent(
                message_id=f"{call}:result", tool_call_id=call, role="tool", content=json.dumps(content),
                subagent_run_id=self._owner(node),
            )  # fmt: skip

    def _owner(self, node: str) -> str | None:
        return self._steps.get(node) or None

    def _number(self, name: str) -> str:
        self._count += 1
        return f"{self._run_id}:{name}:{self._count}"


class AguiStream(StepProjection):
    """The events of one AG-UI run. It ends with the task, or where the task waits for a person."""

    def __init__(self, run: Run):
        super().__init__()
        self._names, self._scopes = run, OpenScopes(run.run_id)
        self._message_id, self._plan_id = f"answer-{run.task_id}", f"plan-{run.task_id}"
        self._is_speaking = False

    def begin(self) -> Iterator[Chunk]:
        """See `RunProjection.begin`."""
        names = self._names
        yield _json(
            agui.RunStartedEvent(thread_id=names.thread_id, run_id=names.run_id, protocol_version=PROTOCOL_VERSION)
        )
        if not names.sent:
            yield _json(self._snapshot())

    def write(self, update: Update, seq: int) -> Iterator[Chunk]:
        """See `RunProjection.write`."""
        events = list(self._events(update, seq))
        if seq > self._names.sent:
            yield from map(_json, events)
        elif seq == self._names.sent:  # a run that stopped goes on: what stands by now, in one piece
            yield from map(_json, (self._snapshot(), *self._plan()))

    def _events(self, update: Update, seq: int) -> Events:
        yield from self._scopes.follow(update)
        match update:
            case journal.PlanReady():
                yield from self._plan()
            case Progressed(is_counted=is_counted):
                yield from self._progress(is_counted, self.run.moved)
            case journal.StartProcess(agent=agent, active=speaks) | journal.EndProcess(agent=agent, active=speaks):
                path = agent.replace("~", "~0").replace("/", "~1")
                yield _change(f"agents/{path}", {"speaking": speaks}, "add")
            case journal.Redispatched(attempt=attempt):
                yield from self._scopes.close()
                yield _change("agents", {})
                yield agui.CustomEvent(name=update.type, value={"attempt": attempt})
            case journal.Handover() | journal.ConflictResolved() | journal.NavigationError():
                yield agui.CustomEvent(name=update.type, value=update.model_dump(mode="json", exclude={"type"}))
            case journal.TextDelta(text=text, agent=agent):
                yield from self._say(text, agent)
            case _:
                yield from self._last_events(update, seq)

    def _last_events(self, update: Update, seq: int) -> Events:
        match update:
            case journal.Interrupt() if seq > self._names.decided:
                yield from self._end("waiting")
                yield self._finish(self._waiting(update))
            case Answered(answer=answer):
                if answer["evidence"]:
                    yield agui.CustomEvent(name="evidence", value=answer["evidence"])
                yield from self._end(str(answer["outcome"]))
                result = {name: answer[name] for name in ANSWER_FIELDS if name in answer}
                yield self._finish(agui.RunFinishedSuccessOutcome(), result=result, usage=_usage(answer))
            case Failed(message=message, code=code):
                yield from self._end("failed")
                yield agui.RunErrorEvent(message=message, code=code)
            case journal.TaskCancelled():
                yield from self._end("cancelled")
                yield self._finish(agui.RunFinishedCancelledOutcome())
            case _:
                pass

    def _snapshot(self) -> agui.BaseEvent:
        state = {
            "task_id": str(self._names.task_id), "session_id": str(self._names.session_id),
            "progress": self.run.progress, "message": self.run.message, "agents": dict(self.run.agents),
            "outcome": None,
        }  # fmt: skip
        return agui.StateSnapshotEvent(snapshot=state)

    def _plan(self) -> Events:
        if self.run.steps is not None:
            content = {"steps": deepcopy(self.run.steps)}
            yield agui.ActivitySnapshotEvent(
                message_id=self._plan_id, activity_type=PLAN, content=content, replace=True
            )

    def _progress(self, is_counted: bool, step: int | None) -> Events:
        if is_counted:
            delta = [_patch("progress", self.run.progress), _patch("message", self.run.message)]
            yield agui.StateDeltaEvent(delta=delta)
        if self.run.steps is not None and step is not None:
            patch = [_patch(f"steps/{step}/status", self.run.steps[step]["status"])]
            yield agui.ActivityDeltaEvent(message_id=self._plan_id, activity_type=PLAN, patch=patch)

    def _say(self, text: str, agent: str | None) -> Events:
        if not self._is_speaking:
            self._is_speaking = True
            yield agui.TextMessageStartEvent(message_id=self._message_id, role="assistant", name=agent or None)
        yield agui.TextMessageContentEvent(message_id=self._message_id, delta=text)

    def _waiting(self, event: journal.Interrupt) -> agui.RunFinishedInterruptOutcome:
        interrupt = agui.Interrupt(
            id=f"{self._names.task_id}:{event.attempt}", reason="plan_approval", response_schema=_DECISION,
            expires_at=event.expires_at.isoformat(),
        )  # fmt: skip
        return agui.RunFinishedInterruptOutcome(interrupts=[interrupt])

    def _end(self, outcome: str) -> Events:
        """Everything ends that was begun; the run itself ends next."""
        self.has_ended = True
        if self._is_speaking:
            yield agui.TextMessageEndEvent(message_id=self._message_id)
        yield from self._scopes.close()
        yield _change("outcome", outcome)

    def _finish(self, outcome: Any, **rest: Any) -> agui.BaseEvent:
        return agui.RunFinishedEvent(
            thread_id=self._names.thread_id, run_id=self._names.run_id, outcome=outcome, **rest
        )


def _json(event: agui.BaseEvent) -> Chunk:
    return event.model_dump(mode="json", by_alias=True)


def _change(path: str, value: Any, operation: str = "replace") -> agui.BaseEvent:
    return agui.StateDeltaEvent(delta=[_patch(path, value, operation)])


def _patch(path: str, value: Any, operation: str = "replace") -> dict[str, Any]:
    return {"op": operation, "path": f"/{path}", "value": value}


def _usage(answer: Mapping[str, Any]) -> list[agui.TokenUsage] | None:
    if (tokens := tokens_of(answer)) is None:
        return None
    (read, written), models = tokens, answer["execution_metadata"]["model_usage"]["models"]
    model = models[0] if len(models) == 1 else None
    return [agui.TokenUsage(input_tokens=read, output_tokens=written, total_tokens=read + written, model=model)]
