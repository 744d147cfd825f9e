"""What is wrong with the documents of a tenant: contradictions and duplicates among neighbours, and what is stale.

A document is compared when it was published, by the rights of whoever brought it in: nobody's work ever touches text
that person may not read. What was left out for that reason, or was there before, is `NOT_COMPARED` for administrators
who may read more, and `catch_up` compares it by their rights.
"""

import asyncio
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, tzinfo
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, FiniteFloat, TypeAdapter

from app.domain import health as records
from app.domain.health import HealthFilter, HealthItem, HealthKind, HealthReport, Ruling, Side
from app.domain.principal import Principal
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.ingestion import comparison
from app.ingestion.comparison import Concepts, Reading, no_concepts
from app.ingestion.intake import demand_admin
from app.ingestion.judge import judge
from app.storage import documents, health
from app.storage.database import Database, Transaction
from app.storage.health import FindingRow, ItemRow, Place
from app.storage.neighbours import PassageRow, lengths, neighbours, passages_of
from app.storage.paging import cut_page, read_cursor
from app.storage.publishing import changes_one_at_a_time, settle
from app.storage.search import count_words
from app.storage.tenants import own_day, user
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
_DONE = {"assign": "assigned", "decide": "decided", "dismiss": "dismissed", "reopen": "reopened"}
"""What the audit calls an act."""
_AFTER: dict[str, records.FindingStatus] = {"decide": "decided", "dismiss": "dismissed"}
_OPEN = HealthFilter()
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
        """Compare a document with its neighbours; its findings replace those of the last time, but for what a person
        decided about sentences that still stand. Gives their number.

        Asks no model. Does nothing for a document that is not there, or that changed meanwhile: that change has it
        examined again. Raises `AppError` (403).
        """
        demand_admin(principal, "looks after documents")
        async with self._database.principal_scope(principal, durable=False) as tx:
            version, today = await health.current_version(tx, document_id), await own_day(tx, self._today)
            mine = await passages_of(tx, document_id, today, _PASSAGES)
        if not version:
            return 0
        found, said = await self._compare(principal, mine, today)
        async with self._database.principal_scope(principal) as tx:
            is_done = await health.replace_findings(tx, document_id, version, found, said)
        return len(found) if is_done else 0

    async def catch_up(self, principal: Principal, *, limit: int = 50) -> int:
        """Examine documents that nobody with the caller's rights has compared yet; gives how many, at most `limit`."""
        demand_admin(principal, "looks after documents")
        async with self._database.principal_scope(principal, durable=False) as tx:
            waiting = await health.pending(tx, await own_day(tx, self._today), limit)
        for document_id in waiting:
            await self.examine(principal, document_id)
        return len(waiting)

    async def report(
        self, principal: Principal, wanted: HealthFilter = _OPEN, *, limit: int = 50, cursor: str | None = None
    ) -> HealthReport:
        """What is wrong, gravest first. Raises `AppError`: 403, and 422 for a cursor that was not given out here."""
        demand_admin(principal, "looks after documents")
        behind = read_cursor(_PLACE, cursor)
        async with self._database.principal_scope(principal, durable=False) as tx:
            rows, told = await health.page(tx, wanted, await own_day(tx, self._today), behind, limit + 1)
        shown, next_cursor = cut_page(_PLACE, rows, limit, lambda last: (last["rank"], last["weight"], last["key"]))
        counts, statuses = Counter[HealthKind](), Counter[records.FindingStatus]()
        for name, status, number in told:
            if status == wanted.status:
                counts[HealthKind(name)] += number
            if wanted.kind in (None, name):
                statuses[status] += number
        return HealthReport(items=tuple(map(_item, shown)), counts=counts, statuses=statuses, next_cursor=next_cursor)

    async def act(
        self, principal: Principal, finding_id: UUID, act: records.FindingAct, ruling: Ruling
    ) -> records.Handling:
        """Do what an administrator, or the owner of both departments, wants done about a finding; what was decided
        before is named as the earlier verdict. Raises `AppError`: 403; 404; 409 unless it is open, or to be reopened
        and is not; 422 for a verdict, document or person that does not fit.
        """
        if ruling.supersedes or "owner" not in principal.roles:
            demand_admin(principal, "looks after documents")
        if (act == "decide") != (ruling.verdict is not None) or (ruling.verdict == "holds") != bool(ruling.holds):
            raise _misfit("verdict: say one to decide, with `holds` where one document holds.")
        async with self._database.principal_scope(principal) as tx:
            if ruling.supersedes:
                await changes_one_at_a_time(tx)  # before any row is locked, as whoever publishes does
            found = await health.lock(tx, finding_id)
            if found is None:
                raise AppError(ErrorCode.NOT_FOUND, "There is no such finding.", status=404)
            *pair, before = found
            if (before.status == "open") == (act == "reopen"):
                raise _misfit(f"The finding is {before.status}: only one that is open is handled.", status=409)
            if ruling.holds not in (None, *pair) or (ruling.supersedes and ruling.holds is None):
                raise _misfit("holds: name one of the two documents.")
            if act != "assign":
                ruling = ruling.model_copy(update={"assignee": before.assignee})
            elif ruling.assignee and not await user(tx, principal.tenant_id, ruling.assignee):
                raise _misfit("assignee: there is no such person.")
            if ruling.supersedes and ruling.holds:
                await self._supersede(tx, ruling.holds, pair[ruling.holds == pair[0]])
            told = await health.handle(tx, finding_id, _AFTER.get(act, "open"), ruling)
            details = {"documents": pair, **ruling.model_dump(exclude={"note"}, exclude_none=True)}
            await documents.note(tx, f"finding_{_DONE[act]}", str(finding_id), details)
        return told

    async def _supersede(self, tx: Transaction, newer: UUID, older: UUID) -> None:
        """Say that a document takes the place of another. Raises `AppError` (409) where it takes another's already."""
        one, other = [await documents.find(tx, document_id) for document_id in (newer, older)]
        if one is None or other is None or one.supersedes not in (None, other.external_id):
            raise _misfit("supersedes: the document takes the place of another one already.", status=409)
        await documents.amend(tx, newer, change := {"supersedes": other.external_id})
        await settle(tx, {other.external_id}, await own_day(tx, self._today))
        await documents.note(tx, "document_changed", str(newer), change)

    async def _compare(
        self, principal: Principal, mine: Sequence[PassageRow], today: date
    ) -> tuple[list[FindingRow], dict[str, UUID]]:
        """What is found, and what the passages say."""
        found, copies, said = list[comparison.Candidate](), comparison.Copies(mine), dict[str, UUID]()
        scope = partial(self._database.principal_scope, principal, durable=False)
        for start in range(0, len(mine), _AT_ONCE):
            batch = mine[start : start + _AT_ONCE]
            ids, least = [one.chunk_id for one in batch], comparison.LEAST_SIMILARITY
            async with scope() as tx:
                near = await neighbours(tx, ids, self._space, today, most=_NEIGHBOURS, least_similarity=least)
            readings = await asyncio.to_thread(self._read, [*batch, *(one.passage for one in near)])
            for one in batch:
                said |= readings[one.chunk_id].said
            if near:
                words = comparison.subject_words_of(readings.values())
                async with scope() as tx:
                    weight = comparison.weigh_by(words, *await count_words(tx, folded=True, on=today))
                pairs = [(readings[one.chunk_id], readings[one.passage.chunk_id], one.similarity) for one in near]
                found += await asyncio.to_thread(comparison.candidates, pairs, weight)
                await asyncio.to_thread(copies.add, near, readings)
        async with scope() as tx:
            repeated = copies.rows(await lengths(tx, list(copies.shared), today))
        likely = comparison.contradiction_rows(await judge(found, self._embedder))
        return [*sorted(likely, key=lambda one: (-one.score, one.finding_id))[:_FINDINGS], *repeated], said

    def _read(self, passages: Iterable[PassageRow]) -> dict[UUID, Reading]:
        distinct = dict.fromkeys(passages)
        # Concepts serve claims of two languages only, and finding them is half of the work.
        concepts = self._concepts if len({one.lang for one in distinct}) > 1 else no_concepts
        return {one.chunk_id: comparison.read_passage(one, concepts) for one in distinct}


def _misfit(detail: str, status: int = 422) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=status)


def _item(row: ItemRow) -> HealthItem:
    kind = HealthKind(row["kind"])
    one = _side(row, "")
    other = None if row["other_document_id"] is None else _side(row, "other_")
    told: dict[str, Any] = {"kind": kind, "document": one, "other": other, "advice": advice(kind, row, one, other)}
    return HealthItem(**told, unit=row["unit"], score=min(row["score"], 1.0), handling=row["handling"])


def advice(kind: HealthKind, row: ItemRow, one: Side, other: Side | None) -> records.Advice:
    """Tell an administrator what is wrong and what to do about it, in both languages."""
    units = _ADVICE["units"].get(row["unit"], _ADVICE["units"]["other"])
    detail = f" {row['detail']}" if row["detail"] else ""
    facts = {"title": one.title, "detail": detail, "day": row["day"], "share": row["score"], "one": one, "other": other}
    vi, en = (text.format(**facts, unit=unit) for text, unit in zip(_ADVICE["documents"][kind], units, strict=True))
    return records.Advice(vi=vi, en=en)


def _side(row: ItemRow, prefix: str) -> Side:
    fields = {name: row[prefix + name] for name in Side.model_fields}
    return Side.model_validate(fields | {"section": fields["section"] or ""})
