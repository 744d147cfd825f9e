"""One synchronisation: list, compare with what is known, follow rights and deletions, fetch what is new.

Nothing is withdrawn unless the source was listed to its end. What is brought in is noted in the transaction that
registers its task, so that a process that dies has neither lost nor repeated a document; whoever comes next goes on.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4, uuid5

from pydantic import ValidationError

from app.connectors.definition import WITHHELD, Access, Definition, Rights
from app.connectors.source import MOST_ITEMS, Item, ItemRefused, Source, SourceLost
from app.domain.documents import DocumentFields, Upload
from app.domain.principal import GENERAL, SCOPES, Principal
from app.domain.tasks import NewTask
from app.errors import AppError, ErrorCode
from app.ingestion.catalogue import Catalogue
from app.ingestion.files import FORMATS
from app.ingestion.folder import plan
from app.ingestion.intake import UNREADABLE, Intake
from app.storage import connectors
from app.storage.connectors import KnownItem, StoredConnector, Turn
from app.storage.database import Database, Transaction
from app.tasks.registry import TaskRegistry
from app.text.language import clean

LEASE_SECONDS = 90.0
_AT_ONCE = 3
_MOST_NAME = 400
_NOTES = 50
_FORMATS = tuple(one for one in FORMATS if one != ".jsonl")
_HIDDEN = Rights(WITHHELD, "private")


def acting(turn: Turn, departments: Iterable[str] = ()) -> Principal:
    """The connector itself, as an administrator of its tenant: the audit names it by its id."""
    belongs = frozenset({GENERAL, WITHHELD, *departments})
    return Principal(
        tenant_id=turn.tenant_id, user_id=turn.connector_id, department=GENERAL, departments=belongs,
        scopes=frozenset(SCOPES), roles=frozenset({"admin"}), name="connector",
    )  # fmt: skip


@dataclass
class Tally:
    """What a synchronisation did."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, name: str = "", reason: str = "") -> None:
        """Count something; with a reason, say so of the first fifty."""
        self.counts[what] += 1
        if reason and len(self.notes) < _NOTES:
            self.notes.append(f"{what}: {name[:200]}: {reason[:300]}")


class Rooms(NamedTuple):
    """What documents go through, the same as those that are uploaded."""

    database: Database
    registry: TaskRegistry
    intake: Intake
    catalogue: Catalogue
    most_bytes: int


class Run:
    """One synchronisation of one connector under a lease."""

    def __init__(self, rooms: Rooms, turn: Turn, row: StoredConnector, definition: Definition, source: Source):
        self._rooms, self._turn, self._row, self._source = rooms, turn, row, source
        self._prefix = f"connector:{definition.name}/"
        self._access = Access(definition.access, definition.ignore)
        self._acting = acting(turn, (rule.department for rule in definition.access))
        self._definition_mark = hashlib.sha256(definition.model_dump_json().encode()).hexdigest()[:16]
        self.tally = Tally()
        self.problem = ""
        """What an administrator has to look at although everything went through."""

    async def carry_out(self) -> str:
        """Bring the tenant's documents in step with the source; gives the cursor to keep, empty = list anew next time.

        Raises `SourceLost`, `AppError` and `LeaseLost`; what was done by then stays done.
        """
        mark = await self._source.changes()
        cursor = f"{self._definition_mark} {mark}" if mark and not self._access.needs_lists else ""
        if cursor and cursor == self._row.cursor and not self._row.may_withdraw_all:
            return cursor
        items, kept = await self._listed()
        wanted = await self._mapped(items, kept)
        async with self._rooms.database.principal_scope(self._acting, durable=False) as tx:
            known = {one.source_id: one for one in await connectors.known(tx, self._turn.connector_id)}
        await self._follow_rights(wanted, known)
        await self._withdraw(wanted, known, kept)
        await self._bring_all(wanted, known)
        return "" if self.problem or self.tally.counts["failed"] or kept else cursor

    async def _listed(self) -> tuple[dict[str, Item], set[str]]:
        """(what is there, by name; names nobody may look into now)."""
        items: dict[str, Item] = {}
        kept: set[str] = set()
        listed = 0
        async for item in self._source.list():
            listed += 1
            await _pause(listed)
            if listed > MOST_ITEMS:
                raise SourceLost(f"It lists more than {MOST_ITEMS:,} things; name a smaller part of it.")
            name = clean(item.source_id)
            if not item.is_readable:
                kept.add(name)
                self.tally.add("unreadable", name, "it may not be looked into; what is known of it stays")
            elif (reason := self._unfit(name, item)) or name in items:
                self.tally.add("skipped", repr(name), reason or "another thing has the same name")
            elif not self._access.is_ignored(name):
                items[name] = item
        self.tally.counts["listed"] = listed
        return items, kept

    def _unfit(self, name: str, item: Item) -> str:
        """Why a name can be no document; empty = it can. A path that leads elsewhere must fool no rule of access."""
        parts = name.split("/")
        if not item.source_id.isprintable() or "\\" in name or len(name) > _MOST_NAME:
            return f"names have at most {_MOST_NAME} printable characters and no backslash"
        if any(part in ("", ".", "..") for part in parts):
            return "a path without . and .. and empty parts is needed"
        if any(part.startswith((".", "~$")) for part in parts):
            return "hidden"
        return "" if item.named.lower().endswith(_FORMATS) else "none of the formats that are read"

    async def _mapped(self, items: Mapping[str, Item], kept: set[str]) -> dict[str, tuple[Item, Rights | None]]:
        """What is there with who may read it; None = nobody. Adds to `kept` whatever the source does not say it of."""
        wanted: dict[str, tuple[Item, Rights | None]] = {}
        for number, (name, item) in enumerate(items.items()):
            await _pause(number)
            try:
                lists = await self._source.access(item) if self._access.needs_lists else frozenset[str]()
            except ItemRefused as refused:
                kept.add(name)
                self.tally.add("unreadable", name, str(refused))
                continue
            wanted[name] = item, self._access.rights_of(name, lists)
            if wanted[name][1] is None:
                self.tally.add("unmapped", name, "no rule of access speaks of it; it is kept from everybody")
        return wanted

    async def _follow_rights(
        self, wanted: Mapping[str, tuple[Item, Rights | None]], known: Mapping[str, KnownItem]
    ) -> None:
        """Give documents the rights they have at the source now, before anything is fetched."""
        for name, (_, rights) in wanted.items():
            one = known.get(name)
            now = rights or _HIDDEN
            if one is None or one.document_id is None or (one.department, one.scope) == now:
                continue
            await self._hold()
            await self._rooms.catalogue.amend(self._acting, one.document_id, now._asdict())
            self.tally.add("rights_changed" if rights else "hidden")

    async def _withdraw(
        self, wanted: Mapping[str, object], known: Mapping[str, KnownItem], kept: Iterable[str]
    ) -> None:
        """Delete what is gone at the source, unless so much is gone that the source is likelier to be broken."""
        documents = [one.source_id for one in known.values() if one.document_id is not None]
        may_all = self._row.may_withdraw_all
        planned = plan(wanted, documents, prefix="", unreadable=[*kept], allow_retire_all=may_all)
        for name in planned.retire:
            await self._hold()
            document_id = known[name].document_id
            assert document_id is not None
            await self._rooms.catalogue.delete(self._acting, document_id)
            self.tally.add("withdrawn")
        if planned.withheld:
            self.tally.counts["not_withdrawn"] = len(planned.withheld)
            self.problem = (
                f"{len(planned.withheld)} of {len(documents)} documents are gone at the source. None was withdrawn, in"
                " case the source is broken. If it is meant, synchronise with withdraw_all."
            )
        empty = [one.source_id for one in known.values() if one.document_id is None and one.source_id not in wanted]
        async with self._rooms.database.principal_scope(self._acting) as tx:
            await connectors.forget(tx, self._turn.connector_id, empty)

    async def _bring_all(
        self, wanted: Mapping[str, tuple[Item, Rights | None]], known: Mapping[str, KnownItem]
    ) -> None:
        """Fetch what is new or has changed, some at a time. Raises the first error that is about more than one."""
        waiting = iter([
            (name, item, rights) for name, (item, rights) in sorted(wanted.items())
            if rights is not None and not self._is_unchanged(item, known.get(name))
        ])  # fmt: skip

        async def work() -> None:
            for name, item, rights in waiting:
                await self._bring(name, item, rights, known.get(name))

        try:
            async with asyncio.TaskGroup() as workers:
                for _ in range(_AT_ONCE):
                    workers.create_task(work())
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    def _is_unchanged(self, item: Item, one: KnownItem | None) -> bool:
        is_same = one is not None and item.tag != "" and one.tag == item.tag and not _may_pass(one)
        if is_same:
            self.tally.add("unchanged")
        return is_same

    async def _bring(self, name: str, item: Item, rights: Rights, one: KnownItem | None) -> None:
        most, fault = self._rooms.most_bytes, ""
        if item.size is not None and item.size > most:
            self.tally.add("skipped", name, f"larger than {most:,} bytes")
            return
        try:
            content = await self._source.fetch(item, most)
        except ItemRefused as refused:
            self.tally.add("failed", name, str(refused))
            return
        digest = hashlib.sha256(content).hexdigest()
        noted = partial(connectors.note, connector_id=self._turn.connector_id, source_id=name, tag=item.tag or digest)
        is_same = one is not None and one.content_hash == digest and not _may_pass(one)
        if not is_same:
            fault = await self._hand_in(self._upload(name, item, rights, content), partial(noted, content_hash=digest))
            self.tally.add("skipped" if fault else "changed" if one and one.document_id else "new", name, fault)
        if is_same or fault:
            async with self._rooms.database.principal_scope(self._acting) as tx:
                await noted(tx, content_hash=digest, fault=fault or (one.fault if one else ""))
        if is_same:
            self.tally.add("unchanged")

    def _upload(self, name: str, item: Item, rights: Rights, content: bytes) -> Upload:
        said = {"external_id": self._prefix + name, **rights._asdict()}
        try:
            fields = DocumentFields.model_validate({**said, **({"url": item.url} if item.url else {})})
        except ValidationError:  # an address nobody could open
            fields = DocumentFields.model_validate(said)
        return Upload(fields=fields, content=content, file_name=item.named)

    async def _hand_in(self, upload: Upload, noted: "partial[Any]") -> str:
        """Register the upload's task as a request would; why it was refused, else empty."""
        task_id = uuid4()
        document_id = uuid5(self._acting.tenant_id, f"document:{upload.fields.external_id}")

        async def within(tx: Transaction) -> None:
            arrival = await self._rooms.intake.take_in(tx, upload, task_id)
            await noted(tx, document_id=arrival.document_id)
            await connectors.renew(tx, self._turn, LEASE_SECONDS)

        try:
            self._rooms.intake.check(self._acting, upload)
            await self._rooms.registry.register_task(
                self._acting,
                NewTask(
                    task_id=task_id, session_id=uuid5(self._acting.user_id, "documents"), root_task_id=task_id,
                    kind="ingest", title="document", request={"document_id": str(document_id)},
                ),
                within=within,
            )  # fmt: skip
        except AppError as error:
            if error.code is not ErrorCode.DOCUMENT_REJECTED:
                raise
            return error.detail
        return ""

    async def _hold(self) -> None:
        """Make sure that nobody else is at it. Raises `LeaseLost`."""
        async with self._rooms.database.principal_scope(self._acting, durable=False) as tx:
            await connectors.renew(tx, self._turn, LEASE_SECONDS)


async def _pause(number: int) -> None:
    """Let others have a turn now and then: a source that is listed at once gives none."""
    if number % 500 == 0:
        await asyncio.sleep(0)


def _may_pass(one: KnownItem) -> bool:
    """Whether the newest version failed for a reason that does not lie in the file."""
    return bool(one.failed_with) and one.failed_with not in UNREADABLE
