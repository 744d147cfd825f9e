"""Account for tool calls: traces and performance metrics are what was heard of them.

A `RunMonitor` hears a run's events as they are appended, so that none is missing or counted twice; the process's
`Monitor` hears them as messages, once they are committed.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from app.agents.step import ToolUse
from app.bus import Bus
from app.domain.answer import ToolUsage
from app.domain.messages import Wanted
from app.events import Event, ToolRequest, ToolResponse, read_event

TOOL_CALLS: Final = Wanted(topics=frozenset({"tool_request", "tool_response"}))
_OPEN = 10_000
"""Calls that are remembered as under way; an answer that never came is forgotten after as many others."""
_log = logging.getLogger(__name__)
_Call = tuple[object, str, str]


@dataclass
class _Total:
    answered: int = 0
    spent_ms: int = 0


class Monitor:
    """Accounts for the tool calls it hears of, tries that failed among them."""

    def __init__(self) -> None:
        self._totals: dict[str, _Total] = {}
        self._open: OrderedDict[_Call, str] = OrderedDict()

    @property
    def usage(self) -> dict[str, ToolUsage]:
        """By tool: how often it was called, also without an answer so far, and how long an answer took."""
        waiting = [tool for _, _, tool in self._open]
        return {
            tool: ToolUsage(
                calls=total.answered + waiting.count(tool), avg_time_ms=round(total.spent_ms / max(total.answered, 1))
            )
            for tool, total in self._totals.items()
        }

    def hear(self, event: Event) -> None:
        """Account for one event; others than tool calls mean nothing here."""
        if isinstance(event, ToolRequest):
            self._totals.setdefault(event.tool, _Total())
            self._open[(event.task_id, event.node_id, event.tool)] = event.input_hash
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
        elif isinstance(event, ToolResponse):
            input_hash = self._open.pop((event.task_id, event.node_id, event.tool), "")
            total = self._totals.setdefault(event.tool, _Total())
            total.answered += 1
            total.spent_ms += event.duration_ms
            self.answered(event, input_hash)

    def answered(self, event: ToolResponse, input_hash: str) -> None:
        """A call ended; `input_hash` is its request's, empty when that was not heard."""
        told = {"tool": event.tool, "agent": event.agent, "status": event.status, "duration_ms": event.duration_ms}
        level = logging.DEBUG if event.status == "ok" else logging.WARNING
        _log.log(level, "tool_called", extra={**told, "task_id": str(event.task_id), "input_hash": input_hash})

    async def listen(self, bus: Bus) -> None:
        """Hear the tool calls of this process until the bus is closed; those of others come without their payload."""
        async with bus.subscribe(TOOL_CALLS) as heard:
            async for message in heard:
                if message.payload is not None:
                    self.hear(read_event(message.payload))


class RunMonitor(Monitor):
    """Hears one run, and keeps its calls for the trace."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, list[ToolUse]] = {}

    def calls_of(self, node_id: str) -> tuple[ToolUse, ...]:
        """The calls of a step that ended, in order: tries, the alternative, a second round."""
        return tuple(self._calls.get(node_id, ()))

    def answered(self, event: ToolResponse, input_hash: str) -> None:
        """Keep the call; the process's monitor logs it."""
        made = ToolUse(event.tool, event.status, event.duration_ms, input_hash, event.output_hash)
        self._calls.setdefault(event.node_id, []).append(made)
