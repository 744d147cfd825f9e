"""The embedding model of the settings: the bundled one on its fastest engine, or one behind an address."""

import asyncio
from contextlib import AsyncExitStack

import structlog

from app.embedding import Embedder, EmbeddingUnavailable
from app.embedding.cached import CachedEmbedder
from app.embedding.nano import NanoEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.settings import Settings

_log = structlog.get_logger(__name__)


async def open_embedder(settings: Settings, stack: AsyncExitStack) -> CachedEmbedder:
    """The model, loaded and with its cache; closed with `stack`."""
    embedder = CachedEmbedder(await _remote(settings) if settings.embedding_base_url else await _bundled(settings))
    stack.push_async_callback(embedder.aclose)
    return embedder


async def _remote(settings: Settings) -> Embedder:
    # Only here: the client's library takes half a second to import, and most services have the bundled model.
    from app.embedding.openai import OpenAIEmbedder  # noqa: PLC0415

    api_key = settings.embedding_api_key.get_secret_value()
    return await OpenAIEmbedder.connect(settings.embedding_base_url, settings.embedding_model, api_key=api_key)


async def _bundled(settings: Settings) -> Embedder:
    threads = settings.embedding_threads
    try:
        return await asyncio.to_thread(OnnxEmbedder.open, settings.data_dir / "models", threads=threads)
    except EmbeddingUnavailable as error:
        slower = await asyncio.to_thread(lambda: NanoEmbedder(threads=threads))
        _log.warning("slower_embedder", model=slower.model, reason=str(error))
        return slower
