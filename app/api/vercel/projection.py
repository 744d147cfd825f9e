"""A run's journal as a UI message stream, as JSON objects in their order."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import UUID

from app.api.plan_steps import PlanSteps
from app.api.projected import Chunk
from app.api.retold import WRITTEN_ANEW, Retold
from app.api.seed_order import in_seed_order
from app.api.titles import Named, unnamed
from app.events import (
    ConflictResolved,
    EndProcess,
    Event,
    FinalReport,
    Handover,
    Interrupt,
    JournalEntry,
    PlanReady,
    Progress,
    Redispatched,
    StartProcess,
    TaskCancelled,
    TaskFailed,
    TextDelta,
)

_TEXT = {"id": "answer"}
_METADATA = ("outcome", "confidence_score", "evidence", "reasoning", "follow_up_questions", "session_id", "task_id")


class Parts:
    """The chunks of one answer."""

    def __init__(self, task_id: UUID, session_id: UUID, named: Named = unnamed):
        """`named` is asked once, with the end."""
        self._named = named
        self._ids = {"task_id": str(task_id), "session_id": str(session_id)}
        self._text, self._is_speaking = Retold(), False
        self._plan: PlanSteps | None = None
        self._progress: dict[str, Any] = {"progress": 0, "message": ""}
        self._agents: dict[str, dict[str, bool]] = {}
        self._conflicts = 0
        self._titles: dict[str, str] = {}

    async def of(self, entries: AsyncIterator[JournalEntry]) -> AsyncGenerator[Chunk, None]:
        """One run's journal, from its beginning to its end."""
        yield {"type": "start", "messageId": self._ids["task_id"], "messageMetadata": self._ids}
        async for entry in entries:
            if isinstance(entry.event, FinalReport):
                self._titles = await self._named(entry.event.answer["evidence"])
            for chunk in self._of(entry.event):
                yield chunk

    def _of(self, event: Event) -> Iterator[Chunk]:
        match event:
            case PlanReady(plan=plan):
                self._plan = PlanSteps(plan)
                yield self._plan_shown(self._plan)
            case Progress(output=output):
                yield from self._progressed(output)
            case StartProcess(agent=agent, active=speaks) | EndProcess(agent=agent, active=speaks):
                self._agents[agent] = {"speaking": speaks}
                yield self._lanes()
            case Redispatched():
                self._text.begin_again()
                self._agents = {}
                yield self._lanes()
            case Handover() | Interrupt():
                yield {"type": f"data-{event.type}", "data": event.model_dump(mode="json", exclude={"type"})}
            case ConflictResolved(conflicts=conflicts, policy=policy):
                for conflict in conflicts:
                    self._conflicts += 1
                    data = {"conflict": conflict, "policy": policy}
                    yield {"type": "data-conflict", "id": f"conflict-{self._conflicts}", "data": data}
            case TextDelta(text=text):
                yield from self._say(self._text.fresh(text))
            case _:
                yield from self._end(event)

    def _end(self, event: Event) -> Iterator[Chunk]:
        match event:
            case FinalReport(answer=answer):
                yield from self._finished(answer)
            case TaskFailed(answer=answer):
                yield from self._failed(str(answer.get("error_message")), str(answer.get("error_code")))
            case TaskCancelled(reason=reason):
                yield from self._quiet()
                yield {"type": "message-metadata", "messageMetadata": {**self._ids, "outcome": "cancelled"}}
                yield {"type": "abort", "reason": reason}
            case _:
                pass

    def _progressed(self, output: Mapping[str, Any]) -> Iterator[Chunk]:
        if "progress_percentage" not in output or self._plan is None:
            return
        self._plan.move(output)
        self._progress = {
            "progress": output["progress_percentage"], "message": str(output.get("progress_message") or ""),
        }  # fmt: skip
        yield self._plan_shown(self._plan)

    def _plan_shown(self, plan: PlanSteps) -> Chunk:
        steps = [dict(step) for step in plan.steps]
        return {"type": "data-plan", "id": "plan", "data": {"steps": steps, **self._progress}}

    def _lanes(self) -> Chunk:
        return {"type": "data-agents", "id": "agents", "data": dict(self._agents)}

    def _say(self, text: str) -> Iterator[Chunk]:
        if not text:
            return
        if not self._is_speaking:
            self._is_speaking = True
            yield {"type": "text-start", **_TEXT}
        yield {"type": "text-delta", **_TEXT, "delta": text}

    def _quiet(self) -> Iterator[Chunk]:
        if self._is_speaking:
            self._is_speaking = False
            yield {"type": "text-end", **_TEXT}

    def _finished(self, answer: Mapping[str, Any]) -> Iterator[Chunk]:
        told = in_seed_order(answer)
        rest = self._text.rest(str(told["answer"]))
        if rest is None:
            yield from self._failed(WRITTEN_ANEW, "OVERLOADED")
            return
        yield from self._say(rest)
        yield from self._quiet()
        for number, source in enumerate(told["evidence"], 1):
            url = str(source["url"])
            yield {
                "type": "source-url",
                "sourceId": f"source-{number}",
                "url": url,
                "title": self._titles.get(url, url),
            }
        metadata = {name: told[name] for name in _METADATA if name in told}
        yield {"type": "finish", "finishReason": "stop", "messageMetadata": {**self._ids, **metadata}}

    def _failed(self, message: str, code: str) -> Iterator[Chunk]:
        """Clients stop reading at the error: what is to be known of it comes before."""
        yield from self._quiet()
        metadata = {**self._ids, "outcome": "failed", "error_code": code}
        yield {"type": "message-metadata", "messageMetadata": metadata}
        yield refusal(message)
        yield {"type": "finish", "finishReason": "error"}


def refusal(message: str) -> Chunk:
    """Why there is no answer."""
    return {"type": "error", "errorText": message}
