"""Documents come, move, change and go, people gain and lose rights: after every step everybody sees exactly what the
rules say, whichever way they ask. Nothing foreign, and nothing missing."""

import asyncio
import re
from collections.abc import Coroutine
from datetime import UTC, date, datetime
from itertools import count
from typing import Any, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.domain.documents import DocumentFields, Upload
from app.domain.knowledge import DocumentDraft
from app.domain.principal import SCOPES, Principal
from app.errors import AppError
from app.storage.database import Database
from tests.factories import principal
from tests.postgres.arriving import Desk, PlainParser
from tests.postgres.knowledge_model import Document, Tenant, Version
from tests.postgres.library import TODAY, add_tenants, admin
from tests.samples import size

Result = TypeVar("Result")
NAMES = ("leave", "salary", "travel")
DEPARTMENTS = ("hr", "it", "general")
DAYS = (None, date(2025, 1, 1), date(2026, 1, 1), date(2026, 7, 1), date(2027, 1, 1))
ASKED = (date(2024, 12, 31), date(2025, 7, 1), date(2026, 6, 30), date(2026, 7, 1), date(2027, 1, 1))
_SERIAL = re.compile(r"số (\d+)\.")
_tenants = count(1)


@st.composite
def periods(draw: st.DrawFn) -> dict[str, Any]:
    first, last = draw(st.sampled_from(DAYS)), draw(st.sampled_from((None, None, date(2026, 12, 31))))
    return {"effective_from": first, "effective_to": None if last and first and last < first else last}


@st.composite
def descriptions(draw: st.DrawFn) -> dict[str, Any]:
    """All fields that decide who sees a document and when."""
    created = datetime(draw(st.sampled_from((2024, 2025, 2026))), 3, 1, tzinfo=UTC)
    rights = {"department": draw(st.sampled_from(DEPARTMENTS)), "scope": draw(st.sampled_from(SCOPES))}
    supersedes = draw(st.sampled_from((None, None, None, *NAMES)))
    return {**draw(periods()), **rights, "supersedes": supersedes, "created_at": created}


changes = st.one_of(
    st.fixed_dictionaries({"scope": st.sampled_from(SCOPES)}),
    st.fixed_dictionaries({"department": st.sampled_from(DEPARTMENTS)}),
    st.fixed_dictionaries({"effective_from": st.sampled_from(DAYS)}),
    st.fixed_dictionaries({"supersedes": st.sampled_from((None, *NAMES))}),
    periods(),
)


class World:
    """The real thing: one database, two processes' searches, and the event loop they all live on."""

    def __init__(self, app_url: str, operator_url: str):
        self.runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self.database = self.run(Database.connect(app_url, pool_size=8))
        self.operator_url = operator_url

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(work)

    def close(self) -> None:
        self.run(self.database.dispose())
        self.runner.close()


class Machine(RuleBasedStateMachine):
    """Two companies with documents of the same names."""

    world: World

    @initialize()
    def begin(self) -> None:
        self.names = [f"machine-{next(_tenants)}" for _ in range(2)]
        self.world.run(add_tenants(self.world.operator_url, *self.names))
        self.desks = {name: self._desk(name) for name in self.names}
        self.tenants = {name: Tenant() for name in self.names}
        self.people = {name: self._people(name) for name in self.names}
        self.waiting: list[tuple[str, Document, Version, UUID, UUID]] = []
        self.ids: dict[UUID, str] = {}
        self.serials = count(1)

    def _desk(self, name: str) -> Desk:
        return Desk.of(self.world.database, admin(name), PlainParser(), caching=True)

    def _people(self, tenant: str) -> dict[str, Principal]:
        clerk = principal(tenant, "clerk", "general", ("public",), ("admin",))
        people = [admin(tenant), clerk, principal(tenant, "lan", "hr"), principal(tenant, "minh", "it")]
        return {one.name: one for one in people}

    @rule(tenant=st.integers(0, 1), name=st.sampled_from(NAMES), fields=descriptions(), data=st.data())
    def bring(self, tenant: int, name: str, fields: dict[str, Any], data: st.DataObject) -> None:
        self._arrive(tenant, name, fields, data)
        self._work(len(self.waiting) - 1)

    @rule(tenant=st.integers(0, 1), name=st.sampled_from(NAMES), fields=descriptions(), data=st.data())
    def arrive(self, tenant: int, name: str, fields: dict[str, Any], data: st.DataObject) -> None:
        self._arrive(tenant, name, fields, data)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def work(self, data: st.DataObject) -> None:
        self._work(data.draw(st.integers(0, len(self.waiting) - 1)))

    @rule(tenant=st.integers(0, 1), drafts=st.dictionaries(st.sampled_from(NAMES), descriptions(), min_size=1))
    def bring_many(self, tenant: int, drafts: dict[str, dict[str, Any]]) -> None:
        where = self.names[tenant]
        made = []
        for name, fields in drafts.items():
            version = Version(0, next(self.serials), False, "admin", dict(fields))
            text = f"Quy định nghỉ phép số {version.serial}."
            made.append(DocumentDraft(title=name, text=text, url="", external_id=name, **fields))
            document = self._taken_up(where, name, version)
            assert self.tenants[where].publish(document, version)
        self.world.run(self.desks[where].ingestion.ingest(self.people[where]["admin"], made))

    @precondition(lambda self: self._all())
    @rule(change=changes, data=st.data())
    def amend(self, change: dict[str, Any], data: st.DataObject) -> None:
        where, document = data.draw(st.sampled_from(self._all()))
        fields = document.fields | change
        if fields["effective_from"] and fields["effective_to"] and fields["effective_to"] < fields["effective_from"]:
            change = change | {"effective_to": None}
        who = self.people[where][data.draw(st.sampled_from(("admin", "clerk")))]
        desk = self.desks[where]
        if not who.is_admin:
            return
        self.world.run(desk.catalogue.amend(who, self._id_of(where, document), change))
        self.tenants[where].amend(document, change)

    @precondition(lambda self: self._all())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        where, document = data.draw(st.sampled_from(self._all()))
        self.world.run(self.desks[where].catalogue.delete(self.people[where]["admin"], self._id_of(where, document)))
        del self.tenants[where].documents[document.external_id]

    @rule(
        tenant=st.integers(0, 1),
        name=st.sampled_from(("clerk", "lan", "minh")),
        scopes=st.frozensets(st.sampled_from(SCOPES)),
        department=st.sampled_from(DEPARTMENTS),
        is_admin=st.booleans(),
    )
    def change_rights(self, tenant: int, name: str, scopes: Any, department: str, is_admin: bool) -> None:
        people = self.people[self.names[tenant]]
        roles = frozenset({"admin"}) if is_admin else frozenset()
        rights = {"scopes": scopes, "department": department, "departments": frozenset({department}), "roles": roles}
        people[name] = people[name].model_copy(update=rights)

    @invariant()
    def everybody_sees_exactly_what_the_rules_say(self) -> None:
        if hasattr(self, "people"):
            self.world.run(self._ask_all())

    def _all(self) -> list[tuple[str, Document]]:
        return [(where, document) for where, tenant in self.tenants.items() for document in tenant.documents.values()]

    def _id_of(self, where: str, document: Document) -> UUID:
        owner = self.people[where]["admin"]
        found, _ = self.world.run(
            self.desks[where].catalogue.page(owner, department=None, status=None, cursor=None, limit=100)
        )
        return next(view.document_id for view in found if view.external_id == document.external_id)

    def _taken_up(self, where: str, name: str, version: Version) -> Document:
        tenant = self.tenants[where]
        tenant.take_up(name, version)
        return tenant.documents[name]

    def _arrive(self, tenant: int, name: str, fields: dict[str, Any], data: st.DataObject) -> None:
        where = self.names[tenant]
        admins = [one.name for one in self.people[where].values() if one.is_admin]
        who = self.people[where][data.draw(st.sampled_from(admins))]
        version = Version(0, next(self.serials), data.draw(st.booleans()), who.name, dict(fields))
        text = f"Quy định nghỉ phép số {version.serial}."
        said = DocumentFields(external_id=name, title=name, **fields)
        content = text.encode() if version.is_file else None
        upload = Upload(fields=said, content=content, file_name="a.md", text="" if content else text)
        document_id, task_id = self.world.run(self.desks[where].arrive(upload, who))
        document = self._taken_up(where, name, version)
        self.ids[document_id] = where
        self.waiting.append((where, document, version, document_id, task_id))

    def _work(self, place: int) -> None:
        where, document, version, document_id, task_id = self.waiting.pop(place)
        bringer = self.people[where][version.bringer]
        # The task keeps the rights its bringer had when it was registered.
        registered = bringer.model_copy(update={"roles": frozenset({"admin"})})
        done = self.world.run(self.desks[where].work(document_id, task_id, registered))
        assert (done.status == "ready" and done.version is not None) == self.tenants[where].publish(document, version)

    async def _ask_all(self) -> None:
        everybody = [(where, one) for where, people in self.people.items() for one in people.values()]
        await asyncio.gather(*(self._ask(where, one) for where, one in everybody))

    async def _ask(self, where: str, who: Principal) -> None:
        desk, tenant = self.desks[where], self.tenants[where]
        for day in (None, *ASKED):
            result = await desk.retriever.search(who, "quy định nghỉ phép", departments=None, limit=50, as_of=day)
            found = {int(number) for passage in result.passages for number in _SERIAL.findall(passage.text)}
            expected = tenant.found(who, day or TODAY, with_superseded=day is not None, today=TODAY)
            assert found == expected, (where, who, day)
        await self._look(desk, tenant, who)
        await self._select(desk, tenant, who)

    async def _look(self, desk: Desk, tenant: Tenant, who: Principal) -> None:
        """The catalogue: everything listed, and every document anybody ever made, by its id."""
        listed, _ = await desk.catalogue.page(who, department=None, status=None, cursor=None, limit=100)
        visible = {name for name, one in tenant.documents.items() if tenant.sees_document(who, one)}
        assert {view.external_id for view in listed} == visible
        for view in listed:
            document = tenant.documents[view.external_id]
            assert (view.scope, view.department) == (document.scope, document.department)
            versions = [one for one in document.versions if tenant.sees_version(who, document, one)]
            shown = await desk.catalogue.versions(who, view.document_id, 50)
            assert [one.version for one in shown] == [one.number for one in reversed(versions)]
            newest = document.versions[(document.current or len(document.versions)) - 1]
            has_original = newest.is_file and newest in versions
            assert await self._original(desk, who, view.document_id) == (newest.serial if has_original else None)
        for document_id in self.ids.keys() - {view.document_id for view in listed}:
            assert await self._original(desk, who, document_id) is None

    async def _original(self, desk: Desk, who: Principal, document_id: UUID) -> int | None:
        try:
            content, _ = await desk.catalogue.original(who, document_id)
        except AppError as error:
            assert error.status == 404
            return None
        return int(_SERIAL.findall(content.decode())[0])

    async def _select(self, desk: Desk, tenant: Tenant, who: Principal) -> None:
        """The tables themselves, without a single WHERE."""
        async with desk.database.principal_scope(who, durable=False) as tx:
            documents = await tx.driver.fetch("select tenant_id, external_id from documents")
            versions = await tx.driver.fetch("select text, task_id from document_versions where text <> ''")
            numbers = await tx.driver.fetchval("select count(*) from document_versions")
            originals = await tx.driver.fetch("select content from document_originals")
            chunks = await tx.driver.fetch("select text from chunks")
            vectors = await tx.driver.fetchval("select count(*) from chunk_vectors")
            kept = await tx.driver.fetchval("select count(*) from embedding_cache where tenant_id <> $1", who.tenant_id)
        assert kept == 0 and {row["tenant_id"] for row in documents} <= {who.tenant_id}
        readable = [one for one in tenant.documents.values() if who.may_read(one.scope, one.department)]
        listed = tenant.documents if who.is_admin else {one.external_id for one in readable}
        assert {row["external_id"] for row in documents} == set(listed)
        seen = [v for one in tenant.documents.values() for v in one.versions if tenant.sees_version(who, one, v)]
        assert numbers == len(seen) and _serials(versions) <= {one.serial for one in seen}
        assert {int(_SERIAL.findall(row["content"].decode())[0]) for row in originals} == {
            one.serial for one in seen if one.is_file
        }
        standing = {version.serial for one in readable for version in one.standing}
        assert _serials(chunks) == standing and vectors == len(standing)


def _serials(rows: Any) -> set[int]:
    return {int(_SERIAL.findall(row["text"])[0]) for row in rows}


class TestRights:
    @pytest.mark.timeout(600)
    def test_hold_after_every_step(self, app_url: str, maintenance_url: str) -> None:
        Machine.world = World(app_url, maintenance_url)
        try:
            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=size(4, 24), stateful_step_count=size(10, 15), deadline=None, print_blob=True,
                    # Shrinking would take minutes: what failed first is told at once.
                    phases=(Phase.explicit, Phase.reuse, Phase.generate), suppress_health_check=list(HealthCheck),
                ),
            )  # fmt: skip
        finally:
            Machine.world.close()
