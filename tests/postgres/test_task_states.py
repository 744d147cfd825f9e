"""Whatever comes in whatever order, the states of a run and its step keep to the rules: nothing leaves an end, attempt
numbers only grow, and only who holds a task changes it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.tasks import TaskStatus
from app.errors import StaleAttempt
from app.storage import deep_runs, tasks
from app.storage.database import Database
from app.tasks.run import TaskRun
from tests.postgres.running import LAN, Rooms, new_task, rooms_on, step_of
from tests.samples import size

MAX_REDISPATCHES = 3
DEED = st.tuples(
    st.sampled_from(("claim", "lose", "renew", "complete", "fail", "cancel", "hand out", "plan", "park", "decide")),
    st.sampled_from(("run", "step")),
    st.integers(0, 2),
)
"""(what, with which task, how many attempts ago)."""


@dataclass
class Model:
    """What one task should be like."""

    status: TaskStatus = TaskStatus.PENDING
    attempt: int = 0
    is_leased: bool = False
    handed_out_by: int | None = None
    waits: bool = False
    history: list[tuple[TaskStatus, int]] = field(default_factory=list)

    def is_held_by(self, attempt: int) -> bool:
        return self.status is TaskStatus.IN_PROGRESS and attempt == self.attempt

    @property
    def is_free(self) -> bool:
        if self.waits:
            return False
        return self.status is TaskStatus.PENDING or (self.status is TaskStatus.IN_PROGRESS and not self.is_leased)

    def take(self) -> None:
        self.status, self.attempt, self.is_leased = TaskStatus.IN_PROGRESS, self.attempt + 1, True

    def end(self, status: TaskStatus) -> None:
        if not self.status.is_terminal:
            self.status, self.waits = status, False


class Story:
    """A run and a step of it, in the database and in the model."""

    def __init__(self, rooms: Rooms):
        self.rooms = rooms
        self.run, self.step = Model(), Model()
        self.run_id: UUID
        self.step_id: UUID

    async def begin(self) -> None:
        root = await self.rooms.registry.register_task(LAN, new_task())
        step = step_of(root)
        async with self.rooms.database.principal_scope(LAN) as tx:
            await tx.driver.execute(tasks.ROWS.format(source=""), *tx.whose, *tasks.row_columns(tx, [step]))
        self.run_id, self.step_id = root.task_id, step.task_id
        self.root = root

    async def do(self, what: str, which: str, ago: int) -> None:
        model, task_id = (self.run, self.run_id) if which == "run" else (self.step, self.step_id)
        attempt = max(model.attempt - ago, 0)
        match what:
            case "claim":
                await self._claim(which)
            case "lose":
                await self.rooms.registry.release_lease(LAN, task_id, attempt)
                model.is_leased = model.is_leased and not model.is_held_by(attempt)
            case "renew":
                kept = await self.rooms.registry.renew_lease(LAN, task_id, attempt)
                assert kept == (model.is_held_by(attempt) and self._is_led(which))
                model.is_leased = model.is_leased or kept
            case "complete" | "fail":
                status = TaskStatus.COMPLETED if what == "complete" else TaskStatus.FAILED
                await self._write(model, attempt, self.rooms.registry.update_status(LAN, task_id, attempt, status))
                if model.is_held_by(attempt):
                    model.end(status)
            case "plan":
                leader: Any = SimpleNamespace(task=SimpleNamespace(task_id=task_id), attempt=attempt, principal=LAN)
                planned = self.rooms.registry.steps.register(leader, (), plan={"by": attempt})
                await self._write(model, attempt, planned)
            case "park" | "decide":
                await self._wait(what, model, task_id, attempt)
            case "cancel":
                task = await self.rooms.registry.cancel(LAN, self.run_id)
                if not self.run.status.is_terminal:
                    self.step.end(TaskStatus.CANCELLED)
                self.run.end(TaskStatus.CANCELLED)
                assert task.status is self.run.status
            case _:
                await self._hand_out(ago)

    async def _wait(self, what: str, model: Model, task_id: UUID, attempt: int) -> None:
        """Only a run that is held can be parked, and only a decision lets it be claimed again."""
        async with self.rooms.database.principal_scope(LAN) as tx:
            if what == "decide":
                await deep_runs.resume(tx, task_id)
                model.waits = False
                return
            is_parked = await deep_runs.park(tx, task_id, attempt, datetime.now(UTC))
        assert is_parked == (model is self.run and model.is_held_by(attempt))
        if is_parked:
            model.status, model.waits, model.is_leased = TaskStatus.PENDING, True, False

    async def _claim(self, which: str) -> None:
        if which == "run":
            claimed: Any = await self.rooms.registry.claim_task(LAN, self.run_id, "somebody")
            expected = self.run.is_free
        elif self.step.handed_out_by is None:
            claimed = await self.rooms.registry.steps.claim(LAN, self.step_id, "hr")
            expected = self.step.is_free
        else:
            claimed = await self.rooms.registry.steps.take_up(LAN, self.step_id, "elsewhere")
            expected = self.step.is_free and self._is_led("step") and self.step.attempt <= MAX_REDISPATCHES
        model = self.run if which == "run" else self.step
        assert (claimed is not None) == expected
        if expected:
            model.take()
            assert claimed.attempt == model.attempt

    async def _hand_out(self, ago: int) -> None:
        attempt = max(self.run.attempt - ago, 0)
        root = self.root.model_copy(update={"attempt": attempt})
        leader = TaskRun(LAN, self.root, attempt, await self.rooms.journal.writer(LAN, root))
        is_right = self.run.is_held_by(attempt) and self.step.status is TaskStatus.PENDING
        is_new = self.step.handed_out_by is None
        if not is_new:
            return
        try:
            await self.rooms.registry.steps.hand_out(leader, self.step_id, "hr", "{}", 60)
            assert is_right
            self.step.handed_out_by = attempt
        except StaleAttempt:
            assert not is_right

    def _is_led(self, which: str) -> bool:
        return which == "run" or self.step.handed_out_by is None or self.run.is_held_by(self.step.handed_out_by)

    async def _write(self, model: Model, attempt: int, writing: Any) -> None:
        try:
            await writing
            assert model.is_held_by(attempt), "a late writer was let in"
        except StaleAttempt:
            assert not model.is_held_by(attempt), "the holder was refused"

    async def check(self) -> None:
        for model, task_id in ((self.run, self.run_id), (self.step, self.step_id)):
            task = await self.rooms.registry.get_task(LAN, task_id)
            assert (task.status, task.attempt) == (model.status, model.attempt)
            assert (task.waiting_for is not None) == model.waits
            assert (await self.rooms.registry.get_task(LAN, task_id)).status is model.status


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as made:
        yield made


@pytest.mark.timeout(200)
class TestStates:
    def test_keep_to_the_rules_in_any_order(self, runner: asyncio.Runner, app_url: str) -> None:
        database = runner.run(Database.connect(app_url, pool_size=2))
        rooms = rooms_on(database, lease_seconds=60, max_redispatches=MAX_REDISPATCHES)

        async def tell(deeds: list[tuple[str, str, int]]) -> None:
            story = Story(rooms)
            await story.begin()
            for deed in deeds:
                await story.do(*deed)
                await story.check()

        @settings(max_examples=size(40, 150), deadline=None, print_blob=True)
        @given(st.lists(DEED, min_size=4, max_size=16))
        def try_one(deeds: list[tuple[str, str, int]]) -> None:
            runner.run(tell(deeds))

        try:
            try_one()
        finally:
            runner.run(database.dispose())
