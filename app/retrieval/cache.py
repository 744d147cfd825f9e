"""Results of earlier searches, and what they and whole answers may be remembered by.

Whatever is remembered belongs to exactly one set of rights at one state of the corpus.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from cachetools import TTLCache

from app.domain.knowledge import SearchResult
from app.domain.principal import Principal
from app.storage.database import Database
from app.storage.search import corpus_version
from app.telemetry import count_lookups


@dataclass(frozen=True)
class Rights:
    """Everything about a caller that decides what may be read; two callers with equal rights read the same."""

    tenant_id: UUID
    scopes: frozenset[str]
    departments: frozenset[str]
    roles: frozenset[str]

    @classmethod
    def of(cls, principal: Principal) -> "Rights":
        """The rights of one caller."""
        return cls(principal.tenant_id, principal.scopes, principal.departments, principal.roles)


class Corpus:
    """The documents of every tenant as far as remembering needs to know them: which state they are in."""

    def __init__(self, database: Database, space: str):
        """`space` names the vectors they are searched by: model and centring."""
        self._database = database
        self.space = space

    async def version(self, principal: Principal) -> int | None:
        """The present state of the caller's tenant, read from the database each time: a change is seen by the next
        question in every process. None when the tenant is not registered."""
        async with self._database.principal_scope(principal, durable=False) as tx:
            return await corpus_version(tx)


@dataclass(frozen=True)
class CacheKey:
    """All a result depends on. Anything new that may change a result must become a field."""

    rights: Rights
    corpus_version: int
    space: str
    """Model and centring of the vectors."""
    query: str
    """Normalised."""
    departments: tuple[str, ...] | None
    on: date
    with_superseded: bool
    limit: int


class ResultCache:
    """A bounded store whose entries end after a while, or at once when the corpus changes."""

    def __init__(self, *, ttl_seconds: int, max_entries: int = 2_000, timer: Callable[[], float]):
        """`timer` is a monotonic clock in seconds."""
        self._entries: TTLCache[CacheKey, SearchResult] = TTLCache(max_entries, ttl_seconds, timer)

    def get(self, key: CacheKey) -> SearchResult | None:
        """The result, marked as cached."""
        found = self._entries.get(key)
        count_lookups(found is not None)
        return found and found.model_copy(update={"plan": found.plan.model_copy(update={"cached": True})})

    def put(self, key: CacheKey, result: SearchResult) -> None:
        """Keep a result."""
        self._entries[key] = result
