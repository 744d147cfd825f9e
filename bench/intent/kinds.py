"""Small talk against tasks, what becomes of requests nobody can meet, and the cross-validation of the weights."""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from app.embedding import Embedder, Vectors
from app.embedding.cached import StoredVectors
from app.reasoning import AgentOffer
from app.reasoning.local import LocalReasoner
from app.reasoning.local.exemplars import STIFFNESS, WEIGHTS, Exemplar, KindModel, exemplars, fitted
from app.reasoning.local.views import Weights
from app.text.language import is_unaccented_vietnamese
from bench.intent.report import LANGUAGES, Section, against, share
from bench.intent.rows import Utterance

AIM = 0.95
FOLDS = 5
_GRID = tuple(product((0.0, 0.5, 1.0), (1.0, 2.0), (0.0, 0.11), (0.3, 1.0)))


class Taken(NamedTuple):
    """An utterance and what it was taken for."""

    said: Utterance
    kind: str

    @property
    def right(self) -> bool:
        """Whether small talk, and nothing else, was answered as small talk."""
        return (self.kind == "chitchat") == (self.said.label == "chitchat")


async def take(
    reasoner: LocalReasoner, offers: Sequence[AgentOffer], said: Sequence[Utterance], out: Console
) -> list[Taken]:
    """Classify every utterance without history."""
    shown = track(said, "classifying", console=out, transient=True)
    return [Taken(one, (await reasoner.classify(one.text, [], offers)).kind) for one in shown]


def table(taken: Sequence[Taken]) -> Section:
    """Balanced accuracy by language and source."""
    groups: dict[tuple[str, str], list[Taken]] = defaultdict(list)
    for one in taken:
        groups[one.said.language, one.said.source].append(one)
    rows = [
        (language, source, *_figures(groups[language, source]))
        for language in LANGUAGES
        for source in sorted({source for _, source in groups})
        if groups.get((language, source))
    ]
    return Section(
        "Small talk and tasks",
        ("language", "rows", "balanced accuracy", "small talk", "tasks", "requests not taken for small talk"),
        rows,
        "A request that no document meets (play some music) is right when it is searched for and ends in `not_found`; "
        "the others are told politely that this is beyond the assistant.",
    )


def _figures(taken: Sequence[Taken]) -> tuple[str, ...]:
    by_label = {label: [one.right for one in taken if one.said.label == label] for label in ("chitchat", "task", "oos")}
    both = [by_label["chitchat"], by_label["task"]]
    balanced = sum(sum(right) / len(right) for right in both) / 2 if all(both) else 0.0
    return against(balanced, AIM), *(share(right) for right in by_label.values())


async def cross_validate(embedder: Embedder, kept: StoredVectors, said: Sequence[Utterance], out: Console) -> Section:
    """Other weights: chosen by folds of the exemplars and one half of the rows, judged on the other half."""
    vectors = await kept.of([exemplar.text for exemplar in exemplars()])
    asked = [one for one in said if one.label != "oos"]
    embedded = await embedder.embed_queries([one.text for one in asked])
    halves = np.array([zlib.crc32(one.text.encode()) % 2 for one in asked])
    right_is_talk = np.array([one.label == "chitchat" for one in asked])
    rows = []
    for values in track(_GRID, "cross-validating", console=out, transient=True):
        weights, stiffness = Weights(*values[:3]), values[3]
        folded = _by_folds(vectors, weights, stiffness)
        full = fitted(exemplars(), vectors, weights=weights, stiffness=stiffness)
        spelt = fitted(exemplars(), None, weights=weights, stiffness=stiffness)
        talk = np.array([_is_talk(one.text, row, full, spelt) for one, row in zip(asked, embedded, strict=True)])
        chosen, judged = (_balanced(talk[halves == half], right_is_talk[halves == half]) for half in (0, 1))
        rows.append((weights, stiffness, folded, chosen, judged))
    rows.sort(key=lambda row: -(row[2] + row[3]))
    return Section(
        "Weights of the likenesses, by the regression alone",
        ("meaning", "spelling", "manner", "stiffness", f"{FOLDS} folds of the exemplars", "half A", "half B", ""),
        [_shown(*row) for row in rows],
        "Sorted by the folds and half A; half B judges. Set phrases and other rules are left out here.",
    )


def _shown(weights: Weights, stiffness: float, *figures: float) -> tuple[str, ...]:
    used = "in use" if (weights, stiffness) == (WEIGHTS, STIFFNESS) else ""
    settings = (weights.meaning, weights.spelling, weights.manner, stiffness)
    return (*map(str, settings), *(f"{figure:.3f}" for figure in figures), used)


def _by_folds(vectors: Vectors, weights: Weights, stiffness: float) -> float:
    known = exemplars()
    fold = np.array([zlib.crc32(exemplar.text.encode()) % FOLDS for exemplar in known])
    talk = np.zeros(len(known), dtype=bool)
    for held in range(FOLDS):
        learnt, rest = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        of = _chosen(known, learnt)
        full = fitted(of, vectors[learnt], weights=weights, stiffness=stiffness)
        spelt = fitted(of, None, weights=weights, stiffness=stiffness)
        talk[rest] = [_is_talk(known[at].text, vectors[at], full, spelt) for at in rest]
    return _balanced(talk, np.array([exemplar.talk is not None for exemplar in known]))


def _chosen(known: Sequence[Exemplar], places: Iterable[int]) -> list[Exemplar]:
    return [known[at] for at in places]


def _is_talk(text: str, vector: Vectors, full: KindModel, spelt: KindModel) -> bool:
    scores = spelt.scores(text, None) if is_unaccented_vietnamese(text) else full.scores(text, vector)
    return bool(scores[0] > 0)


def _balanced(said: np.typing.NDArray[np.bool_], due: np.typing.NDArray[np.bool_]) -> float:
    return float((said[due].mean() + (~said[~due]).mean()) / 2)
