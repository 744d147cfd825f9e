"""How an order travels to a remote agent, and its outcome back: as JSON text, so that nothing of it changes on the way.

The order says what the leader settled: the step, what the agent may read, what was found before, the clock. Who asks is
no part of it: the worker reads that from the run's own row.
"""

import asyncio
from datetime import datetime
from uuid import UUID

from app.agents.step import StepOrder, StepOutcome
from app.domain.knowledge import Finding
from app.domain.plan import PlannedStep
from app.domain.record import Record
from app.domain.tasks import HandedStep
from app.reasoning.budget import Account, Ledger, Spent, current_account
from app.storage.json_text import dump, storable
from app.tasks.run import TaskRun
from app.telemetry import CacheUse, count_lookups, count_outage

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
        run=run,
        task_id=run.task.task_id,
        timeout_seconds=max(claimed.seconds_left - hop, 0.0),
        **dict(packed),
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
