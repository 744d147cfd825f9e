"""The health report over the real database: what is compared, what is told, and to whom."""

import asyncio
import zlib
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import numpy as np
import pytest
import pytest_asyncio
from pgvector import Vector

from app.domain.health import HealthItem, HealthKind
from app.domain.principal import SCOPES, Principal, Scope
from app.embedding.cached import CachedEmbedder
from app.errors import AppError, ErrorCode
from app.ingestion.health import Health
from app.reasoning.local.terms import concepts_in
from app.retrieval.text import index_text
from app.storage.database import Database
from app.text.language import content_words, fold
from tests.cases import each_case
from tests.factories import principal
from tests.postgres.library import add_tenants, admin

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
TODAY = date(2026, 11, 21)
SPACE = "words"
_numbers = count(1)

LEAVE_14 = "Nhân viên chính thức được nghỉ 14 ngày phép năm."
LEAVE_12 = "Mỗi nhân viên chính thức có 12 ngày phép năm."
LEAVE_EN = "Permanent employees get 15 days of paid annual leave."
PASSWORD = "Mật khẩu có ít nhất 12 ký tự và phải đổi sau 180 ngày, không dùng lại năm mật khẩu gần nhất."
PARKING = "Khách gửi xe máy ở hầm B2, ô tô ở bãi sau toà nhà."
SECRET = "Nhân viên chính thức được nghỉ 77 ngày phép năm theo thoả thuận riêng."


def words_vector(text: str) -> Vector:
    """Texts with common words (or concepts, across languages) lie near one another."""
    vector = np.zeros(512, np.float32)
    for word in {fold(word) for word in content_words(text)}:
        vector[zlib.crc32(word.encode()) % 512] += 1
    for concept in concepts_in(text):
        vector[zlib.crc32(concept.encode()) % 512] += 3
    return Vector(vector / np.linalg.norm(vector))


class Shelf:
    """Writes published documents of one tenant, past the row policies."""

    def __init__(self, superuser: Superuser, tenant_id: UUID):
        self._superuser, self.tenant = superuser, tenant_id
        self.ids: dict[str, UUID] = {}

    async def publish(self, name: str, *texts: str, **changes: Any) -> UUID:
        """A public Vietnamese hr document of 2026; the same name again makes a new version."""
        fields: dict[str, Any] = {
            "title": name, "url": "", "department": "hr", "scope": "public", "lang": "vi", "status": "ready",
            "created_at": datetime(2026, 1, 1, tzinfo=UTC), "effective_from": None, "effective_to": None,
            "supersedes": None,
        }  # fmt: skip
        fields |= changes
        document_id = self.ids.setdefault(name, uuid4())
        async with self._superuser.transaction():
            version: int = await self._superuser.fetchval(
                "select coalesce(max(version), 0) + 1 from document_versions where document_id = $1", document_id
            )
            names = ", ".join(fields)
            values = ", ".join(f"${at}" for at in range(4, 4 + len(fields)))
            await self._superuser.execute(
                f"insert into documents (tenant_id, document_id, external_id, {names}) values ($1, $2, $3, {values})"
                f" on conflict (tenant_id, document_id) do update set ({names}) = row({values}), updated_at = now()",
                self.tenant, document_id, name, *fields.values(),
            )  # fmt: skip
            await self._superuser.execute(
                "insert into document_versions (tenant_id, document_id, version, content_hash, text, department, scope,"
                " created_by) values ($1, $2, $3, '', '', $4, $5, $1)",
                self.tenant, document_id, version, fields["department"], fields["scope"],
            )  # fmt: skip
            for position, text in enumerate(texts):
                await self._chunk(document_id, version, position, text, fields)
            await self._superuser.execute(
                "delete from chunks where tenant_id = $1 and document_id = $2 and version < $3",
                self.tenant, document_id, version,
            )  # fmt: skip
            await self._superuser.execute(
                "update documents set current_version = $3 where tenant_id = $1 and document_id = $2",
                self.tenant, document_id, version,
            )  # fmt: skip
        return document_id

    async def _chunk(self, document_id: UUID, version: int, position: int, text: str, fields: dict[str, Any]) -> None:
        chunk_id = uuid4()
        rights = [fields[name] for name in ("department", "scope", "effective_from", "effective_to")]
        await self._superuser.execute(
            "insert into chunks (tenant_id, chunk_id, document_id, version, position, text, tsv, tsv_folded,"
            " department, scope, effective_from, effective_to, is_current)"
            " values ($1, $2, $3, $4, $5, $6, ($7::text)::tsvector, ($8::text)::tsvector, $9, $10, $11, $12, true)",
            self.tenant, chunk_id, document_id, version, position, text, index_text(text),
            index_text(text, folded=True), *rights,
        )  # fmt: skip
        await self._superuser.execute(
            "insert into chunk_vectors (tenant_id, chunk_id, document_id, department, scope, effective_from,"
            " effective_to, is_current, embedding_model, embedding) values ($1, $2, $3, $4, $5, $6, $7, true, $8,"
            " ($9::text)::vector)",
            self.tenant, chunk_id, document_id, *rights, SPACE, words_vector(text).to_text(),
        )  # fmt: skip


@pytest.fixture
def health(database: Database, embedder: CachedEmbedder) -> Health:
    return Health(database, SPACE, concepts=concepts_in, embedder=embedder, today=lambda _zone: TODAY)


@pytest_asyncio.fixture
async def owner(maintenance_url: str) -> Principal:
    """The administrator of a tenant nobody used before, who may read everything."""
    name = f"health-{next(_numbers)}"
    await add_tenants(maintenance_url, name)
    return admin(name)


@pytest.fixture
def shelf(superuser: Superuser, owner: Principal) -> Shelf:
    return Shelf(superuser, owner.tenant_id)


def somebody(
    owner: Principal, scopes: Sequence[Scope], *departments: str, roles: tuple[str, ...] = ("admin",)
) -> Principal:
    """Another person of the tenant, an administrator unless told otherwise."""
    made = principal(str(owner.tenant_id), "clerk", "general", tuple(scopes), roles)
    return made.model_copy(update={"departments": made.departments | set(departments)})


async def told(health: Health, who: Principal, *kinds: HealthKind) -> list[HealthItem]:
    items = (await health.report(who)).items
    return [item for item in items if not kinds or item.kind in kinds]


async def contradictions(health: Health, who: Principal) -> set[frozenset[str]]:
    """Pairs of documents by name."""
    items = await told(health, who, HealthKind.CONTRADICTION)
    return {frozenset(side.external_id for side in (item.document, item.other) if side) for item in items}


class TestExamine:
    async def test_finds_what_contradicts_and_quotes_both_sides(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("old", PARKING, LEAVE_12)
        new = await shelf.publish("new", LEAVE_14)
        assert await health.examine(owner, new) == 1
        [item] = await told(health, owner, HealthKind.CONTRADICTION)
        assert item.other is not None
        assert (item.document.external_id, item.document.value, item.document.sentence) == ("new", "14 ngày", LEAVE_14)
        assert (item.other.external_id, item.other.value, item.other.sentence) == ("old", "12 ngày", LEAVE_12)
        assert (item.unit, 0 < item.score <= 1) == ("day", True)
        assert "14 ngày" in item.advice.vi
        assert "14 ngày" in item.advice.en

    async def test_finds_it_across_languages(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("vi", LEAVE_14)
        earlier = datetime(2023, 1, 1, tzinfo=UTC)
        await health.examine(owner, await shelf.publish("en", LEAVE_EN, lang="en", created_at=earlier))
        assert await contradictions(health, owner) == {frozenset({"vi", "en"})}

    async def test_says_nothing_of_what_completes_or_agrees(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("agrees", LEAVE_12.replace("12", "14"))
        await shelf.publish("completes", "Nhân viên chính thức nghỉ phép phải báo trước 3 ngày làm việc.", PARKING)
        assert await health.examine(owner, await shelf.publish("new", LEAVE_14)) == 0

    @pytest.mark.parametrize("which", ["new", "old"])
    async def test_leaves_out_what_one_replaces(
        self, health: Health, owner: Principal, shelf: Shelf, which: str
    ) -> None:
        await shelf.publish("old", LEAVE_12)
        await shelf.publish("new", LEAVE_14, supersedes="old")
        assert await health.examine(owner, shelf.ids[which]) == 0

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            ((None, date(2026, 12, 31)), (date(2027, 1, 1), None), 0),
            ((None, date(2026, 12, 31)), (date(2026, 12, 31), None), 1),
            ((None, date(2026, 10, 31)), (None, date(2026, 10, 31)), 0),
            ((None, None), (date(2026, 1, 1), date(2027, 1, 1)), 1),
        ],
        ids=["one after the other", "one day in common", "both over", "one inside the other"],
    )
    async def test_compares_what_is_in_force_at_one_time(
        self,
        health: Health,
        owner: Principal,
        shelf: Shelf,
        old: tuple[date | None, date | None],
        new: tuple[date | None, date | None],
        expected: int,
    ) -> None:
        await shelf.publish("old", LEAVE_12, effective_from=old[0], effective_to=old[1])
        document_id = await shelf.publish("new", LEAVE_14, effective_from=new[0], effective_to=new[1])
        assert await health.examine(owner, document_id) == expected

    async def test_finds_documents_that_repeat_one_another(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("one", PASSWORD, PARKING)
        await health.examine(owner, await shelf.publish("copy", f"{PASSWORD} Hết."))
        [item] = await told(health, owner, HealthKind.DUPLICATE)
        assert item.other is not None
        assert {item.document.external_id, item.other.external_id} == {"one", "copy"}
        assert item.score == 1

    async def test_again_changes_nothing(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("old", LEAVE_12)
        new = await shelf.publish("new", LEAVE_14)
        for document_id in (new, new, shelf.ids["old"], new):
            assert await health.examine(owner, document_id) == 1
            assert len(await told(health, owner, HealthKind.CONTRADICTION)) == 1

    async def test_of_two_documents_at_once_says_it_once(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("old", LEAVE_12)
        await shelf.publish("new", LEAVE_14)
        await asyncio.gather(*(health.examine(owner, shelf.ids[name]) for name in ("old", "new") * 4))
        assert len(await told(health, owner, HealthKind.CONTRADICTION)) == 1

    async def test_of_a_new_version_replaces_the_findings(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("other", LEAVE_12)
        await health.examine(owner, await shelf.publish("policy", LEAVE_14))
        await shelf.publish("policy", LEAVE_14.replace("14", "16"))
        assert await contradictions(health, owner) == set()
        await health.examine(owner, shelf.ids["policy"])
        [item] = await told(health, owner, HealthKind.CONTRADICTION)
        assert item.document.value == "16 ngày"
        await health.examine(owner, await shelf.publish("policy", LEAVE_14.replace("14", "12")))
        assert await contradictions(health, owner) == set()

    async def test_forgets_a_deleted_document(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database, superuser: Superuser
    ) -> None:
        await shelf.publish("other", LEAVE_12)
        await health.examine(owner, await shelf.publish("policy", LEAVE_14))
        async with database.principal_scope(owner) as tx:
            assert await tx.driver.execute("delete from documents where document_id = $1", shelf.ids["other"])
        assert await contradictions(health, owner) == set()
        left = "select count(*) from document_findings where tenant_id = $1"
        assert await superuser.fetchval(left, owner.tenant_id) == 0

    async def test_of_nothing_is_nothing(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        assert await health.examine(owner, uuid4()) == 0
        assert await health.examine(owner, await shelf.publish("void")) == 0


class TestRights:
    @each_case("call", ["examine", "catch_up", "report"])
    async def test_are_the_administrators_alone(
        self, health: Health, owner: Principal, shelf: Shelf, call: str
    ) -> None:
        person = somebody(owner, SCOPES, "hr", roles=())
        arguments = (await shelf.publish("policy", LEAVE_14),) if call == "examine" else ()
        with pytest.raises(AppError) as refusal:
            await getattr(health, call)(person, *arguments)
        assert (refusal.value.code, refusal.value.status) == (ErrorCode.PERMISSION_DENIED, 403)

    @pytest.mark.parametrize(
        ("scopes", "departments", "sees"),
        [
            (SCOPES, ("hr",), True),
            (SCOPES, ("it",), False),
            (("public", "internal"), ("hr",), False),
            (("public",), (), False),
            (("private",), ("hr",), False),
            ((), ("hr",), False),
        ],
    )
    async def test_show_a_finding_to_whoever_may_read_both_sides(
        self,
        health: Health,
        owner: Principal,
        shelf: Shelf,
        scopes: Sequence[Scope],
        departments: tuple[str, ...],
        sees: bool,
    ) -> None:
        await shelf.publish("open", LEAVE_14)
        await health.examine(owner, await shelf.publish("secret", SECRET, scope="private"))
        reader = somebody(owner, scopes, *departments)
        report = await health.report(reader)
        assert (HealthKind.CONTRADICTION in report.counts) == sees
        assert ("77 ngày" in report.model_dump_json()) == sees

    async def test_hold_in_the_table_itself(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        await shelf.publish("open", LEAVE_14)
        await health.examine(owner, await shelf.publish("secret", SECRET, scope="private"))
        visible = {
            "owner": owner,
            "clerk": somebody(owner, ("public",)),
            "person": somebody(owner, SCOPES, "hr", roles=()),
        }
        counted: dict[str, int] = {}
        for name, who in {**visible, "stranger": admin("globex")}.items():
            async with database.principal_scope(who) as tx:
                counted[name] = await tx.driver.fetchval("select count(*) from document_findings")
                if name != "owner":
                    assert await tx.driver.execute("delete from document_findings") == "DELETE 0"
        assert counted == {"owner": 1, "clerk": 0, "person": 1, "stranger": 0}

    async def test_follow_the_documents_when_they_change(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        await shelf.publish("open", LEAVE_14)
        await health.examine(owner, await shelf.publish("other", LEAVE_12))
        clerk = somebody(owner, ("public",))
        assert await contradictions(health, clerk) == {frozenset({"open", "other"})}
        async with database.principal_scope(owner) as tx:
            hide = "update documents set scope = 'private' where document_id = $1"
            assert await tx.driver.execute(hide, shelf.ids["other"]) == "UPDATE 1"
        assert await contradictions(health, clerk) == set()
        assert await contradictions(health, owner) == {frozenset({"open", "other"})}

    async def test_of_who_examines_bound_what_is_compared(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        """Nothing private is touched by a clerk's work, and nothing found by others is lost by it."""
        await shelf.publish("secret", SECRET, scope="private")
        policy = await shelf.publish("policy", LEAVE_14)
        clerk = somebody(owner, ("public",))
        assert await health.examine(clerk, policy) == 0
        assert await health.examine(owner, policy) == 1
        assert await health.examine(clerk, policy) == 0
        assert await contradictions(health, owner) == {frozenset({"policy", "secret"})}

    async def test_of_another_tenant_see_and_compare_nothing(
        self, health: Health, owner: Principal, shelf: Shelf, superuser: Superuser, maintenance_url: str
    ) -> None:
        name = f"health-{next(_numbers)}"
        await add_tenants(maintenance_url, name)
        stranger = admin(name)
        mine = await shelf.publish("policy", LEAVE_14)
        theirs = await Shelf(superuser, stranger.tenant_id).publish("policy", LEAVE_12)
        assert await health.examine(stranger, theirs) == 0
        assert await health.examine(stranger, mine) == 0
        assert await health.examine(owner, mine) == 0
        assert {item.document.document_id for item in await told(health, stranger)} <= {theirs}


class TestCatchUp:
    async def test_compares_what_nobody_with_these_rights_compared(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        clerk = somebody(owner, ("public",))
        await shelf.publish("secret", SECRET, scope="private")
        await shelf.publish("policy", LEAVE_14)
        assert (await health.report(clerk)).counts == {HealthKind.NOT_COMPARED: 1}
        assert await health.catch_up(clerk) == 1
        assert await told(health, clerk) == []
        assert {item.document.external_id for item in await told(health, owner, HealthKind.NOT_COMPARED)} == {
            "secret", "policy",
        }  # fmt: skip
        assert await health.catch_up(owner, limit=1) == 1
        assert await health.catch_up(owner) == 1
        assert await health.catch_up(owner) == 0
        assert {item.kind for item in await told(health, owner)} == {HealthKind.CONTRADICTION}

    async def test_compares_again_what_changed(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("policy", LEAVE_14)
        assert await health.catch_up(owner) == 1
        await shelf.publish("policy", LEAVE_12)
        assert await health.catch_up(owner) == 1
        assert await health.catch_up(owner) == 0


class TestReport:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"effective_to": TODAY - timedelta(days=1)}, {HealthKind.EXPIRED}),
            ({"effective_to": TODAY}, {HealthKind.EXPIRING}),
            ({"effective_to": TODAY + timedelta(days=30)}, {HealthKind.EXPIRING}),
            ({"effective_to": TODAY + timedelta(days=31)}, set()),
            ({"effective_from": date(2025, 5, 20)}, {HealthKind.OLD}),
            ({"effective_from": date(2025, 5, 21)}, set()),
            ({"created_at": datetime(2024, 1, 1, tzinfo=UTC)}, {HealthKind.OLD}),
            ({"created_at": datetime(2024, 1, 1, tzinfo=UTC), "effective_from": date(2026, 1, 1)}, set()),
            ({"status": "failed", "status_detail": "The file is encrypted."}, {HealthKind.FAILED}),
            ({"status": "partial"}, {HealthKind.PARTIAL}),
            ({"status": "parsing"}, set()),
        ],
    )
    async def test_tells_what_is_stale_or_did_not_arrive(
        self, health: Health, owner: Principal, shelf: Shelf, changes: dict[str, Any], expected: set[HealthKind]
    ) -> None:
        await shelf.publish("policy", PARKING, **changes)
        items = [item for item in await told(health, owner) if item.kind is not HealthKind.NOT_COMPARED]
        assert {item.kind for item in items} == expected
        assert all("policy" in item.advice.vi and "policy" in item.advice.en for item in items)
        assert all(changes.get("status_detail", "") in item.advice.en for item in items)

    async def test_says_nothing_of_a_document_that_has_a_successor(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("old", PARKING, effective_to=TODAY, created_at=datetime(2020, 1, 1, tzinfo=UTC))
        await shelf.publish("new", PARKING, supersedes="old", effective_from=TODAY + timedelta(days=1))
        assert {item.kind for item in await told(health, owner)} <= {HealthKind.NOT_COMPARED}

    async def test_tells_documents_nothing_of_which_can_be_found(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("void")
        await shelf.publish("private", PARKING, scope="private")
        assert [item.document.external_id for item in await told(health, owner, HealthKind.EMPTY)] == ["void"]
        clerk = somebody(owner, ("public",))
        assert [item.document.external_id for item in await told(health, clerk, HealthKind.EMPTY)] == ["void"]

    async def test_comes_in_pages_with_everything_once_gravest_first(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        await shelf.publish("one", LEAVE_14, status="partial")
        await shelf.publish("two", LEAVE_12, created_at=datetime(2023, 1, 1, tzinfo=UTC))
        await shelf.publish("three", PASSWORD, created_at=datetime(2022, 1, 1, tzinfo=UTC))
        await shelf.publish("four", PASSWORD, effective_to=TODAY)
        await health.examine(owner, shelf.ids["one"])
        await health.examine(owner, shelf.ids["four"])
        whole = await health.report(owner)
        paged: list[HealthItem] = []
        cursor: str | None = None
        while True:
            page = await health.report(owner, limit=2, cursor=cursor)
            assert page.counts == whole.counts
            paged += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        assert tuple(paged) == whole.items
        assert len(paged) == sum(whole.counts.values()) == 8
        order = list(HealthKind)
        ranks = [order.index(item.kind) for item in paged]
        assert ranks == sorted(ranks)
        oldest = [item.document.external_id for item in paged if item.kind is HealthKind.OLD]
        assert oldest == ["three", "two"]

    @each_case(
        "cursor",
        [
            "",
            "x",
            "WzEsMiwzXQ==",
            "e30=",
            "WzEsIDAuMCwgIngiXQ==",
            "bnVsbA==",
            "WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAsIDAuNSwgIjAxOGYwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMSJd",
        ],
    )
    async def test_refuses_a_cursor_it_did_not_give_out(self, health: Health, owner: Principal, cursor: str) -> None:
        with pytest.raises(AppError) as refusal:
            await health.report(owner, cursor=cursor)
        assert (refusal.value.code, refusal.value.status) == (ErrorCode.PAYLOAD_INVALID, 422)
