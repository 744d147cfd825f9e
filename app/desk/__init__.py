"""The knowledge desk: what waits for whoever owns a department, and what they do about it."""

from collections import Counter
from collections.abc import Callable
from datetime import date, tzinfo
from time import monotonic
from typing import Literal
from uuid import UUID

from pydantic import TypeAdapter

from app.domain.conflicts import Conflict, Side
from app.domain.health import Ruling
from app.domain.principal import Principal
from app.domain.record import Moment, Record
from app.errors import AppError, ErrorCode
from app.ingestion.comparison import no_concepts, read_passage
from app.ingestion.health import Health
from app.journal import not_found
from app.storage import conflicts, desk, documents
from app.storage.database import Database, Transaction
from app.storage.desk import Agents, DeskItem, Draft, Kind, State, Told, Wanted
from app.storage.neighbours import passages_of
from app.storage.paging import cut_page, read_cursor
from app.storage.tenants import own_day, user
from app.text.dates import today_in
from app.text.language import words

OWNER = "owner"
"""The role that looks after the own departments, at the desk and nowhere else."""
Act = Literal["assign", "dismiss", "done", "reopen"]
_AFTER: dict[Act, State] = {"assign": "open", "dismiss": "dismissed", "done": "done", "reopen": "open"}
_NAMED = {"assign": "assigned", "dismiss": "dismissed", "done": "done", "reopen": "reopened"}
"""What the audit calls an act."""
_PASSAGES = 1_000
"""Of a document, from its beginning; what stands behind them cannot be told of."""
_COMPARING_SECONDS = 2
_PLACE: TypeAdapter[tuple[Moment, UUID]] = TypeAdapter(tuple[Moment, UUID])


class DeskPage(Record):
    """A page of what waits, newest first."""

    items: tuple[DeskItem, ...]
    counts: dict[Kind, int]
    """Of the state that was asked for, whatever their kind."""
    states: dict[State, int]
    """Of the kind that was asked for, whatever their state."""
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


class Desk:
    """The desk of each caller; every method does I/O. `agents` names the departments of each agent."""

    def __init__(
        self, database: Database, health: Health, agents: Agents, *, today: Callable[[tzinfo], date] = today_in
    ):
        self._database, self._health, self._agents, self._today = database, health, agents, today

    async def page(self, caller: Principal, wanted: Wanted, cursor: str | None, limit: int) -> DeskPage:
        """What the caller may read and owns, newest first. An administrator's look compares documents that nobody
        compared yet, as many as two seconds allow. Raises `AppError`: 403, and 422 for a foreign cursor."""
        demand_keeper(caller)
        behind = read_cursor(_PLACE, cursor)
        if caller.is_admin and behind is None:
            await self._compare(caller)
        async with self._database.principal_scope(caller, durable=False) as tx:
            today = await own_day(tx, self._today)
            found, counted = await desk.page(tx, today, self._agents, wanted, behind, limit + 1)
        shown, further = cut_page(_PLACE, found, limit, lambda last: (last.since, last.item_id))
        kinds, states = Counter[Kind](), Counter[State]()
        for one in counted:
            if one.state == wanted.state:
                kinds[one.kind] += one.items
            if wanted.kind in (None, one.kind):
                states[one.state] += one.items
        return DeskPage(items=shown, counts=kinds, states=states, next_cursor=further)

    async def _compare(self, caller: Principal) -> None:
        """Compare documents one by one, at least one and as many as a short while allows."""
        until = monotonic() + _COMPARING_SECONDS
        while await self._health.catch_up(caller, limit=1) and monotonic() < until:
            pass

    async def find(self, caller: Principal, item_id: UUID) -> DeskItem:
        """One item. Raises `AppError`: 403, and 404 for what is not on the caller's desk."""
        demand_keeper(caller)
        async with self._database.principal_scope(caller, durable=False) as tx:
            return await self._item(tx, item_id)

    async def act(
        self, caller: Principal, item_id: UUID, act: Act, assignee: UUID | None = None, reason: str = ""
    ) -> DeskItem:
        """Assign, dismiss, close or reopen an item; the audit has each act, without the reason's words.

        A contradiction is assigned, dismissed and reopened as its finding is. Raises `AppError`: 403 also where another
        department has a part in it; 404; 409 where the item is not open, or to be reopened and is, or a contradiction
        is to be done without a verdict; 422 for an assignee nobody knows.
        """
        item = await self.find(caller, item_id)
        if not item.may_act:
            raise _refused("Another department has a part in this: ask an administrator, or whoever owns both.")
        if item.finding_id:
            if act == "done":
                detail = f"A contradiction is done by a verdict: PATCH /api/v1/contradictions/{item.finding_id}."
                raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
            await self._health.act(caller, item.finding_id, act, Ruling(assignee=assignee, note=reason))
            return await self.find(caller, item_id)
        async with self._database.principal_scope(caller) as tx:
            if assignee and not await user(tx, caller.tenant_id, assignee):
                raise AppError(ErrorCode.VALIDATION_FAILED, "assignee: there is no such person.", status=422)
            whose = assignee if act == "assign" else item.assignee
            is_done = (item.state == "open") != (act == "reopen")
            if not is_done or not await desk.handle(tx, item, _AFTER[act], whose, reason):
                detail = f"The item is {item.state}: only an open one is handled, and any other reopened."
                raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
            told = {"kind": item.kind, **({"assignee": whose} if act == "assign" else {})}
            await documents.note(tx, f"desk_{_NAMED[act]}", str(item_id), told)
            return await self._item(tx, item_id)

    async def note_run(self, caller: Principal, item_id: UUID, task_id: UUID) -> DeskItem:
        """Keep a run in which the caller asked an item's question. Raises `AppError`: 403, 404."""
        demand_keeper(caller)
        async with self._database.principal_scope(caller) as tx:
            await desk.note_run(tx, await self._item(tx, item_id), task_id)
            return await self._item(tx, item_id)

    async def answer(self, caller: Principal, item_id: UUID, draft: Draft) -> DeskItem:
        """Keep what the caller would answer to the question of an open item that is no contradiction, and say so in the
        audit.

        Raises `AppError`: 403 also for a department that is not the caller's, or a scope the caller has not; 404; 409;
        422 for a day of review that is not to come.
        """
        item = await self.find(caller, item_id)
        if not item.may_act or not caller.may_read(draft.scope, draft.department):
            raise _refused("You do not own this, or may not read what you would write: choose another scope.")
        if not caller.is_admin and draft.department not in caller.departments:
            raise _refused(f"department: {draft.department} is not yours: choose one of your own.")
        async with self._database.principal_scope(caller) as tx:
            if draft.review_on <= await own_day(tx, self._today):
                raise AppError(ErrorCode.VALIDATION_FAILED, "review_on: choose a day to come.", status=422)
            if (
                not item.question
                or item.finding_id
                or item.state != "open"
                or not await desk.keep_draft(tx, item, draft)
            ):
                detail = "Only the question of an open item is answered, and a contradiction is decided instead."
                raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
            told = draft.model_dump(mode="json", exclude={"text"})
            await documents.note(tx, "desk_drafted", str(item_id), told)
            return await self._item(tx, item_id)

    async def tell(self, caller: Principal, task_id: UUID, one: UUID, other: UUID) -> None:
        """Put a conflict between two documents that an own run showed on the desk of their owners, with the question
        and no name; the same again changes nothing.

        Raises `AppError`: 404 for any other run or conflict, and where the caller may not read both any more; 409 where
        a document does not say it any more.
        """
        async with self._database.principal_scope(caller) as tx:
            shown = await conflicts.of_run(tx, task_id)
            conflict = next((c for c in shown if {c.winner.document_id, c.loser.document_id} == {one, other}), None)
            if conflict is None or {conflict.winner.kind, conflict.loser.kind} != {"document"}:
                raise not_found()
            await desk.tell(tx, task_id, await self._finding(tx, conflict))

    async def _finding(self, tx: Transaction, conflict: Conflict) -> UUID:
        """The contradiction a conflict is: what an examination found, or a new one."""
        sides = conflict.winner, conflict.loser
        for finding_id, said in await desk.known_findings(tx, *(side.document_id for side in sides)):
            if all(says(said[side.document_id], side.claim) for side in sides):
                return finding_id
        return await desk.add_finding(tx, *[await self._told(tx, side) for side in sides])

    async def _told(self, tx: Transaction, side: Side) -> Told:
        """Where a side's sentence stands today, as examinations read it. Raises `AppError` (409)."""
        today = await own_day(tx, self._today)
        claimed = frozenset(words(side.claim))
        for passage in await passages_of(tx, side.document_id, today, _PASSAGES):
            if claimed and claimed <= frozenset(words(passage.text)):
                read = read_passage(passage, no_concepts).said
                sentence = next((one for one in read if says(one, side.claim)), side.claim)
                return Told(side.document_id, passage.chunk_id, sentence)
        detail = f"“{side.title}” does not say this any more: ask the question again."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)

    async def _item(self, tx: Transaction, item_id: UUID) -> DeskItem:
        found = await desk.find(tx, await own_day(tx, self._today), self._agents, item_id)
        if found is None:
            raise AppError(ErrorCode.NOT_FOUND, "There is no such item on your desk.", status=404)
        return found


def demand_keeper(caller: Principal) -> None:
    """Refuse whoever neither owns a department nor administers the tenant. Raises `AppError` (403), before anything is
    looked up."""
    if not (caller.is_admin or OWNER in caller.roles):
        raise _refused("The desk is for owners of a department: ask an administrator for the role owner.")


def says(text: str, sentence: str) -> bool:
    """Whether a text says a sentence, or a part of it, in the same words."""
    mine, theirs = (f" {' '.join(words(one))} " for one in (text, sentence))
    return bool(mine.strip() and theirs.strip()) and (mine in theirs or theirs in mine)


def _refused(detail: str) -> AppError:
    return AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
