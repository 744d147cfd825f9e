"""Remembers the vectors of texts on disk, for all tests and processes on this machine, and loads the bundled model once
a process: half of the run would else go into embedding the same few documents again and again.

A file is named by the code that makes vectors, so a change of that code begins with nothing. What is tested about the
embedder itself uses `computed` and `loaded`, which remember nothing.

A machine that remembers nothing begins with `SHIPPED`: the long texts of the demonstration and of the poisoned
companies, which would take a minute of computing. They are found by the model's weights and the tokens it would read,
so a text that has changed is computed; ``python -m tests.ship_vectors`` writes them anew.
"""

import hashlib
import os
import sqlite3
import threading
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.embedding import Tokens, Vectors
from app.embedding.onnx import OnnxEmbedder
from app.text.language import normalise

_ROOT = Path(__file__).resolve().parents[1]
_MAKES_VECTORS = ("app/embedding", "app/text")
_MOST_FILES = 3
SHIPPED = Path(__file__).with_suffix(".npz")
"""Keys of 16 bytes, and a row of halves for each."""
computed, read_alone, loaded = OnnxEmbedder._vector, OnnxEmbedder._read, OnnxEmbedder._load
_models: list[OnnxEmbedder] = []


class _Store:
    """Rows by the digest of their text, seen at once by every process; a process that is killed leaves it whole."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{_digest_of_code()}.sqlite"
        for old in sorted(folder.glob("*.sqlite"), key=lambda kept: kept.stat().st_mtime)[: 1 - _MOST_FILES]:
            if old != path:
                old.unlink(missing_ok=True)
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._rows = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
        self._rows.execute("pragma journal_mode = wal")
        self._rows.execute("pragma synchronous = off")
        self._rows.execute("create table if not exists vectors (text blob primary key, vector blob) without rowid")
        self._rows.execute("create table if not exists tokens (text blob primary key, states blob, vector blob)")

    def get(self, key: bytes) -> Vectors | None:
        with self._lock:
            found = self._rows.execute("select vector from vectors where text = ?", (key,)).fetchone()
        return None if found is None else np.frombuffer(found[0], np.float32).copy()

    def put(self, key: bytes, vector: Vectors) -> None:
        with self._lock:
            self._rows.execute("insert or ignore into vectors values (?, ?)", (key, vector.tobytes()))

    def tokens(self, key: bytes) -> tuple[NDArray[np.float16], Vectors] | None:
        with self._lock:
            found = self._rows.execute("select states, vector from tokens where text = ?", (key,)).fetchone()
        return None if found is None else (np.frombuffer(found[0], np.float16), np.frombuffer(found[1], np.float32))

    def put_tokens(self, key: bytes, made: Tokens) -> None:
        row = (key, made.states.tobytes(), made.vector.tobytes())
        with self._lock:
            self._rows.execute("insert or ignore into tokens values (?, ?, ?)", row)


_stores: list[_Store] = []


def remember_vectors(folder: Path) -> None:
    """From now on the bundled model computes only what is not remembered in `folder`; so in processes forked later."""
    opening = threading.Lock()

    def store() -> _Store:
        with opening:
            if not _stores or _stores[-1].pid != os.getpid():  # a connection does not outlive a fork
                _stores.append(_Store(folder))
            return _stores[-1]

    def vector(self: OnnxEmbedder, prefix: str, text: str) -> Vectors:
        key = hashlib.sha256((prefix + text).encode("utf-8", "replace")).digest()
        if (known := store().get(key)) is None:
            known = _computed_or_shipped(self, prefix, text)
            store().put(key, known)
        return known

    def read(self: OnnxEmbedder, ids: list[int], kinds: NDArray[np.uint8]) -> Tokens:
        key = hashlib.sha256(np.array(ids, np.int32).tobytes() + kinds.tobytes()).digest()
        if (known := store().tokens(key)) is None:
            made = read_alone(self, ids, kinds)
            store().put_tokens(key, made)
            return made
        vocabulary = self._weights.vocabulary
        whole = np.array([vocabulary.begin, *ids, vocabulary.end], np.int32)
        return Tokens(whole, vocabulary.rarity(whole), kinds, known[0].reshape(len(kinds), -1), known[1])

    OnnxEmbedder._vector = vector  # type: ignore[method-assign]
    OnnxEmbedder._read = read  # type: ignore[method-assign]


def _computed_or_shipped(embedder: OnnxEmbedder, prefix: str, text: str) -> Vectors:
    found = shipped().get(key_of(embedder, prefix, text))
    return computed(embedder, prefix, text) if found is None else found.astype(np.float32)


def key_of(embedder: OnnxEmbedder, prefix: str, text: str) -> bytes:
    """What decides over a vector: the weights, and the tokens they are given."""
    tokens = np.array(embedder._tokenizer.ids(prefix + normalise(text)), np.int32)
    return hashlib.sha256(embedder._weights.identity.encode() + tokens.tobytes()).digest()[:16]


@cache
def shipped() -> dict[bytes, NDArray[np.float16]]:
    """The vectors that come with the tests, by their keys."""
    if not SHIPPED.exists():
        return {}
    with np.load(SHIPPED) as rows:
        return {key.tobytes(): vector for key, vector in zip(rows["keys"], rows["vectors"], strict=True)}


def share_model() -> None:
    """From now on the bundled model is loaded once, whatever folder it is opened from; so in processes forked later."""
    loading = threading.Lock()

    def load(folder: Path, threads: int) -> OnnxEmbedder:
        with loading:
            if not _models:
                _models.append(loaded(folder, threads))
        shared = _models[0]
        return OnnxEmbedder(shared._session, shared._weights, shared._tokenizer, threads)

    OnnxEmbedder._load = staticmethod(load)  # type: ignore[method-assign]


def _digest_of_code() -> str:
    digest = hashlib.sha256()
    for part in _MAKES_VECTORS:
        for path in sorted((_ROOT / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]
