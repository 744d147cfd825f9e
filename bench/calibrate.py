"""Fits what a score means for one embedding model, and writes ``app/retrieval/calibration.json``.

``python -m bench.calibrate`` measures and prints; with ``--write`` it stores the result. Three things are fitted, on
one half of the questions; the figures are from the other half:

1. the mean question and passage vector of each language (XQuAD), which are taken out of every vector;
2. two logistic curves, with and without diacritics, from cosine and share of words found to relevance: passages that
   answer against the best that do not, each question weighing the same; the constant is then moved so that
   `KEPT` of the answering passages in the question's own language reach 0.7;
3. the share of words assumed found in a passage of the other language: the value that ranks best, three questions of
   four being answered in their own language.
"""

import argparse
import asyncio
import math
import sys
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.domain.knowledge import Passage
from app.embedding import Embedder, Vectors
from app.embedding.cached import CachedEmbedder
from app.embedding.onnx import OnnxEmbedder
from app.retrieval.ranking import FITTED, PATH, Calibration, Curve, read_calibrations
from app.retrieval.search import Retriever
from app.text.language import guess_language, is_unaccented_vietnamese
from bench.corpora import Asked, loaded, read_lines, seed_questions, xquad_documents, xquad_questions
from bench.retrieval import MIN_RELEVANCE, answers

KEPT = 0.95
"""Share of answering passages that must stay at or above 0.7."""
HARDEST = 20
"""Passages that do not answer taken of each question, the best found."""
OWN_LANGUAGE = 0.75
"""Share of real questions whose answer is taken to be in their own language."""
SEED_WEIGHT = 3.0
"""What a question about the demonstration documents weighs beside one of XQuAD: they are like real use, and fewer."""
Numbers = npt.NDArray[np.float64]


class Found(NamedTuple):
    """A passage found for a question, as the curves see it."""

    similarity: float
    coverage: float
    same_language: bool
    answers: bool


class Case(NamedTuple):
    """A question with everything that was found for it."""

    asked: Asked
    unaccented: bool
    found: tuple[Found, ...]


async def calibrate(bundled: Embedder, eval_folder: Path, seed_folder: Path, every: int) -> Calibration:
    """Load the corpora, ask everything, fit, and print how it does."""
    embedder = CachedEmbedder(bundled, max_entries=50_000)
    query_means, passage_means = await _means(embedder, eval_folder)
    # A curve that shows the coverage itself: what was found can then be read from what the retriever returns.
    shown = Curve(cosine=0, coverage=1, constant=0)
    bare = Calibration(
        model=embedder.model,
        accented=shown,
        unaccented=shown,
        words=shown,
        assumed_coverage=0,
        query_means=query_means,
        passage_means=passage_means,
    )
    async with loaded(embedder, bare, eval_folder, seed_folder, _say) as database:
        retriever = Retriever(database, embedder, bare, caching=False)
        questions = [*xquad_questions(eval_folder, every), *seed_questions(seed_folder)]
        cases = [await _ask(retriever, asked) for asked in (*questions, *_strangers(questions))]
    await embedder.aclose()
    halves = [[case for case in cases if zlib.crc32(case.asked.text.encode()) % 2 == half] for half in (0, 1)]
    fitted = _fit(bare, halves[0])
    return fitted.model_copy(update={"metrics": _report(fitted, halves[1])})


async def _means(embedder: CachedEmbedder, folder: Path) -> tuple[dict[str, tuple[float, ...]], ...]:
    rows = read_lines(folder / "xquad" / "queries.jsonl")
    questions = await embedder.embed_queries([row["question"] for row in rows])
    documents = xquad_documents(folder)
    passages = await embedder.embed_passages([document.text for document in documents])
    return (
        _by_language(questions, [row["lang"] for row in rows]),
        _by_language(passages, [document.lang for document in documents]),
    )


def _by_language(vectors: Vectors, languages: Sequence[str]) -> dict[str, tuple[float, ...]]:
    of = np.array(languages)
    return {
        language: tuple(round(float(value), 5) for value in vectors[of == language].mean(axis=0))
        for language in sorted(set(languages))
    }


def _strangers(questions: Sequence[Asked]) -> list[Asked]:
    """XQuAD questions asked of the demonstration companies, whose documents know nothing of them."""
    askers = [asked.principal for asked in questions if asked.kind.startswith("seed")]
    chosen = [asked for asked in questions if asked.kind.endswith("same") and not asked.kind.startswith("seed")]
    return [
        asked._replace(kind="stranger", principal=asker, documents=frozenset(), hidden=frozenset())
        for asked, asker in zip(chosen[:: max(1, len(chosen) // 100)], askers, strict=False)
    ]


async def _ask(retriever: Retriever, asked: Asked) -> Case:
    result = await retriever.search(asked.principal, asked.text, departments=None, limit=40)
    language = guess_language(asked.text)
    found = [
        Found(
            passage.similarity,
            math.log(passage.relevance_score / (1 - passage.relevance_score)),
            passage.language == language,
            answers(asked, passage),
        )
        for passage in result.passages
        if not _is_unclear(asked, passage)
    ]
    return Case(asked, is_unaccented_vietnamese(asked.text), tuple(found))


def _is_unclear(asked: Asked, passage: Passage) -> bool:
    """Hidden passages, and passages of an answering document that say something else of it."""
    beside = passage.external_id in asked.documents and not answers(asked, passage)
    return beside or passage.external_id in asked.hidden


def _fit(bare: Calibration, cases: Sequence[Case]) -> Calibration:
    own = [_in_own_language(case) for case in cases if not case.unaccented]
    bare_cases = [case for case in cases if case.unaccented]
    curves = {"accented": _curve(own), "unaccented": _curve(bare_cases), "words": _curve(list(map(_blind, bare_cases)))}
    fitted = bare.model_copy(update=curves)
    assumed = max((step / 20 for step in range(21)), key=lambda share: _ranking(_assuming(fitted, share), cases))
    return _assuming(fitted, assumed).model_copy(
        update={
            "date": datetime.now(UTC).date().isoformat(),
            "sources": f"XQuAD vi and en (CC BY-SA 4.0) and seed_data; {len(cases)} questions",
        }
    )


def _blind(case: Case) -> Case:
    return case._replace(found=tuple(one._replace(similarity=0.0) for one in case.found))


def _in_own_language(case: Case) -> Case:
    return case._replace(found=tuple(one for one in case.found if one.same_language))


def _assuming(calibration: Calibration, share: float) -> Calibration:
    return calibration.model_copy(update={"assumed_coverage": share})


def _curve(cases: Sequence[Case]) -> Curve:
    rows: list[tuple[float, float]] = []
    labels: list[bool] = []
    weights: list[float] = []
    for case in cases:
        right = [one for one in case.found if one.answers]
        wrong = sorted((one for one in case.found if not one.answers), key=_strength, reverse=True)[:HARDEST]
        share = _weight(case)
        for group in filter(None, (right, wrong)):
            rows += [(one.similarity, one.coverage) for one in group]
            labels += [one.answers for one in group]
            weights += [share / len(group)] * len(group)
    slope = _logistic(np.array(rows), np.array(labels, float), np.array(weights))
    answered = [case for case in cases if _answered(case)]
    reached = np.array([max(_linear(slope, one) for one in case.found if one.answers) for case in answered])
    share_of = np.array([_weight(case) for case in answered])
    limit = math.log(MIN_RELEVANCE / (1 - MIN_RELEVANCE))
    return Curve(
        cosine=round(slope[0], 3),
        coverage=round(slope[1], 3),
        constant=round(slope[2] + limit - _quantile(reached, share_of, 1 - KEPT), 3),
    )


def _weight(case: Case) -> float:
    return SEED_WEIGHT if case.asked.kind.startswith(("seed", "unanswerable")) else 1.0


def _strength(one: Found) -> float:
    return 1.3 * one.similarity + one.coverage


def _answered(case: Case) -> bool:
    return any(one.answers for one in case.found)


def _linear(slope: Numbers, one: Found) -> float:
    return float(slope[0] * one.similarity + slope[1] * one.coverage + slope[2])


def _logistic(rows: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Weighted logistic regression by Newton's method, with a whisper of regularisation."""
    inputs = np.column_stack([rows, np.ones(len(rows))])
    slope = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-inputs @ slope))
        gradient = inputs.T @ (weights * (chance - labels)) + 1e-3 * slope
        bend = (inputs.T * (weights * chance * (1 - chance))) @ inputs + 1e-3 * np.eye(len(slope))
        slope -= np.linalg.solve(bend, gradient)
    return slope


def _quantile(values: Numbers, weights: Numbers, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(below, share)])


def _relevances(calibration: Calibration, case: Case) -> list[tuple[float, bool]]:
    """(relevance, whether it answers), most relevant first."""
    pairs = [
        (
            calibration.relevance(
                one.similarity, one.coverage, same_language=one.same_language, unaccented=case.unaccented
            ),
            one.answers,
        )
        for one in case.found
    ]
    return sorted(pairs, key=lambda pair: -pair[0])


def _ranking(calibration: Calibration, cases: Sequence[Case]) -> float:
    """Mean reciprocal rank over questions answered in their own and in the other language, as often as is likely."""
    ranks: dict[bool, list[float]] = {False: [], True: []}
    for case in cases:
        if case.unaccented or not _answered(case):
            continue
        places = [at for at, (_, right) in enumerate(_relevances(calibration, case), 1) if right]
        ranks["cross" in case.asked.kind].append(1 / places[0])
    shares = {False: OWN_LANGUAGE, True: 1 - OWN_LANGUAGE}
    return sum(shares[across] * float(np.mean(group)) for across, group in ranks.items() if group)


def _report(calibration: Calibration, cases: Sequence[Case]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for kind in sorted({case.asked.kind for case in cases}):
        group = [_relevances(calibration, case)[:8] for case in cases if case.asked.kind == kind]
        above = [[right for score, right in found if score >= MIN_RELEVANCE] for found in group]
        passing, right = sum(map(len, above)), sum(sum(found) for found in above)
        values = {
            "questions": float(len(group)),
            "answer_kept": float(np.mean([any(found) for found in above])),
            "precision": right / passing if passing else 0.0,
            "passing_of_8": passing / len(group),
            "nothing_passes": float(np.mean([not found for found in above])),
        }
        metrics.update({f"{kind}: {name}": round(value, 3) for name, value in values.items()})
        _say(f"{kind:20} " + "  ".join(f"{name} {value:.3f}" for name, value in values.items()))
    return metrics


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _store(calibration: Calibration) -> None:
    others = [one for one in read_calibrations() if one.model != calibration.model]
    PATH.write_bytes(FITTED.dump_json([*others, calibration]) + b"\n")
    _say(f"stored for {calibration.model}, space {calibration.space}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--every", type=int, default=1, help="ask every n-th question of XQuAD")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"), help="where the bundled model is kept")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    engine = OnnxEmbedder.open(given.models)
    result = asyncio.run(calibrate(engine, given.eval, given.seed, given.every))
    _say(result.model_dump_json(include={"accented", "unaccented", "words", "assumed_coverage"}))
    if given.write:
        _store(result)
