"""Finds sentences in a document that give orders to whatever answers from it, and takes them out of its text.

A logistic regression scores the hashed words and letters of each sentence, another one the suspicious ones by their
vector, too; `training/planted.py` fits both. What is taken out is never searched, quoted or shown to a model.
"""

import asyncio
import html
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.domain.documents import ParseNote
from app.embedding import Embedder, Vectors
from app.ingestion.parsing import WarningCode
from app.ingestion.parsing.outcome import warning
from app.text.language import fold, normalise

WEIGHTS = Path(__file__).with_name("planted.npz")
BUCKETS = 1 << 15
_LONGEST = 300
"""Characters; a longer sentence is scored in pieces, so that an order is not lost in what surrounds it."""
_STOPS = ".!?…;。！？"
_END = re.compile(rf"(?<=[{_STOPS}])[\"'”’)\]*_]*\s+|\s*\n\s*|(?<!<)\|(?!>)|<!--|-->")
_PIECE = re.compile(rf"\S.{{0,{_LONGEST - 1}}}(?!\S)|\S{{1,{_LONGEST}}}", re.DOTALL)
_MARK = re.compile(r"(?:[\s>#*+•–|`-]|\d{1,3}[.)]\s)+")
_TOKEN = re.compile(r"\d+|[^\W\d_]+|[^\w\s]")
_LETTER = re.compile(r"[^\W\d_]")
Features = npt.NDArray[np.int64]
Weights = npt.NDArray[np.floating[Any]]


class Sentence(NamedTuple):
    """A sentence, table cell or list item: ``text[start:end]``."""

    start: int
    end: int
    paragraph: int


class Cleaned(NamedTuple):
    """A text without its planted sentences."""

    text: str
    pages: tuple[int, ...]
    """Where its pages begin now."""
    planted: tuple[str, ...]
    """What was taken out, as it was written."""


class Judge(NamedTuple):
    """A fitted regression and what it needs to be sure."""

    grams: Weights
    """A weight a bucket, and the constant."""
    vector: Weights
    """A weight a number of the sentence's vector; empty for the judge that reads words only."""
    constant: float
    limit: float
    near: float
    """The limit of a sentence beside one above `limit`: orders are often given in two sentences."""

    def score(self, found: Features, vector: Vectors | None = None) -> float:
        """Score a sentence by its features, and its vector where the judge reads vectors."""
        reached = float((self.grams[found].sum() + self.grams[BUCKETS]) / np.sqrt(len(found) + 1))
        return reached if vector is None else reached + float(vector @ self.vector) + self.constant

    def marks(self, sentences: Sequence[Sentence], scores: Sequence[float]) -> list[bool]:
        """Mark the sentences that are planted."""
        sure = [found >= self.limit for found in scores]
        beside = {(one.paragraph, at + step) for at, one in enumerate(sentences) if sure[at] for step in (-1, 1)}
        return [
            sure[at] or (found >= self.near and (sentences[at].paragraph, at) in beside)
            for at, found in enumerate(scores)
        ]


class Model(NamedTuple):
    """What was fitted: words decide which sentences are worth a vector, and all where there are no such vectors."""

    embedding: str
    """The model whose vectors `both` reads."""
    gate: float
    words: Judge
    both: Judge


@cache
def load() -> Model:
    """Read the bundled model."""
    with np.load(WEIGHTS) as stored:
        words, both = (
            Judge(
                stored[f"{name}_grams"] * stored[f"{name}_scale"],
                stored[f"{name}_vector"],
                *map(float, stored[f"{name}_limits"]),
            )
            for name in ("words", "both")
        )
        return Model(str(stored["embedding"]), float(stored["gate"]), words, both)


async def clean(text: str, pages: Sequence[int] = (), embedder: Embedder | None = None) -> Cleaned:
    """Take the planted sentences out of a text; `pages` are where its pages begin. Without an embedder, words alone
    decide. Raises `EmbeddingUnavailable`."""
    model = load()
    sentences, found, scores = await asyncio.to_thread(_read, text, model.words)
    if embedder is None or embedder.model != model.embedding:
        return take_out(text, pages, sentences, model.words.marks(sentences, scores))
    unsure = [at for at, reached in enumerate(scores) if reached >= model.gate]
    suspects = [text[sentences[at].start : sentences[at].end] for at in unsure]
    vectors = await embedder.embed_passages(suspects) if suspects else ()
    both = [-np.inf] * len(sentences)
    for at, vector in zip(unsure, vectors, strict=True):
        both[at] = model.both.score(found[at], vector)
    return take_out(text, pages, sentences, model.both.marks(sentences, both))


def is_order(sentence: str) -> bool:
    """Whether a sentence gives orders to whatever reads it, by its words alone. CPU only, below a millisecond."""
    model = load().words
    return any(model.score(features(sentence[one.start : one.end])) >= model.limit for one in split(sentence))


def take_out(text: str, pages: Sequence[int], sentences: Sequence[Sentence], marks: Sequence[bool]) -> Cleaned:
    """Take the marked sentences out of a text."""
    spans = [_line_of(text, one) for one in compress(sentences, marks)]
    bounds = [0, *chain.from_iterable(spans), len(text)]
    kept = "".join(text[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    gone = [sum(max(0, min(end, page) - start) for start, end in spans) for page in pages]
    moved = tuple(page - less for page, less in zip(pages, gone, strict=True))
    return Cleaned(kept, moved, tuple(text[start:end].strip() for start, end in spans))


def note(planted: Sequence[str]) -> ParseNote:
    """Tell an administrator about the sentences that were taken out."""
    told = warning(WarningCode.PLANTED_INSTRUCTIONS, len(planted))
    return told.model_copy(update={"sentences": tuple(dict.fromkeys(planted))})


def split(text: str) -> Iterator[Sentence]:
    """Split a text into sentences, cells and items, without the marks in front of them."""
    paragraph, start = 0, 0
    for place in _END.finditer(text):
        gap, before, behind = place[0], text[place.start() - 1 : place.start()], text[place.end() : place.end() + 1]
        if gap.count("\n") == 1 and not gap.strip() and before not in _STOPS and behind.islower():
            continue  # a line that goes on
        yield from _pieces(text, start, place.start(), paragraph)
        paragraph += gap.count("\n") > 1
        start = place.end()
    yield from _pieces(text, start, len(text), paragraph)


def features(sentence: str) -> Features:
    """Hash the words, pairs of words and runs of letters of a sentence, without case and diacritics."""
    tokens = _TOKEN.findall(fold(normalise(html.unescape(sentence))).lower())
    words = ["^", *("0" if token.isdigit() else token for token in tokens), "$"]
    letters = f" {' '.join(words[1:-1])} "
    grams = {" ".join(words[at : at + length]) for length in (1, 2, 3) for at in range(len(words) - length + 1)}
    grams |= {f"{one}…{words[at + gap]}" for at, one in enumerate(words) for gap in (2, 3) if at + gap < len(words)}
    grams |= {f"~{letters[at : at + length]}" for length in (3, 4, 5) for at in range(len(letters) - length + 1)}
    return np.array(sorted({zlib.crc32(gram.encode()) % BUCKETS for gram in grams}), np.int64)


def _read(text: str, judge: Judge) -> tuple[list[Sentence], list[Features], list[float]]:
    sentences = list(split(text))
    found = [features(text[one.start : one.end]) for one in sentences]
    return sentences, found, [judge.score(one) for one in found]


def _pieces(text: str, start: int, end: int, paragraph: int) -> Iterator[Sentence]:
    if mark := _MARK.match(text, start, end):
        start = mark.end()
    for piece in _PIECE.finditer(text, start, end):
        if _LETTER.search(piece[0]):
            yield Sentence(piece.start(), piece.start() + len(piece[0].rstrip()), paragraph)


def _line_of(text: str, one: Sentence) -> tuple[int, int]:
    """The sentence with the marks around it, when nothing else stands on its line."""
    start, end = text.rfind("\n", 0, one.start) + 1, text.find("\n", one.end)
    end = len(text) if end < 0 else end
    if _LETTER.search(text[start : one.start]) or _LETTER.search(text[one.end : end]):
        return one.start, one.end
    return start, end
