"""A run's journal as AG-UI's events, as JSON objects in their order."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.api.agui.lanes import Lanes, Told
from app.api.plan_steps import PlanSteps
from app.api.retold import WRITTEN_ANEW, Retold
from app.api.seed_order import in_seed_order
from app.events import (
    ConflictResolved,
    EndProcess,
    Event,
    FinalReport,
    Handover,
    Interrupt,
    JournalEntry,
    NavigationError,
    PlanReady,
    Progress,
    Redispatched,
    StartProcess,
    TaskCancelled,
    TaskFailed,
    TextDelta,
)

PROTOCOL_VERSION = "1.0"
PLAN = "PLAN"
_RESULT = (
    "answer", "outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions", "session_id", "task_id",
)  # fmt: skip
"""Of an answer; the trace is told by the events."""
_DECISION = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "feedback": {"type": "string"}},
    "required": ["approved"],
}


@dataclass(frozen=True)
class Run:
    """A run as its client names it, and as we do."""

    thread_id: str
    run_id: str
    task_id: UUID
    session_id: UUID
    told: int = 0
    """What the journal holds up to here was sent in an earlier run of the thread."""
    decided: int = 0
    """Up to here nothing waits for a person any more."""


class Projection:
    """The events of one AG-UI run. It ends with the task, or where the task waits for a person."""

    def __init__(self, run: Run):
        self._run = run
        self._ends = {"threadId": run.thread_id, "runId": run.run_id}
        self._lanes, self._text = Lanes(run.run_id), Retold()
        self._plan: PlanSteps | None = None
        self._message = {"messageId": f"answer-{run.task_id}"}
        self._is_speaking, self._has_ended = False, False
        self._state: dict[str, Any] = {
            "task_id": str(run.task_id), "session_id": str(run.session_id), "progress": 0, "message": "", "agents": {},
            "outcome": None,
        }  # fmt: skip

    async def of(self, entries: AsyncIterator[JournalEntry]) -> AsyncGenerator[Told, None]:
        """One task's journal, from its beginning."""
        yield {"type": "RUN_STARTED", **self._ends, "protocolVersion": PROTOCOL_VERSION}
        if not self._run.told:
            yield {"type": "STATE_SNAPSHOT", "snapshot": _copy(self._state)}
        async for entry in entries:
            waits = isinstance(entry.event, Interrupt) and entry.seq > self._run.decided
            events = list(self._waiting(entry.event) if waits else self._of(entry.event))
            for event in events if entry.seq > self._run.told else self._so_far(entry.seq):
                yield event
            if self._has_ended:
                return

    def _so_far(self, seq: int) -> Iterator[Told]:
        """Where a run goes on that stopped before: what stands by then, in one piece."""
        if seq == self._run.told:
            yield {"type": "STATE_SNAPSHOT", "snapshot": _copy(self._state)}
            yield from self._plan_shown()

    def _of(self, event: Event) -> Iterator[Told]:
        yield from self._lanes.of(event)
        match event:
            case StartProcess(agent=agent, active=speaks) | EndProcess(agent=agent, active=speaks):
                yield self._set_agent(agent, speaks)
            case PlanReady(plan=plan):
                self._plan = PlanSteps(plan)
                yield from self._plan_shown()
            case Progress(output=output):
                yield from self._progress(output)
            case TextDelta(text=text, agent=agent):
                yield from self._say(self._text.fresh(text), agent)
            case Handover() | ConflictResolved() | NavigationError():
                yield {"type": "CUSTOM", "name": event.type, "value": event.model_dump(mode="json", exclude={"type"})}
            case Redispatched(attempt=attempt):
                yield from self._begin_again(attempt)
            case FinalReport(answer=answer):
                yield from self._finished(answer)
            case TaskFailed(answer=answer):
                yield from self._failed(str(answer.get("error_message")), str(answer.get("error_code")))
            case TaskCancelled():
                yield from self._closed("cancelled")
                yield {"type": "RUN_FINISHED", **self._ends, "outcome": {"type": "cancelled"}}
            case _:
                pass

    def _plan_shown(self) -> Iterator[Told]:
        if self._plan is not None:
            content = {"steps": _copy(self._plan.steps)}
            yield {"type": "ACTIVITY_SNAPSHOT", **self._activity(), "content": content, "replace": True}

    def _activity(self) -> Told:
        return {"messageId": f"plan-{self._run.task_id}", "activityType": PLAN}

    def _progress(self, output: Mapping[str, Any]) -> Iterator[Told]:
        if "progress_percentage" in output:
            self._state["progress"] = output["progress_percentage"]
            self._state["message"] = str(output.get("progress_message") or "")
            yield {"type": "STATE_DELTA", "delta": [_replace(name, self._state[name]) for name in _SHOWN]}
        if self._plan is not None and (index := self._plan.move(output)) is not None:
            patch = [_replace(f"steps/{index}/status", self._plan.steps[index]["status"])]
            yield {"type": "ACTIVITY_DELTA", **self._activity(), "patch": patch}

    def _set_agent(self, agent: str, speaks: bool) -> Told:
        self._state["agents"][agent] = {"speaking": speaks}
        path = agent.replace("~", "~0").replace("/", "~1")
        return {
            "type": "STATE_DELTA", "delta": [{"op": "add", "path": f"/agents/{path}", "value": {"speaking": speaks}}],
        }  # fmt: skip

    def _begin_again(self, attempt: int) -> Iterator[Told]:
        self._text.begin_again()
        yield from self._lanes.close()
        self._state["agents"] = {}
        yield {"type": "STATE_DELTA", "delta": [_replace("agents", {})]}
        yield {"type": "CUSTOM", "name": "redispatched", "value": {"attempt": attempt}}

    def _say(self, text: str, agent: str | None = None) -> Iterator[Told]:
        if not text:
            return
        if not self._is_speaking:
            self._is_speaking = True
            yield {
                "type": "TEXT_MESSAGE_START",
                **self._message,
                "role": "assistant",
                **({"name": agent} if agent else {}),
            }
        yield {"type": "TEXT_MESSAGE_CONTENT", **self._message, "delta": text}

    def _finished(self, answer: Mapping[str, Any]) -> Iterator[Told]:
        told = in_seed_order(answer)
        rest = self._text.rest(str(told["answer"]))
        if rest is None:
            yield from self._failed(WRITTEN_ANEW, "OVERLOADED")
            return
        yield from self._say(rest)
        if told["evidence"]:
            yield {"type": "CUSTOM", "name": "evidence", "value": told["evidence"]}
        yield from self._closed(str(told["outcome"]))
        result = {name: told[name] for name in _RESULT if name in told}
        yield {"type": "RUN_FINISHED", **self._ends, "result": result, "outcome": {"type": "success"}, **_usage(told)}

    def _failed(self, message: str, code: str) -> Iterator[Told]:
        yield from self._closed("failed")
        yield refusal(message, code)

    def _waiting(self, event: Event) -> Iterator[Told]:
        assert isinstance(event, Interrupt)
        interrupt = {
            "id": interrupt_id(self._run.task_id, event.attempt), "reason": "plan_approval",
            "responseSchema": _DECISION, "expiresAt": event.expires_at.isoformat(),
        }  # fmt: skip
        yield from self._closed("waiting")
        outcome = {"type": "interrupt", "interrupts": [interrupt]}
        yield {"type": "RUN_FINISHED", **self._ends, "outcome": outcome}

    def _closed(self, outcome: str) -> Iterator[Told]:
        """Everything ends that was begun; the run itself ends next."""
        self._has_ended = True
        if self._is_speaking:
            yield {"type": "TEXT_MESSAGE_END", **self._message}
        yield from self._lanes.close()
        self._state["outcome"] = outcome
        yield {"type": "STATE_DELTA", "delta": [_replace("outcome", outcome)]}


_SHOWN = ("progress", "message")


def refusal(message: str, code: str) -> Told:
    """A run that failed."""
    return {"type": "RUN_ERROR", "message": message, "code": code}


def interrupt_id(task_id: UUID, attempt: int) -> str:
    """Names a plan that waits."""
    return f"{task_id}:{attempt}"


def _replace(path: str, value: Any) -> Told:
    return {"op": "replace", "path": f"/{path}", "value": value}


def _copy(value: Any) -> Any:
    """What is sent later does not change with what comes after it."""
    if isinstance(value, dict):
        return {name: _copy(item) for name, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def _usage(answer: Mapping[str, Any]) -> Told:
    used = (answer.get("execution_metadata") or {}).get("model_usage")
    if not used:
        return {}
    read, written = int(used["prompt_tokens"]), int(used["completion_tokens"])
    tokens: dict[str, Any] = {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}
    if len(used["models"]) == 1:
        tokens["model"] = used["models"][0]
    return {"usage": [tokens]}
