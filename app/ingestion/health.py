"""What is wrong with the documents of a tenant: contradictions and duplicates among neighbours, and what is stale.

A document is compared when it was published, by the rights of whoever brought it in: nobody's work ever touches text
that person may not read. What was left out for that reason, or was there before, is `NOT_COMPARED` for administrators
who may read more, and `catch_up` compares it by their rights.
"""

import asyncio
import tomllib
from collections.abc import Callable, Iterable, Sequence
from datetime import date, tzinfo
from functools import partial
from pathlib import Path
from typing import Annotated
from uuid import UUID

from pydantic import Field, FiniteFloat, TypeAdapter

from app.domain.health import Advice, HealthItem, HealthKind, HealthReport, Side
from app.domain.principal import Principal
from app.embedding import Embedder
from app.ingestion import comparison
from app.ingestion.comparison import Concepts, Reading, no_concepts
from app.ingestion.intake import demand_admin
from app.ingestion.judge import judge
from app.storage import health
from app.storage.database import Database
from app.storage.health import FindingRow, ItemRow, Place
from app.storage.neighbours import PassageRow, lengths, neighbours, passages_of
from app.storage.paging import cut_page, read_cursor
from app.storage.search import count_words
from app.storage.tenants import own_day
from app.text.dates import today_in

_NEIGHBOURS = 5
"""Of each passage; bounds the work of a document together with the next two."""
_PASSAGES = 1_000
"""Of a document, from its beginning; a longer one is compared by these."""
_AT_ONCE = 50
"""Passages whose neighbours are read in one transaction."""
_FINDINGS = 100
"""Of a document, the surest; more would not be read."""
_ADVICE: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))
"""By kind of finding and by unit: Vietnamese, English."""
_PLACE: TypeAdapter[Place] = TypeAdapter(tuple[Annotated[int, Field(ge=0, le=100)], FiniteFloat, UUID])


class Health:
    """Compares documents and reports on them. The principals are administrators; each sees what they may read."""

    def __init__(
        self,
        database: Database,
        space: str,
        *,
        concepts: Concepts = no_concepts,
        embedder: Embedder | None = None,
        today: Callable[[tzinfo], date] = today_in,
    ):
        """`space` names the stored vectors that are compared; `concepts` lets claims of two languages meet; `embedder`
        reads likely pairs, if it reads tokens."""
        self._database, self._space, self._concepts, self._today = database, space, concepts, today
        self._embedder = embedder

    async def examine(self, principal: Principal, document_id: UUID) -> int:
        """Compare a document with its neighbours; its findings replace those of the last time. Gives their number.

        Asks no model. Does nothing for a document that is not there, or that changed meanwhile: that change has it
        examined again. Raises `AppError` (403).
        """
        demand_admin(principal, "looks after documents")
        async with self._database.principal_scope(principal, durable=False) as tx:
            version, today = await health.current_version(tx, document_id), await own_day(tx, self._today)
            mine = await passages_of(tx, document_id, today, _PASSAGES)
        if not version:
            return 0
        found = await self._compare(principal, mine, today)
        async with self._database.principal_scope(principal) as tx:
            is_done = await health.replace_findings(tx, document_id, version, found)
        return len(found) if is_done else 0

    async def catch_up(self, principal: Principal, *, limit: int = 50) -> int:
        """Examine documents that nobody with the caller's rights has compared yet; gives how many, at most `limit`."""
        demand_admin(principal, "looks after documents")
        async with self._database.principal_scope(principal, durable=False) as tx:
            waiting = await health.pending(tx, await own_day(tx, self._today), limit)
        for document_id in waiting:
            await self.examine(principal, document_id)
        return len(waiting)

    async def report(self, principal: Principal, *, limit: int = 50, cursor: str | None = None) -> HealthReport:
        """What is wrong, gravest first. Raises `AppError`: 403, and 422 for a cursor that was not given out here."""
        demand_admin(principal, "looks after documents")
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal, durable=False) as tx:
            rows, counts = await health.page(tx, await own_day(tx, self._today), behind, limit + 1)
        shown, next_cursor = cut_page(_PLACE, rows, limit, lambda last: (last["rank"], last["weight"], last["key"]))
        counts = {kind: counts[kind] for kind in HealthKind if kind in counts}
        return HealthReport(items=tuple(map(_item, shown)), counts=counts, next_cursor=next_cursor)

    async def _compare(self, principal: Principal, mine: Sequence[PassageRow], today: date) -> list[FindingRow]:
        found, copies = list[comparison.Candidate](), comparison.Copies(mine)
        scope = partial(self._database.principal_scope, principal, durable=False)
        for start in range(0, len(mine), _AT_ONCE):
            batch = mine[start : start + _AT_ONCE]
            ids, least = [one.chunk_id for one in batch], comparison.LEAST_SIMILARITY
            async with scope() as tx:
                near = await neighbours(tx, ids, self._space, today, most=_NEIGHBOURS, least_similarity=least)
            if near:
                readings = await asyncio.to_thread(self._read, [*batch, *(one.passage for one in near)])
                words = comparison.subject_words_of(readings.values())
                async with scope() as tx:
                    weight = comparison.weigh_by(words, *await count_words(tx, folded=True, on=today))
                pairs = [(readings[one.chunk_id], readings[one.passage.chunk_id], one.similarity) for one in near]
                found += await asyncio.to_thread(comparison.candidates, pairs, weight)
                await asyncio.to_thread(copies.add, near, readings)
        async with scope() as tx:
            repeated = copies.rows(await lengths(tx, list(copies.shared), today))
        likely = comparison.contradiction_rows(await judge(found, self._embedder))
        return [*sorted(likely, key=lambda one: (-one.score, one.finding_id))[:_FINDINGS], *repeated]

    def _read(self, passages: Iterable[PassageRow]) -> dict[UUID, Reading]:
        distinct = dict.fromkeys(passages)
        # Concepts serve claims of two languages only, and finding them is half of the work.
        concepts = self._concepts if len({one.lang for one in distinct}) > 1 else no_concepts
        return {one.chunk_id: comparison.read_passage(one, concepts) for one in distinct}


def _item(row: ItemRow) -> HealthItem:
    kind = HealthKind(row["kind"])
    one = _side(row, "")
    other = None if row["other_document_id"] is None else _side(row, "other_")
    told = advice(kind, row, one, other)
    return HealthItem(kind=kind, document=one, other=other, unit=row["unit"], score=min(row["score"], 1.0), advice=told)


def advice(kind: HealthKind, row: ItemRow, one: Side, other: Side | None) -> Advice:
    """Tell an administrator what is wrong and what to do about it, in both languages."""
    units = _ADVICE["units"].get(row["unit"], _ADVICE["units"]["other"])
    detail = f" {row['detail']}" if row["detail"] else ""
    facts = {"title": one.title, "detail": detail, "day": row["day"], "share": row["score"], "one": one, "other": other}
    vi, en = (text.format(**facts, unit=unit) for text, unit in zip(_ADVICE["documents"][kind], units, strict=True))
    return Advice(vi=vi, en=en)


def _side(row: ItemRow, prefix: str) -> Side:
    fields = {name: row[prefix + name] for name in Side.model_fields}
    return Side.model_validate(fields | {"section": fields["section"] or ""})
