"""Connectors of this process: what requests act on, and the loop of its worker."""

from collections.abc import Collection

from app.agents.spec import ALL_QUEUES
from app.api.connectors import connectors_of
from app.api.deps import AppServices
from app.tasks.watchdog import Loop


def connector_loops(rooms: AppServices, queues: Collection[str]) -> dict[str, Loop]:
    """The loop that synchronises, in a worker that also reads documents."""
    return {"connect": connectors_of(rooms).keep_synchronising} if {"ingest", ALL_QUEUES} & {*queues} else {}
