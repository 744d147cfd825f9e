"""Without the database: every question is refused with a hint when to come back, nothing private comes from memory, a
run that is going on ends in the spool, and the service goes on afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest

from app.main import Services
from app.storage.embedded import EmbeddedServer
from app.storage.spool import waiting_in

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
                ("POST", "/chat", {"query": "xin chào"}),
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

    async def test_a_question_begins_nothing_and_is_one_task_when_it_is_sent_again(
        self, house: Services, lan: Client, embedded_server: EmbeddedServer
    ) -> None:
        key = {"Idempotency-Key": "sent-while-away"}
        async with database_away(embedded_server):
            for query in ("xin chào", "tính 5*5"):
                told = await lan.post("/chat", json={"query": query}, headers=key)
                assert (told.status_code, told.json()["code"]) == (503, "DATABASE_UNAVAILABLE"), told.text
                assert int(told.headers["retry-after"]) >= 1
            assert waiting_in(house.settings.spool_dir).runs == 0
        await until_settled(house)
        answers = [(await lan.post("/chat", json={"query": "tính 5*5"}, headers=key)).json() for _ in range(2)]
        assert answers[0] == answers[1] and answers[0]["outcome"] == "answered"
        assert "durability" not in answers[0]


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
