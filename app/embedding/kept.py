"""Vectors of texts that never change (exemplars), kept on disk between processes.

A file is named by model and content, so a changed text or another model makes a new one; a broken file is made anew.
"""

import asyncio
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.embedding import Embedder, Vectors


class KeptVectors:
    """Question vectors of fixed lists of texts: in memory once read, on disk once made."""

    def __init__(self, embedder: Embedder, folder: Path | None = None):
        """`folder` is made when needed; None keeps the vectors in memory only."""
        self._embedder = embedder
        self._folder = folder
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
                await asyncio.to_thread(_keep, path, vectors)
        return vectors

    def _path(self, texts: tuple[str, ...]) -> Path | None:
        if self._folder is None:
            return None
        content = "\n".join((self._embedder.model, *texts))
        return self._folder / f"{hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:24]}.npy"


def _read(path: Path, shape: tuple[int, int]) -> Vectors | None:
    try:
        kept: Vectors = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if kept.shape == shape else None


def _keep(path: Path, vectors: Vectors) -> None:
    """Write beside and rename, so that nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.npy")
    np.save(draft, vectors, allow_pickle=False)
    draft.replace(path)
