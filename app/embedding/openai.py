"""Any OpenAI-compatible ``/embeddings`` endpoint."""

import math
from collections.abc import Sequence

import numpy as np
from openai import AsyncOpenAI, OpenAIError
from openai.types import Embedding

from app.embedding import EmbeddingUnavailable, Vectors
from app.text.language import normalise

_BATCH = 64
"""Texts in one request; servers commonly refuse more than a few hundred."""
_TOKEN_CHARACTERS = 3.0
"""Characters in a token: common vocabularies need 2.5 to 3.5 for Vietnamese and 4 for English, so this rarely counts
too few."""


class OpenAIEmbedder:
    """Asks a remote model and trusts nothing it says: count, order, dimension and numbers are checked."""

    def __init__(self, client: AsyncOpenAI, model: str, dimensions: int):
        """Prefer `connect`, which learns `dimensions` from the endpoint."""
        self._client, self.model, self.dimensions = client, model, dimensions
        self._query_prefix, self._passage_prefix = _prefixes(model)

    @classmethod
    async def connect(
        cls, base_url: str, model: str, *, api_key: str = "", timeout_seconds: float = 30.0
    ) -> "OpenAIEmbedder":
        """Reach the endpoint once to learn the model's dimension. Raises `EmbeddingUnavailable`."""
        # One layer retries: the caller knows its deadline, the client does not. Local servers want no key.
        client = AsyncOpenAI(base_url=base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0)
        try:
            probe = await cls(client, model, 0)._request(["dimension"])
        except BaseException:
            await client.close()
            raise
        return cls(client, model, probe.shape[1])

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions. Raises `EmbeddingUnavailable`."""
        return await self._embed(self._query_prefix, texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text. Raises `EmbeddingUnavailable`."""
        return await self._embed(self._passage_prefix, texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Estimated from the characters: the endpoint tells its tokens only after the work."""
        return [math.ceil(len(text) / _TOKEN_CHARACTERS) for text in texts]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _embed(self, prefix: str, texts: Sequence[str]) -> Vectors:
        # Endpoints refuse an empty input; a lone full stop is the nearest thing to nothing.
        prepared = [prefix + (normalise(text) or ".") for text in texts]
        batches = [await self._request(prepared[at : at + _BATCH]) for at in range(0, len(prepared), _BATCH)]
        vectors = np.concatenate(batches) if batches else np.empty((0, self.dimensions), np.float32)
        if vectors.shape[1] != self.dimensions:
            raise EmbeddingUnavailable(f"{self.model} gave {vectors.shape[1]} dimensions, not {self.dimensions}")
        return vectors

    async def _request(self, texts: list[str]) -> Vectors:
        try:
            reply = await self._client.embeddings.create(model=self.model, input=texts, encoding_format="float")
        except OpenAIError as error:
            raise EmbeddingUnavailable(f"{self.model} cannot be reached: {type(error).__name__}") from error
        return _unit_rows(self.model, reply.data, len(texts))


def _prefixes(model: str) -> tuple[str, str]:
    """What the model was trained to see before questions and passages; plain e5 needs both, most models neither."""
    is_plain_e5 = "e5" in model.lower() and "instruct" not in model.lower()
    return ("query: ", "passage: ") if is_plain_e5 else ("", "")


def _unit_rows(model: str, rows: Sequence[Embedding] | None, count: int) -> Vectors:
    try:
        in_order = sorted(rows or (), key=lambda row: row.index)
        if [row.index for row in in_order] != list(range(count)):
            raise EmbeddingUnavailable(
                f"{model} gave {len(in_order)} vectors for {count} texts, or numbered them wrong"
            )
        vectors = np.array([row.embedding for row in in_order], dtype=np.float64)
    except (TypeError, ValueError, AttributeError) as error:
        raise EmbeddingUnavailable(f"{model} gave vectors of unequal length or no numbers") from error
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise EmbeddingUnavailable(f"{model} gave a vector without direction (NaN, infinite or zero)")
    return (vectors / lengths).astype(np.float32)
