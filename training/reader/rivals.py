"""`python -m training.reader.rivals`: trees that tell whether two pieces which both answer a question give different
values of one thing (`app.reasoning.local.rivals`; decision 0033).

Two sources, both of the invented companies that train. Of every question the piece that answers is held against what an
annotator named a near miss in another document (another value where it was superseded, else none), against other pieces
that answer, and against what shares most words with the question. And the pairs of `clauses.jsonl`, written in pairs.
How it does is printed over companies held out in turn. Needs LightGBM (extra ``training``); some minutes on two cores.
"""

import argparse
import asyncio
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

import lightgbm
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.domain.knowledge import DocumentDraft, Passage
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.chunk import TokenCounter, chunk
from app.reasoning.local.features import Candidate, candidates_of
from app.reasoning.local.plain_reader import Trees
from app.reasoning.local.rivals import COLUMNS, measured
from app.text.language import words
from bench.clauses import DIFFERING, Place, documents_of, rows_of
from bench.corpora import read_lines
from training.reader.data import SEED, TRAINING, TokensOnDisk
from training.reader.trees import stored, trees_of

ROUNDS, _OTHERS, _PARTS = 150, 2, 3
"""Trees; pieces of no label that are taken of each question; parts the companies are split into to be held out."""
_SETTINGS = {
    "objective": "binary", "num_leaves": 8, "learning_rate": 0.06, "min_data_in_leaf": 40, "feature_fraction": 0.6,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 5, "verbose": -1, "seed": SEED, "num_threads": 2,
    "deterministic": True, "force_row_wise": True,
}  # fmt: skip
Pieces = dict[str, list[Candidate]]
"""Of every document by its name, as a search would find them."""


class Pair(NamedTuple):
    """Two pieces under one question."""

    kind: str
    """Of a statement pair its kind; empty for pieces of a question."""
    row: tuple[float, ...]
    differs: bool
    years: float
    """Between both documents."""


class Held(NamedTuple):
    """Two pieces held against each other under a question."""

    kind: str
    """Of a statement pair its kind, of a near miss why it is one, or `agreement`; empty where nobody labelled it."""
    question: str
    one: Candidate
    other: Candidate
    is_written: bool
    """Whether it was written as a pair."""


async def measured_pairs(held: Iterable[Held], read: TokensOnDisk) -> list[Pair]:
    """The figures of every pair, each in both orders."""
    found = list[Pair]()
    for kind, question, one, other, is_written in held:
        mine, theirs = await read.pieces([one.read, other.read])
        rows = measured(question, one, other, mine, theirs), measured(question, other, one, theirs, mine)
        written = kind if is_written else ""
        found += [Pair(written, row, kind in DIFFERING, row[COLUMNS.index("years")]) for row in rows]
    return found


def held_of(company: str, companies: Path, count: TokenCounter) -> list[Held]:
    """What the documents of a company are learnt from."""
    _, documents = documents_of(company, companies)
    pieces = {name: candidates_of(tuple(_passages(one, count))) for name, one in documents.items()}
    names = {draft.external_id: name for name, draft in documents.items()}
    questions = [row for path in sorted((companies / company).glob("questions*.jsonl")) for row in read_lines(path)]
    written = _of_clauses(companies / company / "clauses.jsonl", pieces)
    return [*written, *(one for row in questions for one in _of_question(row, pieces, names))]


def _of_clauses(path: Path, pieces: Pieces) -> Iterator[Held]:
    """Statement pairs under every wording; one whose quotes stand in no piece, or in one document, is left out."""
    for row in rows_of(path) if path.exists() else ():
        one, other = (_piece(place, pieces[place.document]) for place in (row.a, row.b))
        if one is not None and other is not None and row.a.document != row.b.document:
            for wording in row.questions:
                yield Held(row.kind, wording.text, one, other, is_written=True)


def _of_question(row: dict[str, Any], pieces: Pieces, names: dict[str, str]) -> Iterator[Held]:
    """The first piece that answers a question against those of other documents, under one wording each in turn."""
    gold = [(names[one["document"]], _quoted(one, pieces, names)) for one in row["answers"]]
    home, first = next(((name, piece) for name, piece in gold if piece is not None), ("", None))
    if first is None:
        return
    chance = zlib.crc32(row["id"].encode())
    against = [(piece, "agreement") for name, piece in gold if piece is not None and name != home]
    for miss in row["near_misses"]:
        piece = _quoted(miss, pieces, names)
        if piece is not None and names[miss["document"]] != home:
            against.append((piece, miss["why"]))
    known = [piece for piece, _ in against]
    asked = frozenset(word for wording in row["wordings"] for word in words(wording))
    rest = [one for name, own in pieces.items() if name != home for one in own if one not in known]
    near = sorted(rest, key=lambda one: -len(asked & frozenset(words(one.unit.text))))[:_OTHERS]
    for at, (piece, kind) in enumerate([*against, *((one, "") for one in near)]):
        yield Held(kind, row["wordings"][(chance + at) % len(row["wordings"])], first, piece, is_written=False)


def _quoted(place: dict[str, str], pieces: Pieces, names: dict[str, str]) -> Candidate | None:
    name = names[place["document"]]
    return _piece(Place(document=name, quote=place["quote"]), pieces[name])


def _piece(place: Place, pieces: Sequence[Candidate]) -> Candidate | None:
    """The piece a quote stands in."""
    return next((one for one in pieces if place.quote in one.unit.text or one.unit.text in place.quote), None)


def _passages(draft: DocumentDraft, count: TokenCounter) -> Iterator[Passage]:
    """A document's chunks as a search would find them."""
    for one in chunk(draft.text, draft.title, count_tokens=count):
        yield Passage(
            chunk_id=uuid5(NAMESPACE_URL, f"{draft.external_id}/{one.position}"),
            document_id=uuid5(NAMESPACE_URL, draft.external_id),
            external_id=draft.external_id, title=draft.title, section=one.section, text=one.text, url=draft.url,
            department=draft.department, scope=draft.scope, language=draft.lang, created_at=draft.created_at,
            effective_from=draft.effective_from, effective_to=draft.effective_to, authority=draft.authority,
            similarity=0, text_rank=0, relevance_score=1, fused_score=0,
        )  # fmt: skip


def fit_rivals(pairs: Sequence[Pair], weight: float) -> Trees:
    """Fit trees; a statement pair weighs ``weight`` times a pair of a question."""
    rows, labels = np.array([one.row for one in pairs]), np.array([one.differs for one in pairs], np.float64)
    weights = np.array([weight if one.kind else 1.0 for one in pairs])
    booster = lightgbm.train(_SETTINGS, lightgbm.Dataset(rows, labels, weight=weights), ROUNDS)
    return trees_of(booster.dump_model()["tree_info"])


def held_out(by_company: dict[str, list[Pair]], weight: float) -> list[tuple[Pair, float]]:
    """Chances of every pair by trees that have not seen its company."""
    names, found = sorted(by_company), list[tuple[Pair, float]]()
    for part in range(_PARTS):
        own = [one for at, name in enumerate(names) if at % _PARTS != part for one in by_company[name]]
        trees = fit_rivals(own, weight)
        for name in names[part::_PARTS]:
            rows = np.array([one.row for one in by_company[name]])
            found += zip(by_company[name], (1 / (1 + np.exp(-trees.score(rows)))).tolist(), strict=True)
    return found


def show(told: Sequence[tuple[Pair, float]], title: str, out: Console) -> None:
    """Print precision and recall over statement pairs, and how often each kind is taken for two values."""
    table = Table(title=title)
    for name in ("from", "pairs: precision", "recall", *(f"{kind} taken" for kind in _KINDS), "near misses taken"):
        table.add_column(name, justify="right")
    for limit in (0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
        taken = [one for one, chance in told if one.kind and chance >= limit]
        right = sum(one.differs for one in taken)
        all_differing = sum(one.differs for one, _ in told if one.kind)
        shares = [_share([c >= limit for one, c in told if chosen(one)]) for chosen in _KINDS.values()]
        table.add_row(
            f"{limit}", f"{right / max(1, len(taken)):.2f}", f"{right / max(1, all_differing):.2f}", *shares,
            _share([c >= limit for one, c in told if not one.kind and not one.differs]),
        )  # fmt: skip
    out.print(table)


_KINDS: dict[str, Callable[[Pair], bool]] = {
    "agreement": lambda one: one.kind == "agreement" and one.years < 0.5,
    "agreement of other years": lambda one: one.kind == "agreement" and one.years >= 0.5,
    "different case": lambda one: one.kind == "different_case",
    "contradiction": lambda one: one.kind == "contradiction",
    "superseded": lambda one: one.kind == "superseded",
}


def _share(taken: Sequence[bool]) -> str:
    return f"{sum(taken) / max(1, len(taken)):.3f} of {len(taken)}"


async def collected(given: argparse.Namespace, out: Console) -> dict[str, list[Pair]]:
    """Pairs of every company that trains, but of the one held out."""
    given.cache.mkdir(parents=True, exist_ok=True)
    embedder = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    read = TokensOnDisk(embedder, given.cache / "rival-tokens.pkl")
    try:
        names = track([one for one in given.train if one != given.held_out], "reading", console=out)
        held = {name: held_of(name, given.companies, embedder.count_tokens) for name in names}
        return {name: await measured_pairs(own, read) for name, own in held.items()}
    finally:
        read.keep()
        await embedder.aclose()


def main() -> None:
    """Parse arguments, print what companies held out say for every weight asked for, fit with the last and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=TRAINING)
    parser.add_argument("--held-out", default="studio", help="trains nothing here, as it trains no other part")
    parser.add_argument("--weight", type=float, nargs="*", default=[8.0], help="of a statement pair")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/rivals.npz"))
    given, out = parser.parse_args(), Console(width=190)
    by_company = asyncio.run(collected(given, out))
    for weight in given.weight:
        show(held_out(by_company, weight), f"companies held out in turn, weight {weight}", out)
    trees = fit_rivals([one for own in by_company.values() for one in own], given.weight[-1])
    np.savez_compressed(given.out, **stored(trees))


if __name__ == "__main__":
    main()
