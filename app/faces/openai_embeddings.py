"""OpenAI's embeddings at `/v1/embeddings`: vectors of the model that searches the documents, for other programs."""

import asyncio
import base64
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import ConfigDict, Field

from app.api.deps import Caller, Services
from app.api.schemas import Question
from app.embedding import EmbeddingUnavailable, Vectors
from app.errors import AppError, ErrorCode
from app.faces.asking import Received
from app.faces.openai import offered_models, unknown_model

router = APIRouter(prefix="/v1", tags=["openai"])
MAX_TEXTS, MAX_CHARS = 128, 8_192
_AT_ONCE = 16
"""Texts embedded before another request gets its turn."""
Piece = Annotated[Question, Field(max_length=MAX_CHARS)]


class EmbeddingBody(Received):
    """A request for vectors."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "auto", "input": ["nghỉ phép", "sick leave"]}]})

    model: str = Field(min_length=1, max_length=200)
    """Any id of `GET /v1/models`, or the embedding model's own; there is one, which the answer names."""
    input: Piece | Annotated[tuple[Piece, ...], Field(min_length=1, max_length=MAX_TEXTS)]
    """A text, or at most 128; each of at most 8,192 characters."""
    encoding_format: Literal["float", "base64"] = "float"
    """``base64``: 32-bit floats, little end first."""
    dimensions: int | None = Field(None, ge=1, le=100_000)
    """The model's own number, or nothing: vectors are not shortened."""
    input_type: Literal["query", "passage"] = "passage"
    """What the texts are: questions, or texts that are to be found by them. Compare only one kind with the other."""


@router.post("/embeddings", summary="Vectors of texts, as OpenAI's clients ask for them")
async def embeddings(body: EmbeddingBody, caller: Caller, services: Services) -> dict[str, Any]:
    """Vectors of length 1, in the order of the texts. Of a text that is longer than the model reads, its beginning
    counts. Nothing is stored."""
    embedder = services.embedder
    if body.model not in {embedder.model, *(offered["id"] for offered in offered_models(caller, services))}:
        raise unknown_model()
    if body.dimensions not in (None, embedder.dimensions):
        detail = f"dimensions: vectors have {embedder.dimensions} here and are not shortened; leave it out."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)
    embed = embedder.embed_queries if body.input_type == "query" else embedder.embed_passages
    try:
        parts = [await embed(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)]
    except EmbeddingUnavailable as outage:
        detail = "The embedding model cannot be reached. Try again shortly."
        raise AppError(ErrorCode.OVERLOADED, detail, status=503, retry_after_seconds=2) from outage
    tokens = sum(await asyncio.to_thread(embedder.count_tokens, texts))
    return {
        "object": "list", "model": embedder.model, "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "data": [
            {"object": "embedding", "index": index, "embedding": _encoded(row, body.encoding_format)}
            for index, row in enumerate(row for part in parts for row in part)
        ],
    }  # fmt: skip


def _encoded(row: Vectors, form: str) -> list[float] | str:
    plain: list[float] = row.tolist()
    return base64.b64encode(row.astype("<f4").tobytes()).decode() if form == "base64" else plain
