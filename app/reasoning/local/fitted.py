"""Fitted models of the exemplars, kept beside their vectors: fitting takes seconds, reading a file milliseconds.

A file is named by everything the model follows from, the modules that count what is in a text included, so that a
changed exemplar, weight or module makes a new one. A broken file is made anew.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from app.reasoning.local.kinds import STIFFNESS, WEIGHTS, KindModel
from app.reasoning.local.views import Middles, Views

_MADE_OF = (".py", ".txt", ".jsonl")
"""Files of this room: any of them may say what is counted in a text."""


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
