"""Bring the spooled writes of a run into the database: all of them in one transaction, exactly once, in order.

An answer that was spooled may have been shown to somebody, so it wins over an attempt that has not ended, under a
higher number; after another end it is kept as late. Writes without an end give way to the other attempt.
"""

from collections.abc import Sequence
from typing import NamedTuple

from app.bus import Place
from app.errors import StaleAttempt
from app.events import Heartbeat, JournalEntry, Redispatched, TaskAvailable
from app.journal.spool_records import (
    ClaimedRun,
    EventsAppended,
    Fate,
    PlanSaved,
    ReplayResult,
    RunEnded,
    StepClaimed,
    StepEnded,
    StepsRegistered,
    Write,
    event_of,
    row_of,
    writes_in,
)
from app.storage import events, replay, steps, tasks
from app.storage.database import Database, Transaction
from app.storage.replay import RootState
from app.storage.spool import SpooledRun
from app.tasks.steps import conclude_run, demand


class SpooledWrites:
    """Brings writes in; see the module."""

    def __init__(self, database: Database, lease_seconds: float):
        self._database, self._lease_seconds = database, lease_seconds

    async def bring_in(self, spooled: SpooledRun, is_live: bool) -> ReplayResult:
        """Write what waits of a run; see `app.journal.spool_records.Replay`."""
        read = _Spooled.of(spooled)
        held = read.held
        place = Place.of(held.principal, held.session_id, held.task_id, held.attempt)
        async with self._database.principal_scope(held.principal) as tx:
            root = await replay.lock_root(tx, held.task_id)
            if root is None:
                return ReplayResult(fate="erased", place=place)
            known = (root.brought_in or {}).get(spooled.origin, 0)
            if known >= spooled.upto:  # only the reply of that commit was lost
                return ReplayResult(fate="brought_in", place=place, entries=read.entries)
            fate, written = await self._write(tx, root, read, _Spooled.of(spooled, behind=known), is_live)
            await replay.mark(tx, held.task_id, spooled.origin, spooled.upto)
        return ReplayResult(fate=fate, place=place, entries=tuple(written))

    async def _write(
        self, tx: Transaction, root: RootState, read: "_Spooled", new: "_Spooled", is_live: bool
    ) -> tuple[Fate, Sequence[JournalEntry]]:
        """`read` is all that waits, `new` what was not brought in before."""
        held = read.held
        if root.status.is_terminal:
            return await self._after_the_end(tx, read)
        if root.waits and read.ended is None:  # parked, by the very commit nobody heard the reply of or by another
            return "lost", ()
        is_ours = root.attempt < held.attempt or (root.attempt == held.attempt and root.claimed_by == held.claimed_by)
        if is_ours:
            await self._hold(tx, held, held.attempt, is_live=is_live)
            await events.fill(tx, held.task_id, held.attempt, [row_of(entry) for entry in new.entries])
            await _make(tx, new, held.attempt)
            return "brought_in", new.entries
        if read.ended is None:
            return "lost", ()
        attempt = root.attempt + 1
        await self._hold(tx, held, attempt, is_live=False)
        retold = _retold(read.entries, behind=root.last_seq, attempt=attempt)
        await events.fill(tx, held.task_id, attempt, [row_of(entry) for entry in retold])
        await _make(tx, read, attempt)
        return "taken_over", retold

    async def _hold(self, tx: Transaction, held: ClaimedRun, attempt: int, *, is_live: bool) -> None:
        """Hold the task; one that nobody works on any more can be claimed at once."""
        lease_seconds = self._lease_seconds if is_live else 0
        if not await replay.claim_root(tx, held.task_id, attempt, held.claimed_by, lease_seconds):
            raise StaleAttempt(f"attempt {attempt} cannot hold task {held.task_id}")

    async def _after_the_end(self, tx: Transaction, read: "_Spooled") -> tuple[Fate, Sequence[JournalEntry]]:
        """The task has ended, by the very commit nobody heard the reply of or by somebody else."""
        if read.ended is None:
            return "lost", ()
        held, last = read.held, read.entries[-1]
        seq, _, event = row_of(last)
        if await replay.is_written(tx, held.task_id, held.attempt, seq, event):
            return "brought_in", read.entries
        late = {"attempt": held.attempt, "status": read.ended.status.value, "result": read.ended.result}
        await replay.store_late_answer(tx, held.task_id, late)
        return "late", ()


class _Spooled(NamedTuple):
    """What waits of a run, by kind."""

    held: ClaimedRun
    writes: tuple[Write, ...]
    entries: tuple[JournalEntry, ...]
    """The events, in order, each once."""
    ended: RunEnded | None

    @classmethod
    def of(cls, spooled: SpooledRun, behind: int = 0) -> "_Spooled":
        """The writes behind an entry's number; whose they are is always known."""
        numbered = [(number, entry) for number, entry in spooled.numbered if number > behind or entry.kind == "run"]
        writes = tuple(writes_in(entry for _, entry in numbered))
        rows = {row[0]: row for write in writes if isinstance(write, EventsAppended) for row in write.entries}
        return cls(
            held=_last(writes, ClaimedRun),
            writes=writes,
            entries=tuple(event_of(rows[seq]) for seq in sorted(rows)),
            ended=next((write for write in writes if isinstance(write, RunEnded)), None),
        )


def _last(writes: Sequence[Write], kind: type[ClaimedRun]) -> ClaimedRun:
    found = [write for write in writes if isinstance(write, kind)]
    if not found:
        raise ValueError("nothing in the spool says whose run this is")
    return found[-1]


def _retold(entries: Sequence[JournalEntry], *, behind: int, attempt: int) -> list[JournalEntry]:
    """The run told again behind what another attempt wrote; heartbeats fill the numbers its followers here have seen,
    so that they find the word that makes void what was told before."""
    last = entries[-1].seq
    told = [Heartbeat(attempt=attempt)] * max(last - 1 - behind, 0)
    events_again = [entry.event for entry in entries if not isinstance(entry.event, TaskAvailable)]
    return [
        JournalEntry(seq=behind + 1 + at, event=event)
        for at, event in enumerate([*told, Redispatched(attempt=attempt), *events_again])
    ]


async def _make(tx: Transaction, read: _Spooled, attempt: int) -> None:
    """Everything but the events, in the order it happened; what was done before stays as it is."""
    held = read.held
    for write in read.writes:
        match write:
            case PlanSaved(plan=plan):
                await steps.register(tx, held.task_id, attempt, (), plan, {}, "")
            case StepsRegistered(new_tasks=new_tasks, agent_contexts=needs, at=at):
                given = (needs, at.isoformat()) if at else ({}, "")
                await steps.register(tx, held.task_id, attempt, new_tasks, None, *given)
            case StepClaimed(task_id=step_id, attempt=number, agent_id=agent):
                await replay.claim_step(tx, step_id, number, agent)
            case StepEnded():
                await tasks.conclude(
                    tx, write.task_id, write.attempt, write.status, result=write.result,
                    error_message=write.error_message,
                )  # fmt: skip
            case RunEnded():
                demand(await conclude_run(tx, held.task_id, attempt, write), held.task_id, attempt)
            case _:
                pass
