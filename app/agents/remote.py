"""Carry an order to a remote agent and its outcome back, and do such steps on the worker's side.

Who asks is no part of the order: the worker reads that from the run's own row.
"""

import asyncio
import logging
from datetime import datetime
from uuid import UUID

from app.agents.run import StepRunner
from app.agents.step import StepOrder, StepOutcome, last_events, stored_result
from app.domain.knowledge import Finding
from app.domain.plan import PlannedStep
from app.domain.record import Record
from app.domain.tasks import HandedStep, TaskStatus
from app.errors import AppError, StaleAttempt
from app.events import AgentResult, NavigationError
from app.reasoning.budget import Account, Ledger, Spent, charged_to, current_account
from app.storage.encoding import dump, storable
from app.tasks.run import TaskRun
from app.tasks.steps import StepRegistry
from app.telemetry import CacheUse, count_lookups, count_outage, counting_cache_use

_HOP_SHARE, _HOP_SECONDS = 0.1, 1.0
"""Of a step's time, kept back for its outcome to travel: at most so much."""


class _Order(Record):
    step: PlannedStep
    departments: tuple[str, ...]
    findings: tuple[Finding, ...]
    instructions: str
    files: tuple[UUID, ...]
    time_zone: str
    now: datetime
    deadline_binds: bool
    max_retries: int
    agent_type: str
    token_limit: int | None
    context_hash: str | None


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
    packed = _Order(**{name: getattr(order, name) for name in _Order.model_fields})
    return _text_of(packed)


def unpack_order(claimed: HandedStep, run: TaskRun) -> StepOrder:
    """The order as the worker carries it out, with what is left of its time. Raises `ValueError` for another shape."""
    packed = _Order.model_validate_json(claimed.order)
    hop = min(claimed.seconds_left * _HOP_SHARE, _HOP_SECONDS)
    return StepOrder(
        run=run, task_id=run.task.task_id, timeout_seconds=max(claimed.seconds_left - hop, 0.0), **dict(packed)
    )


def account_of(claimed: HandedStep, run: TaskRun, ledger: Ledger) -> Account:
    """Who pays for what the agent asks of models: the run, from its one budget."""
    deadline = asyncio.get_running_loop().time() + claimed.seconds_left
    return Account(run.principal, claimed.task.root_task_id, deadline, ledger)


def pack_outcome(outcome: StepOutcome, account: Account, caches: CacheUse) -> str:
    """The outcome as its leader will read it."""
    returned = Return(
        outcome=outcome, calls=tuple(account.doings.calls), downgrades=tuple(account.doings.downgrades),
        lookups=caches.lookups, hits=caches.hits, outages=caches.outages,
    )  # fmt: skip
    return _text_of(returned)


def unpack_outcome(text: str) -> StepOutcome:
    """The outcome as the worker left it, with its use of caches and models counted to this run. Raises `ValueError`."""
    return Return.model_validate_json(text).settle()


def _text_of(record: Record) -> str:
    try:
        return storable(record.model_dump_json(exclude_unset=True))
    except ValueError:  # text that is not Unicode
        return dump(record.model_dump(exclude_unset=True))


UNEXPECTED = "Tool failed unexpectedly"
_log = logging.getLogger(__name__)


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
        account = account_of(claimed, order.run, self._ledger)
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
        run.writer.append(NavigationError(node_id=node_id, error_code="TOOL_FAILED", message=UNEXPECTED))
        last = AgentResult(
            task_id=task.task_id, agent=task.assignee_agent_id or "", node_id=node_id, status="failed", answer=""
        )
        await self._steps.finish(run, TaskStatus.FAILED, result={}, error_message=UNEXPECTED, outcome="", event=last)
