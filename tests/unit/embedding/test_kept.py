from collections.abc import Sequence
from pathlib import Path

import numpy as np

from app.embedding import Vectors
from app.embedding.cached import StoredVectors


class Counting:
    """Vectors from the texts' lengths; counts how often it was asked."""

    model = "counting"
    dimensions = 2

    def __init__(self) -> None:
        self.calls = 0

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        return np.array([[len(text), 1] for text in texts], np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_queries(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def aclose(self) -> None:
        return None


class TestKeptVectors:
    async def test_are_made_once_for_all_processes(self, tmp_path: Path) -> None:
        first, second = Counting(), Counting()
        made = await StoredVectors(first, tmp_path).of(["a", "bc"])
        read = await StoredVectors(second, tmp_path).of(["a", "bc"])
        assert (first.calls, second.calls) == (1, 0)
        assert np.array_equal(made, read)

    async def test_a_changed_text_is_made_anew(self, tmp_path: Path) -> None:
        embedder = Counting()
        await StoredVectors(embedder, tmp_path).of(["a"])
        assert (await StoredVectors(embedder, tmp_path).of(["abc"]))[0, 0] == 3
        assert embedder.calls == 2

    async def test_a_broken_file_is_made_anew(self, tmp_path: Path) -> None:
        embedder = Counting()
        await StoredVectors(embedder, tmp_path).of(["a"])
        [file] = tmp_path.iterdir()
        file.write_bytes(b"\x93NUMPY torn")
        assert (await StoredVectors(embedder, tmp_path).of(["a"]))[0, 0] == 1
        assert embedder.calls == 2
        assert len(list(tmp_path.iterdir())) == 1
