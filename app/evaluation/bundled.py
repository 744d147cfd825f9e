"""Datasets that come along: the question sets beside the demo documents, a small part of them, and two of our own."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from app.domain.knowledge import DocumentDraft
from app.domain.record import Record
from app.evaluation.dataset import Case, Dataset, lines_of, read_dataset, refusal
from app.evaluation.fact import Alternatives, Fact
from app.evaluation.question import Cited, Disagreement, Expected, Question
from app.ingestion.seed import read_seed

_BETWEEN_CELLS = ".{1,60}"
_FOLDER = Path(__file__).parent / "sets"
SEED, SMOKE = "seed", "smoke"
OWN = ("leaks", "versions")
"""Files of this room."""
NAMES: dict[str, str] = {
    SMOKE: "a few questions of every kind over the demo documents, both languages",
    "leaks": "askers who ask for what only others may read",
    "versions": "documents that replace, contradict or complete each other; brings its own",
    SEED: "all question sets beside the demo documents",
}
DEFAULT = (SMOKE, "leaks", "versions")


class SeedQuestion(Record):
    """A line of ``seed_data/*/questions*.jsonl``."""

    id: str
    tenant: str
    asker: str
    lang: Literal["vi", "en"]
    question: str
    expect_documents: tuple[str, ...]
    """One of them must be cited."""
    expect_phrases: tuple[str, ...]
    outcome: Literal["answered", "not_found", "conflict"]
    kind: str
    history: tuple[str, ...] = ()


def open_dataset(named: str, seed_folder: Path) -> Dataset:
    """The dataset of that name, or in that file; reads the disk. Raises `AppError` with the faults by line."""
    if named == SEED:
        return seed_dataset(seed_folder)
    if named == SMOKE:
        wanted = set((_FOLDER / "smoke.txt").read_text("utf-8").split())
        every = seed_dataset(seed_folder)
        return Dataset(SMOKE, tuple(case for case in every.cases if case.question.id in wanted))
    if named in OWN:
        return read_dataset(_FOLDER / f"{named}.jsonl")
    path = Path(named)
    if not path.exists() and path.suffix != ".jsonl":
        raise refusal([f"There is no dataset {named[:200]!r}: name a file, or one of {', '.join(NAMES)}."])
    return read_dataset(path)


def seed_dataset(folder: Path) -> Dataset:
    """All question sets of a seed folder, by file and line. Raises `AppError`."""
    documents = {draft.external_id: draft for tenant in read_seed(folder).tenants for draft in tenant.documents}
    cases: list[Case] = []
    for path in sorted(folder.glob("*/questions*.jsonl")):
        for number, line in enumerate(lines_of(path), 1):
            if line.strip():
                place = f"{path.parent.name}/{path.name}: line {number}"
                cases.append(Case(_question(line, documents, place), place))
    if not cases:
        raise refusal([f"{folder}: holds no questions*.jsonl"])
    return Dataset(SEED, tuple(cases))


def _question(line: str, documents: dict[str, DocumentDraft], place: str) -> Question:
    try:
        row = SeedQuestion.model_validate(json.loads(line))
    except (ValidationError, json.JSONDecodeError) as error:
        raise refusal([f"{place}: {error}"]) from error
    return Question(
        id=row.id, question=row.question, asker=f"{row.tenant}/{row.asker}", language=row.lang, history=row.history,
        department=_department(row.expect_documents, documents), expected=_expected(row), tags=(row.kind,),
    )  # fmt: skip


def _fact(phrase: str) -> Alternatives:
    """A phrase; the row of a table may also be told in words, cell by cell."""
    cells = [re.escape(cell.strip()) for cell in phrase.strip(" |").split("|")]
    told = (Fact(regex=_BETWEEN_CELLS.join(cells)),) if phrase.startswith("|") else ()
    return Alternatives(any_of=(Fact(text=phrase), *told))


def _department(names: Sequence[str], documents: dict[str, DocumentDraft]) -> str:
    return next((documents[name].department for name in names if name in documents), "")


def _expected(row: SeedQuestion) -> Expected:
    """The sets tell whether there is an answer; that one part of it is missing or disputed is let pass.

    Sources disagree where two of them may be cited: what one of them said before it ended is no disagreement.
    """
    let_pass = () if row.outcome == "not_found" else ("answered", "partial", "conflict")
    return Expected(
        outcome=tuple(dict.fromkeys((row.outcome, *let_pass))),
        evidence=Cited(any_of=row.expect_documents) if row.expect_documents else None,
        facts=tuple(_fact(phrase) for phrase in row.expect_phrases),
        conflict=Disagreement() if row.kind == "disagreement" and len(row.expect_documents) > 1 else None,
    )
