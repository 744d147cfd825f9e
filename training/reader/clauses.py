"""Pairs of statements that were written in pairs (`clauses.jsonl` of a training company), measured as the reader
measures the pieces they stand in."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from app.domain.knowledge import DocumentDraft, Passage
from app.ingestion.chunk import TokenCounter, chunk
from app.reasoning.local.features import Candidate, Numbers, candidates_of
from app.reasoning.local.rivals import COLUMNS, measured
from bench.clauses import Place, documents_of, rows_of
from training.reader.data import TokensOnDisk


async def clause_rows(path: Path, read: TokensOnDisk, count: TokenCounter) -> tuple[Numbers, Numbers]:
    """Figures of every pair under every wording, in both orders, and whether the two give different values.

    A pair whose quotes stand in no piece, or in one document, is left out.
    """
    _, documents = documents_of(path.parent.name)
    pieces = {name: candidates_of(tuple(_passages(draft, count))) for name, draft in documents.items()}
    rows, labels = list[tuple[float, ...]](), list[bool]()
    for row in rows_of(path):
        one, other = (_piece(place, pieces[place.document]) for place in (row.a, row.b))
        if one is None or other is None or row.a.document == row.b.document:
            continue
        tokens = await read.pieces([one.read, other.read])
        for wording in row.questions:
            rows.append(measured(wording.text, one, other, tokens[0], tokens[1]))
            rows.append(measured(wording.text, other, one, tokens[1], tokens[0]))
            labels += [row.differs] * 2
    return np.array(rows, np.float64).reshape(-1, len(COLUMNS)), np.array(labels, np.float64)


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
