"""Conclave for programs: `Conclave` for plain code, `AsyncConclave` for code with an event loop. Both talk to a running
server over its REST API, with the rights of one token.

    with Conclave("http://127.0.0.1:8000", token) as conclave:
        print(conclave.ask("Đi muộn bị xử lý thế nào?").answer)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.client.asynchronous import AsyncConclave
    from app.client.blocking import Conclave
    from app.client.records import Answer, AskFailed, Conversation, Ingested, IngestFailed, Streamed, WaitingPlan
    from app.domain.documents import Progress
    from app.domain.tasks import TaskView

__all__ = [
    "Answer",
    "AskFailed",
    "AsyncConclave",
    "Conclave",
    "Conversation",
    "IngestFailed",
    "Ingested",
    "Progress",
    "Streamed",
    "TaskView",
    "WaitingPlan",
]
_PLACES = {
    "AsyncConclave": "app.client.asynchronous", "Conclave": "app.client.blocking",
    "Progress": "app.domain.documents", "TaskView": "app.domain.tasks",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name of the client, imported when it is first asked for: the command line needs the connection alone."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES.get(name, "app.client.records")), name)
