"""Asking the whole house: a question registered, queued, run by the worker and followed in the journal."""

from dataclasses import dataclass
from typing import Any

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.domain.tasks import Task
from app.events import Event, FinalReport, TaskFailed
from app.main import Services


@dataclass(frozen=True)
class Told:
    """A finished run as its asker sees it."""

    answer: dict[str, Any]
    """§5 or §6 with session_id, task_id and outcome."""
    events: list[Event]
    task: Task

    @property
    def nodes(self) -> list[str]:
        """The node ids of flow_action, in order."""
        return [action["node_id"] for action in self.answer["flow_action"]]

    @property
    def text(self) -> str:
        """Everything the asker is shown, as one string."""
        return repr(self.answer) + repr([event.model_dump() for event in self.events])


async def ask(services: Services, user: str, query: str, **body: Any) -> Told:
    """Ask as a demo user (``acme/lan``) and wait for the end."""
    principal = (await services.claims_of(user)).principal()
    run = await start_run(services.rooms, principal, ChatBody.model_validate({"query": query, **body}), None)
    entries = [entry async for entry in services.rooms.journal.follow(principal, run.task_id)]
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.is_terminal for entry in entries] == [False] * (len(entries) - 1) + [True]
    last = entries[-1].event
    assert isinstance(last, FinalReport | TaskFailed)
    task = await services.rooms.registry.get_task(principal, run.task_id)
    return Told(last.answer, [entry.event for entry in entries], task)
