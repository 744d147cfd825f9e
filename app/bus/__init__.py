"""AHP, what agents, leaders and processes say to one another, and the port of the bus that carries it.

What is committed to a journal, which is the truth, is told on the bus under the same name, by one rule: `message_of`.
A message is a hint: it may come twice, late, or not at all, and between processes it holds ids and names only; its
payload is the event at `seq` of its task's journal. Nobody waits for a bus longer than `PATIENCE_SECONDS`; then the
database is asked.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol
from uuid import UUID

from app.domain.plan import ORCHESTRATOR
from app.domain.principal import Principal
from app.domain.record import Record
from app.events import (
    AgentResult,
    AgentTask,
    EndProcess,
    Event,
    FinalReport,
    Handover,
    Heartbeat,
    JournalEntry,
    StartProcess,
    ToolRequest,
    ToolResponse,
)

PATIENCE_SECONDS: Final = 0.5
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


class Place(Record):
    """Whose journal an event stands in, and under which attempt it was written."""

    tenant_id: UUID
    user_id: UUID
    session_id: UUID
    root_task_id: UUID
    attempt: int = 0

    @classmethod
    def of(cls, principal: Principal, session_id: UUID, root_task_id: UUID, attempt: int = 0) -> "Place":
        """The place of a person's run."""
        return cls(
            tenant_id=principal.tenant_id,
            user_id=principal.user_id,
            session_id=session_id,
            root_task_id=root_task_id,
            attempt=attempt,
        )


def message_of(place: Place, entry: JournalEntry) -> Message:
    """The message that tells a committed event: its topic is the event's type, a step's is ``{agent}_task`` and
    ``{agent}_result``."""
    event = entry.event
    told: dict[str, Any] = {
        "method": Method.PROGRESS, "topic": event.type, "from_agent": ORCHESTRATOR, "to_agent": BROADCAST,
        "task_id": place.root_task_id,
    }  # fmt: skip
    return Message(**dict(place), seq=entry.seq, payload=event.model_dump(mode="json"), **(told | _particulars(event)))


def _particulars(event: Event) -> dict[str, Any]:
    """What an event says about its own message."""
    match event:
        case AgentTask():
            return {
                "method": Method.TASK, "topic": f"{event.agent}_task", "to_agent": event.agent,
                "task_id": event.task_id, "agent_type": event.agent_type, "token_limit": event.token_limit,
                "deadline": event.deadline,
            }  # fmt: skip
        case AgentResult():
            return {
                "method": Method.RESULT, "topic": f"{event.agent}_result", "from_agent": event.agent,
                "to_agent": ORCHESTRATOR, "task_id": event.task_id, "agent_type": event.agent_type,
            }  # fmt: skip
        case FinalReport():
            return {"method": Method.RESULT}
        case Heartbeat():
            return {"method": Method.HEARTBEAT}
        case ToolRequest() | ToolResponse():
            return {"from_agent": event.agent} | ({"task_id": event.task_id} if event.task_id else {})
        case StartProcess() | EndProcess():
            return {"from_agent": event.agent}
        case Handover():
            return {"from_agent": event.from_agent, "to_agent": event.to_agent}
        case _:
            return {}


class Subscription(Protocol):
    """What one listener wanted since its subscription began, in order of arrival; a slow reader loses the oldest."""

    async def next_within(self, seconds: float) -> Message | None:
        """The next message, or None when none came in time or the bus was closed. Cancelling it loses no message."""


class Bus(Protocol):
    """Publish and subscribe."""

    async def publish(self, *messages: Message) -> None:
        """Tell everybody who wants them, in this order. Never waits for a reader and never fails: a lost hint is made
        up for by polling."""

    def subscribe(self, wanted: Wanted) -> AbstractAsyncContextManager[Subscription]:
        """Receive what is wanted, from now until the context ends. What is not wanted is never queued."""

    async def aclose(self) -> None:
        """Deliver nothing any more; what was delivered can still be read."""
