"""What tools that read documents need of `retrieval.search.Retriever`."""

from datetime import date
from typing import Protocol

from app.domain.knowledge import SearchResult
from app.domain.principal import Principal


class Searcher(Protocol):
    """Finds passages under the rights of whoever asks."""

    async def search(
        self,
        principal: Principal,
        query: str,
        *,
        departments: tuple[str, ...] | None,
        limit: int = 8,
        as_of: date | None = None,
    ) -> SearchResult:
        """Passages the principal may read, best first; None = of every department."""
