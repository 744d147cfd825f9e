"""`python -m bench.answers`: how often the local reasoner's answer holds the right words, and when it says nothing.

XQuAD (both languages in one corpus) and the bundled question sets go through the real ingestion, database and
retriever; each question is answered from the eight passages found. Printed, with the aims beside the figures:

1. by kind of question: was a passage that answers among the eight; does the answer show a right wording within its
   first two sentences, and anywhere, of those; its length; how many answerable questions were answered at all;
2. `not_found` on as many answerable as unanswerable questions: those whose passage is hidden in both languages, those
   asked of a company that knows nothing of them, and those nobody answers;
3. how far confidence can be believed: of the answers given with a confidence of 0.7 to 0.8, are about 75 % right? An
   answer to an unanswerable question is never right.

Vectors are kept in ``--cache``; the second run takes half a minute.
"""

import argparse
import asyncio
import re
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.domain.knowledge import Finding
from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local.answer import answer
from app.reasoning.local.plain_reader import PlainReader
from app.reasoning.reader import Reader
from bench.cases import Case, VectorsOnDisk, collect, shows

IN_TWO_AIM, F1_AIM, ERROR_AIM = 0.80, 0.80, 0.10
"""Right within two sentences and F1 of `not_found` at least; expected calibration error at most."""
BINS = 10
SETS: dict[str, tuple[str, ...]] = {
    "Vietnamese (XQuAD)": ("vi same",),
    "English (XQuAD)": ("en same",),
    "Vietnamese without diacritics": ("vi unaccented",),
    "Vietnamese (policies)": ("seed vi", "seed vi unaccented"),
    "English (policies)": ("seed en",),
}
"""Kinds of questions that are judged together where answerable and unanswerable ones are mixed."""
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’)\]*]*\s+|\n+")


class Answered(NamedTuple):
    """A case with what the reasoner made of it."""

    case: Case
    finding: Finding
    sentences: int
    in_two: bool
    """A right wording stands in the first two sentences."""
    anywhere: bool


class Abstention(NamedTuple):
    """`not_found` on as many answerable as unanswerable questions, 0–1."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-9)


class Bin(NamedTuple):
    """Answers given with about the same confidence."""

    low: float
    answers: float
    """How many, unanswerable questions weighed as heavily as answerable ones."""
    confidence: float
    right: float


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of an answer."""
    return [piece for piece in _SENTENCE_END.split(text) if piece.strip()]


async def ask(case: Case, reader: Reader) -> Answered:
    """Answer one case and compare with its gold."""
    finding = await answer(case.request(), reader)
    sentences = sentences_of(finding.answer)
    first = " ".join(sentences[:2])
    return Answered(case, finding, len(sentences), shows(first, case.gold), shows(finding.answer, case.gold))


def by_kind(answered: Iterable[Answered]) -> dict[str, list[Answered]]:
    """Answerable and unanswerable questions under their kind, by name."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    for one in answered:
        groups[one.case.kind].append(one)
    return dict(sorted(groups.items()))


def abstention(members: Sequence[Answered]) -> Abstention:
    """Precision and recall, each class weighing one half."""
    silent = {known: _share(not one.finding.found for one in members if one.case.answerable == known)
              for known in (True, False)}  # fmt: skip
    return Abstention(silent[False] / max(silent[True] + silent[False], 1e-9), silent[False])


def reliability(members: Sequence[Answered]) -> list[Bin]:
    """The answers given in `BINS` bins of equal width; empty ones are left out. Each class weighs one half."""
    sizes = {known: sum(one.case.answerable == known for one in members) for known in (True, False)}
    groups: dict[int, list[tuple[float, float, bool]]] = defaultdict(list)
    for one in members:
        if one.finding.found:
            weight = sizes[True] / max(sizes[one.case.answerable], 1)
            level = min(int(one.finding.confidence * BINS), BINS - 1)
            groups[level].append((weight, one.finding.confidence, one.anywhere))
    return [_bin(level, groups[level]) for level in sorted(groups)]


def _bin(level: int, members: Sequence[tuple[float, float, bool]]) -> Bin:
    total = sum(weight for weight, _, _ in members)
    sure = sum(weight * confidence for weight, confidence, _ in members) / total
    return Bin(level / BINS, total, sure, sum(weight * right for weight, _, right in members) / total)


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: mean distance of confidence and share right over the answers."""
    total = sum(one.answers for one in bins)
    return sum(one.answers * abs(one.confidence - one.right) for one in bins) / max(total, 1e-9)


def _share(values: Iterable[bool]) -> float:
    return statistics.fmean([float(value) for value in values] or [0.0])


def answer_rows(groups: dict[str, list[Answered]]) -> list[tuple[str, ...]]:
    """Kind, asked, retrieved, right in two sentences, right anywhere, sentences, answered."""
    rows: list[tuple[str, ...]] = []
    for kind, members in groups.items():
        known = [one for one in members if one.case.answerable]
        near = [one for one in known if one.case.retrieved]
        if known:
            length = statistics.fmean([one.sentences for one in known if one.finding.found] or [0])
            rows.append((
                kind, str(len(known)), f"{_share(one.case.retrieved for one in known):.3f}",
                _aimed(_share(one.in_two for one in near), kind in ("vi same", "en same")),
                f"{_share(one.anywhere for one in near):.3f}", f"{length:.1f}",
                f"{_share(one.finding.found for one in known):.3f}",
            ))  # fmt: skip
    return rows


def _aimed(value: float, has_aim: bool) -> str:
    return f"{value:.3f} (≥ {IN_TWO_AIM:.2f})" if has_aim else f"{value:.3f}"


def abstention_rows(groups: dict[str, list[Answered]]) -> list[tuple[str, ...]]:
    """Set, precision, recall and F1 of `not_found`, answers to unanswerable questions by kind, calibration error."""
    rows: list[tuple[str, ...]] = []
    for name, kinds in SETS.items():
        members = [one for kind in kinds for one in groups.get(kind, ())]
        if members:
            said, error = abstention(members), calibration_error(reliability(members))
            rows.append((
                name, f"{said.precision:.3f}", f"{said.recall:.3f}", f"{said.f1:.3f} (≥ {F1_AIM:.2f})",
                *(_answered_share(members, why) for why in ("hidden", "stranger", "unanswerable")),
                f"{error:.3f} (≤ {ERROR_AIM:.2f})",
            ))  # fmt: skip
    return rows


def _answered_share(members: Sequence[Answered], why: str) -> str:
    asked = [one for one in members if one.case.why == why]
    return f"{_share(one.finding.found for one in asked):.2f} of {len(asked)}" if asked else "–"


def reliability_rows(groups: dict[str, list[Answered]]) -> list[tuple[str, ...]]:
    """Confidence, and for each set how many answers were given with it and what share of them was right."""
    tables = {
        name: {one.low: one for one in reliability([one for kind in kinds for one in groups.get(kind, ())])}
        for name, kinds in SETS.items()
    }
    lows = sorted({low for bins in tables.values() for low in bins})
    return [
        (
            f"{low:.1f}–{low + 1 / BINS:.1f}",
            *(f"{bins[low].right:.2f} of {bins[low].answers:.0f}" if low in bins else "–" for bins in tables.values()),
        )
        for low in lows
    ]


class Sheet(NamedTuple):
    """One table."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def shown(self) -> Table:
        """For the terminal."""
        table = Table(*self.head, title=self.title)
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For the docs."""
        lines = [f"| {' | '.join(row)} |" for row in (self.head, ("---",) * len(self.head), *self.rows)]
        return "\n".join([f"{self.title}:", "", *lines, ""])


def sheets(answered: Sequence[Answered]) -> list[Sheet]:
    """The three tables."""
    groups = by_kind(answered)
    return [
        Sheet(
            "Answers from eight passages",
            ("kind", "asked", "retrieved", "right in two sentences", "right anywhere", "sentences", "answered"),
            answer_rows(groups),
        ),
        Sheet(
            "Saying that nothing was found, and believing the confidence",
            ("questions", "precision", "recall", "F1", "answered though hidden", "though a stranger's",
             "though nobody answers", "calibration error"),
            abstention_rows(groups),
        ),
        Sheet("Share of answers that are right, by confidence", ("confidence", *SETS), reliability_rows(groups)),
    ]  # fmt: skip


async def measure(given: argparse.Namespace, out: Console) -> None:
    """Ask everything and report; fit first when asked to."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = VectorsOnDisk(opened, given.cache)
    try:
        cases = await collect(embedder, given.eval, given.seed, given.every, out)
        reader = PlainReader(embedder)
        started = time.perf_counter()
        answered = [await ask(case, reader) for case in track(cases, "answering", console=out, transient=True)]
        seconds = time.perf_counter() - started
    finally:
        embedder.keep()
        await embedder.aclose()
    made = sheets(answered)
    for sheet in made:
        out.print(sheet.shown())
    out.print(f"{len(cases)} answers, {seconds / len(cases) * 1000:.1f} ms each with the vectors known")
    if given.markdown:
        given.markdown.write_text("\n".join(sheet.markdown() for sheet in made), "utf-8")


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"), help="where the bundled model is kept")
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"), help="where vectors are kept")
    parser.add_argument("--every", type=int, default=1, help="ask about every n-th article of XQuAD")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    given = parser.parse_args()
    out = Console(width=170)
    if not (given.eval / "xquad").is_dir():
        out.print(f"no development data in {given.eval}: nothing measured")
        return
    asyncio.run(measure(given, out))


if __name__ == "__main__":
    main()
