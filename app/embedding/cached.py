"""Remembers the vectors of questions: embedding one costs twenty times the search that follows it."""

from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from cachetools import LRUCache

from app.embedding import Embedder, EmbeddingUnavailable, Vectors
from app.telemetry import count_lookups, count_outage
from app.text.language import normalise

_Row = Vectors
"""One vector, shape (dimensions,)."""


class CachedEmbedder:
    """Wraps an embedder. Vectors depend on text and model alone, so everybody may share them.

    Passages are not remembered here: ingestion keeps them in the database by content hash.
    """

    def __init__(self, inner: Embedder, *, max_entries: int = 10_000):
        """`max_entries` question vectors are kept (1.5 kB each at 384 dimensions), the least recently used go first."""
        self._inner = inner
        self._rows: LRUCache[tuple[str, str], _Row] = LRUCache(max_entries)

    @property
    def model(self) -> str:
        """The inner embedder's model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The inner embedder's dimensions."""
        return self._inner.dimensions

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions; only those not seen before are computed, each once."""
        keys = [(normalise(text), self.model) for text in texts]
        found = {key: row for key in keys if (row := self._rows.get(key)) is not None}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        count_lookups(sum(key in found for key in keys), len(keys))
        if missing:
            rows = await _counting_outages(self._inner.embed_queries([text for text, _ in missing]))
            found.update(zip(missing, rows, strict=True))
            self._rows.update((key, row.copy()) for key, row in zip(missing, rows, strict=True))
        return _stack([found[key] for key in keys], self.dimensions)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text; a text that comes twice is computed once."""
        return await _counting_outages(_distinct(self._inner.embed_passages, texts, self.dimensions))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the inner embedder counts."""
        return self._inner.count_tokens(texts)

    async def aclose(self) -> None:
        """Close the inner embedder."""
        await self._inner.aclose()


async def _counting_outages(embedding: Awaitable[Vectors]) -> Vectors:
    try:
        return await embedding
    except EmbeddingUnavailable:
        count_outage()
        raise


async def _distinct(
    embed: Callable[[Sequence[str]], Awaitable[Vectors]], texts: Sequence[str], dimensions: int
) -> Vectors:
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    vectors = await embed(list(places))
    return _stack([vectors[places[text]] for text in texts], dimensions)


def _stack(rows: Sequence[_Row], dimensions: int) -> Vectors:
    return np.stack(rows) if rows else np.empty((0, dimensions), np.float32)
