"""The tokenizer of the bundled model: sentencepiece, over the vocabulary of the weight file."""

import re
import struct
import unicodedata

from sentencepiece import SentencePieceProcessor

from app.embedding.weights import Vocabulary, Weights

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
