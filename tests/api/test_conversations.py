"""A conversation over HTTP: who has the floor, in which order it is told, and that nothing is left of it."""

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias

import asyncpg
import httpx
import pytest

from app.domain.principal import tenant_id_of, user_id_of
from app.main import Services
from app.storage.embedded import EmbeddedServer
from tests.api.sse_reader import Seen, events_of

LATE, PASSWORDS = "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?", "còn mật khẩu thì sao?"
Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
FLOOR = ("start_process", "end_process", "handover")


async def streamed(client: httpx.AsyncClient, query: str, **body: Any) -> list[Seen]:
    async with client.stream("POST", "/chat/stream", json={"query": query, **body}) as response:
        assert response.status_code == 200
        return [event async for event in events_of(response)]


@pytest.fixture(scope="module")
async def superuser(house: Services, embedded_server: EmbeddedServer) -> AsyncIterator[Superuser]:
    """Sees every row behind the API."""
    connection = await asyncpg.connect(embedded_server.url("postgres", "test_api"))
    yield connection
    await connection.close()


@pytest.fixture
async def conversation(house: Services, lan: httpx.AsyncClient) -> tuple[str, list[Seen]]:
    """A session of two turns, and the events of the second, in which hr hands over to it."""
    first = await streamed(lan, LATE)
    session_id = first[0].data["session_id"]
    second = await streamed(lan, PASSWORDS, session_id=session_id)
    await house.rooms.flow.ports.memory.settled()
    return session_id, second


class TestHandingOver:
    async def test_is_streamed_in_order(self, conversation: tuple[str, list[Seen]]) -> None:
        _, events = conversation
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        told = [
            (event.type, event.data.get("agent") or event.data["to_agent"]) for event in events if event.type in FLOOR
        ]
        assert told == [
            ("start_process", "hr"), ("end_process", "hr"), ("handover", "it"),
            ("start_process", "it"), ("end_process", "it"),
        ]  # fmt: skip
        [passed] = [event.data for event in events if event.type == "handover"]
        assert (passed["reason"], passed["speaking"]) == ("better_match", {"hr": False, "it": True})
        pieces = [event.data for event in events if event.type == "text_delta"]
        assert {(piece["agent"], piece["metadata"]["streaming"]) for piece in pieces} == {("it", True)}
        order = [event.type for event in events]
        assert order.index("handover") < order.index("plan_ready") < order.index("agent_task")
        assert order[-1] == "final_report"
        assert max(at for at, kind in enumerate(order) if kind == "end_process") < order.index("text_delta")

    async def test_makes_the_other_agent_the_active_one(
        self, conversation: tuple[str, list[Seen]], lan: httpx.AsyncClient
    ) -> None:
        session_id, _ = conversation
        shown = (await lan.get(f"/sessions/{session_id}")).json()
        assert (shown["active_agent"], shown["speaking"]) == ("it", [])
        assert shown["summary"].startswith(f"- {LATE} → ")
        assert "- Mật khẩu? → " in shown["summary"]
        [listed] = [s for s in (await lan.get("/sessions")).json()["sessions"] if s["session_id"] == session_id]
        assert (listed["active_agent"], listed["speaking"]) == ("it", None)

    async def test_is_seen_in_the_plan_beforehand(
        self, conversation: tuple[str, list[Seen]], lan: httpx.AsyncClient
    ) -> None:
        session_id, _ = conversation
        plan = (await lan.post("/plans", json={"query": "còn đi muộn thì sao?", "session_id": session_id})).json()
        assert list(plan["plan"]["agents"]) == ["hr"]


class TestErasing:
    async def test_leaves_no_row_of_what_was_remembered(
        self, conversation: tuple[str, list[Seen]], lan: httpx.AsyncClient, superuser: Superuser
    ) -> None:
        session_id, _ = conversation
        count = "select count(*) from semantic_vectors where session_id = $1"
        assert await superuser.fetchval(count, session_id) == 2
        assert (await lan.delete(f"/sessions/{session_id}")).status_code == 204
        assert await superuser.fetchval(count, session_id) == 0
        assert await superuser.fetchval("select count(*) from sessions where session_id = $1", session_id) == 0
        assert (await lan.get(f"/sessions/{session_id}")).status_code == 404

    async def test_is_the_owners_alone(
        self, conversation: tuple[str, list[Seen]], client_of: Callable[[str], httpx.AsyncClient]
    ) -> None:
        session_id, _ = conversation
        minh = client_of("acme/minh")
        assert (await minh.get(f"/sessions/{session_id}")).status_code == 404
        assert (await minh.delete(f"/sessions/{session_id}")).status_code == 404


CANARY = "zqx-chim-hoang-yen"
"""Stands nowhere else; ids and hashes apart, nothing of it may be left."""


async def rows_with(superuser: Superuser, word: str) -> dict[str, int]:
    """Rows of every table in which a word stands, by table."""
    tables = await superuser.fetch("select tablename from pg_tables where schemaname = 'public'")
    counts = {
        name: await superuser.fetchval(f'select count(*) from "{name}" as one where one::text ilike $1', f"%{word}%")
        for (name,) in tables
    }
    return {name: count for name, count in counts.items() if count}


class TestErasingAPerson:
    @pytest.fixture
    async def hoa(self, house: Services, client_of: Callable[[str], httpx.AsyncClient]) -> httpx.AsyncClient:
        """Asked, answered, remembered, judged, and with a file attached."""
        hoa = client_of("acme/hoa")
        file = await hoa.post("/files", files={"file": (f"{CANARY}.csv", f"Ten;So\n{CANARY};3\n".encode())})
        asked = await hoa.post("/chat", json={"query": f"{LATE} {CANARY}"})
        await hoa.post("/chat", json={"query": f"{CANARY} là ai?", "files": [file.json()["file_id"]]})
        judged = await hoa.put(f"/tasks/{asked.json()['task_id']}/feedback", json={"rating": -1, "correction": CANARY})
        assert judged.is_success, judged.text
        await house.rooms.flow.ports.memory.settled()
        return hoa

    @pytest.mark.parametrize(("who", "named"), [("acme/hoa", "me"), ("acme/admin", "")])
    async def test_leaves_no_word_of_theirs_in_any_table(
        self,
        who: str,
        named: str,
        hoa: httpx.AsyncClient,
        superuser: Superuser,
        client_of: Callable[[str], httpx.AsyncClient],
    ) -> None:
        assert {"sessions", "tasks", "events", "attachments", "feedback"} <= (await rows_with(superuser, CANARY)).keys()
        user_id = user_id_of(tenant_id_of("acme"), "hoa")
        erased = await client_of(who).delete(f"/users/{named or user_id}/data")
        assert erased.status_code == 200, erased.text
        told = erased.json()
        assert told["conversations"] >= 2 and told["files"] == 1 and told["remaining"] == 0
        assert await rows_with(superuser, CANARY) == {}
        assert (await hoa.get("/sessions")).json()["sessions"] == []
        admin = client_of("acme/admin")
        [last, *_] = (await admin.get("/audit", params={"action": "data_erased"})).json()["entries"]
        assert (last["target"], last["details"]) == (str(user_id), {})

    @pytest.mark.parametrize("who", ["acme/minh", "globex/admin"])
    async def test_is_theirs_and_their_administrators_alone(
        self, who: str, hoa: httpx.AsyncClient, client_of: Callable[[str], httpx.AsyncClient]
    ) -> None:
        user_id = user_id_of(tenant_id_of("acme"), "hoa")
        answer = await client_of(who).delete(f"/users/{user_id}/data")
        if who == "acme/minh":
            assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        else:
            assert answer.json() == {"conversations": 0, "files": 0, "remaining": 0}, "of another company"
        assert len((await hoa.get("/sessions")).json()["sessions"]) >= 2
