"""Port of embedding models: text in, unit vectors out.

Adapters: `onnx` (bundled multilingual-e5-small on onnxruntime), `openai` (any OpenAI-compatible endpoint); `cached`
wraps each. `pairs` reads a question together with pieces of text, from the tokens of the bundled model.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
"""Shape (n, dimensions), rows of Euclidean length 1, in the order of the texts."""


class Embedder(Protocol):
    """Turns text into vectors. Any text is safe: NFC is applied, controls and lone surrogates are dropped."""

    @property
    def model(self) -> str:
        """Stored beside every vector; vectors of different models are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector; known only from the model."""

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions. Does not block the event loop. Raises `EmbeddingUnavailable`."""

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text, made with the model's passage prefix. Does not block the event loop."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Length of each text in the model's tokens, without special ones and prefix; an estimate where the model is
        remote. CPU only (0.2 ms a kilobyte), thread-safe."""

    async def aclose(self) -> None:
        """Stop worker threads and connections."""


class Tokens(NamedTuple):
    """A text as the bundled model reads it, token by token, special tokens included."""

    ids: npt.NDArray[np.int32]
    """Of each token its place in the vocabulary."""
    rarity: npt.NDArray[np.float32]
    """Of each token how rare it is anywhere, 0–1."""
    kinds: npt.NDArray[np.uint8]
    """Of each token: `ASKED`, `CONTEXT` or `PIECE`."""
    states: npt.NDArray[np.float16]
    """What nine layers make of each token, shape (tokens, dimensions)."""
    vector: Vectors
    """Of the whole text, shape (dimensions,)."""


ASKED, CONTEXT, PIECE = range(3)


@runtime_checkable
class TokenReader(Protocol):
    """An embedder that also gives the tokens of texts. Neither call blocks the event loop."""

    async def read_question(self, text: str) -> Tokens:
        """A question; at most its first 48 tokens are read."""

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Pieces of text as (what stands above it, the piece); together at most 96 tokens of each are read."""


class EmbeddingUnavailable(Exception):
    """The model could not be reached or gave back something that is not a vector per text."""
