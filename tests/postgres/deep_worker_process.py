"""A worker of deep runs in a process of its own, to be killed: ``python -m tests.postgres.deep_worker_process URL LEASE
PATIENCE [approve] [hang:3]``.

Its runs make a plan, wait for its approval where that is asked for, and do five steps that need one another's results;
each takes PATIENCE seconds, and one of them for ever where that is asked for.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.bus.relay import RelayingBus
from app.events import PlanReady, ToolRequest, ToolResponse
from app.journal import Journal
from app.storage.database import Database
from app.storage.notifications import NotificationChannel
from app.tasks.approvals import DeepStates
from app.tasks.run import TaskRun
from app.tasks.worker import Worker
from tests.postgres.running import Rooms, rooms_on

STEPS = 5
FOR_EVER = 3600


class SteppingFlow:
    """Goes on from its state alone: every step doubles the sum and adds one."""

    def __init__(self, rooms: Rooms, patience_seconds: float, *, asks: bool, hangs_at: int):
        self._rooms = rooms
        self._states = DeepStates(rooms.database, rooms.journal, lambda: datetime.now(UTC))
        self._patience_seconds = patience_seconds
        self._asks = asks
        self._hangs_at = hangs_at

    async def run(self, run: TaskRun) -> None:
        state = await self._states.last(run) if run.attempt > 1 else None
        if state is None:
            plan = {"steps": STEPS}
            run.writer.append(PlanReady(plan=plan))
            state = {"sum": 1, "done": 0}
            if self._asks:
                await self._states.park(run, state, plan)
                return
        while state["done"] < STEPS:
            await run.check()
            state = await self._step(run, state)
            await self._states.store(run, state)
        await self._rooms.complete(run, f"the sum is {state['sum']}")

    async def _step(self, run: TaskRun, state: dict[str, Any]) -> dict[str, Any]:
        node = {"agent": "expert", "node_id": f"expert#math:{state['done'] + 1}", "tool": "math_tool"}
        run.writer.append(ToolRequest(**node, input_hash="i"))
        await asyncio.sleep(FOR_EVER if state["done"] + 1 == self._hangs_at else self._patience_seconds)
        run.writer.append(ToolResponse(**node, status="ok", duration_ms=0, output_hash="o"))
        return {"sum": 2 * state["sum"] + 1, "done": state["done"] + 1}


def hang_in(options: Sequence[str]) -> int:
    """The step that never ends; 0 = every one does."""
    return next((int(one.removeprefix("hang:")) for one in options if one.startswith("hang:")), 0)


async def main(url: str, lease_seconds: float, patience_seconds: float, options: Sequence[str]) -> None:
    database = await Database.connect(url)
    bus = await RelayingBus.open(NotificationChannel(url))
    rooms = rooms_on(database, lease_seconds, max_redispatches=10)
    journal = Journal(database, bus)
    flow = SteppingFlow(
        Rooms(database, rooms.bus, journal, rooms.registry),
        patience_seconds,
        asks="approve" in options,
        hangs_at=hang_in(options),
    )
    worker = Worker(database, rooms.registry, journal, {"chat": flow.run})
    await worker.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
