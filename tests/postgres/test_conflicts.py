"""The conflict ledger: written with the end of a run, exactly once, and shown to those who may read both sources."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.conflicts import Conflict, Side, Weighing, by_score
from app.domain.principal import Principal, Scope
from app.domain.tasks import TaskStatus
from app.errors import AppError, StaleAttempt
from app.events import FinalReport
from app.storage import sessions
from app.storage.database import Database
from app.tasks.reviews import RunReviews, Wanted
from app.tasks.run import TaskRun
from tests.factories import principal
from tests.postgres.fragile import fragile_server
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on
from tests.postgres.spooling import spooling_rooms

ADMIN = principal(user="admin", department="general", scopes=("public",), roles=("admin",))
OTHER_ADMIN = principal("globex", "admin", roles=("admin",))
WEIGHING = Weighing(weights={"domain": 0.35, "scope": 0.25, "recency": 0.25, "relevance": 0.15}, threshold=0.1)
RECENCY_ALONE = Wanted(weights={"domain": 0, "scope": 0, "recency": 1, "relevance": 0})
SECRETS = ("bí mật", "https://intra.example", "Chính sách")


def side(document_id: UUID, scope: Scope, recency: Any, **changes: Any) -> Side:
    """A source of hr that says something nobody else may know."""
    values = {
        "document_id": document_id, "kind": "document", "url": f"https://intra.example/{document_id}",
        "title": f"Chính sách {scope}", "department": "hr", "scope": scope, "recency": recency, "score": 0.0,
        "effective": datetime(2026, 1, 1, tzinfo=UTC), "claim": "bí mật 14 ngày",
        "factors": {"domain": 1.0, "scope": 0.0, "recency": 0.0, "relevance": 0.8123456789},
    }  # fmt: skip
    return Side.model_validate(values | changes)


def conflict(one: Side, other: Side, subject: str = "bí mật mấy ngày?") -> Conflict:
    winner, loser = by_score(WEIGHING.side(one), WEIGHING.side(other))
    return Conflict(
        subject=subject, winner=winner, loser=loser, conflict_type="scope", reason="other_scope",
        rule="weighted_scoring", weighing=WEIGHING,
    )  # fmt: skip


def between(private: UUID, public: UUID) -> Conflict:
    """The older private document wins by the weights, the newer public one by recency."""
    return conflict(side(private, "private", "older"), side(public, "public", "within_90_days"))


async def add_document(
    superuser: "asyncpg.Connection[asyncpg.Record]", scope: Scope, who: Principal = LAN, department: str = "hr"
) -> UUID:
    document_id = uuid4()
    await superuser.execute(
        "insert into documents (tenant_id, document_id, external_id, title, url, department, scope, created_at,"
        " current_version) values ($1, $2, $5, 't', '', $3, $4, now(), 1)",
        who.tenant_id, document_id, department, scope, str(document_id),
    )  # fmt: skip
    return document_id


async def finish(rooms: Rooms, run: TaskRun, conflicts: Sequence[Conflict]) -> None:
    result = {"answer": "a", "outcome": "answered"}
    await rooms.registry.finish(
        run, status=TaskStatus.COMPLETED, result=result, event=FinalReport(answer=result), conflicts=conflicts
    )


async def ran(rooms: Rooms, conflicts: Sequence[Conflict], who: Principal = LAN) -> TaskRun:
    run = await rooms.begin(who)
    await finish(rooms, run, conflicts)
    return run


@pytest.fixture(scope="module")
async def rooms(database: Database) -> Rooms:
    return rooms_on(database)


@pytest.fixture(scope="module")
def book(database: Database) -> RunReviews:
    return RunReviews(database)


@pytest.fixture
async def pair(superuser: "asyncpg.Connection[asyncpg.Record]") -> tuple[UUID, UUID]:
    """A private document and a public one, both of hr."""
    return await add_document(superuser, "private"), await add_document(superuser, "public")


@pytest.fixture
async def nothing_else(superuser: "asyncpg.Connection[asyncpg.Record]") -> AsyncIterator[None]:
    """An empty ledger."""
    await superuser.execute("delete from conflicts")
    yield


async def documents_of(book: RunReviews, who: Principal, task_id: UUID) -> list[tuple[UUID, UUID]]:
    again = await book.resolve(who, task_id, Wanted())
    return [(one.before.winner.document_id, one.before.loser.document_id) for one in again]


class TestResolve:
    async def test_tells_exactly_what_was_weighed_in_its_order(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        weighed = [between(*pair), conflict(side(pair[0], "private", "older"), side(pair[1], "public", "older"))]
        run = await ran(rooms, weighed)
        again = await book.resolve(LAN, run.task.task_id, Wanted())
        assert [one.before for one in again] == [one.after for one in again] == weighed

    async def test_weighs_again_and_stores_nothing(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        run = await ran(rooms, [between(*pair)])
        first = await book.resolve(LAN, run.task.task_id, RECENCY_ALONE)
        assert first == await book.resolve(LAN, run.task.task_id, RECENCY_ALONE)
        [one] = first
        assert one.is_winner_changed and one.after.decided
        assert (one.after.winner.document_id, one.after.margin) == (pair[1], 0.2)
        assert await documents_of(book, LAN, run.task.task_id) == [pair]

    async def test_a_changed_rule_and_threshold_leave_the_rest_as_it_was(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        run = await ran(rooms, [between(*pair)])
        wanted = Wanted(threshold=0.0, priority_by_scope={"public": 1.0})
        [one] = await book.resolve(LAN, run.task.task_id, wanted)
        assert one.after.winner.document_id == pair[1] and one.after.decided
        assert one.after.weighing.rules.priority_by_scope == {"private": 0.9, "internal": 0.7, "public": 1.0}
        assert one.after.weighing.weights == WEIGHING.weights

    async def test_of_a_run_without_conflicts_is_empty_as_is_that_of_others(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        assert await book.resolve(LAN, (await ran(rooms, [])).task.task_id, Wanted()) == ()
        theirs = await ran(rooms, [between(*pair)])
        for who in (MINH, JANE, ADMIN, OTHER_ADMIN):
            assert await book.resolve(who, theirs.task.task_id, Wanted()) == ()


class TestRightsOfToday:
    @pytest.mark.parametrize(
        "change",
        ["delete from documents", "update documents set department = 'it', scope = 'private'",
         "update documents set current_version = 0"],
    )  # fmt: skip
    @pytest.mark.parametrize("which", [0, 1])
    async def test_a_source_that_is_gone_takes_every_trace_of_the_conflict_with_it(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID], change: str, which: int,
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:  # fmt: skip
        run = await ran(rooms, [between(*pair), conflict(side(pair[1 - which], "public", "older"),
                                                          side(pair[1 - which], "public", "older"))])  # fmt: skip
        assert len(await documents_of(book, LAN, run.task.task_id)) == 2
        await superuser.execute(f"{change} where document_id = $1", pair[which])
        assert await documents_of(book, LAN, run.task.task_id) == [(pair[1 - which], pair[1 - which])]
        listed, _ = await book.page_conflicts(LAN, None, 100)
        assert str(pair[which]) not in str(listed)

    async def test_an_administrator_sees_no_text_of_own_runs_beyond_own_rights(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        run = await ran(rooms, [between(*pair)], ADMIN)
        assert await book.resolve(ADMIN, run.task.task_id, Wanted()) == ()

    async def test_who_has_fewer_rights_than_when_asking_sees_nothing(
        self, rooms: Rooms, book: RunReviews, superuser: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        open_to_all = await add_document(superuser, "public"), await add_document(superuser, "public")
        run = await ran(rooms, [between(*open_to_all)])
        fewer = LAN.model_copy(update={"scopes": frozenset({"public"})})
        assert len(await documents_of(book, LAN, run.task.task_id)) == 1
        assert await documents_of(book, fewer, run.task.task_id) == []

    async def test_a_file_counts_while_it_is_there_and_a_page_of_the_web_always(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID],
        superuser: "asyncpg.Connection[asyncpg.Record]",
    ) -> None:  # fmt: skip
        file_id = uuid4()
        await superuser.execute(
            "insert into attachments (tenant_id, user_id, file_id, name, kind, byte_count, sha256, content, expires_at)"
            " values ($1, $2, $3, 'a.csv', 'csv', 1, '', '{}', now() + interval '1 day')",
            LAN.tenant_id, LAN.user_id, file_id,
        )  # fmt: skip
        attached = side(file_id, "private", "older", kind="attachment")
        page = side(uuid4(), "public", "older", kind="web")
        run = await ran(rooms, [conflict(attached, side(pair[0], "private", "older")), conflict(attached, page)])
        assert len(await documents_of(book, LAN, run.task.task_id)) == 2
        await superuser.execute("delete from attachments where file_id = $1", file_id)
        assert await documents_of(book, LAN, run.task.task_id) == []


@pytest.mark.usefixtures("nothing_else")
class TestLists:
    async def test_page_through_own_conflicts_newest_first(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        runs = [await ran(rooms, [between(*pair)] * 3) for _ in range(3)]
        await ran(rooms, [between(*pair)], MINH)
        places, cursor = [], None
        while True:
            page, cursor = await book.page_conflicts(LAN, cursor, 2)
            places += [entry.place for entry in page]
            if cursor is None:
                break
        assert [(task, number) for _, task, number in places] == [
            (run.task.task_id, number) for run in reversed(runs) for number in (3, 2, 1)
        ]

    async def test_give_an_administrator_figures_of_the_tenant_and_no_text(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID]
    ) -> None:
        file_id = uuid4()
        weighed = [between(*pair), conflict(side(file_id, "private", "older", kind="attachment"),
                                            side(pair[0], "private", "older"))]  # fmt: skip
        await ran(rooms, weighed)
        await ran(rooms, [between(*pair)], MINH)
        await ran(rooms, [between(*pair)], JANE)
        page, cursor = await book.page_conflicts(ADMIN, None, 2)
        rest, _ = await book.page_conflicts(ADMIN, cursor, 2)
        found = [*page, *rest]
        assert len(found) == 3
        told = str(found)
        assert not any(secret in told for secret in SECRETS)
        assert str(file_id) not in told and str(pair[0]) in told and str(LAN.user_id) not in told
        assert found[0].details["margin"] == weighed[0].margin and found[0].details["decided"] is weighed[0].decided
        theirs, _ = await book.page_conflicts(OTHER_ADMIN, None, 10)
        assert len(theirs) == 1

    async def test_a_cursor_of_another_list_is_refused(self, book: RunReviews) -> None:
        with pytest.raises(AppError, match="cursor"):
            await book.page_conflicts(LAN, "eHg=", 10)

    async def test_of_others_show_no_row_by_any_statement(
        self, rooms: Rooms, database: Database, pair: tuple[UUID, UUID]
    ) -> None:
        await ran(rooms, [between(*pair)])
        for who in (MINH, JANE, ADMIN):
            async with database.principal_scope(who) as tx:
                assert await tx.driver.fetchval("select count(*) from conflicts") == 0
        for who in (LAN, MINH, OTHER_ADMIN):
            async with database.principal_scope(who) as tx:
                assert await tx.driver.fetch("select * from conflict_figures(null, null, null, 10)") == []


class TestTheCommitThatEndsARun:
    async def test_is_the_only_one_that_writes(
        self, rooms: Rooms, book: RunReviews, pair: tuple[UUID, UUID], database: Database
    ) -> None:
        run = await rooms.begin()
        await rooms.expire(run)
        later = await rooms.resume(run.task.task_id)
        with pytest.raises(StaleAttempt):
            await finish(rooms, run, [between(*pair)])
        assert await documents_of(book, LAN, run.task.task_id) == []
        await finish(rooms, later, [between(*pair)])
        assert await documents_of(book, LAN, run.task.task_id) == [pair]
        async with database.principal_scope(LAN) as tx:
            assert await sessions.delete(tx, run.task.session_id)
            left = "select count(*) from conflicts where root_task_id = $1"
            assert await tx.driver.fetchval(left, run.task.task_id) == 0

    async def test_is_made_up_for_once_when_the_database_was_away(self, tmp_path: Path) -> None:
        weighed = [between(uuid4(), uuid4()), between(uuid4(), uuid4())]
        with fragile_server() as server:
            async with spooling_rooms(server.app_url, tmp_path) as rooms:
                run = await rooms.begin()
                async with server.away():
                    await finish(rooms, run, weighed)
                    await run.writer.aclose()
                assert await rooms.journal.outage.is_settled_within(10)
                rows = await _rows_of(rooms, run)
                assert [Conflict.of_entry(row) for row in rows] == weighed
                assert [row["number"] for row in rows] == [1, 2]


async def _rows_of(rooms: Rooms, run: TaskRun) -> list[dict[str, Any]]:
    async with rooms.database.principal_scope(run.principal) as tx:
        rows = await tx.driver.fetch(
            "select details from conflicts where root_task_id = $1 order by conflict_id", run.task.task_id
        )
    return [row["details"] for row in rows]
