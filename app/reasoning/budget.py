"""What a run may ask of models: one deadline and one budget of tokens and calls, shared by all its agents.

Every call is reserved before it is made and settled after it; both are rows, so steps in other processes draw on the
same budget and a run that is taken up again finds what was spent. Who pays follows a run through its tasks by a context
variable: no method of a reasoner, and no text a model wrote, can name another payer. Outside a run nothing is spent.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from app.domain.principal import Principal
from app.storage import usage
from app.storage.database import Database
from app.storage.usage import LimitReached, Limits, Reservation


@dataclass(frozen=True)
class Spent:
    """What one call took."""

    agent: str
    purpose: str
    model: str
    outcome: str
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int
    """Millionths of the operator's currency."""
    duration_ms: int


class Ledger:
    """Where calls are counted. By itself it counts nothing and refuses nothing: without a model nothing is spent."""

    async def reserve(self, principal: Principal, wanted: Reservation) -> None:
        """Count a call in before it is made. Raises `LimitReached`."""

    async def settle(self, principal: Principal, call_id: UUID, spent: Spent) -> None:
        """Put what a call took in the place of what was reserved."""


class StoredLedger(Ledger):
    """The ledger in the database; every method is one short transaction."""

    def __init__(self, database: Database, limits: Limits):
        self._database, self.limits = database, limits

    async def reserve(self, principal: Principal, wanted: Reservation) -> None:
        """See `Ledger`."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            await usage.reserve(tx, wanted, self.limits)

    async def settle(self, principal: Principal, call_id: UUID, spent: Spent) -> None:
        """See `Ledger`."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            await usage.settle(
                tx, call_id, outcome=spent.outcome, prompt_tokens=spent.prompt_tokens,
                completion_tokens=spent.completion_tokens, cost_micros=spent.cost_micros, duration_ms=spent.duration_ms,
            )  # fmt: skip


@dataclass
class Doings:
    """What a run's models did, in order; shared by every step of the run."""

    calls: list[Spent] = field(default_factory=list)
    downgrades: list[str] = field(default_factory=list)
    """What was done in a lesser way and why: ``compose: timeout, answered by rules``."""

    def downgrade(self, note: str) -> None:
        """Remember a downgrade once."""
        if note not in self.downgrades:
            self.downgrades.append(note)


@dataclass(frozen=True)
class Account:
    """Who pays for what is asked of models from here on."""

    principal: Principal
    run_id: UUID
    deadline: float
    """Event-loop time by which every call must have ended."""
    ledger: Ledger
    doings: Doings = field(default_factory=Doings)
    agent: str = ""
    task_id: UUID | None = None

    @property
    def seconds_left(self) -> float:
        """Until the deadline; never negative."""
        return max(self.deadline - asyncio.get_running_loop().time(), 0.0)

    async def reserve(self, purpose: str, model: str, tokens: int) -> UUID:
        """Count a call in. Raises `LimitReached`."""
        call_id = uuid4()
        wanted = Reservation(call_id, self.run_id, self.task_id, self.agent, purpose, model, tokens)
        await self.ledger.reserve(self.principal, wanted)
        return call_id

    async def settle(self, call_id: UUID, spent: Spent) -> None:
        """Count what a call took."""
        self.doings.calls.append(spent)
        await self.ledger.settle(self.principal, call_id, spent)


_account: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def charged_to(account: Account) -> Iterator[Account]:
    """Let everything inside, in this task and the tasks it starts, be paid from `account`."""
    token = _account.set(account)
    try:
        yield account
    finally:
        _account.reset(token)


@contextmanager
def charged_to_step(agent: str, task_id: UUID) -> Iterator[None]:
    """The same payer, for one step of one agent; nothing to do where nobody pays."""
    account = _account.get()
    if account is None:
        yield
        return
    with charged_to(replace(account, agent=agent, task_id=task_id)):
        yield


def note_downgrade(note: str) -> None:
    """Remember that something was done in a lesser way, where somebody pays."""
    account = _account.get()
    if account is not None:
        account.doings.downgrade(note)


def current_account() -> Account | None:
    """Who pays here; None = nobody, so nothing may be asked."""
    return _account.get()


__all__ = [
    "Account", "Doings", "Ledger", "LimitReached", "Limits", "Spent", "StoredLedger", "charged_to",
    "charged_to_step", "current_account", "note_downgrade",
]  # fmt: skip
