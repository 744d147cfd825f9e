"""A conversation's memory while the database is away: what the caller brings along, and nothing else."""

from uuid import UUID

from app.domain.principal import Principal
from app.domain.tasks import Message, Recollection, RememberedTurn
from app.sessions.memory import SessionMemory


class MemoryAway(SessionMemory):
    """Recalls what it is given and keeps nothing; does no I/O."""

    def __init__(self) -> None:
        """Stands on nothing."""

    async def recall(
        self, principal: Principal, session_id: UUID, question: str, given: tuple[Message, ...] = ()
    ) -> Recollection:
        """The history the caller gave."""
        return Recollection(history=given)

    def keep_soon(self, principal: Principal, session_id: UUID, turn: RememberedTurn, answer: str) -> None:
        """The turn itself stands in its task; it is not summarised."""
