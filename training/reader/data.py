"""Examples for the reader: cases of `bench.cases` with what is measured on their pieces and what the bundled model's
first layers make of them.

The training companies, the bundled questions and the articles of XQuAD with an even number train (both languages,
across them, without diacritics); the articles with an odd number and the company held out only check.
"""

import pickle
import re
import zlib
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track

from app.embedding import Tokens
from app.embedding.onnx import OnnxEmbedder
from app.reasoning.local.features import Asked, Candidate, Numbers, candidates_of, features_of
from app.reasoning.reader import Says
from app.text.diacritics import restored
from app.text.language import normalise, words
from bench.cases import COMPANY, Case

SEED = 20_261_122
TODAY = date(2026, 11, 22)
"""The day the questions were written for."""
TRAINING = [
    "airline", "bank", "builders", "charity", "coop", "factory", "hotels", "insurer", "lawfirm",
    "pharmacy", "port", "school", "shops", "studio", "telecom", "university",
]  # fmt: skip
"""The invented organisations that train; those that measure never do."""
READ = 28
"""Pieces of an example that are read by the model: those that share most with the question, and all that answer."""
_SHARED = (0, 1, 2, 3, 5)
"""Columns of `features_of` that order them."""
_NAME = re.compile(r"(?<=\w )[A-ZĐ][^\W\d_]+(?: [A-ZĐ][^\W\d_]+)*")
_PART_CHARS = 12
_MASS = {COMPANY: 1.0, "seed": 1.2}
_OTHERS = 0.4
"""What a question weighs, by the beginning of its kind; few bundled ones are of hundreds of others."""


class Example(NamedTuple):
    """A case as the fits see it."""

    case: Case
    folded: bool
    features: Numbers
    """Without vectors."""
    gold: Numbers
    """1 for pieces that answer."""
    question: Tokens
    pieces: dict[int, Tokens]
    """Of the most promising pieces, by their place."""
    says: Says | None = None
    """What the pieces that answer say, to a question for yes or no."""

    @property
    def order(self) -> list[int]:
        """The pieces that were read, those first that share most words with the question."""
        shared = self.features[:, _SHARED].sum(axis=1)
        return [int(at) for at in np.argsort(-shared, kind="stable") if int(at) in self.pieces]

    def cosine(self, at: int) -> float:
        """Of question and piece; nan where the piece was not read."""
        return float(self.pieces[at].vector @ self.question.vector) if at in self.pieces else float("nan")


class TokensOnDisk:
    """Reads every text once for all runs; keeps what it read in one file."""

    def __init__(self, embedder: OnnxEmbedder, path: Path):
        self._embedder, self._path = embedder, path
        self._known: dict[str | tuple[str, str], Tokens] = pickle.loads(path.read_bytes()) if path.exists() else {}

    async def question(self, text: str) -> Tokens:
        """Of a question, with its accents."""
        key = restored(text)
        if key not in self._known:
            self._known[key] = await self._embedder.read_question(key)
        return self._known[key]

    async def pieces(self, wanted: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Of pieces with what stands above them."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._known]
        if missing:
            self._known.update(zip(missing, await self._embedder.read_pieces(missing), strict=True))
        return [self._known[one] for one in wanted]

    def keep(self) -> None:
        """Write the file."""
        self._path.write_bytes(pickle.dumps(self._known))


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
    return case._replace(text=text, why="another name", documents=frozenset(), gold=(), says=None)


def names_of(text: str) -> list[str]:
    """Words with a capital behind the first one, neighbours together."""
    return [mark[0] for mark in _NAME.finditer(text) if mark.start()]


async def examples_of(cases: Iterable[Case], read: TokensOnDisk, out: Console) -> list[Example]:
    """Every case, and those of companies asked of another name."""
    cases = list(cases)
    own = [case for case in cases if case.kind.startswith(COMPANY)]
    cases += [other for case in own if (other := renamed(case, own)) is not None]
    return [
        await _example(case, candidates, read)
        for case in track(cases, "reading", console=out, transient=True)
        if (candidates := candidates_of(case.passages))
    ]


async def _example(case: Case, candidates: Sequence[Candidate], read: TokensOnDisk) -> Example:
    asked = Asked.of(case.text, case.language, candidates)
    features = features_of(asked, candidates, np.full(len(candidates), np.nan), "", TODAY)
    gold = gold_of(case, candidates)
    near = np.argsort(-features[:, _SHARED].sum(axis=1), kind="stable")[:READ]
    places = sorted({*near.tolist(), *np.flatnonzero(gold).tolist()})
    pieces = dict(zip(places, await read.pieces([candidates[at].read for at in places]), strict=True))
    return Example(case, asked.folded, features, gold, await read.question(case.text), pieces, case.says)


def masses(examples: Sequence[Example]) -> Numbers:
    """What each example weighs."""
    kinds = [one.case.kind for one in examples]
    return np.array([next((mass for kind, mass in _MASS.items() if own.startswith(kind)), _OTHERS) for own in kinds])


def only_checks(case: Case, held_out: str) -> bool:
    """Whether a case trains nothing: XQuAD's odd articles, the company held out."""
    odd = case.group.startswith("article ") and int(case.group.removeprefix("article ")) % 2 == 1
    return odd or case.group == f"{COMPANY}{held_out}"
