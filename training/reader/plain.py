"""`python -m training.reader.plain`: fits the weights of `app.reasoning.local.plain_reader`.

Data: the articles of XQuAD with an even number (both languages, across them, without diacritics) and the bundled
questions; the articles with an odd number only check. Everything goes through the real ingestion and retriever, so
passages, ranks and near misses are those of the service. A question is seen as it is written; with half of its
words left out of everything but its vector, as if it were asked in other words; and of another name, which nothing
answers.

Seeded; the same data give the same weights. Needs numpy only.
"""

import argparse
import asyncio
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local.features import (
    MEANING_FEATURES,
    WORD_FEATURES,
    Asked,
    Candidate,
    Numbers,
    candidates_of,
    meaning_features,
    word_features,
)
from app.reasoning.local.plain_reader import COMPARED, CONFIDENCE_FEATURES, Measured, chance, confidence_features
from app.text.language import content_words, normalise, words
from bench.cases import COMPANY, Case, VectorsOnDisk, collect

SEED = 20_261_122
TODAY = date(2026, 11, 22)
"""The day the questions were written for."""
VERSION = "1"
_LEFT_OUT = 0.5
_NAME = re.compile(r"(?<=\w )[A-ZĐ][^\W\d_]+(?: [A-ZĐ][^\W\d_]+)*")
_PART_CHARS = 12
_RIDGE = 1.0
_NUMBER_RIDGE = 3.0
_MASS = {
    "vi same": 1.0, "en same": 1.0, "vi unaccented": 0.6, "vi cross": 0.5, "en cross": 0.5, "seed": 0.3,
    COMPANY: 1.0, "seed vi cross": 0.1, "seed en cross": 0.1, "seed vi unaccented": 0.1,
}  # fmt: skip
"""What each set of questions weighs, by the longest name that begins its kind."""


class Example(NamedTuple):
    """A case as the fit sees it."""

    case: Case
    asked: Asked
    candidates: list[Candidate]
    vector: Numbers
    gold: Numbers
    """1 for pieces that answer."""
    reworded: bool
    cosines: Numbers
    """Of all pieces; only those of the pieces compared are used."""


def weight_of(kind: str) -> float:
    """The mass of a kind of questions."""
    return next(mass for name, mass in sorted(_MASS.items(), key=lambda pair: -len(pair[0])) if kind.startswith(name))


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


def reworded(text: str, chance_of: np.random.Generator) -> str:
    """The text without half of its content words."""
    dropped = {word for word in dict.fromkeys(content_words(text)) if chance_of.random() < _LEFT_OUT}
    return " ".join(word for word in normalise(text).split() if word.lower().strip(".,?!") not in dropped)


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
    """Every case as it is, and reworded."""
    found: list[Example] = []
    cases = list(cases)
    cases += [other for case in cases if (other := renamed(case, cases)) is not None]
    for case in track(list(cases), "reading", console=out, transient=True):
        candidates = candidates_of(case.passages)
        if not candidates:
            continue
        vector = (await embedder.embed_queries([case.text]))[0].astype(np.float64)
        folded = Asked.of(case.text, case.language, candidates).folded
        rows = np.zeros((len(candidates), len(vector)))
        if not folded:
            rows = (await embedder.embed_passages([one.text for one in candidates])).astype(np.float64)
        gold, cosines = gold_of(case, candidates), rows @ vector
        chance_of = np.random.default_rng([SEED, zlib.crc32(case.text.encode())])
        for text, is_reworded in ((case.text, False), (reworded(case.text, chance_of), True)):
            if not is_reworded or (not folded and not case.kind.endswith("cross")):
                asked = Asked.of(text, case.language, candidates)
                if asked.folded == folded:
                    found.append(Example(case, asked, candidates, vector, gold, is_reworded, cosines))
    return found


def fit(rows: Numbers, labels: Numbers, weights: Numbers, ridge: float = _RIDGE) -> Numbers:
    """Weighted logistic regression by Newton's method, features scaled; the constant first."""
    middle = np.average(rows, axis=0, weights=weights)
    spread = np.sqrt(np.average((rows - middle) ** 2, axis=0, weights=weights)) + 1e-9
    inputs = np.column_stack([np.ones(len(rows)), (rows - middle) / spread])
    penalty = np.diag([1e-9, *[ridge] * rows.shape[1]])
    slope = np.zeros(inputs.shape[1])
    for _ in range(40):
        odds = 1 / (1 + np.exp(-np.clip(inputs @ slope, -30, 30)))
        gradient = inputs.T @ (weights * (odds - labels)) + penalty @ slope
        bend = (inputs.T * (weights * odds * (1 - odds))) @ inputs + penalty
        slope -= np.linalg.solve(bend, gradient)
    scaled = slope[1:] / spread
    return np.array([slope[0] - scaled @ middle, *scaled])


def fit_order(rows: Sequence[Numbers], golds: Sequence[Numbers], mass: Numbers) -> Numbers:
    """Weights under which the pieces that answer take most of each question's softmax; damped Newton."""
    longest, width = max(map(len, rows)), rows[0].shape[1]
    spread = np.concatenate(rows).std(axis=0) + 1e-6
    inputs = np.zeros((len(rows), longest, width))
    there, right = np.zeros((len(rows), longest), bool), np.zeros((len(rows), longest), bool)
    for at, (row, gold) in enumerate(zip(rows, golds, strict=True)):
        inputs[at, : len(row)], there[at, : len(row)], right[at, : len(row)] = row / spread, True, gold > 0
    heavy = mass / mass.mean()

    def state(slope: Numbers) -> tuple[float, Numbers, Numbers]:
        score = np.where(there, inputs @ slope, -1e9)
        powers = np.exp(score - score.max(axis=1, keepdims=True))
        whole, part = powers.sum(axis=1), np.where(right, powers, 0.0).sum(axis=1) + 1e-300
        share = powers / whole[:, None]
        pull = share - np.where(right, powers, 0.0) / part[:, None]
        loss = float((heavy * (np.log(whole) - np.log(part))).sum() + _RIDGE / 2 * slope @ slope)
        return loss, np.einsum("k,kl,kld->d", heavy, pull, inputs) + _RIDGE * slope, share

    slope = np.zeros(width)
    loss, gradient, share = state(slope)
    for _ in range(30):
        mean = np.einsum("kl,kld->kd", share, inputs)
        bend = np.einsum("kl,kld,kle->de", share * heavy[:, None], inputs, inputs, optimize=True)
        step = np.linalg.solve(bend - (mean * heavy[:, None]).T @ mean + np.eye(width) * _RIDGE, gradient)
        size = next((1 / 2**n for n in range(12) if state(slope - step / 2**n)[0] < loss), 0.0)
        before = loss
        slope = slope - size * step
        loss, gradient, share = state(slope)
        if before - loss < 1e-4 * abs(before):
            break
    return np.asarray(slope / spread)


def calibrated(
    slope: Numbers, rows: Sequence[Numbers], golds: Sequence[Numbers], mass: Numbers
) -> tuple[Numbers, float]:
    """The order's weights as a logistic function of the chance that a piece answers, the constant first; and by how
    much the order is sharper than that."""
    scores, labels = np.concatenate([row @ slope for row in rows]), np.concatenate(golds)
    constant, scale = fit(scores[:, None], labels, np.repeat(mass, [len(row) for row in rows]))
    return np.array([constant, *(scale * slope)]), 1 / float(scale)


def masses(examples: Sequence[Example]) -> Numbers:
    """What each example weighs: sets by `_MASS`, in them answerable and other questions alike."""
    sizes: dict[tuple[str, bool, bool], int] = defaultdict(int)
    keys = [(one.case.kind, bool(one.gold.any()), one.reworded) for one in examples]
    for key in keys:
        sizes[key] += 1
    total = {key: weight_of(key[0]) * 400 for key in sizes}
    return np.array([total[key] / sizes[key] for key in keys])


def with_number(examples: Sequence[Example]) -> Numbers:
    """Weights on a question's vector: whether a figure stands in what answers it."""
    asked = {one.case.text: one for one in examples if one.case.answerable and not one.reworded and one.case.gold}
    rows = np.stack([one.vector for one in asked.values()])
    labels = np.array([
        float(any(any(map(str.isdigit, phrase)) for phrases in one.case.gold for phrase in phrases))
        for one in asked.values()
    ])  # fmt: skip
    return fit(rows, labels, np.ones(len(rows)), _NUMBER_RIDGE * 10)


class Fitted(NamedTuple):
    """All weights, and the word features of examples in their order."""

    number: Numbers
    words: Numbers
    meaning: Numbers
    sharpness: dict[str, float]


def word_rows(examples: Sequence[Example], number: Numbers) -> list[Numbers]:
    """Word features of every piece of every example."""
    wants = chance(number, np.stack([one.vector for one in examples]))
    return [
        word_features(one.asked, one.candidates, float(want), "", TODAY)
        for one, want in zip(examples, wants, strict=True)
    ]


def compared(example: Example, words: Numbers, weights: Numbers) -> tuple[npt.NDArray[np.intp], Numbers]:
    """Places of the pieces that are compared, and their features with the vectors'."""
    chosen = np.argsort(-chance(weights, words), kind="stable")[:COMPARED]
    meaning = meaning_features(example.cosines[chosen], words[chosen, WORD_FEATURES.index("foreign")])
    return chosen, np.column_stack([words[chosen], meaning])


def fit_pieces(examples: Sequence[Example], rows: Sequence[Numbers], number: Numbers) -> Fitted:
    """Both scorers of pieces."""
    mass, golds = masses(examples), [one.gold for one in examples]
    words, of_words = _fitted(rows, golds, mass)
    near = [
        (*compared(one, row, words), heavy)
        for one, row, heavy in zip(examples, rows, mass, strict=True)
        if not one.asked.folded
    ]
    kept = [one.gold for one in examples if not one.asked.folded]
    golds_near = [gold[chosen] for gold, (chosen, _, _) in zip(kept, near, strict=True)]
    meaning, of_meaning = _fitted([row for _, row, _ in near], golds_near, np.array([heavy for _, _, heavy in near]))
    return Fitted(number, words, meaning, {"words": of_words, "meaning": of_meaning})


def _fitted(rows: Sequence[Numbers], golds: Sequence[Numbers], mass: Numbers) -> tuple[Numbers, float]:
    known = [at for at, gold in enumerate(golds) if gold.any()]
    slope = fit_order([rows[at] for at in known], [golds[at] for at in known], mass[known])
    return calibrated(slope, rows, golds, mass)


def measured(example: Example, rows: Numbers, fitted: Fitted) -> tuple[Measured, float]:
    """What the reader would make of an example, and whether its first piece answers."""
    answers = chance(fitted.words, rows)
    if not example.asked.folded:
        chosen, features = compared(example, rows, fitted.words)
        near = chance(fitted.meaning, features)
        answers = np.minimum(answers, near.min())
        answers[chosen] = near
    order = np.argsort(-answers, kind="stable")
    cosine = 0.0 if example.asked.folded else float(features[near.argmax(), len(WORD_FEATURES)])
    ranked = [example.candidates[at] for at in order]
    told = Measured(example.asked, ranked, rows[order], not example.asked.folded, answers[order], cosine)
    return told, float(example.gold[order[0]])


def report(examples: Sequence[Example], judged: Sequence[tuple[float, float]], out: Console) -> None:
    """By kind: is the first piece right where the passages hold one, and does the confidence tell right from not."""
    groups: dict[str, list[tuple[Example, float, float]]] = defaultdict(list)
    for one, (sure, right) in zip(examples, judged, strict=True):
        groups[f"{one.case.kind}{' reworded' if one.reworded else ''}"].append((one, sure, right))
    for kind, members in sorted(groups.items()):
        known = [(sure, right) for one, sure, right in members if one.gold.any()]
        rights, wrongs = ([sure for _, sure, right in members if right == wanted] for wanted in (1.0, 0.0))
        order = float(np.mean([a > b for a in rights for b in wrongs])) if rights and wrongs else float("nan")
        share = float(np.mean([right for _, right in known])) if known else float("nan")
        out.print(
            f"{kind:32} {len(known):5} answerable: first piece right {share:.3f}; AUROC of confidence {order:.3f}"
        )


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
    held_out = f"company {given.held_out}"
    own = [
        one for one in examples
        if one.case.group != held_out and (not one.case.group.startswith("article ") or not int(one.case.group[8:]) % 2)
    ]  # fmt: skip
    number = with_number(own)
    rows = word_rows(own, number)
    fitted = fit_pieces(own, rows, number)
    told = [measured(one, row, fitted) for one, row in zip(own, rows, strict=True)]
    signals = np.stack([confidence_features(one) for one, _ in told])
    labels, mass = np.array([right for _, right in told]), masses(own)
    near = np.array([one.compared for one, _ in told])
    sure = {
        name: fit(signals[which], labels[which], mass[which])
        for name, which in (("confidence", near), ("confidence_words", ~near))
    }
    _check(examples, own, fitted, sure, out)
    named = {
        "words": _named(fitted.words, WORD_FEATURES),
        "meaning": _named(fitted.meaning, (*WORD_FEATURES, *MEANING_FEATURES)),
        **{name: _named(weights, CONFIDENCE_FEATURES) for name, weights in sure.items()},
    }
    stored = {
        "version": VERSION,
        "model": embedder.model,
        **named,
        "sharpness": fitted.sharpness,
        "number": [round(float(w), 3) for w in number],
    }
    given.out.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    out.print(named)


def _named(weights: Numbers, features: Sequence[str]) -> dict[str, float]:
    return dict(zip(("constant", *features), (round(float(weight), 3) for weight in weights), strict=True))


def _check(
    examples: Sequence[Example], own: Sequence[Example], fitted: Fitted, sure: dict[str, Numbers], out: Console
) -> None:
    trained = {id(one) for one in own}
    for title, members in (
        ("trained on", list(own)),
        ("not trained on (odd articles, the company left out)", [one for one in examples if id(one) not in trained]),
    ):
        out.print(f"[bold]{title}[/bold]")
        told = [measured(one, row, fitted) for one, row in zip(members, word_rows(members, fitted.number), strict=True)]
        judged = [
            (
                float(
                    chance(sure["confidence" if m.compared else "confidence_words"], confidence_features(m)[None])[0]
                ),
                r,
            )
            for m, r in told
        ]
        report(members, judged, out)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=["bank", "factory", "school", "shops", "studio"])
    parser.add_argument("--held-out", default="", help="a company that only checks")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/plain_reader.json"))
    asyncio.run(run(parser.parse_args(), Console(width=170)))


if __name__ == "__main__":
    main()
