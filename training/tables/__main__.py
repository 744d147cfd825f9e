"""`python -m training.tables`: how well ranking whole queries reads the questions beside this file.

Whole files are held out in turn: what is printed, the trust in an answer and its limit come from questions to files
that nothing was fitted on. The service does not use it; see decision 0026. Seeded; the same data give the same figures.
Needs LightGBM and SciPy (extra ``training``).
"""

import argparse
import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.tables import answered, job, statement
from app.tables.engine import execute
from app.tables.sheet import Sheet
from app.tools.files.wording import Wording
from bench.tables import Expected, Row, judge
from training.tables.anchors import Anchors
from training.tables.candidates import Candidate
from training.tables.data import HERE, Question, questions_of, sheets_of
from training.tables.fit import BOOST, SEEDS, Averaged, fit_heads, fit_ranker
from training.tables.labels import Read, gold_anchors, operation_in, roles_in
from training.tables.lexicon import Numbers
from training.tables.reader import Ranked, query_of, ranked, trust_features
from training.tables.results import Judge
from training.tables.signals import Heads, likeness_of, texts_of

TODAY = date(2026, 11, 22)
"""The day the questions were written for."""
FOLDS, SEED, RANKER_TREES, TRUST_TREES = 6, 3, 200, 120
WRONG = 0.04
"""The most wrong answers of all questions to files held out, by which the limit is chosen."""


class Case(NamedTuple):
    """A question as heads that have not seen its file read it."""

    read: Read
    fold: int
    ranked: Ranked
    right: Numbers


class Judged(NamedTuple):
    """The first query of a case by a ranker that has not seen its file."""

    case: Case
    scores: Numbers
    figures: Numbers
    right: bool
    """Whether it gives the right result."""
    told: bool
    """Whether its answer, in the words of the service, holds what the right one must say."""


async def reads_of(questions: Sequence[Question], sheets: dict[str, Sheet], models: Path, out: Console) -> list[Read]:
    """Every question with its anchors, vectors and what is right."""
    embedder = CachedEmbedder(OnnxEmbedder.open(models))
    try:
        texts = list(dict.fromkeys([*(q.text for q in questions), *(t for s in sheets.values() for t in texts_of(s))]))
        vectors = dict(zip(texts, await embedder.embed_queries(texts), strict=True))
    finally:
        await embedder.aclose()
    found = []
    for one in track(questions, "reading", console=out, transient=True):
        sheet = sheets[one.file]
        anchors = Anchors(sheet, one.text, TODAY, one.language)
        near = likeness_of(sheet, one.text, vectors)
        operation = operation_in(one) if one.result is not None else -1
        gold, loose = gold_anchors(one, sheet, anchors)
        found.append(Read(one, sheet, anchors, near, operation, roles_in(one, sheet), gold, loose))
    return found


def case_of(read: Read, fold: int, heads: Heads) -> Case:
    """A question read by some heads, with the candidates that are right."""
    one = ranked(read.anchors, read.near, heads)
    question, right = read.question, np.zeros(len(one.candidates))
    if question.result is not None:
        judge = Judge(read.sheet)
        right = np.array([float(judge.is_right(c, question.result, question.sql or "")) for c in one.candidates])
    return Case(read, fold, one, right)


def is_told(case: Case, first: Candidate) -> bool:
    """Whether the answer of a query holds the facts of the question; never where the file does not say it."""
    one, sheet = case.read.question, case.read.sheet
    query = query_of(first, case.ranked.signals)
    found = answered(execute(job(sheet.rows, *statement(query))))
    text = "" if found.error else Wording(sheet, query, found, one.language).text()
    row = Row(id=one.id, file=one.file, question=one.text, kind=one.kind, answer=Expected(facts=one.facts))
    return bool(text) and one.result is not None and judge(row, text, "answered") == "right"


def judged_of(cases: Sequence[Case]) -> list[Judged]:
    """Every case by a ranker of the other folds."""
    found = []
    for fold in range(FOLDS):
        ranker = fit_ranker([(c.ranked.features, c.right) for c in cases if c.fold != fold], RANKER_TREES)
        for case in cases:
            if case.fold == fold:
                scores = np.asarray(ranker.predict(case.ranked.features))
                first = int(np.argmax(scores))
                figures = trust_features(case.ranked.features, scores)
                told = is_told(case, case.ranked.candidates[first])
                found.append(Judged(case, scores, figures, bool(case.right[first] > 0), told))
    return found


def fit_trust(judged: Sequence[Judged]) -> Averaged:
    """Trees that give the odds that the first query is right."""
    settings = {**BOOST, "objective": "binary", "num_leaves": 7, "min_data_in_leaf": 25, "learning_rate": 0.05}
    data = lightgbm.Dataset(np.array([one.figures for one in judged]), [float(one.told) for one in judged])
    return Averaged([lightgbm.train({**settings, "seed": seed}, data, TRUST_TREES) for seed in range(SEEDS)])


def trusted(judged: Sequence[Judged]) -> Numbers:
    """Log odds of each first query by trees that have not seen its file."""
    odds = np.zeros(len(judged))
    for fold in range(FOLDS):
        trees = fit_trust([one for one in judged if one.case.fold != fold])
        own = [at for at, one in enumerate(judged) if one.case.fold == fold]
        odds[own] = trees.predict(np.array([judged[at].figures for at in own]))
    return odds


def limit_of(judged: Sequence[Judged], odds: Numbers, most: float = WRONG) -> float:
    """The lowest log odds above which no more than `most` of all questions are answered wrongly."""
    order = np.argsort(-odds)
    wrong = np.cumsum([not judged[at].told for at in order]) / len(judged)
    last = int(np.searchsorted(wrong, most, side="right")) - 1
    return float(odds[order[max(last, 0)]])


def report(judged: Sequence[Judged], odds: Numbers, limit: float, out: Console) -> None:
    """By kind: is a right query among the candidates, first, answered; wrong and answered; declined."""
    table = Table("kind", "n", "held", "first right", "right", "wrong and answered", "declined", title="files held out")
    kinds = [one.case.read.question.kind.partition(":")[0] for one in judged]
    for kind in [*sorted(set(kinds)), "all"]:
        rows = [(one, told) for one, told, own in zip(judged, odds, kinds, strict=True) if kind in (own, "all")]
        kept = [one for one, odd in rows if odd >= limit]
        is_declining = sum(one.case.read.question.result is None and odd < limit for one, odd in rows)
        right = sum(one.told for one in kept)
        counts = [
            sum(bool(one.case.right.any()) for one, _ in rows), sum(one.right for one, _ in rows), right + is_declining,
            len(kept) - right, len(rows) - len(kept) - is_declining,
        ]  # fmt: skip
        table.add_row(kind, str(len(rows)), *(f"{count / len(rows):.2f}" for count in counts))
    out.print(table)


def report_at(judged: Sequence[Judged], odds: Numbers, limit: float, out: Console) -> None:
    """One line for another limit."""
    right = np.mean([(one.told and odd >= limit) or (one.case.read.question.result is None and odd < limit)
                     for one, odd in zip(judged, odds, strict=True)])  # fmt: skip
    wrong = np.mean([not one.told and odd >= limit for one, odd in zip(judged, odds, strict=True)])
    out.print(f"limit {limit:.2f}: right {right:.3f}, wrong and answered {wrong:.3f}")


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=HERE / "questions.jsonl")
    parser.add_argument("--files", type=int, default=0, help="use so many files only; 0 = all")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    told = parser.parse_args()
    out = Console(width=140)
    questions = questions_of(told.questions)
    order = np.random.default_rng(SEED).permutation(sorted({one.file for one in questions}))
    names = [str(name) for name in order[: told.files or None]]
    questions = [one for one in questions if one.file in names]
    sheets = sheets_of(told.questions.parent / "files", names)
    reads = asyncio.run(reads_of(questions, sheets, told.models, out))
    folds = {name: at % FOLDS for at, name in enumerate(names)}
    cases: list[Case] = []
    for fold in track(range(FOLDS), "holding out", console=out, transient=True):
        heads = fit_heads([one for one in reads if folds[one.question.file] != fold], folds).heads
        cases += [case_of(one, fold, heads) for one in reads if folds[one.question.file] == fold]
    judged = judged_of(cases)
    odds = trusted(judged)
    limit = limit_of(judged, odds)
    report(judged, odds, limit, out)
    for wrong in (0.02, 0.03, 0.05, 0.07, 0.1):
        report_at(judged, odds, limit_of(judged, odds, wrong), out)


if __name__ == "__main__":
    main()
