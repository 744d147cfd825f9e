"""The bundled model on its two engines: how fast, how alike, how well each finds passages.

``python -m bench.embedding`` embeds the passages and questions of XQuAD with both in turn, a few at a time, on one
thread each. Times are the process's CPU time, on one thread that of an idle machine; ratios are medians of one run.
Recall is of exact cosine among the passages of the question's own language.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.embedding import Embedder, Vectors
from app.embedding.nano import NanoEmbedder
from app.embedding.onnx import OnnxEmbedder
from bench.corpora import read_lines

LANGUAGES = ("vi", "en")
IN_TURN = 16
"""Texts an engine gets before it is the other's turn."""
CUTOFF = 10
"""A passage found later than this counts nothing for the reciprocal rank."""


class Embedded(NamedTuple):
    """One kind of text with one engine."""

    vectors: Vectors
    seconds: list[float]
    """Per text."""


class Found(NamedTuple):
    """How well questions found their passages."""

    first: float
    five: float
    reciprocal: float


async def embed_in_turn(
    embedders: Sequence[Embedder], texts: Sequence[str], *, questions: bool, out: Console
) -> list[Embedded]:
    """A few texts with every engine before the next few: a busy machine is busy for all of them, and an engine still
    finds its weights in the processor's cache, as it does at work."""
    rows: list[list[Vectors]] = [[] for _ in embedders]
    seconds: list[list[float]] = [[] for _ in embedders]
    starts = range(0, len(texts), IN_TURN)
    for start in track(starts, "questions" if questions else "passages", console=out, transient=True):
        for at, embedder in enumerate(embedders):
            embed = embedder.embed_queries if questions else embedder.embed_passages
            for text in texts[start : start + IN_TURN]:
                started = time.process_time()
                rows[at].append(await embed([text]))
                seconds[at].append(time.process_time() - started)
    return [Embedded(np.concatenate(rows[at]), seconds[at]) for at in range(len(embedders))]


def recall(questions: Vectors, passages: Vectors, right: Sequence[int]) -> Found:
    """Recall at 1 and 5, and the mean reciprocal rank; `right` is each question's place among the passages."""
    scores = questions @ passages.T
    wanted = scores[np.arange(len(right)), right]
    places = (scores > wanted[:, np.newaxis]).sum(axis=1) + 1
    return Found(
        float((places <= 1).mean()),
        float((places <= 5).mean()),
        float(np.where(places <= CUTOFF, 1 / places, 0).mean()),
    )


async def measure(folder: Path, models: Path, every: int, out: Console) -> None:
    """Embed, compare, print."""
    embedders: list[Embedder] = [NanoEmbedder(threads=1), await asyncio.to_thread(OnnxEmbedder.open, models, threads=1)]
    speed = Table("text", "engine", "ms", "a second", "× as fast", "least cosine", "mean cosine")
    found = Table("asked in", "engine", "R@1", "R@5", "MRR@10")
    for language in LANGUAGES:
        corpus = [row for row in read_lines(folder / "xquad" / "corpus.jsonl") if row["lang"] == language]
        asked = [row for row in read_lines(folder / "xquad" / "queries.jsonl") if row["lang"] == language][::every]
        passages = await embed_in_turn(embedders, [row["text"] for row in corpus], questions=False, out=out)
        questions = await embed_in_turn(embedders, [row["question"] for row in asked], questions=True, out=out)
        _compare(speed, f"passage, {language}", embedders, passages)
        _compare(speed, f"question, {language}", embedders, questions)
        places = {row["id"]: at for at, row in enumerate(corpus)}
        right = [places[row["passage_id"]] for row in asked]
        for embedder, question, passage in zip(embedders, questions, passages, strict=True):
            scores = recall(question.vectors, passage.vectors, right)
            found.add_row(language, _engine(embedder), *(f"{score:.3f}" for score in scores))
    out.print(speed, found)
    for embedder in embedders:
        await embedder.aclose()


def _engine(embedder: Embedder) -> str:
    return embedder.model.rpartition("-")[2]


def _compare(table: Table, kind: str, embedders: Sequence[Embedder], results: Sequence[Embedded]) -> None:
    """Each engine against the first, text by text."""
    first = results[0]
    for embedder, result in zip(embedders, results, strict=True):
        ratio = statistics.median(one / two for one, two in zip(first.seconds, result.seconds, strict=True))
        alike = np.einsum("ij,ij->i", first.vectors, result.vectors)
        middle = statistics.median(result.seconds)
        table.add_row(
            kind, _engine(embedder), f"{middle * 1000:.2f}", f"{1 / middle:.0f}", f"{ratio:.1f}",
            f"{alike.min():.4f}", f"{alike.mean():.4f}",
        )  # fmt: skip


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question")
    given = parser.parse_args()
    out = Console()
    if not (given.eval / "xquad").is_dir():
        out.print(f"no development data in {given.eval}: nothing measured")
        return
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as models:
        asyncio.run(measure(given.eval, Path(models), given.every, out))


if __name__ == "__main__":
    main()
