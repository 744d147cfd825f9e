"""``python -m bench.chunking``."""

import argparse
import asyncio
import math
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.chunk import TokenCounter
from app.retrieval.calibration import Calibration, load_calibration
from app.retrieval.fusion import RANK_CONSTANT
from app.text.language import words
from bench.chunking.corpora import SHAPES, Corpus, Document, Piece, Question, demonstration, letters, xquad
from bench.chunking.cutters import Cut, cutters, earlier, overlapping, peers

Scores = npt.NDArray[np.float64]

BUDGET = 1000
"""Tokens of passages an answer may read."""
_K1, _B = 1.5, 0.75


def pieces_of(documents: Sequence[Document], cut: Cut, count: TokenCounter) -> list[Piece]:
    """Every document cut, every piece found again in its document."""
    found: list[Piece] = []
    for document in documents:
        whole, start = letters(document.text), 0
        made = [(section, text) for section, text in cut(document.text, document.title) if text.strip()]
        for (section, text), tokens in zip(made, count([text for _, text in made]), strict=True):
            place = whole.find(letters(text), start)
            start = max(start, place)
            found.append(Piece(document, section, text, place, tokens))
    return found


class Index:
    """BM25 over the words of passages."""

    def __init__(self, passages: Sequence[str]):
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(len(passages))
        for at, passage in enumerate(passages):
            counted = Counter(words(passage))
            lengths[at] = counted.total()
            for word, times in counted.items():
                self._postings[word].append((at, times))
        self._norm = _K1 * (1 - _B + _B * lengths / lengths.mean())

    def scores(self, question: str) -> Scores:
        """Of every passage."""
        found = np.zeros(len(self._norm))
        for word in set(words(question)):
            postings = self._postings.get(word, [])
            weight = math.log(1 + (len(found) - len(postings) + 0.5) / (len(postings) + 0.5))
            for at, times in postings:
                found[at] += weight * times * (_K1 + 1) / (times + self._norm[at])
        return found


class Row(NamedTuple):
    """What one cutter did on one corpus; or the mean of several."""

    pieces: float
    tokens: float
    first: float
    five: float
    reciprocal: float
    within: float
    """Recall within `BUDGET` tokens."""
    read: float
    """Tokens of the first five."""
    dense_first: float

    def line(self) -> str:
        """For the table."""
        shares = " | ".join(f"{value:.3f}" for value in (self.first, self.five, self.reciprocal, self.within))
        return f"{self.pieces:.0f} | {self.tokens:.0f} | {shares} | {self.read:.0f} | {self.dense_first:.3f}"


async def judge(corpus: Corpus, cut: Cut, embedder: CachedEmbedder, calibration: Calibration) -> Row:
    """Cut, embed, ask everything."""
    pieces = pieces_of(corpus.documents, cut, embedder.count_tokens)
    passages = [piece.passage for piece in pieces]
    vectors = calibration.centre_passages(
        await embedder.embed_passages(passages), [piece.document.language for piece in pieces]
    )
    asked = calibration.centre_queries(
        await embedder.embed_queries([one.text for one in corpus.questions]), [one.language for one in corpus.questions]
    )
    index = Index(passages)
    fused, dense = [], []
    for question, similarity in zip(corpus.questions, asked @ vectors.T, strict=True):
        readable = [at for at, piece in enumerate(pieces) if piece.document.name in question.readable]
        by_vector = _ranked(similarity, readable)
        by_words = _ranked(index.scores(question.text), readable)
        places = {at: 1 / (RANK_CONSTANT + place) for place, at in enumerate(by_vector)}
        for place, at in enumerate(by_words):
            places[at] += 1 / (RANK_CONSTANT + place)
        fused.append(_found([pieces[at] for at in sorted(places, key=places.__getitem__, reverse=True)], question))
        dense.append(_found([pieces[at] for at in by_vector], question))
    return _row(pieces, np.array(fused), np.array(dense))


def _ranked(scores: npt.NDArray[Any], readable: Sequence[int]) -> list[int]:
    return sorted(readable, key=lambda at: -scores[at])


def _found(ranked: Sequence[Piece], question: Question) -> tuple[float, float, float]:
    """(place of the first answer, tokens read up to its end, tokens of the first five)."""
    before = list(takewhile(lambda piece: not question.answers(piece), ranked))
    read = math.inf if len(before) == len(ranked) else sum(piece.tokens for piece in ranked[: len(before) + 1])
    place = math.inf if math.isinf(read) else len(before)
    return place, read, sum(piece.tokens for piece in ranked[:5])


def _row(pieces: Sequence[Piece], fused: Scores, dense: Scores) -> Row:
    places, read, five = fused.T
    reciprocal = np.where(places < 10, 1 / (places + 1), 0).mean()
    return Row(
        len(pieces),
        float(np.mean([piece.tokens for piece in pieces])),
        float((places < 1).mean()),
        float((places < 5).mean()),
        float(reciprocal),
        float((read <= BUDGET).mean()),
        float(five.mean()),
        float((dense[:, 0] < 1).mean()),
    )


async def measure(arguments: argparse.Namespace) -> None:
    """Print one table a corpus."""
    embedder = CachedEmbedder(OnnxEmbedder.open(arguments.model), max_entries=200_000)
    calibration = load_calibration(embedder.model)
    corpora = [xquad(arguments.eval, language, shape) for shape in SHAPES for language in ("vi", "en")]
    for corpus in [*demonstration(arguments.seed), *corpora]:
        if arguments.corpus not in corpus.name:
            continue
        _say(f"\n{corpus.name}: {len(corpus.documents)} documents, {len(corpus.questions)} questions\n")
        _say("| cutter | pieces | tokens | R@1 | R@5 | MRR | R ≤ 1k tokens | tokens of 5 | vectors R@1 |")
        _say("|---|---|---|---|---|---|---|---|---|")
        for name, cuts in _wanted(arguments, embedder.count_tokens):
            rows = [await judge(corpus, cut, embedder, calibration) for cut in cuts]
            _say(f"| {name} | {Row(*np.mean(rows, axis=0)).line()} |")
    await embedder.aclose()


def _wanted(arguments: argparse.Namespace, count: TokenCounter) -> list[tuple[str, list[Cut]]]:
    if arguments.overlap:
        return [(f"{percent} % overlap", overlapping(count, percent)) for percent in (0, 10, 20, 30, 40)]
    found = [*map(earlier, arguments.also), *cutters(count), *(peers(count) if arguments.peers else ())]
    return [(name, [cut]) for name, cut in found if not arguments.only or any(part in name for part in arguments.only)]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--model", type=Path, default=Path(tempfile.gettempdir()) / "conclave-model")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--overlap", action="store_true", help="only overlaps, as means over sizes around ours")
    parser.add_argument("--corpus", default="", help="corpora whose name contains this")
    parser.add_argument("--only", action="append", default=[], help="cutters whose name contains this")
    asyncio.run(measure(parser.parse_args()))
