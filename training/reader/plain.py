"""`python -m training.reader.plain`: fits the weights of `app.reasoning.local.plain_reader`.

Data: the questions about the training companies, the articles of XQuAD with an even number (both languages, across
them, without diacritics) and the bundled questions; the articles with an odd number and the company held out only
check.
Everything goes through the real ingestion and retriever, so passages, ranks and near misses are those of the service.
A question is seen as it is written, and asked of another name, which nothing answers; with the vectors of its most
promising pieces and without.

Seeded; the same data give the same weights. Needs LightGBM (extra ``training``).
"""

import argparse
import asyncio
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local.features import FEATURES, Asked, Candidate, Numbers, candidates_of, features_of, with_cosines
from app.reasoning.local.plain_reader import COMPARED, Trees
from app.text.language import normalise, words
from bench.cases import COMPANY, Case, VectorsOnDisk, collect

SEED = 20_261_122
TODAY = date(2026, 11, 22)
"""The day the questions were written for."""
VERSION = "4"
TRAINING = [
    "bank", "builders", "charity", "factory", "hotels", "insurer",
    "port", "school", "shops", "studio", "telecom", "university",
]  # fmt: skip
"""The invented organisations that train; those that measure never do."""
_NAME = re.compile(r"(?<=\w )[A-ZĐ][^\W\d_]+(?: [A-ZĐ][^\W\d_]+)*")
_PART_CHARS = 12
_FOLDS = 3
_DRAWN = 0.01
"""Weight of the calibration's prior: where nothing is ever wrong, the logistic function would grow without end."""
_SETTINGS = {
    "objective": "binary", "num_leaves": 15, "learning_rate": 0.05, "min_data_in_leaf": 40, "feature_fraction": 0.4,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 10.0, "seed": SEED, "num_threads": 1, "verbose": -1,
    "deterministic": True, "force_row_wise": True,
}  # fmt: skip
_MASS = {COMPANY: 1.0, "seed": 1.2}
_OTHERS = 0.4
"""What a question weighs, by the beginning of its kind; few bundled ones are of hundreds of others."""


class Example(NamedTuple):
    """A case as the fit sees it."""

    case: Case
    folded: bool
    features: Numbers
    """Without vectors."""
    gold: Numbers
    """1 for pieces that answer."""
    cosines: Numbers
    """Of all pieces; only those of the pieces compared are used."""


def gold_of(case: Case, candidates: Sequence[Candidate]) -> Numbers:
    """Which pieces answer: of the right documents those with all phrases, else those with one. Where phrases are whole
    pieces, also parts of them."""
    if case.kind.startswith(COMPANY):
        return np.array([float(_is_quoted(case, candidate)) for candidate in candidates])
    found = np.zeros((2, len(candidates)))
    for at, candidate in enumerate(candidates):
        text = normalise(candidate.unit.text).lower()
        if candidate.passage.external_id in case.documents:
            hits = [[normalise(phrase).lower() in text for phrase in phrases] for phrases in case.gold]
            found[0, at] = any(all(hit) for hit in hits if hit)
            found[1, at] = any(any(hit) for hit in hits)
    return np.asarray(found[0] if found[0].any() else found[1])


def _is_quoted(case: Case, candidate: Candidate) -> bool:
    own = " ".join(words(candidate.unit.text))
    quotes = [" ".join(words(phrase)) for phrases in case.gold for phrase in phrases]
    return candidate.passage.external_id in case.documents and any(
        own and (quote in own or (own in quote and len(own) > _PART_CHARS)) for quote in quotes
    )


def renamed(case: Case, others: Sequence[Case]) -> Case | None:
    """The question asked of another name: nothing answers it then. None where it has no name, and across languages."""
    if not case.answerable or "cross" in case.kind:
        return None
    chance_of = np.random.default_rng([SEED, 1, zlib.crc32(case.text.encode())])
    other = others[int(chance_of.integers(len(others)))]
    own, theirs = names_of(case.text), names_of(other.text)
    if not own or not theirs or other.language != case.language or set(own) & set(theirs):
        return None
    text = re.sub(rf"\b{re.escape(own[-1])}\b", theirs[-1], case.text)
    return case._replace(text=text, why="another name", documents=frozenset(), gold=())


def names_of(text: str) -> list[str]:
    """Words with a capital behind the first one, neighbours together."""
    return [mark[0] for mark in _NAME.finditer(text) if mark.start()]


async def examples_of(cases: Iterable[Case], embedder: VectorsOnDisk, out: Console) -> list[Example]:
    """Every case, and asked of another name."""
    found: list[Example] = []
    cases = list(cases)
    cases += [other for case in cases if (other := renamed(case, cases)) is not None]
    for case in track(list(cases), "reading", console=out, transient=True):
        candidates = candidates_of(case.passages)
        if not candidates:
            continue
        asked = Asked.of(case.text, case.language, candidates)
        features = features_of(asked, candidates, np.full(len(candidates), np.nan), "", TODAY)
        vector = (await embedder.embed_queries([case.text]))[0].astype(np.float64)
        cosines = (await embedder.embed_passages([one.text for one in candidates])).astype(np.float64) @ vector
        found.append(Example(case, asked.folded, features, gold_of(case, candidates), cosines))
    return found


def masses(examples: Sequence[Example]) -> Numbers:
    """What each example weighs."""
    kinds = [one.case.kind for one in examples]
    return np.array([next((mass for kind, mass in _MASS.items() if own.startswith(kind)), _OTHERS) for own in kinds])


def scored(trees: lightgbm.Booster, rows: Sequence[Numbers]) -> list[Numbers]:
    """The score of every piece, by example."""
    told = np.asarray(trees.predict(np.concatenate(rows), raw_score=True))
    return np.split(told, np.cumsum([len(row) for row in rows])[:-1])


def compared(examples: Sequence[Example], trees: lightgbm.Booster) -> list[Numbers]:
    """The features of each example with the cosines of the pieces that words put first."""
    found = []
    for one, scores in zip(examples, scored(trees, [one.features for one in examples]), strict=True):
        chosen = np.argsort(-scores, kind="stable")[:COMPARED]
        cosines = np.full(len(one.gold), np.nan)
        cosines[chosen] = one.cosines[chosen]
        found.append(with_cosines(one.features, cosines))
    return found


def grown(rows: Sequence[Numbers], golds: Sequence[Numbers], mass: Sequence[float], trees: int) -> lightgbm.Booster:
    """Trees that give the odds that a piece answers."""
    weights = np.repeat(mass, [len(gold) for gold in golds])
    data = lightgbm.Dataset(np.concatenate(rows), np.concatenate(golds), weight=weights)
    return lightgbm.train(_SETTINGS, data, trees)


def fit_trees(examples: Sequence[Example], trees: int) -> lightgbm.Booster:
    """First by words alone; then again with the vectors of what words put first."""
    mass = masses(examples)
    alone = grown([one.features for one in examples], [one.gold for one in examples], mass.tolist(), trees // 2)
    golds = [one.gold for one in examples]
    return grown(
        [*(one.features for one in examples), *compared(examples, alone)], golds * 2, [*mass / 2, *mass], trees
    )


def trees_of(told: Sequence[dict[str, Any]]) -> Trees:
    """LightGBM's trees as arrays."""
    nodes: dict[str, list[float]] = {name: [] for name in Trees.__dataclass_fields__}

    def add(node: dict[str, Any]) -> int:
        at = len(nodes["values"])
        inner = "split_feature" in node
        for name, value in (
            ("columns", node["split_feature"] if inner else -1), ("limits", node["threshold"] if inner else 0.0),
            ("below", at), ("above", at), ("missing_below", node["default_left"] if inner else False),
            ("values", 0.0 if inner else node["leaf_value"]),
        ):  # fmt: skip
            nodes[name].append(value)
        if inner:
            nodes["below"][at], nodes["above"][at] = add(node["left_child"]), add(node["right_child"])
        return at

    nodes["roots"] = [add(tree["tree_structure"]) for tree in told]
    return Trees.read({name: np.array(values) for name, values in nodes.items()})


class Judged(NamedTuple):
    """The first piece of one example, as the reader would choose it."""

    score: float
    right: float


def judged(examples: Sequence[Example], trees: lightgbm.Booster, *, with_vectors: bool) -> list[Judged]:
    """The score of each first piece, and whether it answers."""
    found = []
    rows = compared(examples, trees) if with_vectors else [one.features for one in examples]
    for one, row, scores in zip(examples, rows, scored(trees, rows), strict=True):
        there = ~np.isnan(row[:, FEATURES.index("cosine")]) | (not with_vectors)
        first = int(np.where(there, scores, -np.inf).argmax())
        found.append(Judged(float(scores[first]), float(one.gold[first])))
    return found


def logistic(told: Sequence[Judged], mass: Numbers) -> Numbers:
    """(constant, factor) that make log odds of scores, by Newton's method in steps of at most 1, drawn to (0, 1)."""
    scores, labels = np.array([one.score for one in told]), np.array([one.right for one in told])
    inputs, start = np.column_stack([np.ones(len(scores)), scores]), np.array([0.0, 1.0])
    slope = start
    for _ in range(60):
        odds = 1 / (1 + np.exp(-np.clip(inputs @ slope, -30, 30)))
        bend = (inputs.T * (mass * odds * (1 - odds))) @ inputs + np.eye(2) * _DRAWN
        step = np.linalg.solve(bend, inputs.T @ (mass * (odds - labels)) + _DRAWN * (slope - start))
        slope = slope - step / max(1.0, float(np.linalg.norm(step)))
    return slope


def calibrated(examples: Sequence[Example], trees: int) -> tuple[Numbers, Numbers]:
    """With vectors and by words alone: how sure a first piece is, each group scored by trees that have not seen it."""
    groups = sorted({one.case.group for one in examples})
    fold = {group: at % _FOLDS for at, group in enumerate(groups)}
    near: list[Judged] = []
    alone: list[Judged] = []
    mass: list[float] = []
    for own in range(_FOLDS):
        seen = fit_trees([one for one in examples if fold[one.case.group] != own], trees)
        rest = [one for one in examples if fold[one.case.group] == own and one.case.why != "hidden"]
        near += judged(rest, seen, with_vectors=True)
        alone += judged(rest, seen, with_vectors=False)
        mass += masses(rest).tolist()
    return logistic(near, np.array(mass)), logistic(alone, np.array(mass))


def auroc(rights: Numbers, wrongs: Numbers) -> float:
    """Share of pairs in order; nan without pairs."""
    if not len(rights) or not len(wrongs):
        return float("nan")
    return float(((rights[:, None] > wrongs).mean() + (rights[:, None] >= wrongs).mean()) / 2)


def report(
    title: str, examples: Sequence[Example], trees: lightgbm.Booster, sure: tuple[Numbers, Numbers], out: Console
) -> None:
    """By kind: is the first piece right where the passages hold one, and does the confidence tell right from not."""
    table = Table(
        "questions", "n", "held", "first right", "AUROC", "right / wrong from .65", "from .5", "from .35", title=title
    )
    groups: dict[str, list[tuple[Example, float, float]]] = defaultdict(list)
    for one, told in zip(examples, judged(examples, trees, with_vectors=True), strict=True):
        constant, factor = sure[0]
        chance = float(1 / (1 + np.exp(-(constant + factor * told.score))))
        for kind in (one.case.kind + (" unaccented" if one.folded else ""), f"all {one.case.why}", "all"):
            groups[kind].append((one, chance, told.right))
    for kind, members in sorted(groups.items()):
        chances, rights = np.array([c for _, c, _ in members]), np.array([r for _, _, r in members])
        held = np.array([bool(one.gold.any()) for one, _, _ in members])
        shown = [
            f"{(rights * (chances >= n)).mean():.3f} / {((1 - rights) * (chances >= n)).mean():.3f}"
            for n in (0.65, 0.5, 0.35)
        ]
        first = f"{rights[held].mean():.3f}" if held.any() else "–"
        table.add_row(
            kind,
            str(len(members)),
            str(held.sum()),
            first,
            f"{auroc(chances[rights > 0], chances[rights == 0]):.3f}",
            *shown,
        )
    out.print(table)


async def run(given: argparse.Namespace, out: Console) -> None:
    """Fit, check, write."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = VectorsOnDisk(opened, given.cache)
    try:
        cases = await collect(embedder, given.eval, given.seed, 1, out, [given.companies / one for one in given.train])
        examples = await examples_of(cases, embedder, out)
    finally:
        embedder.keep()
        await embedder.aclose()
    fit_and_write(examples, given, embedder.model, out)


def fit_and_write(examples: Sequence[Example], given: argparse.Namespace, model: str, out: Console) -> None:
    """Fit what is not held out, report both, write the weights."""
    own = [one for one in examples if not _only_checks(one.case, given.held_out)]
    trees, sure = fit_trees(own, given.trees), calibrated(own, given.trees)
    report("trained on", own, trees, sure, out)
    checks = [one for one in examples if _only_checks(one.case, given.held_out)]
    report("not trained on: odd articles, the company held out", checks, trees, sure, out)
    told = trees_of(trees.dump_model()["tree_info"])
    narrow = {"roots": np.uint16, "columns": np.int8, "below": np.uint16, "above": np.uint16}
    arrays = {name: getattr(told, name) for name in Trees.__dataclass_fields__}
    small = {name: array.astype(narrow.get(name, array.dtype)) for name, array in arrays.items()}
    np.savez_compressed(
        given.out, **small, with_vectors=sure[0], words_alone=sure[1], model=np.array(model), version=np.array(VERSION)
    )
    out.print(f"{given.out}: {given.out.stat().st_size / 1024:.0f} KiB, {len(told.roots)} trees, calibration {sure}")


def _only_checks(case: Case, held_out: str) -> bool:
    odd = case.group.startswith("article ") and int(case.group.removeprefix("article ")) % 2 == 1
    return odd or case.group == f"{COMPANY}{held_out}"


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=TRAINING)
    parser.add_argument("--held-out", default="", help="a company that only checks")
    parser.add_argument("--trees", type=int, default=250)
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/plain_reader.npz"))
    asyncio.run(run(parser.parse_args(), Console(width=170)))


if __name__ == "__main__":
    main()
