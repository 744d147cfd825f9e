"""Conclave for programs: `Conclave` for plain code, `AsyncConclave` for code with an event loop. Both talk to a running
server over its REST API, with the rights of one token.

    with Conclave("http://127.0.0.1:8000", token) as conclave:
        print(conclave.ask("Đi muộn bị xử lý thế nào?").answer)
"""

from app.client.asynchronous import AsyncConclave
from app.client.blocking import Conclave
from app.client.records import (
    Answer,
    AskFailed,
    Conversation,
    Ingested,
    IngestFailed,
    Streamed,
    WaitingPlan,
)
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
