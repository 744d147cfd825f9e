"""Without the database: a code, a hint when to come back, no address, and the house goes on afterwards."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx

from app.storage.embedded import EmbeddedServer

Client = httpx.AsyncClient


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


class TestWithoutDatabase:
    async def test_requests_get_503_and_work_again_afterwards(
        self, lan: Client, nobody: Client, address: str, embedded_server: EmbeddedServer
    ) -> None:
        async with database_away(embedded_server):
            for method, path, body in (
                ("POST", "/search", {"query": "mật khẩu"}),
                ("POST", "/chat", {"query": "xin chào"}),
                ("POST", "/chat/stream", {"query": "xin chào"}),
                ("GET", "/sessions", None),
            ):
                answer = await lan.request(method, path, json=body)
                assert (answer.status_code, answer.json()["code"]) == (503, "DATABASE_UNAVAILABLE"), path
                assert int(answer.headers["retry-after"]) >= 1
                assert "postgresql://" not in answer.text and "test_api" not in answer.text
            ready = await nobody.get(f"{address}/ready")
            assert ready.status_code == 503 and ready.headers["retry-after"]
            assert (await nobody.get(f"{address}/live")).status_code == 200
        assert (await lan.post("/search", json={"query": "mật khẩu"})).status_code == 200
        assert (await lan.post("/chat", json={"query": "xin chào"})).json()["outcome"] == "chitchat"
