"""Remembers vectors: of questions in memory, as embedding one costs twenty times the search that follows it, and of
texts that never change (exemplars) on disk between processes. Questions typed without accents are embedded with them.

A file is named by model, accents and content, so a changed text or another model makes a new one; a broken file is made
anew.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Sequence
from pathlib import Path

import numpy as np
from cachetools import LRUCache

from app.embedding import Embedder, EmbeddingUnavailable, TokenReader, Tokens, Vectors
from app.telemetry import count_lookups, count_outage
from app.text.diacritics import DIGEST, restored
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
        self.model, self.dimensions = inner.model, inner.dimensions
        self._rows: LRUCache[tuple[str, str], _Row] = LRUCache(max_entries)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, of Vietnamese ones with their accents; only those not seen before are computed, each
        once."""
        keys = [(normalise(restored(text)), self.model) for text in texts]
        found = {key: row for key in keys if (row := self._rows.get(key)) is not None}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        count_lookups(sum(key in found for key in keys), len(keys), "vectors")
        if missing:
            rows = await _counting_outages(self._inner.embed_queries([text for text, _ in missing]))
            found.update(zip(missing, rows, strict=True))
            self._rows.update((key, row.copy()) for key, row in zip(missing, rows, strict=True))
        return np.stack([found[key] for key in keys]) if keys else np.empty((0, self.dimensions), np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text."""
        return await _counting_outages(self._inner.embed_passages(texts))

    async def read_question(self, text: str) -> Tokens:
        """As the inner embedder reads it, with its accents. Raises `EmbeddingUnavailable` where it reads nothing."""
        return await self._token_reader.read_question(restored(text))

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        """As the inner embedder reads pieces; not remembered. Raises `EmbeddingUnavailable` where it reads none."""
        return await self._token_reader.read_pieces(pieces)

    @property
    def _token_reader(self) -> TokenReader:
        if not isinstance(self._inner, TokenReader):
            raise EmbeddingUnavailable(f"{self.model} gives no tokens")
        return self._inner

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


class StoredVectors:
    """Question vectors of fixed lists of texts: in memory once read, on disk once made."""

    def __init__(self, embedder: Embedder, folder: Path | None = None):
        """`folder` is made when needed; None keeps the vectors in memory only."""
        self._embedder = embedder
        self.folder = folder
        self._known: dict[tuple[str, ...], Vectors] = {}
        self._making = asyncio.Lock()

    async def of(self, texts: Sequence[str]) -> Vectors:
        """One row a text; embedded (10–25 ms each) only when never made before. Raises `EmbeddingUnavailable`."""
        key = tuple(texts)
        async with self._making:
            if key not in self._known:
                self._known[key] = await self._read_or_make(key)
            return self._known[key]

    async def _read_or_make(self, texts: tuple[str, ...]) -> Vectors:
        path = self._path(texts)
        vectors = await asyncio.to_thread(_read, path, (len(texts), self._embedder.dimensions)) if path else None
        if vectors is None:
            vectors = await self._embedder.embed_queries(texts)
            if path:
                await asyncio.to_thread(_write, path, vectors)
        return vectors

    def _path(self, texts: tuple[str, ...]) -> Path | None:
        if self.folder is None:
            return None
        content = "\n".join((self._embedder.model, DIGEST, *texts))
        return self.folder / f"{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:24]}.npy"


def _read(path: Path, shape: tuple[int, int]) -> Vectors | None:
    try:
        kept: Vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if kept.shape == shape else None


def _write(path: Path, vectors: Vectors) -> None:
    """Write beside and rename, so that nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.npy")
    np.save(draft, vectors, allow_pickle=False)
    draft.replace(path)
