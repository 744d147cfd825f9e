"""Let each person do so much at a time, so that one person's crowd leaves room for the others."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from app.domain.principal import Principal


class Turns:
    """How many things of one person are done at a time in this process; the next ones wait, first come first served."""

    def __init__(self, most: int):
        """`most`: of each person, at least 1."""
        self.most = most
        self._people: dict[tuple[UUID, UUID], tuple[asyncio.Semaphore, int]] = {}

    def __len__(self) -> int:
        """How many people have something going on or waiting; nobody else is remembered."""
        return len(self._people)

    @asynccontextmanager
    async def of(self, principal: Principal) -> AsyncIterator[None]:
        """Wait for this person's turn, and hold it inside."""
        whose = principal.tenant_id, principal.user_id
        turns, users = self._people.get(whose) or (asyncio.Semaphore(self.most), 0)
        self._people[whose] = turns, users + 1
        try:
            async with turns:
                yield
        finally:
            turns, users = self._people.pop(whose)
            if users > 1:
                self._people[whose] = turns, users - 1
