"""Remote agents: give a step to the workers that serve one, carry order and outcome, do such steps on their side.

A remote agent's events are copied from the step's journal into the run's by the leader: a journal has one writer.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter

from app.agents.run import StepRunner
from app.agents.step import (
    StepError,
    StepOrder,
    StepOutcome,
    StepWork,
    last_events,
    stored_result,
    task_event,
    unanswered,
)
from app.bus import PATIENCE_SECONDS, Bus, Wanted
from app.domain.record import Record
from app.domain.tasks import HandedStep, StepSight, TaskStatus
from app.errors import AppError, ErrorCode, StaleAttempt
from app.events import AgentResult, NavigationError, RenavigateRequest, read_event
from app.reasoning.budget import Account, Ledger, Spent, charged_to, current_account
from app.storage.database import dump
from app.tasks.run import TaskRun
from app.tasks.steps import StepRegistry
from app.telemetry import CacheUse, count_lookups, count_outage, counting_cache_use

_HOP_SHARE, _HOP_SECONDS = 0.1, 1.0
"""Of a step's time, kept back for its outcome to travel: at most so much."""
_UNEXPECTED = "Tool failed unexpectedly"
_WORK = TypeAdapter(StepWork)
_log = logging.getLogger(__name__)


class Return(Record):
    """What comes back: the outcome, and what was used on the way."""

    outcome: StepOutcome
    calls: tuple[Spent, ...] = ()
    downgrades: tuple[str, ...] = ()
    lookups: int = 0
    hits: int = 0
    outages: int = 0

    def settle(self) -> StepOutcome:
        """Count what was used to the run this is called in; the outcome."""
        if self.lookups:
            count_lookups(self.hits, self.lookups)
        for _ in range(self.outages):
            count_outage()
        if (account := current_account()) is not None:
            account.doings.calls.extend(self.calls)
            for note in self.downgrades:
                account.doings.downgrade(note)
        return self.outcome


def pack_order(order: StepOrder) -> str:
    """The order as its remote agent will read it."""
    return dump(_WORK.dump_python(order, mode="json", exclude_unset=True))


def unpack_order(claimed: HandedStep, run: TaskRun) -> StepOrder:
    """The order as the worker carries it out, with what is left of its time. Raises `ValueError` for another shape."""
    work = _WORK.validate_json(claimed.order)
    hop = min(claimed.seconds_left * _HOP_SHARE, _HOP_SECONDS)
    return StepOrder(
        run=run, task_id=run.task.task_id, timeout_seconds=max(claimed.seconds_left - hop, 0.0), **vars(work)
    )


def pack_outcome(outcome: StepOutcome, account: Account, caches: CacheUse) -> str:
    """The outcome as its leader will read it."""
    returned = Return(
        outcome=outcome, calls=tuple(account.doings.calls), downgrades=tuple(account.doings.downgrades),
        lookups=caches.lookups, hits=caches.hits, outages=caches.outages,
    )  # fmt: skip
    return dump(returned.model_dump(mode="json", exclude_unset=True))


def unpack_outcome(text: str) -> StepOutcome:
    """The outcome as the worker left it, with its use of caches and models counted to this run. Raises `ValueError`."""
    return Return.model_validate_json(text).settle()


@dataclass
class _Following:
    """A handed out step, as far as its leader has followed it."""

    order: StepOrder
    until: float
    """Event-loop time at which the step's time is over."""
    jobs: list[int]
    seen: int = 0
    """Events of its journal that were copied."""
    told: int = 1
    replaced: int = 0
    """The silent attempt another job was written for."""
    is_hopeless: bool = False

    @property
    def seconds_left(self) -> float:
        return self.until - asyncio.get_running_loop().time()


class RemoteSteps:
    """The leader's side of remote agents."""

    def __init__(self, steps: StepRegistry, bus: Bus, now: Callable[[], datetime]):
        self.steps = steps
        self._bus = bus
        self.now = now

    async def run(self, order: StepOrder) -> StepOutcome:
        """Hand a step out and follow it to its end, see `Steps`. A holder that falls silent for a lease is replaced, at
        most `max_redispatches` times and within the step's own time; what nobody did by then has timed out."""
        started_at, agent = self.now(), order.step.step.agent
        until = asyncio.get_running_loop().time() + order.timeout_seconds
        async with self._bus.subscribe(Wanted(root_task_id=order.task_id)) as hints:
            job = await self.steps.hand_out(order.run, order.task_id, agent, pack_order(order), order.timeout_seconds)
            following = _Following(order, until, [job])
            self._announce(following, 1)
            while following.seconds_left > 0 and not following.is_hopeless:
                await hints.next_within(min(PATIENCE_SECONDS, following.seconds_left))
                if (outcome := await self._look(following)) is not None:
                    return outcome
        return await self._give_up(following, started_at)

    async def _look(self, following: _Following) -> StepOutcome | None:
        """Copy what the step's journal has to say; the outcome when there is one."""
        order, sight = following.order, None
        while sight is None or sight.has_more:
            try:
                sight = await self.steps.look(order.run, order.task_id, following.seen)
            except AppError as error:
                if error.code is not ErrorCode.DATABASE_UNAVAILABLE:
                    raise
                return None  # it may come back in the step's time
            for seq, attempt, event in sight.entries:
                self._announce_replacement(following, attempt)
                order.run.writer.append(read_event(event))
                following.seen = seq
        self._announce_replacement(following, sight.attempt)
        if sight.status.is_terminal:
            return await self._collect(following, sight)
        if sight.is_silent and following.replaced < sight.attempt:
            await self._replace(following, sight)
        return None

    async def _replace(self, following: _Following, sight: StepSight) -> None:
        """The holder gave no sign of life for a lease: somebody else shall take the step, if it may be given out
        again."""
        if sight.attempt > self.steps.max_redispatches:
            following.is_hopeless = True
            return
        order = following.order
        _log.warning("step_silent", extra={"task_id": str(order.task_id), "attempt": sight.attempt})
        following.jobs.append(await self.steps.hand_out_again(order.run, order.task_id, order.step.step.agent))
        following.replaced = sight.attempt

    async def _collect(self, following: _Following, sight: StepSight) -> StepOutcome:
        order = following.order
        if sight.status is TaskStatus.CANCELLED:
            raise StaleAttempt(f"step {order.step.node_id} was cancelled")
        if text := await self.steps.collect(order.run, order.task_id):
            return replace(unpack_outcome(text), step=order.step)
        failed = unanswered(order, self.now(), self.now())
        return replace(failed, error=StepError("exception", _UNEXPECTED))

    async def _give_up(self, following: _Following, started_at: datetime) -> StepOutcome:
        """End a step nobody did in its time. Raises `StaleAttempt` when somebody else has ended it."""
        order = following.order
        outcome = unanswered(order, started_at, self.now())
        reason = outcome.error.message if outcome.error else ""
        if not await self.steps.give_up(order.run, order.task_id, following.jobs, reason):
            late = await self._look(following)  # it ended at the last moment
            if late is None:
                raise StaleAttempt(f"step {order.step.node_id} has ended")
            return late
        for event in last_events(order, outcome):
            order.run.writer.append(event)
        return outcome

    def _announce_replacement(self, following: _Following, attempt: int) -> None:
        """Tell that another took the step over, once."""
        if attempt <= following.told:
            return
        node_id, agent = following.order.step.node_id, following.order.step.step.agent
        reason = f"{agent} fell silent, its step was given out again"
        following.order.run.writer.append(RenavigateRequest(node_id=node_id, reason=reason))
        self._announce(following, attempt)

    def _announce(self, following: _Following, attempt: int) -> None:
        following.told = attempt
        following.order.run.writer.append(task_event(following.order, attempt))


class StepService:
    """Does steps that leaders elsewhere handed out, with the rights of whoever asked."""

    def __init__(self, runner: StepRunner, steps: StepRegistry, ledger: Ledger):
        self._runner = runner
        self._steps = steps
        self._ledger = ledger

    async def run(self, run: TaskRun, claimed: HandedStep) -> None:
        """Take a step to its end; `Worker` calls it. Raises `StaleAttempt` when it was lost, `AppError` when the
        database is away: then it is handed out again."""
        try:
            await self._carry_out(unpack_order(claimed, run), claimed)
        except (AppError, StaleAttempt):
            raise
        except Exception:  # a step that cannot be read or told fails here as it would fail everywhere
            _log.exception("step_failed", extra={"task_id": str(run.task.task_id), "agent": run.task.assignee_agent_id})
            await self._fail(run)

    async def _carry_out(self, order: StepOrder, claimed: HandedStep) -> None:
        deadline = asyncio.get_running_loop().time() + claimed.seconds_left
        account = Account(order.run.principal, claimed.task.root_task_id, deadline, self._ledger)
        with counting_cache_use() as caches, charged_to(account):
            outcome = await self._runner.carry_out(order, claimed)
        *before, last = last_events(order, outcome)
        for event in before:
            order.run.writer.append(event)
        await self._steps.finish(
            order.run, TaskStatus.COMPLETED if outcome.ok else TaskStatus.FAILED, result=stored_result(outcome),
            error_message=outcome.error.message if outcome.error else None,
            outcome=pack_outcome(outcome, account, caches), event=last,
        )  # fmt: skip

    async def _fail(self, run: TaskRun) -> None:
        """End a step without an outcome: its leader knows what that means."""
        task, node_id = run.task, str(run.task.request.get("node_id", ""))
        run.writer.append(NavigationError(node_id=node_id, error_code="TOOL_FAILED", message=_UNEXPECTED))
        last = AgentResult(
            task_id=task.task_id, agent=task.assignee_agent_id or "", node_id=node_id, status="failed", answer=""
        )
        await self._steps.finish(run, TaskStatus.FAILED, result={}, error_message=_UNEXPECTED, outcome="", event=last)
