"""`make eval`: how well passages are found, through the real ingestion, database and retriever.

For each kind of question: recall at 1 and 5 and the mean reciprocal rank, of the vectors alone, of the words alone, and
of both as the service fuses them; then what passes the relevance limit, and milliseconds a search. Ends with 1 when
fused search is worse than the better leg for questions in the language of their passage.
"""

import argparse
import asyncio
import statistics
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.domain.knowledge import Passage
from app.embedding import Embedder
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.retrieval.ranking import load_calibration
from app.retrieval.search import Retriever
from bench.corpora import Asked, loaded, seed_questions, xquad_questions

MIN_RELEVANCE = 0.7
CUTOFF = 10
"""A passage found later than this counts nothing for the reciprocal rank."""
EVERYTHING = 200
"""More than both legs bring in together."""
SAME_LANGUAGE = ("vi same", "en same")
"""Kinds in which fused search must be at least as good as either leg."""

LEGS: dict[str, Callable[[Passage], float]] = {
    "vectors": lambda passage: passage.similarity,
    "words": lambda passage: passage.text_rank,
}
FUSED = "fused"


class Found(NamedTuple):
    """How well one leg found the passages of one kind of question."""

    first: float
    five: float
    reciprocal: float


class Score:
    """Results of one kind of question."""

    def __init__(self) -> None:
        self.places: dict[str, list[int | None]] = defaultdict(list)
        """0-based place of the first passage that answers, by leg; None when there is none."""
        self.kept: list[bool] = []
        """Whether a passage that answers is at or above the limit."""
        self.passing: list[int] = []
        """How many of the eight best passages are at or above it."""

    def add(self, asked: Asked, everything: Sequence[Passage], fused: Sequence[Passage]) -> None:
        """Count one question: all candidates of both legs, and what the service would show."""
        for leg, strength in LEGS.items():
            ranked = sorted((one for one in everything if strength(one)), key=strength, reverse=True)
            self.places[leg].append(place(asked, ranked))
        shown = [passage for passage in fused if passage.external_id not in asked.hidden][:8]
        above = [passage for passage in shown if passage.relevance_score >= MIN_RELEVANCE]
        self.places[FUSED].append(place(asked, fused))
        self.kept.append(any(answers(asked, passage) for passage in above))
        self.passing.append(len(above))

    def found(self, leg: str) -> Found:
        """Recall and reciprocal rank of a leg."""
        places = self.places[leg]
        first, five = (sum(at is not None and at < top for at in places) / len(places) for top in (1, 5))
        return Found(first, five, sum(1 / (at + 1) for at in places if at is not None and at < CUTOFF) / len(places))

    @property
    def shortfall(self) -> list[str]:
        """Where a leg alone is better than both; empty = nowhere."""
        fused = self.found(FUSED)
        better = []
        for leg in LEGS:
            alone = self.found(leg)
            pairs = {"R@5": (alone.five, fused.five), "MRR@10": (alone.reciprocal, fused.reciprocal)}
            better += [
                f"{name} {one:.3f} by {leg}, {both:.3f} fused" for name, (one, both) in pairs.items() if one > both
            ]
        return better


def place(asked: Asked, passages: Sequence[Passage]) -> int | None:
    """0-based place of the first passage that answers; None when there is none."""
    seen = [passage for passage in passages if passage.external_id not in asked.hidden]
    return next((at for at, passage in enumerate(seen) if answers(asked, passage)), None)


def answers(asked: Asked, passage: Passage) -> bool:
    """Whether a passage holds the answer."""
    said = not asked.phrases or any(phrase in passage.text for phrase in asked.phrases)
    return passage.external_id in asked.documents and said


def questions(eval_folder: Path, seed_folder: Path, every: int) -> Iterator[Asked]:
    """Both sets, and the Vietnamese questions of XQuAD once more in decomposed letters."""
    for asked in xquad_questions(eval_folder, every):
        yield asked
        if asked.kind == "vi same":
            yield asked._replace(kind="vi same, NFD", text=unicodedata.normalize("NFD", asked.text))
    yield from seed_questions(seed_folder)


async def measure(embedder: Embedder, eval_folder: Path, seed_folder: Path, every: int, out: Console) -> bool:
    """Ask everything and print the table; whether fused search is good enough."""
    calibration = load_calibration(embedder.model)
    scores: dict[str, Score] = defaultdict(Score)
    times: list[float] = []
    async with loaded(embedder, calibration, eval_folder, seed_folder, out.print) as database:
        retriever = Retriever(database, embedder, calibration, caching=False)
        for asked in track(list(questions(eval_folder, seed_folder, every)), "asking", console=out, transient=True):
            everything = await retriever.search(asked.principal, asked.text, departments=None, limit=EVERYTHING)
            started = time.perf_counter()
            fused = await retriever.search(asked.principal, asked.text, departments=None, limit=20)
            times.append((time.perf_counter() - started) * 1000)
            scores[asked.kind].add(asked, everything.passages, fused.passages)
    out.print(_table(embedder.model, scores))
    slow = statistics.quantiles(times, n=20)[-1]
    out.print(f"one search with the question's vector known: p50 {statistics.median(times):.2f} ms, p95 {slow:.2f} ms")
    shortfalls = [f"{kind}: {worse}" for kind in SAME_LANGUAGE for worse in scores[kind].shortfall]
    out.print(*(shortfalls or ["fused search is at least as good as either leg in both languages"]), sep="\n")
    return not shortfalls


def _table(model: str, scores: dict[str, Score]) -> Table:
    table = Table("kind of question", "asked", "leg", "R@1", "R@5", "MRR@10", "kept ≥ 0.7", "≥ 0.7 of 8", title=model)
    for kind in sorted(scores):
        score = scores[kind]
        for leg in (*LEGS, FUSED):
            figures = [f"{value:.3f}" for value in score.found(leg)]
            limit = (f"{statistics.mean(score.kept):.3f}", f"{statistics.mean(score.passing):.2f}")
            is_fused = leg == FUSED
            about = ("", "") if leg != next(iter(LEGS)) else (kind, str(len(score.kept)))
            table.add_row(*about, leg, *figures, *(limit if is_fused else ()), end_section=is_fused)
    return table


async def _run(eval_folder: Path, seed_folder: Path, models: Path, every: int, out: Console) -> bool:
    opened = await asyncio.to_thread(OnnxEmbedder.open, models)
    embedder = CachedEmbedder(opened, max_entries=50_000)
    try:
        return await measure(embedder, eval_folder, seed_folder, every, out)
    finally:
        await embedder.aclose()


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"), help="where the bundled model is kept")
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question of XQuAD")
    given = parser.parse_args()
    out = Console()
    if not (given.eval / "xquad").is_dir():
        out.print(f"no development data in {given.eval}: nothing measured")
        return
    if not asyncio.run(_run(given.eval, given.seed, given.models, given.every, out)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
