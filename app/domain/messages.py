"""AHP: what agents, leaders and processes say to one another, and what a listener wants to hear.

Between processes a message carries ids and names only; its payload is the event at `seq` of its task's journal.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from app.domain.record import Record

BROADCAST: Final = "broadcast"
"""The receiver of what everybody may hear."""


class Method(StrEnum):
    """The four methods of the agent protocol."""

    TASK = "TASK"
    RESULT = "RESULT"
    PROGRESS = "PROGRESS"
    HEARTBEAT = "HEARTBEAT"


class Message(Record):
    """One message; the sender of a step's TASK is the leader, that of its RESULT the agent."""

    method: Method
    topic: str
    from_agent: str
    to_agent: str = BROADCAST
    agent_type: str = ""
    """Which of a pool's tools is meant (``sum``), where the topic's readers differ by it."""
    tenant_id: UUID
    user_id: UUID
    session_id: UUID
    root_task_id: UUID
    task_id: UUID
    attempt: int = 0
    """The fence: a RESULT of an earlier attempt is late."""
    seq: int | None = None
    """Where its event stands in the journal of `root_task_id`; None = it stands nowhere (a heartbeat)."""
    token_limit: int | None = None
    """Tokens a TASK's instruction may have."""
    deadline: datetime | None = None
    payload: Mapping[str, Any] | None = None
    """Known in the publishing process only."""


class Wanted(Record):
    """A listener's filter; what it does not name it does not ask about. Held against a message before delivery."""

    topics: frozenset[str] | None = None
    agent_type: str | None = None
    root_task_id: UUID | None = None

    def takes(self, message: Message) -> bool:
        """Whether this listener hears the message."""
        return (
            (self.topics is None or message.topic in self.topics)
            and (self.agent_type is None or message.agent_type == self.agent_type)
            and (self.root_task_id is None or message.root_task_id == self.root_task_id)
        )
