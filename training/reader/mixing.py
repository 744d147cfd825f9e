"""Mixes what trees and network say of pieces, tells how sure a first piece is, reports, and writes the trees' file."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import lightgbm
import numpy as np
from rich.console import Console
from rich.table import Table

from app.reasoning.local.features import Numbers
from bench.cases import COMPANY
from training.reader.data import Example
from training.reader.trees import compared, scored, stored, trees_of

ReadBy = Callable[[Sequence[Example], Sequence[Sequence[int]]], list[Numbers]]
"""The network's log probabilities of the chosen pieces of each example."""
VERSION = "5"
_DRAWN = 0.01
"""Weight of the calibration's prior: where nothing is ever wrong, the logistic function would grow without end."""


class Scores(NamedTuple):
    """What trees and network say of the pieces of one example that both have read."""

    by_trees: Numbers
    by_pairs: Numbers
    gold: Numbers
    words_alone: tuple[float, float]
    """Without any model for vectors: the best score of all pieces, and whether that piece answers."""


class Fitted(NamedTuple):
    """What is written beside the trees."""

    mix: Numbers
    """Shape (2,): factors of the scores of trees and of pairs."""
    with_vectors: Numbers
    words_alone: Numbers


def scores_of(examples: Sequence[Example], trees: lightgbm.Booster, read: ReadBy) -> list[Scores]:
    """Of every example, as the service reads it."""
    rows, chosen = compared(examples, trees)
    alone = scored(trees, [one.features for one in examples])
    found = []
    for one, own, at, odds, words in zip(
        examples, scored(trees, rows), chosen, read(examples, chosen), alone, strict=True
    ):
        best = int(words.argmax())
        found.append(Scores(own[at], odds, one.gold[at], (float(words[best]), float(one.gold[best]))))
    return found


def mixed(held: Sequence[Scores]) -> Numbers:
    """The factor of the pairs' score, that of the trees being 1, which puts a right piece first most often; of several
    the one that tells right from wrong best."""
    answerable = [one for one in held if one.gold.any()]

    def worth(factor: float) -> tuple[float, float]:
        firsts = [_first(one, factor) for one in held]
        right = np.mean([bool(one.gold[(one.by_trees + factor * one.by_pairs).argmax()]) for one in answerable])
        tops, rights = np.array([top for top, _ in firsts]), np.array([own for _, own in firsts])
        return float(right) + auroc(tops[rights > 0], tops[rights == 0]), -factor

    best = max((0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0), key=worth)
    return np.array([1.0, best])


def _first(one: Scores, factor: float) -> tuple[float, float]:
    """The score of the piece that comes first, and whether it answers."""
    told = one.by_trees + factor * one.by_pairs
    at = int(told.argmax())
    return float(told[at]), float(one.gold[at])


def logistic(scores: Numbers, labels: Numbers) -> Numbers:
    """(constant, factor) that make log odds of scores, by Newton's method in steps of at most 1, drawn to (0, 1)."""
    inputs, start = np.column_stack([np.ones(len(scores)), scores]), np.array([0.0, 1.0])
    slope = start
    for _ in range(60):
        odds = 1 / (1 + np.exp(-np.clip(inputs @ slope, -30, 30)))
        bend = (inputs.T * (odds * (1 - odds))) @ inputs + np.eye(2) * _DRAWN
        step = np.linalg.solve(bend, inputs.T @ (odds - labels) + _DRAWN * (slope - start))
        slope = slope - step / max(1.0, float(np.linalg.norm(step)))
    return slope


def fitted_on(examples: Sequence[Example], held: Sequence[Scores]) -> Fitted:
    """The mix and the calibrations, on examples that fitted neither part; documents taken away by us do not count."""
    own = [scores for one, scores in zip(examples, held, strict=True) if one.case.why not in ("hidden", "another name")]
    mix = mixed(own)
    near = np.array([_first(one, mix[1]) for one in own])
    alone = np.array([one.words_alone for one in own])
    return Fitted(mix, logistic(near[:, 0], near[:, 1]), logistic(alone[:, 0], alone[:, 1]))


def auroc(rights: Numbers, wrongs: Numbers) -> float:
    """Share of pairs in order; nan without pairs."""
    if not len(rights) or not len(wrongs):
        return float("nan")
    return float(((rights[:, None] > wrongs).mean() + (rights[:, None] >= wrongs).mean()) / 2)


def report(title: str, examples: Sequence[Example], held: Sequence[Scores], fitted: Fitted, out: Console) -> None:
    """By kind: is the first piece right where the passages hold one, and does the confidence tell right from not; by
    trees alone, by pairs alone, mixed."""
    table = Table(
        "questions", "n", "held", "first right: trees · pairs · mixed", "AUROC", "right / wrong from .65, .5, .35"
    )
    table.title = title
    groups: dict[str, list[Scores]] = defaultdict(list)
    for one, scores in zip(examples, held, strict=True):
        for kind in (one.case.kind + (" unaccented" if one.folded else ""), f"all {one.case.why}", "all"):
            groups[kind].append(scores)
    for kind, members in sorted(groups.items()):
        there = [one for one in members if one.gold.any()]
        ways = ((1.0, 0.0), (0.0, 1.0), tuple(fitted.mix))
        firsts = [
            np.mean([one.gold[(a * one.by_trees + b * one.by_pairs).argmax()] for one in there])
            for a, b in ways
            if there
        ]
        tops = np.array([_first(one, fitted.mix[1]) for one in members])
        chance = 1 / (1 + np.exp(-(fitted.with_vectors[0] + fitted.with_vectors[1] * tops[:, 0])))
        rights = tops[:, 1] > 0
        shown = (
            f"{(rights & (chance >= n)).mean():.2f} / {(~rights & (chance >= n)).mean():.2f}" for n in (0.65, 0.5, 0.35)
        )
        table.add_row(
            kind, str(len(members)), str(len(there)), " · ".join(f"{one:.3f}" for one in firsts) or "–",
            f"{auroc(tops[rights, 0], tops[~rights, 0]):.3f}", ", ".join(shown),
        )  # fmt: skip
    out.print(table)


def written(trees: lightgbm.Booster, fitted: Fitted, model: str, path: Path) -> None:
    """Write the weight file of the trees and of what goes with them."""
    small = stored(trees_of(trees.dump_model()["tree_info"]))
    np.savez_compressed(path, **small, **fitted._asdict(), model=np.array(model), version=np.array(VERSION))


def finish(
    checks: Sequence[Example], trees: lightgbm.Booster, read: ReadBy, model: str, path: Path, out: Console
) -> None:
    """Mix and calibrate on the company held out, report on all that trained nothing, write the file of the trees."""
    held = scores_of(checks, trees, read)
    company = [at for at, one in enumerate(checks) if one.case.kind.startswith(COMPANY)]
    fitted = fitted_on([checks[at] for at in company], [held[at] for at in company])
    report("trained on neither: odd articles, the company held out", checks, held, fitted, out)
    written(trees, fitted, model, path)
    out.print(f"{path}: mix {fitted.mix}, sure {fitted.with_vectors}, {fitted.words_alone}")
