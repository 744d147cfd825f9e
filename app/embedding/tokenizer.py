"""How the bundled model cuts text into tokens: SentencePiece's unigram rules over the vocabulary of the weight file."""

from functools import cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from app.embedding.weights import BUNDLED, Weights

_WORD_START = "▁"
_MARKERS = frozenset(("<s>", "</s>", "<pad>", "<unk>", "<mask>"))
"""Pieces with a meaning of their own, which no text may write."""


@cache
def load_tokenizer(path: Path = BUNDLED) -> Tokenizer:
    """The tokenizer of a weight file, without special tokens, truncation or padding; thread-safe.

    Made once a process: 0.7 s and 270 MB, nearly all of it the search tree of 250,000 pieces, which a stored copy of
    the tokenizer would build anew just the same. Raises `BadWeights`, OSError.
    """
    weights = Weights(path)
    vocabulary = weights.vocabulary
    # NUL never passes the normaliser, so a piece that begins with it is never found.
    pieces = [(f"\0{piece}" if piece in _MARKERS else piece, score) for piece, score in vocabulary.scored_pieces()]
    tokenizer = Tokenizer(models.Unigram(pieces, vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = _normaliser(weights.replacements)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(_WORD_START, prepend_scheme="always", split=True)
    return tokenizer


def count_tokens(tokenizer: Tokenizer, text: str) -> int:
    """Tokens of `text` without the special ones."""
    return len(tokenizer.encode(text, add_special_tokens=False))


def _normaliser(replacements: dict[str, str]) -> normalizers.Normalizer:
    """Everything in the map that is not a control or a kind of space is Unicode's NFKC."""
    dropped = ["\0", *(sign for sign, instead in replacements.items() if not instead)]
    spaces = [sign for sign, instead in replacements.items() if instead == " "]
    steps = [
        normalizers.Replace(_one_of(dropped), ""),
        normalizers.Replace(_one_of(spaces), " "),
        normalizers.NFKC(),
        normalizers.Replace(Regex(" {2,}"), " "),
    ]
    return normalizers.Sequence(steps)


def _one_of(signs: list[str]) -> Regex:
    return Regex("[" + "".join(f"\\x{{{ord(sign):X}}}" for sign in signs) + "]")
