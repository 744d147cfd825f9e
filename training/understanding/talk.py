"""`python -m training.understanding.talk`: fits the weights of `app.reasoning.local.chitchat`.

Data: ``utterances.jsonl`` beside this file, what belongs nowhere (``elsewhere.jsonl`` of the reasoner), and the
questions about invented companies (``bench/companies``) but those held out; all with and without diacritics, some with
small talk in front. The limit is the one that ``FALSE_TALK`` of the questions of companies left out in turn come above.

Seeded; the same data give the same weights. Needs numpy only; some minutes when nothing else runs.
"""

import argparse
import asyncio
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console

from app.embedding import Vectors
from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local.chitchat import TALKS, Head, Numbers, means_of, meant_rows, spelling_of, spelt_rows
from app.reasoning.local.routing import elsewhere
from app.reasoning.local.wording import spelt_out
from app.text.language import fold, normalise
from bench.cases import VectorsOnDisk
from bench.corpora import read_lines

SEED = 20_261_123
KINDS = ("question", *TALKS)
FALSE_TALK = 0.003
"""Share of questions that may be taken for small talk; missing small talk merely ends in “not found”."""
_RIDGE, _STEPS = 3e-5, 250
_MASS = {"own": 4.0, "company": 1.0, "opened": 4.0}
"""What one question of each source weighs; small talk weighs as much as all questions."""
_COMMON = 0.3
_PARTS, _FOLDS = 4, 2
_EVERY = 5
"""One question of as many is asked with small talk in front."""
_OPENERS, _LONGEST_OPENER = ("greeting", "thanks", "agreement", "mood", "smalltalk"), 6
_JOINTS = (", ", ". ", "! ", " ")


class Row(NamedTuple):
    """A text and what it is."""

    text: str
    kind: str
    source: Literal["own", "company", "opened"]
    group: str
    """Company, or part of the utterances; what is said in two ways is in one part."""


def told() -> list[tuple[str, str]]:
    """The utterances, and what belongs nowhere, with their kinds."""
    rows = read_lines(Path(__file__).with_name("utterances.jsonl"))
    return [*((row["text"], row["kind"]) for row in rows), *((text, "question") for text in elsewhere())]


def utterances() -> Iterator[Row]:
    """The same spelt as the reasoner spells it, and without diacritics."""
    for text, kind in told():
        part = f"part {zlib.crc32(fold(text).lower().encode()) % _PARTS}"
        yield from (Row(spelt, kind, "own", part) for spelt in _both(text))


def questions(folder: Path) -> Iterator[Row]:
    """Every wording of a company's questions."""
    for row in read_lines(folder / "questions.jsonl"):
        for wording in row["wordings"]:
            yield from (Row(spelt, "question", "company", folder.name) for spelt in _both(wording))


def _both(text: str) -> list[str]:
    return list(dict.fromkeys(spelt_out(normalise(spelt)) for spelt in (text, fold(text))))


def opened(rows: Sequence[Row], talk: Sequence[Row], chance_of: np.random.Generator) -> Iterator[Row]:
    """Some questions with small talk in front: they still ask. And small talk behind small talk, which does not."""
    openers = [one for one in talk if one.kind in _OPENERS and len(one.text.split()) <= _LONGEST_OPENER]

    def joined(first: Row, then: Row) -> str:
        return f"{first.text.rstrip(' .!')}{_JOINTS[int(chance_of.integers(len(_JOINTS)))]}{then.text}"

    for row in rows:
        if zlib.crc32(row.text.encode()) % _EVERY == 0:
            yield Row(joined(openers[int(chance_of.integers(len(openers)))], row), "question", "opened", row.group)
    for first in talk[::_EVERY]:
        yield Row(joined(first, talk[int(chance_of.integers(len(talk)))]), first.kind, "opened", first.group)


def masses(rows: Sequence[Row]) -> Numbers:
    """What each row weighs, all together 1."""
    own = np.array([_MASS[row.source] for row in rows])
    talks = np.array([row.kind != "question" for row in rows])
    own[talks] = own[~talks].sum() / talks.sum()
    weights: Numbers = (own / own.sum()).astype(np.float32)
    return weights


def fit(rows: Numbers, labels: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Slopes and constants of a weighted softmax with a ridge; Nesterov's method, begun anew when it overshoots."""
    inputs, counted = rows.astype(np.float32), weights[:, None]
    slopes = np.zeros((rows.shape[1], labels.shape[1]), np.float32)
    constants = np.zeros(labels.shape[1], np.float32)
    ahead, ahead_constants, pace = slopes, constants, 1.0
    size = 1 / (0.5 * _steepest(inputs, weights) + _RIDGE)
    for _ in range(_STEPS):
        powers = inputs @ ahead + ahead_constants
        powers = np.exp(powers - powers.max(axis=1, keepdims=True))
        pull = (powers / powers.sum(axis=1, keepdims=True) - labels) * counted
        moved = ahead - size * (inputs.T @ pull + _RIDGE * ahead)
        moved_constants = ahead_constants - size * pull.sum(axis=0)
        following = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        push = (pace - 1) / following
        if ((moved - slopes) * (ahead - moved)).sum() > 0:
            following, push = 1.0, 0.0
        ahead, ahead_constants = moved + push * (moved - slopes), moved_constants + push * (moved_constants - constants)
        slopes, constants, pace = moved, moved_constants, following
    return slopes.astype(np.float32), constants.astype(np.float32)


def _steepest(inputs: Numbers, weights: Numbers) -> float:
    """A little more than the largest curvature of the squared rows, the constant with them."""
    way, size = np.ones(inputs.shape[1], np.float32), 1.0
    for _ in range(20):
        way = inputs.T @ (weights * (inputs @ (way / np.linalg.norm(way))))
        size = float(np.linalg.norm(way))
    return 1.1 * size + float(weights.sum())


class Fit:
    """Rows with all their features."""

    def __init__(self, rows: Sequence[Row], vectors: Vectors):
        """`vectors` has one row a row."""
        self.rows, self.labels = rows, np.eye(len(KINDS), dtype=np.float32)[[KINDS.index(row.kind) for row in rows]]
        own = [row.text for row in rows if row.source == "own"]
        held = (spelling_of(own) > 0).sum(axis=0)
        self.rarity: Numbers = np.log((len(own) + 1) / (held + 1)) + _COMMON
        self.middle: Numbers = vectors[[row.source == "own" for row in rows]].mean(axis=0)
        spelt = spelt_rows([row.text for row in rows], self.rarity)
        self.features = {"spelt": spelt, "meant": meant_rows(spelt, vectors, self.middle)}

    def head(self, name: str, chosen: Sequence[bool], limit: float = 0.5) -> Head:
        """Fitted on the chosen rows."""
        own = np.flatnonzero(chosen)
        weights = masses([row for row, is_own in zip(self.rows, chosen, strict=True) if is_own])
        return Head(*fit(self.features[name][own], self.labels[own], weights), limit)

    def chances(self, name: str, head: Head, chosen: Sequence[bool]) -> Numbers:
        """Of being small talk, for the chosen rows."""
        return 1 - head.chances(self.features[name][np.flatnonzero(chosen)])[:, 0]

    def left_out(self, name: str, companies: Sequence[str], held_out: str) -> Numbers:
        """Of being small talk, where each half of the companies and of the utterances is left out in turn; nan
        elsewhere."""
        found = np.full(len(self.rows), np.nan)
        for half in range(_FOLDS):
            groups = [*companies[half::_FOLDS], *(f"part {part}" for part in range(_PARTS)[half::_FOLDS])]
            out = [row.group in groups for row in self.rows]
            learnt = [not held and row.group != held_out for held, row in zip(out, self.rows, strict=True)]
            found[np.flatnonzero(out)] = self.chances(name, self.head(name, learnt), out)
        return found


def stored(name: str, head: Head) -> dict[str, Any]:
    """A head in few bytes: slopes as whole numbers of a scale per kind."""
    scale = np.abs(head.slopes).max(axis=0) / 127
    return {
        f"{name}_slopes": np.round(head.slopes / scale).astype(np.int8), f"{name}_scale": scale.astype(np.float32),
        f"{name}_constants": head.constants, f"{name}_limit": np.float32(head.limit),
    }  # fmt: skip


def _report(name: str, fitted: Fit, chances: Numbers, limit: float, out: Console) -> None:
    for source in ("own", "company", "opened"):
        for asks in (True, False):
            own = [row.source == source and (row.kind == "question") == asks for row in fitted.rows]
            seen = chances[own & ~np.isnan(chances)]
            if len(seen):
                kind = "questions" if asks else "small talk"
                out.print(
                    f"{name:20} {source:8} {kind:10} {len(seen):6} above {limit:.3f}: {(seen > limit).mean():.4f}"
                )


async def run(given: argparse.Namespace, out: Console) -> None:
    """Fit, check, write."""
    said = list(utterances())
    asked = [row for company in (*given.train, given.held_out) for row in questions(given.companies / company)]
    rows = [*said, *asked]
    for part in range(_PARTS):
        talk = [row for row in said if row.group == f"part {part}" and row.kind != "question"]
        own = [row for row in asked if row.group in [*given.train, given.held_out][part::_PARTS]]
        rows += opened(own, talk, np.random.default_rng([SEED, part]))
    written = [text for text, _ in told()]
    embedder = VectorsOnDisk(await asyncio.to_thread(OnnxEmbedder.open, given.models), given.cache)
    try:
        vectors = await embedder.embed_queries([*(row.text for row in rows), *written])
    finally:
        embedder.keep()
        await embedder.aclose()
    fitted, arrays = Fit(rows, vectors[: len(rows)]), dict[str, Any](model=embedder.model)
    middles = means_of(written, vectors[len(rows) :])
    arrays |= {language: middle.astype(np.float16) for language, middle in middles.items()}
    for name in fitted.features:
        chances = fitted.left_out(name, given.train, given.held_out)
        is_asked = np.array([row.source == "company" and row.group in given.train for row in rows])
        limit = float(np.quantile(chances[is_asked], 1 - FALSE_TALK))
        _report(f"{name}, left out", fitted, chances, limit, out)
        head = fitted.head(name, [row.group != given.held_out for row in rows], limit)
        last = np.full(len(rows), np.nan)
        held = [row.group == given.held_out for row in rows]
        last[held] = fitted.chances(name, head, held)
        _report(f"{name}, {given.held_out}", fitted, last, limit, out)
        arrays |= stored(name, head)
    arrays |= {"rarity": fitted.rarity.astype(np.float16), "middle": fitted.middle.astype(np.float16)}
    np.savez_compressed(given.out, **arrays)
    out.print(json.dumps({name: list(np.shape(array)) for name, array in arrays.items()}))


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=["bank", "factory", "school", "shops"])
    parser.add_argument("--held-out", default="studio", help="a company that only checks")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/small_talk.npz"))
    asyncio.run(run(parser.parse_args(), Console(width=140)))


if __name__ == "__main__":
    main()
