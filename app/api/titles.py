"""What the sources of an answer are called, for programs that show it: an evidence holds the address alone."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from app.api.deps import Rooms
from app.domain.evidence import titles_by_url, without_page
from app.domain.principal import Principal
from app.errors import AppError

Named = Callable[[Sequence[Mapping[str, Any]]], Awaitable[dict[str, str]]]
"""Titles by address of an answer's evidence; what has none is left out."""


def named_for(rooms: Rooms, caller: Principal) -> Named:
    """Names what the caller may read; nothing while the database is away."""

    async def titles(evidence: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        told = [(str(one["url"]), datetime.fromisoformat(str(one["created_at"]))) for one in evidence]
        if not told:
            return {}
        try:
            found = await rooms.catalogue.titles(caller, sorted({without_page(url) for url, _ in told}))
        except AppError:
            return {}
        return titles_by_url(told, found)

    return titles


async def unnamed(_: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Where nothing can be looked up."""
    return {}
