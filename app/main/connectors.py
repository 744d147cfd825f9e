"""Connectors of this process: what requests act on, and the loop of its worker."""

from collections.abc import Collection

from app.agents.spec import ALL_QUEUES
from app.api.connectors import connectors_of
from app.api.deps import AppServices
from app.tasks.watchdog import Loop


def connector_loops(rooms: AppServices, queues: Collection[str]) -> dict[str, Loop]:
    """The loops that synchronise, in a worker that also reads documents; three, as a source may be slow."""
    names = [f"connect {number}" for number in range(3)] if {"ingest", ALL_QUEUES} & {*queues} else []
    return dict.fromkeys(names, connectors_of(rooms).keep_synchronising)
