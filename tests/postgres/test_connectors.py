"""Connectors on a real database: every adapter behaves alike, rights and deletions follow, and a loss loses nothing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from app.connectors import source
from app.connectors.runner import acting
from app.connectors.source import Item
from app.domain.principal import SCOPES
from app.errors import AppError, ErrorCode
from app.storage import connectors
from app.storage.connectors import LeaseLost, Turn
from tests.factories import principal
from tests.postgres.arriving import Desk, refusal
from tests.postgres.connecting import MOST_BYTES, Ground
from tests.postgres.places import MEMORY, Place, Shelf
from tests.postgres.served_places import KINDS, served

LEAVE = "# Nghỉ phép\n\nNhân viên chính thức được hưởng 12 ngày nghỉ phép năm.\n"
SALARY = "# Thang lương\n\nKỹ sư bậc ba nhận mức lương cơ bản 32 triệu đồng.\n"
SERVERS = "# Máy chủ\n\nMáy chủ thư được khởi động lại trong 15 phút.\n"
FAULTY = "# Lịch trực\n\nLịch trực máy chủ được treo ở cửa phòng.\n"
TREE = {"hr/leave.md": LEAVE, "hr/salary/grades.md": SALARY, "it/servers.md": SERVERS, "it/rota.md": FAULTY}
QUERY = "nhân viên kỹ sư máy chủ lịch trực lương phép"
BY_FOLDER = [
    {"match": "hr/**", "department": "hr", "scope": "internal"},
    {"match": "it/**", "department": "it", "scope": "internal"},
    {"match": "hr/salary/**", "department": "hr", "scope": "private"},
]
Superuser = asyncpg.Connection


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    found, missing = source.kinds()
    monkeypatch.setattr(source, "kinds", lambda: ({**found, "memory": MEMORY}, missing))
    monkeypatch.setattr("extras.connectors.reaching.PAUSES_SECONDS", (0.0,))
    monkeypatch.setattr("extras.connectors.s3.ATTEMPTS", 1)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """In memory, unless the test asks for every kind there is."""
    kind = getattr(request, "param", "memory")
    if kind == "memory":
        yield Shelf()
        return
    with served(kind, tmp_path) as found:
        yield found


@pytest.fixture
def ground(desk: Desk, superuser: "asyncpg.Connection[asyncpg.Record]", place: Place, tmp_path: Path) -> Ground:
    for name, text in TREE.items():
        place.write(name, text)
    return Ground.of(desk, superuser, place, tmp_path)


@pytest.mark.parametrize("place", ("memory", *KINDS), indirect=True)
class TestEverySource:
    """What every adapter has to do alike."""

    async def test_is_followed_through_its_life(self, ground: Ground) -> None:
        place = ground.place
        place.write("hr/film.md", b"x" * (MOST_BYTES + 1))
        place.write("hr/photo.jpg", b"\xff\xd8")
        place.write("hr/empty.md", b"")
        match = [{**rule, "match": place.named(rule["match"])} for rule in BY_FOLDER]
        row = await ground.sync(await ground.add(match))
        skipped = row.report.get("skipped", 0) + row.report.get("failed", 0) - place.useless
        assert (row.last_error, row.documents, row.waiting, row.failed, skipped) == ("", 4, 0, 0, 3), row.report
        named = place.named
        first = {
            named("hr/leave.md"): ("hr", "internal", 1), named("hr/salary/grades.md"): ("hr", "private", 1),
            named("it/servers.md"): ("it", "internal", 1), named("it/rota.md"): ("it", "internal", 1),
        }  # fmt: skip
        assert await ground.stored() == first
        seen = {named("hr/leave.md"), named("it/servers.md"), named("it/rota.md")}
        assert await ground.reads("it", *SCOPES, query=QUERY) == seen
        row = await ground.sync(row, work=False)
        assert (row.last_error, row.report.get("new"), row.report.get("changed")) == ("", None, None)

        place.write("hr/leave.md", LEAVE.replace("12 ngày", "14 ngày"))
        for answers in range(4):
            place.lose_after(answers)
            row = await ground.sync(row, work=False)
            assert ("lost" in row.last_error) == (answers < place.whole_in), (answers, row.last_error)
            assert row.report.get("withdrawn") is None and (await ground.stored()).keys() == first.keys()
        place.lose_after(None)

        place.remove("it/servers.md")
        place.write("it/new.md", SERVERS.replace("thư", "tệp"))
        row = await ground.sync(row)
        assert (row.last_error, row.report["new"], row.report["withdrawn"]) == ("", 1, 1), row.report
        stored = await ground.stored()
        assert stored.keys() == first.keys() - {named("it/servers.md")} | {named("it/new.md")}
        assert stored[named("hr/leave.md")][2] == 2
        assert "14 ngày" in " ".join(await ground.desk.found(query=QUERY))

        for name in ("hr/leave.md", "hr/salary/grades.md", "it/rota.md", "it/new.md"):
            place.remove(name)
        row = await ground.sync(row, work=False)
        assert "None was withdrawn" in row.last_error and row.report["not_withdrawn"] == 4
        assert (await ground.stored()).keys() == stored.keys()
        row = await ground.sync(row, withdraw_all=True, work=False)
        assert (row.last_error, row.may_withdraw_all, await ground.stored()) == ("", False, {})

    async def test_gives_its_rights(self, ground: Ground) -> None:
        place, label, named = ground.place, ground.place.label, ground.place.named
        rules = [
            {"lists": [label("hr")], "department": "hr", "scope": "private"},
            {"lists": [label("everybody")], "scope": "public"},
        ]
        if not place.has_lists:
            assert "names no lists" in (await refusal(ground.add(rules))).detail
            return
        place.share("hr/leave.md", "everybody")
        place.share("hr/salary/grades.md", "hr")
        place.share("it/rota.md", "strangers")
        row = await ground.sync(await ground.add(rules))
        assert await ground.stored() == {
            named("hr/leave.md"): ("general", "public", 1), named("hr/salary/grades.md"): ("hr", "private", 1)
        }  # fmt: skip
        assert row.report["unmapped"] == 2
        fetches = place.fetches
        place.share("hr/leave.md", "hr")
        place.share("hr/salary/grades.md", None)
        row = await ground.sync(row, work=False)
        assert (row.report["rights_changed"], row.report["hidden"], place.fetches) == (1, 1, fetches)
        assert await ground.reads("it", *SCOPES, query=QUERY) == set()
        assert await ground.reads("hr", *SCOPES, query=QUERY) == {named("hr/leave.md")}
        place.share("hr/salary/grades.md", "hr")
        await ground.sync(row, work=False)
        assert await ground.reads("hr", *SCOPES, query=QUERY) == {named("hr/leave.md"), named("hr/salary/grades.md")}
        assert place.fetches == fetches


class TestRights:
    async def test_hold_for_a_version_that_was_on_its_way(self, ground: Ground) -> None:
        """Rights taken away while a new version waits for its worker: it is published with those of now."""
        rules = [
            {"lists": ["group:hr"], "department": "hr", "scope": "private"},
            {"lists": ["group:all"], "scope": "public"},
        ]
        for name in TREE:
            ground.place.share(name, "all")
        row = await ground.sync(await ground.add(rules))
        ground.place.write("hr/leave.md", LEAVE.replace("12 ngày", "14 ngày"))
        await ground.sync(row, work=False)
        ground.place.share("hr/leave.md", "hr")
        row = await ground.sync(row, work=False)
        assert row.report["rights_changed"] == 1
        assert "hr/leave.md" not in await ground.reads("it", *SCOPES, query=QUERY)
        await ground.work(row.connector_id)
        assert "hr/leave.md" not in await ground.reads("it", *SCOPES, query=QUERY)
        assert "hr/leave.md" in await ground.reads("hr", *SCOPES, query="14 ngày nghỉ phép")

    async def test_that_were_changed_here_are_set_back(self, ground: Ground) -> None:
        row = await ground.sync(await ground.add(BY_FOLDER), work=False)
        found = await ground.superuser.fetchval(
            "select document_id from connector_documents where tenant_id = $1 and source_id = 'hr/salary/grades.md'",
            ground.desk.owner.tenant_id,
        )
        await ground.desk.catalogue.amend(ground.desk.owner, found, {"scope": "public"})
        await ground.sync(row, work=False)
        assert (await ground.stored())["hr/salary/grades.md"][:2] == ("hr", "private")


class TestForeignTenants:
    async def test_see_nothing(self, ground: Ground) -> None:
        row = await ground.sync(await ground.add(), work=False)
        foreign = principal(str(uuid4()), "admin", "general", roles=("admin",))
        assert await ground.service.listing(foreign) == []
        for act in (ground.service.find, ground.service.ask):
            assert (await refusal(act(foreign, row.connector_id))).code is ErrorCode.NOT_FOUND
        assert (await refusal(ground.service.remove(foreign, row.connector_id, "delete"))).status == 404
        assert len(await ground.stored()) == 4

    async def test_use_no_host_folder_or_secret_of_others(self, ground: Ground) -> None:
        """What the operator's file gives one company it gives no other one, and nobody what it does not name."""
        ground.grants.write_text(
            f"other: {{hosts: [localhost], folders: [{ground.grants.parent}], secrets: {{x: env:HOME}}}}"
        )
        for kind, asked in (
            ("webdav", {"url": "http://localhost/x"}), ("git", {"url": "http://localhost/x"}),
            ("git", {"url": str(ground.grants.parent)}), ("s3", {"endpoint": "http://localhost", "bucket": "abc"}),
            ("sitemap", {"url": "http://localhost/x"}), ("git", {"url": "ext::sh"}),
            ("git", {"url": "--upload-pack=x"}), ("git", {"url": "http://localhost/x", "branch": "-x"}),
        ):  # fmt: skip
            assert (await refusal(ground.add(kind=kind, source=asked))).status == 422
        assert "names no 'x'" in (await refusal(ground.add(secret="x"))).detail


class TestHostileListings:
    @pytest.fixture
    def shelf(self, place: Place) -> Shelf:
        assert isinstance(place, Shelf)
        return place

    async def test_lead_nowhere(self, ground: Ground, shelf: Shelf) -> None:
        """Above all not to a folder whose rule is wider."""
        names = (
            "../../etc/passwd.md", "/etc/hosts.md", "public/../hr/salary/x.md", "public//x.md", "a\\..\\b.md",
            "a\x00.md", "\u202egnp.md", ".git/config.md", "x" * 500 + ".md", "", "it/~$lock.md", "a\n.md",
        )  # fmt: skip
        shelf.listed = [Item(name, "t", 1) for name in names]
        row = await ground.sync(await ground.add([{"match": "public/**", "scope": "public"}, *BY_FOLDER]))
        assert (await ground.stored()).keys() == TREE.keys()
        assert row.report["skipped"] == len(names)

    async def test_are_refused_whole_when_they_are_endless(
        self, ground: Ground, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = await ground.sync(await ground.add(), work=False)
        monkeypatch.setattr("app.connectors.runner.MOST_ITEMS", 50)
        shelf.files = {}
        shelf.listed = [Item(f"{number}.md", "t", 1) for number in range(60)]
        row = await ground.sync(row, work=False)
        assert "more than 50 things" in row.last_error and len(await ground.stored()) == 4

    async def test_keep_what_may_not_be_looked_into(self, ground: Ground, shelf: Shelf) -> None:
        row = await ground.sync(await ground.add(), work=False)
        shelf.remove("it/servers.md")
        shelf.remove("it/rota.md")
        shelf.listed = [Item("it", is_readable=False)]
        row = await ground.sync(row, work=False)
        assert (len(await ground.stored()), row.report.get("withdrawn"), row.report["unreadable"]) == (4, None, 1)

    async def test_that_do_not_come_are_given_up(
        self, ground: Ground, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = await ground.sync(await ground.add(), work=False)
        monkeypatch.setattr("app.connectors.service._MOST_SECONDS", 0.1)
        shelf.pause = 60
        row = await ground.sync(row, work=False)
        assert "took longer" in row.last_error and len(await ground.stored()) == 4

    async def test_do_not_lie_about_sizes(self, ground: Ground, shelf: Shelf) -> None:
        shelf.files = {}
        shelf.listed = [Item("film.md", "t", 10 * 2**30)]
        row = await ground.sync(await ground.add(), work=False)
        assert (shelf.fetches, row.report["skipped"], row.last_error) == (0, 1, "")


class TestCrash:
    async def test_in_the_middle_repeats_nothing_and_loses_nothing(
        self, ground: Ground, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process dies after every number of documents; another one takes over and does the rest."""
        monkeypatch.setattr("app.connectors.runner._AT_ONCE", 1)
        row, handed = await ground.add(), list[str]()
        take_in, shelf = ground.desk.ingestion.intake.take_in, ground.place
        for _ in TREE:
            done = asyncio.Event()

            async def dying(*given: object, done: asyncio.Event = done) -> object:
                if done.is_set():
                    raise asyncio.CancelledError
                done.set()
                handed.append(str(given[1].fields.external_id))  # type: ignore[attr-defined]
                return await take_in(*given)  # type: ignore[arg-type]

            monkeypatch.setattr(ground.desk.ingestion.intake, "take_in", dying)
            await ground.service.ask(ground.desk.owner, row.connector_id)
            turn = await ground.take(row.connector_id)
            work = asyncio.create_task(ground.service.synchronise(turn))
            await asyncio.wait({work})
            await ground.superuser.execute("update connectors set leased_until = now() where lease = $1", turn.lease)
        monkeypatch.setattr(ground.desk.ingestion.intake, "take_in", take_in)
        row = await ground.sync(row, work=False)
        assert len(handed) == len(set(handed)) == 4 and shelf.fetches == 4 + 3
        assert {name: found[2] for name, found in (await ground.stored()).items()} == dict.fromkeys(TREE, 1)
        assert row.last_error == ""

    async def test_leaves_the_lease_to_one_alone(self, ground: Ground) -> None:
        row = await ground.add()
        stale = await ground.take(row.connector_id)
        assert (await ground.service.find(ground.desk.owner, row.connector_id)).is_running
        assert await connectors.take(ground.desk.database, 60) is None
        await ground.superuser.execute("update connectors set leased_until = now()")
        turn = await ground.take(row.connector_id)
        await ground.service.synchronise(stale)
        assert await ground.stored() == {}
        with pytest.raises(LeaseLost):
            async with ground.desk.database.principal_scope(acting(stale)) as tx:
                await connectors.finish(tx, stale, "", {}, "")
        await ground.service.synchronise(turn)
        assert len(await ground.stored()) == 4

    async def test_asked_for_meanwhile_runs_again(self, ground: Ground) -> None:
        row = await ground.add()
        turn = await ground.take(row.connector_id)
        await ground.service.ask(ground.desk.owner, row.connector_id)
        await ground.service.synchronise(turn)
        assert (await ground.take(row.connector_id)).lease != turn.lease

    async def test_of_a_worker_is_made_good_by_the_next_synchronisation(self, ground: Ground) -> None:
        """Tasks that were cancelled, or died too often: their documents come again, although nothing has changed."""
        row = await ground.sync(await ground.add(), work=False)
        assert row.waiting == 4
        stopped = "update tasks set status = 'cancelled' where tenant_id = $1 and user_id = $2 and status = 'pending'"
        await ground.superuser.execute(stopped, ground.desk.owner.tenant_id, row.connector_id)
        row = await ground.service.find(
            acting(Turn(ground.desk.owner.tenant_id, row.connector_id, uuid4())), row.connector_id
        )
        assert (row.waiting, row.failed) == (0, 4)
        row = await ground.sync(row)
        assert (row.report["changed"], row.waiting, row.failed) == (4, 0, 0)
        assert await ground.reads("it", "public", query=QUERY) == TREE.keys()

    async def test_a_mark_that_stays_saves_the_listing(self, ground: Ground) -> None:
        shelf = ground.place
        assert isinstance(shelf, Shelf)
        shelf.mark = "abc"
        row = await ground.sync(await ground.add(), work=False)
        assert row.cursor.endswith(" abc")
        shelf.remove("it/rota.md")
        assert (await ground.sync(row)).report == {"notes": []}
        shelf.mark = "abd"
        assert (await ground.sync(row)).report["withdrawn"] == 1


class TestAdministration:
    async def test_is_for_administrators(self, ground: Ground) -> None:
        row = await ground.add()
        person = ground.desk.reader(*SCOPES)
        for act in (
            ground.service.listing(person), ground.service.find(person, row.connector_id),
            ground.service.add(person, ground.definition(name="other")), ground.service.ask(person, row.connector_id),
            ground.service.remove(person, row.connector_id, "keep"),
        ):  # fmt: skip
            assert (await refusal(act)).code is ErrorCode.PERMISSION_DENIED
        async with ground.desk.database.principal_scope(person) as tx:
            assert await connectors.listing(tx) == []
            assert await tx.driver.fetchval("select count(*) from connectors") == 0
            assert await tx.driver.fetchval("select count(*) from connector_documents") == 0

    async def test_removes_with_the_documents_or_without(self, ground: Ground) -> None:
        row = await ground.sync(await ground.add())
        await ground.service.remove(ground.desk.owner, row.connector_id, "keep")
        assert len(await ground.stored()) == 4 and await ground.service.listing(ground.desk.owner) == []
        row = await ground.sync(await ground.add(), work=False)
        assert {version for _, _, version in (await ground.stored()).values()} == {1}
        await ground.service.remove(ground.desk.owner, row.connector_id, "delete")
        assert await ground.stored() == {}
        acts = await ground.superuser.fetch(
            "select action from audit where tenant_id = $1 and target = $2 order by seq",
            ground.desk.owner.tenant_id, str(row.connector_id),
        )  # fmt: skip
        assert [one[0] for one in acts] == ["connector_added", "connector_asked", "connector_removed"]

    async def test_refuses_what_the_operator_did_not_name(self, ground: Ground) -> None:
        for changes, told in (
            ({"secret": "other"}, "secret: the operator's file names no 'other'"),
            ({"kind": "fax"}, "kind: 'fax' cannot be used"),
            ({"source": {"shelf": 1, "x": 2}}, "source.x: there is no such key"),
        ):
            assert told in (await refusal(ground.add(**changes))).detail
        await ground.add()
        assert (await refusal(ground.add())).status == 409
        for wrong in ([], [{"scope": "public", "department": "withheld"}], [{"scope": "all"}]):
            with pytest.raises(ValueError, match="access"):
                ground.definition(wrong)

    async def test_brings_a_document_that_was_deleted_here_back(self, ground: Ground) -> None:
        row = await ground.sync(await ground.add(), work=False)
        found = await ground.superuser.fetchval(
            "select document_id from connector_documents where tenant_id = $1 and source_id = 'it/rota.md'",
            ground.desk.owner.tenant_id,
        )
        await ground.desk.catalogue.delete(ground.desk.owner, found)
        assert (await ground.sync(row)).report["new"] == 1
        assert len(await ground.stored()) == 4

    async def test_goes_on_when_the_database_comes_back(self, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
        """The loop: takes what is due, gives signs of life, and stops when it is told to."""
        monkeypatch.setattr("app.connectors.service._LOOK_SECONDS", 0.01)
        row, beats, tries = await ground.add(), list[int](), list[int]()
        take = connectors.take

        async def away_once(*given: object) -> Turn | None:
            tries.append(1)
            if len(tries) == 1:
                raise AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503)
            return await take(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(connectors, "take", away_once)
        loop = asyncio.create_task(ground.service.keep_synchronising(lambda: beats.append(1)))
        async with asyncio.timeout(10):
            while (await ground.service.find(ground.desk.owner, row.connector_id)).finished_at is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
        assert beats and len(await ground.stored()) == 4
