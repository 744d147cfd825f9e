"""`python -m training.reader.questions`: fits `app/retrieval/adapter.npz`, the step that moves questions nearer to the
passages that answer them.

A linear layer is learnt with torch (CPU) on the questions of the training companies and XQuAD's even articles, each
against all passages of its own corpus, as the service stores them. Only a share of what it learns is taken: it helps
questions in other words as much, and costs those in the words of the text less. Seeded; takes minutes.

Questions that it was fitted on are found better than any others will be. So that the reader does not learn to trust
places too much, two more are fitted, each on every other company, and kept beside the vectors: `adapter_for` gives the
one that has not seen a company.
"""

import argparse
import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from app.embedding import Vectors
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.seed import read_seed
from app.retrieval.ranking import Calibration, QuestionAdapter, load_calibration, read_adapter
from app.storage.database import Database
from app.text.language import words
from bench.cases import Asking, VectorsOnDisk, asked_of_company, asked_of_xquad
from bench.corpora import XQUAD, loaded, reader
from training.reader.data import SEED, TRAINING
from training.reader.pairs import Adam

_TAKEN = 0.7
"""Share of the learnt step: all of it costs XQuAD .01 of its first places, .7 half of that."""
_EPOCHS, _AT_ONCE, _RATE, _SHRINK, _HEAT, _DROPPED = 6, 64, 5e-4, 1e-3, 0.05, 0.1
_CHUNKS = """select d.external_id, c.text, v.embedding from chunks c
    join chunk_vectors v on v.chunk_id = c.chunk_id join documents d on d.document_id = c.document_id"""


class Corpus(NamedTuple):
    """Questions and the passages they are asked of."""

    name: str
    questions: torch.Tensor
    passages: torch.Tensor
    gold: torch.Tensor
    """Shape (questions, passages): 1 where a passage holds what answers."""


async def corpora(given: argparse.Namespace, out: Console) -> tuple[list[Corpus], Calibration]:
    """Bring everything in as the service does, and read the vectors it stores."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder = VectorsOnDisk(opened, given.cache)
    calibration = load_calibration(embedder.model)
    found = []
    try:
        for name in (XQUAD, *given.train):
            is_company = name != XQUAD
            folder = given.companies / name if is_company else given.seed
            asked = list(asked_of_company(folder) if is_company else asked_of_xquad(given.eval, 2))
            async with loaded(
                embedder, calibration, None if is_company else given.eval, folder, lambda line: None
            ) as database:
                passages = await _passages(database, name, folder)
            found.append(await _corpus(name, [one for one in asked if one.gold], passages, embedder, calibration))
            out.print(f"{name}: {len(found[-1].questions)} questions, {len(passages)} passages")
    finally:
        embedder.keep()
        await embedder.aclose()
    return found, calibration


async def _passages(database: Database, tenant: str, folder: Path) -> list[tuple[str, str, Vectors]]:
    """external_id, text and vector of everything a tenant holds."""
    departments = {draft.department for one in read_seed(folder) for draft in one.documents}
    everybody = reader(tenant).model_copy(update={"departments": reader(tenant).departments | departments})
    async with database.principal_scope(everybody) as tx:
        rows = await tx.driver.fetch(_CHUNKS)
    return [(row["external_id"], row["text"], row["embedding"].to_numpy()) for row in rows]


async def _corpus(
    name: str, asked: Sequence[Asking], passages: Sequence[tuple[str, str, Vectors]], embedder: VectorsOnDisk,
    calibration: Calibration,
) -> Corpus:  # fmt: skip
    texts = [" ".join(words(text)) for _, text, _ in passages]
    gold = np.zeros((len(asked), len(passages)), np.float32)
    for at, one in enumerate(asked):
        quotes = [" ".join(words(phrase)) for phrases in one.gold for phrase in phrases]
        gold[at] = [
            document in one.documents and any(quote in text for quote in quotes)
            for (document, _, _), text in zip(passages, texts, strict=True)
        ]
    raw = await embedder.embed_queries([one.text for one in asked])
    centred = calibration.centre_queries(raw, [one.language for one in asked])
    there = gold.any(axis=1)
    vectors = np.stack([vector for _, _, vector in passages]).astype(np.float32)
    return Corpus(name, torch.from_numpy(centred[there]), torch.from_numpy(vectors), torch.from_numpy(gold[there]))


def fit_adapter(found: Sequence[Corpus], space: str, epochs: int = _EPOCHS) -> QuestionAdapter:
    """Learn which step puts passages that answer before the others of their corpus."""
    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    layer = nn.Linear(found[0].questions.shape[1], found[0].questions.shape[1])
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    own: list[torch.Tensor] = list(layer.parameters())
    adam, turns = Adam(own), [(one, at) for one in found for at in range(max(1, len(one.questions) // _AT_ONCE))]
    for epoch in range(epochs):
        chance.shuffle(turns)
        order = {one.name: torch.randperm(len(one.questions)) for one in found}
        for number, (one, at) in enumerate(turns):
            rows = order[one.name][at * _AT_ONCE : (at + 1) * _AT_ONCE]
            asked = one.questions[rows]
            moved = nn.functional.normalize(asked + layer(nn.functional.dropout(asked, _DROPPED)), dim=1)
            near = moved @ one.passages.T / _HEAT
            right = near.masked_fill(one.gold[rows] == 0, -1e9)
            loss = (torch.logsumexp(near, 1) - torch.logsumexp(right, 1)).mean()
            loss = loss + _SHRINK * sum((weight**2).sum() for weight in own)
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step(_RATE * (1 - (epoch + number / len(turns)) / epochs))
    turn, shift = (weight.detach().numpy() * _TAKEN for weight in (layer.weight, layer.bias))
    return QuestionAdapter(space, turn.astype(np.float16), shift.astype(np.float16))


def report(found: Sequence[Corpus], adapter: QuestionAdapter, out: Console) -> None:
    """Of each corpus in how many questions a passage that answers is among the nearest, before and after."""
    table = Table("corpus", "questions", "nearest 1", "3", "8")
    for one in found:
        ways = [one.questions, torch.from_numpy(adapter.move(one.questions.numpy(), adapter.space))]
        orders = [torch.gather(one.gold, 1, (way @ one.passages.T).argsort(1, descending=True)) for way in ways]
        shown = (" → ".join(f"{order[:, :k].amax(1).mean():.3f}" for order in orders) for k in (1, 3, 8))
        table.add_row(one.name, str(len(one.questions)), *shown)
    out.print(table)


def main() -> None:
    """Parse arguments, fit on all but the company held out, report, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=TRAINING)
    parser.add_argument("--held-out", nargs="*", default=["studio"], help="companies that only measure")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/retrieval/adapter.npz"))
    given, out = parser.parse_args(), Console(width=120)
    given.cache.mkdir(parents=True, exist_ok=True)
    found, calibration = asyncio.run(corpora(given, out))
    own = [one for one in found if one.name not in given.held_out]
    adapter = fit_adapter(own, calibration.space)
    report(found, adapter, out)
    _write(adapter, given.out)
    fit_halves(own, calibration.space, given.cache)


def fit_halves(found: Sequence[Corpus], space: str, cache: Path, epochs: int = _EPOCHS) -> None:
    """For each half of the companies an adapter that was fitted on the other half, written to a folder."""
    for half in (0, 1):
        others = [one for one in found if half_of(one.name) != half]
        _write(fit_adapter(others, space, epochs), _path(cache, half))


def half_of(company: str) -> int:
    """The half of the training companies that one belongs to, 0 or 1; the second for what is none of them."""
    return TRAINING.index(company) % 2 if company in TRAINING else 1


def adapter_for(company: str, cache: Path) -> QuestionAdapter | None:
    """The adapter in a folder that has not seen a company; None where there is none."""
    path = _path(cache, half_of(company))
    return read_adapter(path.read_bytes()) if path.exists() else None


def _path(cache: Path, half: int) -> Path:
    return cache / f"adapter-for-half-{half}.npz"


def _write(adapter: QuestionAdapter, path: Path) -> None:
    np.savez_compressed(path, turn=adapter.turn, shift=adapter.shift, space=np.array(adapter.space))


if __name__ == "__main__":
    main()
