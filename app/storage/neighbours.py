"""Passages near one another, by the vectors they are stored with; the model is not asked.

The functions of migration 0015 that are called here name the permission rule themselves; the row policies say the same
again. What the caller may not read is not compared.
"""

from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from app.storage.database import Transaction


class PassageRow(NamedTuple):
    """A passage in force, as it is compared; field names are columns."""

    chunk_id: UUID
    document_id: UUID
    section: str
    text: str
    lang: str
    title: str
    day: date
    """When its document began to hold."""


class Neighbour(NamedTuple):
    """A passage of another document near one that was asked about."""

    chunk_id: UUID
    """Which was asked about."""
    similarity: float
    """Cosine of the stored vectors."""
    passage: PassageRow


async def passages_of(tx: Transaction, document_id: UUID, today: date, limit: int) -> list[PassageRow]:
    """The document's passages that are or will be in force and the caller may read."""
    rows = await tx.driver.fetch("select * from passages_to_compare($1, $2, $3)", document_id, today, limit)
    return [PassageRow(**row) for row in rows]


async def neighbours(
    tx: Transaction, chunk_ids: Sequence[UUID], space: str, today: date, *, most: int, least_similarity: float
) -> list[Neighbour]:
    """For each passage of one document the nearest of other documents in force at the same time, nearest first.

    Documents that one of the two replaces do not count. Reads stored vectors of `space` only.
    """
    asked = list(chunk_ids), space, today, most, least_similarity
    rows = await tx.driver.fetch("select * from near_passages($1, $2, $3, $4, $5)", *asked)
    return [
        Neighbour(row["mine"], row["similarity"], PassageRow(*(row[name] for name in PassageRow._fields)))
        for row in rows
    ]


async def lengths(tx: Transaction, document_ids: Collection[UUID], today: date) -> dict[UUID, int]:
    """How many letters the readable passages in force of each document have."""
    rows = await tx.driver.fetch("select * from letters_of($1, $2)", list(document_ids), today)
    return {row["document_id"]: row["letters"] for row in rows}


_LETTERS = 120_000
"""Of a version; a longer one is compared by its beginning."""
_LINKS = 12
"""Documents a line is followed over, in both directions."""
_ROWS = 200


async def lines_of(tx: Transaction, document_ids: Collection[UUID]) -> list[dict[str, Any]]:
    """The versions of these documents, and of those they replace and are replaced by, newest first for each; without
    the sentences that were left out when they arrived."""
    asked = list(document_ids), _LINKS, _LETTERS, _ROWS
    rows = [dict(row) for row in await tx.driver.fetch("select * from versions_in_line($1, $2, $3, $4)", *asked)]
    for row in rows:
        for sentence in row.pop("planted"):
            row["text"] = row["text"].replace(sentence, "")
    return rows
