"""Fitted models of the exemplars, kept beside their vectors: fitting takes seconds, reading a file milliseconds.

A file is named by everything the model follows from, the modules that count what is in a text included, so that a
changed exemplar, weight or module makes a new one. A broken file is made anew.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from app.embedding import Vectors
from app.reasoning.local.views import Look, Middles, Numbers, Utterances, Views, Weights

_MADE_OF = (".py", ".txt", ".jsonl")
"""Files of this room: any of them may say what is counted in a text."""
WEIGHTS = Weights(meaning=1.0, spelling=2.0, manner=0.11)
STIFFNESS = 1.0
"""How little a single exemplar may bend the verdict."""


class KindModel:
    """One regression a kind, over the same views."""

    def __init__(self, views: Views, slopes: Numbers):
        """Use `fit`."""
        self.views, self.slopes = views, slopes

    @classmethod
    def fit(
        cls,
        known: Utterances,
        targets: Numbers,
        groups: Sequence[str],
        *,
        weights: Weights = WEIGHTS,
        stiffness: float = STIFFNESS,
        look: Look | None = None,
    ) -> "KindModel":
        """Fit on exemplars; about 0.3 s of CPU for 1,300 of them.

        Args:
            known: The exemplars.
            targets: Shape (exemplars, kinds), 1 where an exemplar is of the kind and -1 where not.
            groups: Exemplars of one group share the weight of a group, however many they are.
            weights: What the likenesses weigh; `bench.intent --cross-validate` shows what others would do.
            stiffness: The ridge.
            look: Of the exemplars, where it was taken before.
        """
        views, learnt = Views.learn(known, weights, look=look)
        rows = learnt.astype(np.float64)
        sizes = {group: groups.count(group) for group in set(groups)}
        slack = np.array([sizes[group] * len(sizes) / len(groups) for group in groups])
        shares = np.linalg.solve(rows @ rows.T + stiffness * np.diag(slack), targets)
        return cls(views, (rows.T @ shares).astype(np.float32))

    def scores(self, text: str, vector: Vectors | None) -> Numbers:
        """About -1 to 1 for each kind; above 0 the utterance is rather of the kind than not."""
        own = vector[None, :] if vector is not None else None
        scores: Numbers = (self.views.of(Utterances((text,), own)) @ self.slopes)[0]
        return scores


def read_or_fit(folder: Path | None, embedder_model: str, fit: Callable[[], KindModel]) -> KindModel:
    """The model kept in `folder` for an embedding model (empty = one without vectors), or a new one, kept from now on.
    Blocks."""
    if folder is None:
        return fit()
    path = folder / f"{_digest(embedder_model)}.npz"
    found = _read(path)
    if found is None:
        found = fit()
        with suppress(OSError):  # where nothing can be written, the next process fits it again
            _write(path, found)
    return found


def _digest(embedder_model: str) -> str:
    digest = hashlib.sha256(f"{embedder_model}\n{WEIGHTS}\n{STIFFNESS}".encode())
    for path in sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in _MADE_OF):
        digest.update(path.read_bytes())
    return f"kinds-{digest.hexdigest()[:24]}"


def _read(path: Path) -> KindModel | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            middles = Middles.from_means(kept["vi"], kept["en"]) if "vi" in kept else None
            return KindModel(Views(WEIGHTS, kept["rarity"], middles), kept["slopes"])
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
        return None


def _write(path: Path, model: KindModel) -> None:
    """Write beside and rename, so that nobody ever reads half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    views = model.views
    arrays: dict[str, Any] = {"slopes": model.slopes, "rarity": views.rarity}
    if views.middles is not None:
        arrays |= {"vi": views.middles.mean("vi"), "en": views.middles.mean("en")}
    np.savez(draft, **arrays)
    draft.replace(path)
