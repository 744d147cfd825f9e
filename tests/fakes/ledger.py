"""A ledger in memory, with the limits of the real one."""

from dataclasses import dataclass, field
from uuid import UUID

from app.domain.principal import Principal
from app.reasoning.budget import Ledger, LimitReached, Limits, Spent
from app.storage.usage import Reservation


@dataclass
class MemoryLedger(Ledger):
    """Counts per run; quotas of people and tenants are the database's."""

    limits: Limits = field(default_factory=lambda: Limits(0, 0, 0, 0))
    reserved: dict[UUID, Reservation] = field(default_factory=dict)
    settled: dict[UUID, Spent] = field(default_factory=dict)

    async def reserve(self, principal: Principal, wanted: Reservation) -> None:
        own = [call_id for call_id, one in self.reserved.items() if one.run_id == wanted.run_id]
        taken = sum(self._taken(call_id) for call_id in own)
        if self.limits.run_tokens and taken + wanted.tokens > self.limits.run_tokens:
            raise LimitReached("run_tokens")
        if self.limits.run_calls and len(own) + 1 > self.limits.run_calls:
            raise LimitReached("run_calls")
        self.reserved[wanted.call_id] = wanted

    async def settle(self, principal: Principal, call_id: UUID, spent: Spent) -> None:
        self.settled.setdefault(call_id, spent)

    def _taken(self, call_id: UUID) -> int:
        spent = self.settled.get(call_id)
        return spent.prompt_tokens + spent.completion_tokens if spent else self.reserved[call_id].tokens
