"""``kill -9`` at every moment on a document's way in: nobody sees half of it, none is lost, little is done twice."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.domain.documents import Upload
from app.domain.principal import Principal
from app.domain.tasks import NewTask
from app.events import FinalReport, JournalEntry
from app.ingestion.passages import BATCH
from app.main.working import run_ingestion
from app.storage.database import Database
from app.tasks.run import TaskRun
from tests.postgres.arriving import Desk, PlainParser, file_upload
from tests.postgres.document_worker import BULK_MOMENTS, MOMENTS, bulk_drafts, text_of
from tests.postgres.library import add_tenants, admin
from tests.postgres.running import rooms_on
from tests.samples import drawn

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LEASE_SECONDS = 1.5
_numbers = count(1)


class Doomed:
    """The process whose children die."""

    def __init__(self, process: Process, asked: Path):
        self._process, self._asked = process, asked

    async def live_until(self, moment: str, tenant: str) -> None:
        """A worker's whole life."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{moment} {tenant}\n".encode())
        async with asyncio.timeout(100):
            assert await self._process.stdout.readline() == f"dead {signal.SIGKILL.value}\n".encode()

    def asked(self) -> Counter[str]:
        """What the model was asked for since the last time."""
        lines = self._asked.read_text("utf-8").splitlines() if self._asked.exists() else []
        self._asked.write_text("")
        return Counter(lines)


@pytest.fixture(scope="module")
async def doomed(app_url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Doomed]:
    asked = tmp_path_factory.mktemp("kills") / "asked"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.postgres.document_worker", app_url, str(LEASE_SECONDS), str(asked),
        stdin=PIPE, stdout=PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    yield Doomed(process, asked)
    os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


@pytest.fixture
async def desk(database: Database, maintenance_url: str) -> Desk:
    name = f"kills-{next(_numbers)}"
    await add_tenants(maintenance_url, name)
    return Desk.of(database, admin(name), PlainParser())


def handbook(text: str) -> Upload:
    return file_upload("handbook.md", text, title="Sổ tay")


async def register(desk: Desk, text: str) -> tuple[UUID, UUID]:
    """(document, task) of an upload, as the API registers it."""
    upload, task_id = handbook(text), uuid4()
    async with desk.database.principal_scope(desk.owner) as tx:
        known = await tx.driver.fetchval("select document_id from documents")
    task = NewTask(
        task_id=task_id, session_id=uuid4(), root_task_id=task_id, kind="ingest", title="document",
        request={"document_id": str(known)},
    )  # fmt: skip
    registry = rooms_on(desk.database, LEASE_SECONDS).registry
    await registry.register_task(desk.owner, task, within=lambda tx: desk.ingestion.intake.take_in(tx, upload, task_id))
    return known, task_id


async def finish(desk: Desk, task_id: UUID) -> list[JournalEntry]:
    """A worker that lives goes on; the whole journal."""
    rooms = rooms_on(desk.database, LEASE_SECONDS, max_redispatches=10)

    async def handle(run: TaskRun) -> None:
        await run_ingestion(run, desk.ingestion, rooms.registry)

    async with rooms.working({"ingest": handle}), asyncio.timeout(100):
        return await rooms.entries(task_id, desk.owner)


class Reader:
    """Somebody who looks all the time, in the tables and by searching."""

    def __init__(self, desk: Desk, chunks: int):
        """`chunks`: how many each version has."""
        self._desk, self._who, self._chunks = desk, desk.reader("public"), chunks
        self.versions: list[int] = []
        """In the order they were seen."""

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        is_over = asyncio.Event()
        looking = asyncio.create_task(self._look(is_over))
        try:
            yield
        finally:
            is_over.set()
            await looking

    async def _look(self, is_over: asyncio.Event) -> None:
        while not is_over.is_set():
            for version in (await self._select(), await self._search()):
                if version not in self.versions[-1:]:
                    self.versions.append(version)
            await asyncio.sleep(0.02)

    async def _select(self) -> int:
        query = "select version, count(*) from chunks join chunk_vectors using (chunk_id) group by version"
        async with self._desk.database.principal_scope(self._who, durable=False) as tx:
            [(version, chunks)] = await tx.driver.fetch(query)
        assert chunks == self._chunks
        return int(version)

    async def _search(self) -> int:
        """The best fifty."""
        found = await self._desk.found(self._who, query="Quy định nghỉ phép")
        assert len(found) == 50
        [version] = {int(text.partition("phiên bản v")[2].partition(" ")[0]) for text in found}
        return version


class TestOneDocument:
    @pytest.mark.parametrize("moment", drawn(MOMENTS, 3))
    async def test_is_whole_old_or_new_at_any_time(
        self, desk: Desk, doomed: Doomed, superuser: Superuser, moment: str
    ) -> None:
        old = await desk.bring(handbook(text_of(1)))
        doomed.asked()
        desk.embedder.passages.clear()
        reader = Reader(desk, old.chunks)
        async with reader.looking():
            document_id, task_id = await register(desk, text_of(2))
            await doomed.live_until(moment, "-")
            published = moment in ("committed", "told")
            assert (await desk.catalogue.find(desk.owner, document_id)).current_version == 1 + published
            entries = await finish(desk, task_id)
        self._check_journal(entries)
        assert reader.versions in ([1], [1, 2])
        view = await desk.catalogue.find(desk.owner, document_id)
        assert (view.status, view.current_version, view.chunks_embedded) == ("ready", 2, view.chunks_total)
        chunks = await superuser.fetch("select distinct version from chunks where document_id = $1", document_id)
        assert [row["version"] for row in chunks] == [2] and view.chunks_total == old.chunks
        asked = doomed.asked() + Counter(map(repr, desk.embedder.passages))
        assert len(asked) == view.chunks_total and asked.total() <= view.chunks_total + BATCH

    def _check_journal(self, entries: list[JournalEntry]) -> None:
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert [entry.event.type for entry in entries if entry.is_terminal] == ["final_report"]
        assert isinstance(entries[-1].event, FinalReport)
        assert entries[-1].event.answer["status"] == "ready"

    async def test_survives_one_kill_after_the_other(self, desk: Desk, doomed: Doomed) -> None:
        old = await desk.bring(handbook(text_of(1)))
        doomed.asked()
        desk.embedder.passages.clear()
        async with Reader(desk, old.chunks).looking():
            document_id, task_id = await register(desk, text_of(2))
            for moment in ("chunking", "batch-1", "uncommitted"):
                await doomed.live_until(moment, "-")
            self._check_journal(await finish(desk, task_id))
        asked = doomed.asked()
        assert not desk.embedder.passages and max(asked.values()) == 1
        assert (await desk.catalogue.find(desk.owner, document_id)).current_version == 2


class TestManyDocuments:
    @pytest.mark.parametrize("moment", drawn(BULK_MOMENTS, 2))
    async def test_are_each_whole_old_or_new(
        self, desk: Desk, doomed: Doomed, superuser: Superuser, moment: str
    ) -> None:
        before = await desk.ingestion.ingest(desk.owner, bulk_drafts(1))
        whole = await self._state(superuser, desk.owner)
        doomed.asked()
        desk.embedder.passages.clear()
        await doomed.live_until(f"bulk:{moment}", f"kills-{next(_numbers) - 1}")
        state = await self._state(superuser, desk.owner)
        assert state.keys() == whole.keys()
        assert all(seen in (whole[name], {2: whole[name][1]}) for name, seen in state.items())
        published = sum(2 in seen for seen in state.values())
        assert published > 0 if moment.startswith("progress") else published < len(whole)
        after = await desk.ingestion.ingest(desk.owner, bulk_drafts(2))
        assert (after.published, after.unchanged) == (len(whole) - published, published)
        state = await self._state(superuser, desk.owner)
        assert all(1 not in seen and [*seen.values()] == [whole[name][1]] for name, seen in state.items())
        assert state.keys() == whole.keys()
        asked = doomed.asked() + Counter(map(repr, desk.embedder.passages))
        assert len(asked) == before.chunks and asked.total() <= before.chunks + 3 * BATCH

    async def _state(self, superuser: Superuser, owner: Principal) -> dict[str, dict[int, int]]:
        """Chunks with vectors of each version, by document."""
        rows = await superuser.fetch(
            "select d.external_id, c.version, count(*) from documents d join chunks c using (tenant_id, document_id)"
            " join chunk_vectors v using (tenant_id, chunk_id) where d.tenant_id = $1 group by 1, 2",
            owner.tenant_id,
        )
        found: dict[str, dict[int, int]] = {}
        for row in rows:
            found.setdefault(row["external_id"], {})[row["version"]] = row["count"]
        return found
