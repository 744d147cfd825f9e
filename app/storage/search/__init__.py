"""Searching the chunks of one tenant: vectors and full text, fused by weighted reciprocal rank in one statement.

Vectors are compared one by one, read through a B-tree that begins with the tenant: recall is 1, and no tenant's size
shows in another's time. Only a large tenant has an approximate index, of its own rows alone (`storage.large_tenants`).
Words are looked up in lists of the tenant's own, where the database's superuser allowed it (`migrations/sql/
superuser.sql`); elsewhere the visible chunks are read one by one.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

import asyncpg
import numpy as np
import numpy.typing as npt

from app.domain.knowledge import When
from app.domain.principal import Scope
from app.storage.database import Transaction
from app.storage.search.statements import (
    COUNT_VISIBLE,
    STATE,
    WORDS_ARE_INDEXED,
    Shape,
    VectorLeg,
    WordLeg,
    search_statement,
    statistics_statement,
)
from app.telemetry import TALLY
from app.text.dates import HOME


class SearchState(NamedTuple):
    """What a search must know of its tenant before it begins."""

    corpus_version: int | None
    """Changes whenever a document of the tenant does, and when it is searched in another space; None when the tenant
    is not registered."""
    space: str
    """The space of the vectors that are searched."""
    indexed_chunks: int | None
    """About how many chunks the tenant's own index of that space holds; None when it has none."""
    time_zone: str = HOME
    """Whose midnight begins the tenant's day."""


class ChunkQuery(NamedTuple):
    """What to look for, in which of the principal's chunks, and how."""

    vector: npt.NDArray[np.float32]
    """Unit length, in the space called `embedding_model`."""
    embedding_model: str
    terms: Sequence[tuple[str, float]]
    """(tsquery text, weight above 0): what a chunk's words are scored by."""
    clauses: Sequence[Sequence[str]]
    """Words that stand in a chunk together; only chunks with all words of one of them are scored."""
    is_folded: bool
    """Compare words without diacritics."""
    vector_weight: float
    text_weight: float
    rank_constant: int
    other_language: str
    """Documents in this language count by their vector alone, with both weights; empty for none."""
    departments: Sequence[str] | None
    """Narrows what the principal may read; never widens it."""
    on: date
    """The day the document must be in force."""
    with_superseded: bool
    """Also documents that were replaced since, if they were in force on that day."""
    candidates: int
    """Taken from each leg."""
    limit: int
    vector_leg: VectorLeg = "exact"
    word_leg: WordLeg = "rows"
    """``lookup`` only where words are indexed (`words_are_indexed`)."""
    when: When = "in_force"


class Hit(NamedTuple):
    """A chunk that was found, with its document; field names are the columns of the statement."""

    chunk_id: UUID
    document_id: UUID
    external_id: str
    title: str
    section: str
    text: str
    page: int | None
    url: str
    department: str
    scope: Scope
    language: str
    created_at: datetime
    effective_from: date | None
    effective_to: date | None
    authority: str
    similarity: float
    """0 when vectors were not compared."""
    text_rank: float
    coverage: float
    """Weight of the terms found in the chunk, as a share of all terms' weight (0–1)."""
    fused_score: float
    candidates: int
    """How many chunks the two legs brought in together; the same in every row."""
    nearest: int
    """How many of them the vectors brought in; the same in every row."""


class DepartmentHit(NamedTuple):
    """A chunk that was found, without anything it says."""

    department: str
    language: str
    similarity: float
    coverage: float
    nearest: int


async def search_chunks(tx: Transaction, query: ChunkQuery) -> list[Hit]:
    """The best chunks for `query`, by fused score."""
    return [Hit(*row) for row in await _found(tx, query, Hit._fields)]


async def search_departments(tx: Transaction, query: ChunkQuery) -> list[DepartmentHit]:
    """Where the best chunks for `query` lie; no text leaves the database."""
    return [DepartmentHit(*row) for row in await _found(tx, query, DepartmentHit._fields)]


async def _found(tx: Transaction, query: ChunkQuery, columns: tuple[str, ...]) -> "list[asyncpg.Record]":
    TALLY["search_vectors", query.vector_leg] += 1
    return await tx.driver.fetch(statement(query, columns), *arguments(tx, query))


async def count_words(tx: Transaction, *, folded: bool, on: date) -> tuple[int, dict[str, int]]:
    """(chunks looked at, in how many of them each word stands) for a sample of what the principal may read."""
    asked = _visibility(tx, None, on, with_superseded=False)
    row = await tx.driver.fetchrow(statistics_statement(folded=folded), *asked)
    assert row is not None
    return row["sampled"], dict(zip(row["words"] or (), row["chunks"] or (), strict=True))


async def count_visible(
    tx: Transaction, space: str, *, on: date, with_superseded: bool, when: When = "in_force"
) -> dict[str, int]:
    """How many chunks with a vector in `space` the principal may see, by department."""
    asked = _visibility(tx, None, on, with_superseded=with_superseded)
    rows = await tx.driver.fetch(COUNT_VISIBLE[when], *asked, space)
    return {row["department"]: row["chunks"] for row in rows}


async def search_state(tx: Transaction, space: str) -> SearchState:
    """How the tenant stands; `space` is searched in a tenant that has no vectors yet."""
    row = await tx.driver.fetchrow(STATE, tx.tenant_id, space)
    return SearchState(None, space, None) if row is None else SearchState(*row)


async def words_are_indexed(tx: Transaction) -> bool:
    """Whether this database lets words be looked up in an index under row policies."""
    return bool(await tx.driver.fetchval(WORDS_ARE_INDEXED))


def statement(query: ChunkQuery, columns: tuple[str, ...] = Hit._fields) -> str:
    """The text of the search."""
    shape = Shape(query.vector_leg, query.word_leg, query.is_folded, len(query.vector), query.when)
    return search_statement(shape, columns)


def arguments(tx: Transaction, query: ChunkQuery) -> list[object]:
    """The bound parameters of `statement`, in order."""
    prefix = str(tx.tenant_id)[:8] if query.word_leg == "lookup" else ""
    return [
        *_visibility(tx, query.departments, query.on, with_superseded=query.with_superseded),
        query.embedding_model,
        query.vector,
        [term for term, _ in query.terms],
        [weight for _, weight in query.terms],
        query.vector_weight,
        query.text_weight,
        query.rank_constant,
        query.other_language,
        query.candidates,
        query.limit,
        " | ".join("(" + " & ".join(_quoted(prefix + word) for word in clause) + ")" for clause in query.clauses),
    ]


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _visibility(tx: Transaction, departments: Sequence[str] | None, on: date, *, with_superseded: bool) -> list[object]:
    """The parameters $1 to $6 of `statements.visible`."""
    return [*tx.reader, None if departments is None else list(departments), on, with_superseded]
