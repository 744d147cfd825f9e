"""`python -m training.reader`: fits `plain_reader.npz` and `pairs.npz`, the reader without a model.

Everything goes through the real ingestion and retriever, so passages, ranks and near misses are those of the service.
Trees and network are fitted on all but the company held out; how both are mixed, and how sure a first piece is, is
fitted on that company, which neither has seen. `python -m training.reader.questions` runs before it, with the same
cache; `python -m training.reader.rivals` stands for itself. Seeded. Needs LightGBM (extra ``training``) and torch
(CPU); about two hours on two quiet cores. What was collected and read stays in `--cache` and is used again.
"""

import argparse
import asyncio
import pickle
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from app.embedding.onnx import OnnxEmbedder
from app.retrieval.ranking import QuestionAdapter
from bench.cases import Case, VectorsOnDisk, collect
from training.reader.data import TRAINING, Example, TokensOnDisk, examples_of, only_checks
from training.reader.mixing import finish
from training.reader.pairs import arrays_of, fit_pairs, read_by
from training.reader.questions import adapter_for
from training.reader.trees import fit_trees


async def examples(given: argparse.Namespace, out: Console) -> tuple[list[Example], str]:
    """Collect and read, or take what an earlier run kept; with the name of the model for vectors."""
    opened = await asyncio.to_thread(OnnxEmbedder.open, given.models)
    embedder, kept = VectorsOnDisk(opened, given.cache), given.cache / "reader-cases.pkl"
    read = TokensOnDisk(opened, given.cache / "reader-tokens.pkl")
    try:
        if kept.exists():
            cases: list[Case] = pickle.loads(kept.read_bytes())
        else:
            folders = [given.companies / one for one in given.train]
            cases = await collect(embedder, given.eval, given.seed, 1, out, folders, partial(unseen, given))
            kept.write_bytes(pickle.dumps(cases))
        found = await examples_of(cases, read, out)
        read.keep()
    finally:
        embedder.keep()
        await embedder.aclose()
    return found, embedder.model


def unseen(given: argparse.Namespace, company: str) -> QuestionAdapter | None:
    """The adapter that has not seen a company's questions; the package's has not seen the company held out."""
    return None if company == given.held_out else adapter_for(company, given.cache)


def run(given: argparse.Namespace, out: Console) -> None:
    """Fit what is not held out, mix and calibrate on what is, report, write."""
    given.cache.mkdir(parents=True, exist_ok=True)
    found, model = asyncio.run(examples(given, out))
    own = [one for one in found if not only_checks(one.case, given.held_out)]
    trees = fit_trees(own, given.trees)
    net = fit_pairs(own, given.steps, out)
    np.savez_compressed(given.pairs, **arrays_of(net))
    checks = [one for one in found if only_checks(one.case, given.held_out)]
    finish(checks, trees, partial(read_by, net), model, given.out, out)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, default=Path("../shared/eval"))
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--companies", type=Path, default=Path("bench/companies"))
    parser.add_argument("--train", nargs="*", default=TRAINING)
    parser.add_argument("--held-out", default="studio", help="the company that mixes and calibrates")
    parser.add_argument("--trees", type=int, default=250)
    parser.add_argument("--steps", type=int, default=2_600, help="of training the network, eight questions each")
    parser.add_argument("--models", type=Path, default=Path(".conclave/models"))
    parser.add_argument("--cache", type=Path, default=Path(".conclave/bench"))
    parser.add_argument("--out", type=Path, default=Path("app/reasoning/local/plain_reader.npz"))
    parser.add_argument("--pairs", type=Path, default=Path("app/embedding/pairs.npz"))
    run(parser.parse_args(), Console(width=170))


if __name__ == "__main__":
    main()
