"""Whether this process can take questions: the checks behind `/ready`."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from app.embedding import Embedder
from app.storage import migrate
from app.storage.database import Database

_READY_SECONDS = 2
"""How long the answer of `/ready` is kept: it opens a connection, and anybody may ask."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Addresses:
    """Where the database is, by role."""

    app: str
    owner: str
    """Migrates; empty = somebody else does."""
    operator: str
    """Makes tenants and users; empty = not possible from here."""


class Readiness:
    """The checks behind `/ready`."""

    def __init__(
        self,
        addresses: Addresses,
        database: Database,
        embedder: Embedder,
        is_worker_well: Callable[[], bool | None],
    ):
        """`is_worker_well`: None = this process has no worker, so that is not asked."""
        self._is_worker_well = is_worker_well
        self._addresses, self._database, self._embedder = addresses, database, embedder
        self._found: Mapping[str, bool] = {}
        self._asked_at = float("-inf")
        self._asking = asyncio.Lock()

    async def __call__(self) -> Mapping[str, bool]:
        """Named checks; asked at most every two seconds, however many ask."""
        async with self._asking:
            if time.monotonic() - self._asked_at > _READY_SECONDS:
                self._found, self._asked_at = await self._ask(), time.monotonic()
            return self._found

    async def _ask(self) -> Mapping[str, bool]:
        try:
            migrated = await migrate.is_current(self._addresses.app)
            await self._database.check_row_security()
            bound = reachable = True
        except Exception as error:  # whatever goes wrong here, the service is not ready
            _log.warning("not_ready", error_class=type(error).__name__)
            migrated = bound = reachable = False
        loaded = self._embedder.dimensions > 0
        worker = self._is_worker_well()
        return {
            "database": reachable, "migrations": migrated, "row_security": bound, "embedder": loaded,
            **({} if worker is None else {"worker": worker}),
        }  # fmt: skip
