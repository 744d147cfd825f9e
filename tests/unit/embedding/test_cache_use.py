import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from app.embedding import EmbeddingUnavailable, Vectors
from app.embedding.cached import CachedEmbedder
from app.telemetry import counting_cache_use


class Model:
    """A model that may be away."""

    model, dimensions, is_away = "fake", 1, False

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        if self.is_away:
            raise EmbeddingUnavailable("away")
        return np.ones((len(texts), 1), np.float32)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_queries(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    async def aclose(self) -> None: ...


class TestCacheUse:
    async def test_each_question_counts_and_only_known_ones_are_hits(self) -> None:
        embedder = CachedEmbedder(Model())
        with counting_cache_use() as use:
            await embedder.embed_queries(["a", "b"])
            await embedder.embed_queries(["b", "c"])
        assert (use.hits, use.lookups, use.outages) == (1, 4, 0)

    async def test_runs_side_by_side_are_counted_apart_with_the_tasks_they_start(self) -> None:
        embedder = CachedEmbedder(Model())

        async def run(*texts: str) -> tuple[int, int]:
            with counting_cache_use() as use:
                await asyncio.gather(*(embedder.embed_queries([text]) for text in texts))
            return use.hits, use.lookups

        await embedder.embed_queries(["known"])
        one, other = await asyncio.gather(run("known", "new"), run("other", "more", "known"))
        assert (one, other) == ((1, 2), (1, 3))

    @pytest.mark.parametrize("method", ["embed_queries", "embed_passages"])
    async def test_a_model_that_is_away_is_noticed_also_by_who_gets_along_without(self, method: str) -> None:
        model = Model()
        model.is_away = True
        with counting_cache_use() as use, pytest.raises(EmbeddingUnavailable):
            await getattr(CachedEmbedder(model), method)(["a"])
        assert use.outages == 1

    async def test_nobody_counting_is_fine(self) -> None:
        await CachedEmbedder(Model()).embed_queries(["a"])
