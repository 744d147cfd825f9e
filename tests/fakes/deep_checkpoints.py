"""States of deep runs kept in this process only."""

import json
from typing import Any
from uuid import UUID

from app.tasks.approvals import DeepStates
from app.tasks.run import TaskRun


class MemoryCheckpoints(DeepStates):
    """The last state of each run, as JSON text; forgotten with the process."""

    def __init__(self) -> None:
        self._kept: dict[UUID, str] = {}
        self.parked: dict[UUID, dict[str, Any]] = {}
        """Plans that wait for a person."""

    async def store(self, run: TaskRun, state: dict[str, Any]) -> None:
        """See `DeepStates`."""
        self._kept[run.task.task_id] = json.dumps(state)

    async def last(self, run: TaskRun) -> dict[str, Any] | None:
        """See `DeepStates`."""
        kept = self._kept.get(run.task.task_id)
        if kept is None:
            return None
        state: dict[str, Any] = json.loads(kept)
        return state

    async def park(self, run: TaskRun, state: dict[str, Any], plan: dict[str, Any]) -> None:
        """See `DeepStates`."""
        await self.store(run, state)
        self.parked[run.task.task_id] = plan
