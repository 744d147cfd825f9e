"""How well and how fast passages are found, through the real ingestion, database and retriever.

``python -m bench.retrieval`` prints recall at 1 and 5 by kind of question, and milliseconds a search.
"""

import argparse
import asyncio
import statistics
import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from app.domain.knowledge import Passage
from app.embedding.cached import CachedEmbedder
from app.embedding.nano import NanoEmbedder
from app.retrieval.calibration import load_calibration
from app.retrieval.search import Retriever
from bench.corpora import Asked, loaded, seed_questions, xquad_questions

MIN_RELEVANCE = 0.7


def place(asked: Asked, passages: Sequence[Passage]) -> int | None:
    """0-based place of the first passage that answers; None when there is none."""
    seen = [passage for passage in passages if passage.external_id not in asked.hidden]
    return next((at for at, passage in enumerate(seen) if answers(asked, passage)), None)


def answers(asked: Asked, passage: Passage) -> bool:
    """Whether a passage holds the answer."""
    said = not asked.phrases or any(phrase in passage.text for phrase in asked.phrases)
    return passage.external_id in asked.documents and said


class Score:
    """Results of one kind of question."""

    def __init__(self) -> None:
        self.places: list[int | None] = []
        self.kept: list[bool] = []
        """Whether the best passage that answers is at or above the limit."""
        self.passing: list[int] = []
        """How many of the eight best passages are at or above it."""

    def add(self, asked: Asked, passages: Sequence[Passage]) -> None:
        """Count one question."""
        shown = [passage for passage in passages if passage.external_id not in asked.hidden][:8]
        above = [passage for passage in shown if passage.relevance_score >= MIN_RELEVANCE]
        self.places.append(place(asked, passages))
        self.kept.append(any(answers(asked, passage) for passage in above))
        self.passing.append(len(above))

    def line(self) -> str:
        """Recall, the limit's effect, and how many questions."""
        count = len(self.places)
        first, five = (sum(at is not None and at < top for at in self.places) / count for top in (1, 5))
        kept = sum(self.kept) / count
        return f"{first:6.3f} {five:6.3f} {kept:9.3f} {statistics.mean(self.passing):8.2f} {count:6d}"


async def measure(eval_folder: Path, seed_folder: Path, every: int) -> None:
    """Ask everything and print the table."""
    embedder = CachedEmbedder(NanoEmbedder(), max_entries=50_000)
    calibration = load_calibration(embedder.model)
    scores: dict[str, Score] = defaultdict(Score)
    times: list[float] = []
    async with loaded(embedder, calibration, eval_folder, seed_folder, _say) as database:
        retriever = Retriever(database, embedder, calibration, caching=False)
        questions = [*xquad_questions(eval_folder, every), *seed_questions(seed_folder)]
        decomposed = [one for one in questions if one.kind == "vi same"]
        nfd = [one._replace(kind="vi same NFD", text=unicodedata.normalize("NFD", one.text)) for one in decomposed]
        for asked in (*questions, *nfd):
            await retriever.prepare([asked.text])
            started = time.perf_counter()
            found = await retriever.search(asked.principal, asked.text, departments=None, limit=20)
            times.append((time.perf_counter() - started) * 1000)
            scores[asked.kind].add(asked, found.passages)
    await embedder.aclose()
    _say(f"{'kind of question':20} {'R@1':>6} {'R@5':>6} {'kept≥0.7':>9} {'≥0.7 of 8':>8} {'asked':>5}")
    for kind in sorted(scores):
        _say(f"{kind:20} {scores[kind].line()}")
    slow = statistics.quantiles(times, n=20)[-1]
    _say(f"one search with the question's vector known: p50 {statistics.median(times):.2f} ms, p95 {slow:.2f} ms")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question of XQuAD")
    given = parser.parse_args()
    asyncio.run(measure(given.eval, given.seed, given.every))
