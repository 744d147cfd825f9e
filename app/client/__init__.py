"""Conclave for programs: `AsyncConclave` talks to a running server over its REST API, with the rights of one token.

async with AsyncConclave("http://127.0.0.1:8000", token) as conclave:
    print((await conclave.ask("Đi muộn bị xử lý thế nào?")).answer)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.client.asynchronous import AsyncConclave
    from app.client.records import Answer, AskFailed, Ingested, IngestFailed, Streamed, WaitingPlan

__all__ = ["Answer", "AskFailed", "AsyncConclave", "IngestFailed", "Ingested", "Streamed", "WaitingPlan"]


def __getattr__(name: str) -> Any:
    """A name of the client, imported when it is first asked for: a server only leaves its address in `local`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("app.client.asynchronous"), name)
