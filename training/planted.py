"""Fits `app/ingestion/planted.npz`, the weights that find planted sentences, and says how well they do on unseen ones.

    python -m training.planted                  # fit, write, report; some minutes on one core
    python -m training.planted --measure FILE   # totals over a set of rows; prints no row

It learns from the rows of bench/planted/train.jsonl, sentences put together from `planted.toml`, and every sentence of
the documents of four invented organisations, the demo and the XQuAD articles with an even number, taken as ordinary.
Seeded; numpy only.
"""

import argparse
import asyncio
import json
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.embedding.onnx import OnnxEmbedder
from app.ingestion.planted import BUCKETS, WEIGHTS, Judge, Model, Sentence, features, load, split
from app.text.language import fold

HOUSE = Path(__file__).parents[1]
TRAINING = (
    "bench/companies/bank",
    "bench/companies/factory",
    "bench/companies/school",
    "bench/companies/shops",
    "seed_data",
)
MEASURING = (
    "bench/companies/studio",
    "bench/companies/hospital",
    "bench/companies/logistics",
    "bench/companies/office",
)
XQUAD = HOUSE.parent / "shared/eval/xquad/corpus.jsonl"
"""Passages of an encyclopedia in both languages; the articles with an odd number only check."""
SEED, FOLDS, EPOCHS, SPREAD = 18, 5, 8, 8.0
CACHE = Path("/tmp/conclave-training")
_PER_PATTERN = 10
_WEIGHT = {"planted": 4.0, "ordinary": 2.0, "company": 1.0, "generated": 0.4}
FALSE_ALARMS, NEAR_FALSE_ALARMS, PASSED = 0.003, 0.015, 0.995
"""Of ordinary sentences left out: above the limit, above that beside a planted one; of planted ones: given a vector."""
_NUMBERS = (2, 3, 5, 7, 10, 12, 15, 20, 30, 60, 100, 365)
Floats = npt.NDArray[np.float64]


class Example(NamedTuple):
    """A sentence that trains."""

    text: str
    planted: bool
    weight: float


def rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a set."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sentences_of(text: str) -> list[str]:
    """Split a text as it is split when it arrives."""
    return [text[one.start : one.end] for one in split(text)]


def documents(folders: Sequence[str]) -> list[str]:
    """The texts of all documents in some folders."""
    found = [path for folder in folders for path in sorted((HOUSE / folder).rglob("*.md"))]
    texts = [path.read_text("utf-8") for path in found if path.name not in ("pairs.md", "README.md")]
    return [text.split("\n---\n", 1)[-1] for text in texts]


def articles(remainder: int) -> list[str]:
    """The passages of the XQuAD articles with an even (0) or odd (1) number."""
    return [row["text"] for row in rows(XQUAD) if row["article"] % 2 == remainder]


def generated() -> list[Example]:
    """Sentences put together from the patterns, one in eight mistyped, one in seven without diacritics."""
    grammar = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    chance, found = random.Random(SEED), {}
    for language in grammar.values():
        for kind in ("planted", "ordinary"):
            for pattern in (one for one in language[kind] for _ in range(_PER_PATTERN)):
                text = _filled(pattern, language["words"], chance)
                text = text[0].upper() + text[1:]
                text = fold(text) if chance.random() < 1 / 7 else text
                found[_mistyped(text, chance) if chance.random() < 1 / 8 and len(text) > 20 else text] = (
                    kind == "planted"
                )
    return [Example(text, planted, _WEIGHT["generated"]) for text, planted in found.items()]


def _filled(pattern: str, words: Mapping[str, list[str]], chance: random.Random) -> str:
    def word(place: re.Match[str]) -> str:
        return (
            str(chance.choice(_NUMBERS)) if place[1] == "n" else _filled(chance.choice(words[place[1]]), words, chance)
        )

    return re.sub(r"(?<!\{)\{(\w+)\}(?!\})", word, pattern).replace("{{", "{").replace("}}", "}")


def _mistyped(text: str, chance: random.Random) -> str:
    for _ in range(3):
        at = chance.randrange(1, len(text) - 2)
        text = text[:at] + chance.choice((text[at + 1] + text[at] + text[at + 2 :], text[at + 1 :]))
    return text


def examples_of(row: Mapping[str, Any]) -> list[Example]:
    """What a row trains: of a planted table row its longest cell, of an ordinary row every sentence."""
    if row["planted"]:
        text = max(row["text"].split("|"), key=len) if row["text"].startswith("|") else row["text"]
        return [Example(text, True, _WEIGHT["planted"])]
    return [Example(text, False, _WEIGHT["ordinary"]) for text in sentences_of(row["text"])]


def texts_of(row: Mapping[str, Any]) -> tuple[list[Sentence], list[str], int]:
    """A row as it stands in its document, behind the sentence before it: places, sentences, how many come before."""
    whole = f"{row['before']}\n{row['text']}" if row["before"] else row["text"]
    sentences = list(split(whole))
    first = sum(one.end <= len(row["before"]) for one in sentences)
    return sentences, [whole[one.start : one.end] for one in sentences], first


class Known:
    """Features and vectors of texts, each made once."""

    def __init__(self, texts: Iterable[str]):
        """Embed every distinct text."""
        distinct = list(dict.fromkeys(texts))
        CACHE.mkdir(exist_ok=True)
        embedder = OnnxEmbedder.open(CACHE)
        made = np.asarray(asyncio.run(embedder.embed_passages(distinct)), np.float64)
        self.embedding = embedder.model
        self.vectors = dict(zip(distinct, made, strict=True))
        self.features = {text: features(text) for text in distinct}

    def score(self, judge: Judge, text: str) -> float:
        """Score a text; its vector counts where the judge reads vectors."""
        return judge.score(self.features[text], self.vectors[text] if len(judge.vector) else None)

    def fit(self, examples: Sequence[Example], *, with_vectors: bool) -> Judge:
        """Fit by stochastic steps of a size that shrinks weight by weight (Adagrad); the mean of the later epochs."""
        chance = np.random.default_rng(SEED)
        vectors = np.array([self.vectors[one.text] for one in examples])
        middle = vectors.mean(axis=0)
        vectors = (vectors - middle) * SPREAD * with_vectors
        grams, inside = _Steps(BUCKETS + 1, 0.5), _Steps(vectors.shape[1], 0.2)
        inputs = [np.append(self.features[one.text], BUCKETS) for one in examples]
        for epoch in range(EPOCHS):
            for at in chance.permutation(len(examples)):
                found, scale = inputs[at], 1 / np.sqrt(len(inputs[at]))
                reached = grams.weights[found].sum() * scale + vectors[at] @ inside.weights
                error = (1 / (1 + np.exp(-np.clip(reached, -30, 30))) - examples[at].planted) * examples[at].weight
                if abs(error) > 1e-4:
                    grams.step(found, error * scale)
                    inside.step(slice(None), error * vectors[at])
            if epoch >= EPOCHS // 2:
                grams.keep()
                inside.keep()
        vector = inside.mean * SPREAD if with_vectors else np.zeros(0)
        return Judge(grams.mean, vector, -float(middle @ vector) if with_vectors else 0.0, 0.0, 0.0)


class _Steps:
    """Weights on their way."""

    def __init__(self, count: int, rate: float):
        self.weights, self.squares, self.mean, self.rate = np.zeros(count), np.full(count, 0.01), np.zeros(count), rate

    def step(self, at: Any, slope: Any) -> None:
        slope = slope + 5e-4 * self.weights[at]
        self.squares[at] += slope * slope
        self.weights[at] -= self.rate * slope / np.sqrt(self.squares[at])

    def keep(self) -> None:
        self.mean += self.weights / (EPOCHS - EPOCHS // 2)


def marks_of(model: Model, known: Known, row: Mapping[str, Any], *, by_words: bool = False) -> bool:
    """Whether a sentence of a row is marked, as it would be in its document."""
    sentences, texts, first = texts_of(row)
    judge = model.words if by_words else model.both
    scores = [known.score(judge, text) for text in texts]
    if not by_words:
        scores = [
            s if known.score(model.words, text) >= model.gate else -np.inf
            for s, text in zip(scores, texts, strict=True)
        ]
    return any(judge.marks(sentences, scores)[first:])


def fitted(known: Known, examples: Sequence[Example]) -> tuple[Judge, Judge]:
    """(the judge of words, the judge of words and vectors), without limits."""
    return known.fit(examples, with_vectors=False), known.fit(examples, with_vectors=True)


class Left(NamedTuple):
    """What was scored by judges that had not seen it."""

    ordinary: tuple[list[float], list[float]]
    planted: tuple[list[float], list[float]]


def cross_validated(
    known: Known, own: Sequence[dict[str, Any]], company: Sequence[str]
) -> tuple[list[tuple[Judge, Judge]], list[int], Model]:
    """(the judges of each fold, the fold of each row, a model with the limits found on what was left out)."""
    chance, extra = np.random.default_rng(SEED), generated()
    row_fold = [int(number) for number in chance.integers(0, FOLDS, len(own))]
    company_fold = chance.integers(0, FOLDS, len(company))
    judges, left = [], Left(([], []), ([], []))
    for number in range(FOLDS):
        held = {
            text
            for row, where in zip(own, row_fold, strict=True)
            if where == number
            for text in (row["text"], *texts_of(row)[1])
        }
        apart = [text for text, where in zip(company, company_fold, strict=True) if where == number]
        train_rows = [row for row, where in zip(own, row_fold, strict=True) if where != number]
        pair = fitted(known, examples(train_rows, [text for text in company if text not in held | set(apart)], extra))
        judges.append(pair)
        for row in (row for row, where in zip(own, row_fold, strict=True) if where == number):
            _, texts, first = texts_of(row)
            for kind, judge in enumerate(pair):
                (left.planted if row["planted"] else left.ordinary)[kind].append(
                    max(known.score(judge, t) for t in texts[first:])
                )
        for kind, judge in enumerate(pair):
            left.ordinary[kind].extend(known.score(judge, text) for text in apart)
    limits = [
        [float(np.quantile(pool, 1 - share)) for share in (FALSE_ALARMS, NEAR_FALSE_ALARMS)] for pool in left.ordinary
    ]
    gate = float(np.quantile(left.planted[0], 1 - PASSED))
    none = np.zeros(0)
    words, both = (Judge(none, none, 0.0, *pair) for pair in limits)
    print(f"gate {gate:.3f}: {np.mean(np.array(left.ordinary[0]) >= gate):.3f} of the ordinary sentences need a vector")
    return judges, row_fold, Model(known.embedding, gate, words, both)


def examples(own: Sequence[Mapping[str, Any]], company: Sequence[str], extra: Sequence[Example]) -> list[Example]:
    """All that trains."""
    told = [one for row in own for one in examples_of(row)]
    return [*told, *(Example(text, False, _WEIGHT["company"]) for text in company), *extra]


def with_judges(limits: Model, pair: tuple[Judge, Judge]) -> Model:
    """Judges with the limits of a model."""
    words, both = (
        one._replace(limit=told.limit, near=told.near)
        for one, told in zip(pair, (limits.words, limits.both), strict=True)
    )
    return limits._replace(words=words, both=both)


def write(model: Model) -> None:
    """Write the model, weights of words in a byte each."""
    stored: dict[str, Any] = {"embedding": model.embedding, "gate": model.gate}
    for name, judge in (("words", model.words), ("both", model.both)):
        scale = float(np.abs(judge.grams).max() / 127)
        stored[f"{name}_grams"], stored[f"{name}_scale"] = (
            np.rint(judge.grams / scale).astype(np.int8),
            np.float32(scale),
        )
        stored[f"{name}_vector"] = judge.vector.astype(np.float32)
        stored[f"{name}_limits"] = np.array([judge.constant, judge.limit, judge.near])
    np.savez_compressed(WEIGHTS, **stored)
    load.cache_clear()


def train() -> None:
    """Choose the limits on what was left out, fit on all, write the weights and report."""
    own = rows(HOUSE / "bench/planted/train.jsonl")
    texts = [*documents(TRAINING), *articles(0)]
    company = list(dict.fromkeys(text for document in texts for text in sentences_of(document)))
    measured = {folder: [sentences_of(text) for text in documents([folder])] for folder in MEASURING}
    measured["odd XQuAD articles"] = [sentences_of(text) for text in articles(1)]
    of_rows = [
        text for row in own for text in (row["text"], *texts_of(row)[1], *(one.text for one in examples_of(row)))
    ]
    elsewhere = [text for texts in measured.values() for sentences in texts for text in sentences]
    known = Known([*of_rows, *company, *elsewhere, *(one.text for one in generated())])
    judges, row_fold, limits = cross_validated(known, own, company)
    by_fold = [with_judges(limits, pair) for pair in judges]
    report("left out", own, [marks_of(by_fold[where], known, row) for row, where in zip(own, row_fold, strict=True)])
    words = [marks_of(by_fold[where], known, row, by_words=True) for row, where in zip(own, row_fold, strict=True)]
    report("left out, words only", own, words)
    write(with_judges(limits, fitted(known, examples(own, company, generated()))))
    model = load()
    print(f"{len(own)} rows, {len(company)} company sentences, {WEIGHTS.stat().st_size} bytes")
    for folder, found in measured.items():
        told = [marks_of(model, known, {"before": "", "text": text}) for sentences in found for text in sentences]
        print(f"{folder}, never trained: {sum(told)} of {len(told)} = {np.mean(told):.4f}")


def report(name: str, own: Sequence[Mapping[str, Any]], told: Sequence[bool], *, by_class: bool = True) -> None:
    """Print the totals of a set: by language, and by class."""
    total, marked = Counter[str](), Counter[str]()
    for row, is_marked in zip(own, told, strict=True):
        kind = "planted" if row["planted"] else "ordinary"
        of_class = [f"{kind} {row['class'].partition('/')[0]}"] if by_class else []
        for key in (kind, f"{kind} {row['language']}", *of_class):
            total[key] += 1
            marked[key] += is_marked
    for key in sorted(total):
        print(f"{name}: {key}: {marked[key]} of {total[key]} = {marked[key] / total[key]:.4f}")


def measure(path: Path) -> None:
    """Print the totals over a set that trained nothing."""
    own, model = rows(path), load()
    known = Known(text for row in own for text in texts_of(row)[1])
    report(path.name, own, [marks_of(model, known, row) for row in own], by_class=False)
    words = [marks_of(model, known, row, by_words=True) for row in own]
    report(f"{path.name}, words only", own, words, by_class=False)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--measure", type=Path, help="a file of rows; prints totals only")
    file = asked.parse_args().measure
    train() if file is None else measure(file)
