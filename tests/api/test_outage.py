"""Without the database: chitchat and pure questions are answered and marked, the rest is refused with a hint when to
come back; nothing private comes from memory, and the house goes on afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
from structlog.testing import capture_logs

from app.main import Services
from app.storage.embedded import EmbeddedServer
from app.storage.spool import waiting_in
from tests.api.sse_reader import parse

Client = httpx.AsyncClient
POLICY = "đi muộn bị xử lý thế nào?"


@asynccontextmanager
async def database_away(server: EmbeddedServer) -> AsyncIterator[None]:
    """Lets nobody into the database and ends every connection to it."""
    superuser = await asyncpg.connect(server.url("postgres", "postgres"))
    try:
        await superuser.execute("alter database test_api allow_connections false")
        await superuser.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'test_api'")
        yield
    finally:
        await superuser.execute("alter database test_api allow_connections true")
        await superuser.close()


async def until_settled(house: Services) -> None:
    assert await house.rooms.journal.outage.is_settled_within(10)
    while house.rooms.journal.outage.is_away:  # noqa: ASYNC110 - the state is elsewhere
        await asyncio.sleep(0.05)


@pytest.fixture
async def away(house: Services, lan: Client, embedded_server: EmbeddedServer) -> AsyncIterator[None]:
    """The database is away for the time of a test; what the house knew before, it knows."""
    assert (await lan.post("/chat", json={"query": "xin chào"})).status_code == 200
    async with database_away(embedded_server):
        yield
    await until_settled(house)


async def refused(client: Client, method: str, path: str, body: Any) -> None:
    answer = await client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_UNAVAILABLE"), (path, answer.text)
    assert int(answer.headers["retry-after"]) >= 1
    assert "postgresql://" not in answer.text and "test_api" not in answer.text


class TestWithoutDatabase:
    async def test_what_must_be_read_gets_503_and_works_again_afterwards(
        self, house: Services, lan: Client, nobody: Client, address: str, embedded_server: EmbeddedServer
    ) -> None:
        async with database_away(embedded_server):
            for method, path, body in (
                ("POST", "/search", {"query": "mật khẩu"}),
                ("POST", "/chat", {"query": POLICY}),
                ("POST", "/chat/stream", {"query": POLICY}),
                ("GET", "/sessions", None),
            ):
                await refused(lan, method, path, body)
            ready = await nobody.get(f"{address}/ready")
            assert ready.status_code == 503 and ready.headers["retry-after"]
            assert ready.json()["checks"]["database"] is False
            assert (await nobody.get(f"{address}/live")).status_code == 200
        await until_settled(house)
        assert (await lan.post("/search", json={"query": "mật khẩu"})).status_code == 200
        assert (await lan.post("/chat", json={"query": "xin chào"})).json()["outcome"] == "chitchat"

    async def test_a_remembered_answer_is_not_given_when_rights_cannot_be_read(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer
    ) -> None:
        known = {"query": POLICY}
        first, second = [(await lan.post("/chat", json=known)).json() for _ in range(2)]
        assert first["evidence"] and second["execution_metadata"]["cached"] is True
        async with database_away(embedded_server):
            await refused(lan, "POST", "/chat", known)
            await refused(lan, "POST", "/search", known)
        await until_settled(house)

    @pytest.mark.usefixtures("away")
    async def test_someone_of_an_unknown_tenant_is_refused(self, address: str, house: Services) -> None:
        login = house.rooms.dev_login
        assert login is not None
        claims = login.users["acme/lan"].model_copy(update={"tenant_id": "never-seen"})
        token = login._secret.sign(claims, issuer="conclave", audience="conclave", ttl_seconds=60)
        async with httpx.AsyncClient(base_url=f"{address}/api/v1") as stranger:
            stranger.headers["Authorization"] = f"Bearer {token}"
            await refused(stranger, "POST", "/chat", {"query": "xin chào"})


class TestOfflineQuestions:
    @pytest.mark.parametrize(
        ("query", "outcome", "part"),
        [("xin chào", "chitchat", ""), ("tính 2+4", "answered", "6"), ("đổi 26.2 dặm sang km", "answered", "42")],
    )
    async def test_are_answered_marked_and_stored_afterwards(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer, query: str, outcome: str, part: str
    ) -> None:
        assert (await lan.post("/chat", json={"query": "xin chào"})).status_code == 200
        async with database_away(embedded_server):
            with capture_logs() as lines:
                told = await lan.post("/chat", json={"query": query})
            assert "run_crashed" not in {line["event"] for line in lines}
            answer = told.json()
            assert told.status_code == 200, answer
            assert (answer["outcome"], answer["durability"]) == (outcome, "pending")
            assert part in answer["answer"]
            assert waiting_in(house.settings.data_dir / "spool").runs == 1
        await until_settled(house)
        stored = (await lan.get(f"/tasks/{answer['task_id']}")).json()
        assert stored["status"] == "completed"
        assert {**stored["result"], "durability": "pending"} == answer
        assert waiting_in(house.settings.data_dir / "spool").runs == 0
        events = parse((await lan.get(f"/tasks/{answer['task_id']}/events")).text)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert events[0].type == "task_available" and events[-1].type == "final_report"
        page = (await lan.get(f"/sessions/{answer['session_id']}")).json()
        assert [message["content"] for message in page["messages"]] == [query, answer["answer"]]

    async def test_stream_the_numbers_they_will_have(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer
    ) -> None:
        assert (await lan.post("/chat", json={"query": "xin chào"})).status_code == 200
        async with database_away(embedded_server):
            shown = parse((await lan.post("/chat/stream", json={"query": "tính 7*8"})).text)
            assert shown[-1].data["answer"]["durability"] == "pending"
        await until_settled(house)
        task_id = shown[0].data["task_id"]
        stored = parse((await lan.get(f"/tasks/{task_id}/events")).text)
        assert stored[:-1] == shown[:-1]
        assert (stored[-1].seq, stored[-1].type) == (shown[-1].seq, shown[-1].type)
        assert stored[-1].data["answer"] == {k: v for k, v in shown[-1].data["answer"].items() if k != "durability"}

    async def test_with_the_same_key_are_one(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer
    ) -> None:
        key = {"Idempotency-Key": "offline-1"}
        assert (await lan.post("/chat", json={"query": "xin chào"})).status_code == 200
        async with database_away(embedded_server):
            twice = [(await lan.post("/chat", json={"query": "tính 5*5"}, headers=key)).json() for _ in range(2)]
        await until_settled(house)
        again = (await lan.post("/chat", json={"query": "tính 5*5"}, headers=key)).json()
        assert twice[0] == twice[1] == {**again, "durability": "pending"}
        other = await lan.post("/chat", json={"query": "tính 6*6"}, headers=key)
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")

    @pytest.mark.usefixtures("away")
    @pytest.mark.parametrize(
        "query", ["tính 2+4 và cho biết đi muộn bị xử lý thế nào?", "Tóm tắt quy định mật khẩu", "log lỗi hôm nay"]
    )
    async def test_that_read_anything_are_refused_as_a_whole(self, lan: Client, house: Services, query: str) -> None:
        await refused(lan, "POST", "/chat", {"query": query})
        assert waiting_in(house.settings.data_dir / "spool").runs == 0


class TestRunningQuestions:
    async def test_that_read_documents_fail_honestly(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The database goes away when the plan stands and the search begins."""
        reached, leave, prepare = asyncio.Event(), asyncio.Event(), house.rooms.retriever.prepare

        async def wait_and_prepare(queries: Any) -> None:
            reached.set()
            await leave.wait()
            await prepare(queries)

        monkeypatch.setattr(house.rooms.retriever, "prepare", wait_and_prepare)
        asking = asyncio.create_task(lan.post("/chat", json={"query": f"{POLICY} (mất kết nối)"}))
        await asyncio.wait_for(reached.wait(), 20)
        async with database_away(embedded_server):
            leave.set()
            told = await asyncio.wait_for(asking, 30)
            answer = told.json()
            assert answer["error"] is True and answer["durability"] == "pending"
            assert {part["status"] for part in answer["partial_results"].values()} == {"failed"}
            assert "evidence" not in answer
        await until_settled(house)
        stored = (await lan.get(f"/tasks/{answer['task_id']}")).json()
        assert stored["status"] == "failed" and stored["result"]["error_code"] == answer["error_code"]
