"""A worker of the deep flow in a process of its own, to be killed: ``python -m tests.postgres.deep_flow_process URL
LEASE PATIENCE [hang:2]``.

The flow, its rows, its journal and its steps are the real ones; the mind is scripted: three facts are looked up in the
first stored passage, one call each of PATIENCE seconds, and added. One of the calls takes for ever
where that is asked for.
"""

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

from app.agents.run import StepRunner
from app.bus.relay import RelayingBus
from app.domain.deep import DeepPlan
from app.flow.deep.context import DeepPorts
from app.flow.deep.graph import DeepFlow
from app.flow.state import FlowLimits, Ports
from app.journal import Journal
from app.reasoning import Review
from app.reasoning.budget import Ledger
from app.reasoning.deep import DecomposeRequest
from app.retrieval.cache import Corpus
from app.storage.database import Database
from app.storage.notifications import NotificationChannel
from app.tasks.approvals import DeepStates
from app.tasks.queue import JobQueue
from app.tasks.registry import TaskRegistry
from app.tasks.worker import Worker
from app.tools.base import ToolCall, ToolResult
from tests import factories
from tests.fakes.deep_mind import ScriptedDeepMind, approving
from tests.postgres.deep_worker_process import FOR_EVER, hang_in
from tests.unit.flow.deep.house import Files, Reasoner, Room, agents, solvers

FACTS = ("first fact", "second fact", "third fact")


class SlowTool:
    """Quotes the stored passage, as far as the asker may read it."""

    alternative: str | None = None

    def __init__(self, name: str, database: Database, patience_seconds: float, hangs_at: int):
        self.name = name
        self._database = database
        self._patience_seconds = patience_seconds
        self._hangs_at = hangs_at
        self._calls = 0

    async def __call__(self, call: ToolCall) -> ToolResult:
        self._calls += 1
        await asyncio.sleep(FOR_EVER if self._calls == self._hangs_at else self._patience_seconds)
        async with self._database.principal_scope(call.principal) as tx:
            rows = await tx.driver.fetch("select chunk_id, document_id, text from chunks order by chunk_id limit 1")
        found = [
            factories.passage(row["text"], **{name: row[name] for name in ("chunk_id", "document_id")}) for row in rows
        ]
        one = factories.finding(*found, agent=call.agent, query=call.message)
        return ToolResult(text=f"{call.message}: {one.answer}", findings=(one,))


class Approving(Reasoner):
    """Finds every finding supported."""

    async def review_finding(self, *_: object) -> Review:
        return Review(approved=True, reason="")


def planned(request: DecomposeRequest) -> DeepPlan:
    return DeepPlan(question=request.asked.question, research=FACTS, logic=("add them",))


def flow_on(
    database: Database, journal: Journal, registry: TaskRegistry, patience_seconds: float, hangs_at: int = 0
) -> DeepFlow:
    """The real flow on these rooms."""
    reasoner, room = Approving(), Room()
    toolbox = {name: SlowTool(name, database, patience_seconds, hangs_at) for name in ("rag_tool", "math_tool")}
    runner = StepRunner(registry, cast("Any", toolbox), cast("Any", reasoner), _now)
    ports = Ports(
        registry=registry, memory=cast("Any", room), clock=cast("Any", room), retriever=cast("Any", None),
        corpus=Corpus(database, "s"), reasoner=cast("Any", reasoner), agents=agents(), steps=runner,
        ledger=Ledger(), now=_now,
    )  # fmt: skip
    mind = ScriptedDeepMind(planner=planned, critic=approving)
    deep = DeepPorts(mind, solvers(), runner, DeepStates(database, journal, _now), Files())
    return DeepFlow(ports, deep, FlowLimits())


def _now() -> datetime:
    return datetime.now(UTC)


async def main(url: str, lease_seconds: float, patience_seconds: float, options: Sequence[str]) -> None:
    database = await Database.connect(url)
    journal = Journal(database, await RelayingBus.open(NotificationChannel(url)))
    registry = TaskRegistry(database, journal, JobQueue(), _now, lease_seconds, 10)
    flow = flow_on(database, journal, registry, patience_seconds, hang_in(options))
    worker = Worker(database, registry, journal, {"chat": flow.run})
    await worker.start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
