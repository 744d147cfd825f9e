"""Events as messages: what is committed to a journal is told on the bus under the same name, by this one rule."""

from typing import Any
from uuid import UUID

from app.domain.messages import BROADCAST, Message, Method
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
