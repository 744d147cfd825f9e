"""Tasks of a company over HTTP: who may look and act, what is told, and that a task done anew is its owner's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import httpx
import pytest

from app.domain.principal import Principal
from app.main import Services
from app.retrieval.search import Retriever
from app.storage import tenants
from tests.api.sse_reader import parse
from tests.factories import SEED_USERS

Client = httpx.AsyncClient
ClientOf = Callable[[str], Client]
USERS = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
_numbers = count(1)
UNKNOWN = "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60"
ROUTES = (
    ("get", "/admin/tasks"), ("get", "/admin/queues"), ("post", f"/admin/tasks/{UNKNOWN}/cancel"),
    ("post", f"/admin/tasks/{UNKNOWN}/retry"), ("get", "/admin/usage"), ("get", "/admin/evaluations"),
    ("get", "/admin/agents"), ("get", "/admin/readers?scope=public&department=hr"),
)  # fmt: skip


class Held:
    """Every search stands still until it is let go."""

    def __init__(self) -> None:
        self.go, self.reached = asyncio.Event(), asyncio.Event()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    made, search = Held(), Retriever.search

    async def standing(self: Retriever, *given: Any, **named: Any) -> Any:
        made.reached.set()
        await made.go.wait()
        return await search(self, *given, **named)

    monkeypatch.setattr(Retriever, "search", standing)
    return made


def secret() -> str:
    """A question nobody asked before: a remembered answer would not be held."""
    return f"đi muộn bị xử lý thế nào, thưa bí mật Kim Ngân {next(_numbers)}?"


async def listed(client: Client, **asked: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get("/admin/tasks", params={"limit": 100, **asked})).json()["tasks"]
    return found


@pytest.fixture
async def stopped(client_of: ClientOf, held: Held) -> AsyncIterator[dict[str, Any]]:
    """A run of acme/lan that the administrator stopped."""
    question = secret()
    waiting = asyncio.ensure_future(client_of("acme/lan").post("/chat", json={"query": question}))
    await held.reached.wait()
    admin = client_of("acme/admin")
    [running] = await listed(admin, status="in_progress", user="lan")
    answer = await admin.post(f"/admin/tasks/{running['task_id']}/cancel")
    assert answer.status_code == 200
    yield {"answer": answer.json(), "response": await waiting, "question": question}
    held.go.set()


class TestWhoMayComeIn:
    async def test_others_are_refused_before_anything_is_looked_up(
        self, client_of: ClientOf, subtests: pytest.Subtests
    ) -> None:
        for user in ["acme/lan", "acme/an", "globex/jane"]:
            with subtests.test(ascii(user)[:80]):
                for method, path in ROUTES:
                    refused = await client_of(user).request(method, path)
                    assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED"), path

    async def test_another_companys_administrator_meets_nobody(
        self, client_of: ClientOf, stopped: dict[str, Any]
    ) -> None:
        other, task_id = client_of("globex/admin"), stopped["answer"]["task_id"]
        assert task_id not in {one["task_id"] for one in await listed(other)}
        assert await listed(other, user="lan") == []
        assert await listed(other, user=str(USERS["acme/lan"].user_id)) == []
        for verb in ("cancel", "retry"):
            told = [await other.post(f"/admin/tasks/{one}/{verb}") for one in (task_id, UNKNOWN)]
            assert told[0].status_code == 404 and told[0].text == told[1].text


class TestListing:
    async def test_tells_figures_and_not_a_word_of_anybody(self, client_of: ClientOf, stopped: dict[str, Any]) -> None:
        admin = client_of("acme/admin")
        told = (await admin.get("/admin/tasks?limit=100")).text + (await admin.get("/admin/tasks?kind=step")).text
        assert "Kim Ngân" not in told and "muộn" not in told
        [one] = [one for one in await listed(admin) if one["task_id"] == stopped["answer"]["task_id"]]
        assert (one["user"], one["kind"], one["mode"], one["status"]) == ("lan", "chat", "auto", "cancelled")
        assert one["holder"] and one["attempt"] == 1 and one["may_be_retried"] and not one["may_be_stopped"]

    async def test_pages_do_not_overlap(self, client_of: ClientOf) -> None:
        admin, seen, cursor = client_of("acme/admin"), [], None
        for _ in range(4):
            await client_of("acme/hoa").post("/chat", json={"query": "xin chào"})
        for _ in range(3):
            page = (
                await admin.get("/admin/tasks", params={"limit": 2, **({"cursor": cursor} if cursor else {})})
            ).json()
            seen += [one["task_id"] for one in page["tasks"]]
            cursor = page["next_cursor"]
        assert len(seen) == len(set(seen)) == 6

    async def test_anything_else_is_refused(self, client_of: ClientOf, subtests: pytest.Subtests) -> None:
        for query in ["status=done", "kind=plan", "limit=0", "limit=101", "cursor=eHg=", "user="]:
            with subtests.test(ascii(query)[:80]):
                refused = await client_of("acme/admin").get(f"/admin/tasks?{query}")
                assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")


class TestStopping:
    async def test_ends_the_run_and_tells_its_owner_who_did(self, client_of: ClientOf, stopped: dict[str, Any]) -> None:
        answer, response = stopped["answer"], stopped["response"]
        assert (answer["status"], answer["user"]) == ("cancelled", "lan")
        assert (response.status_code, response.json()["error_code"]) == (409, "TASK_CANCELLED")
        events = parse((await client_of("acme/lan").get(f"/tasks/{answer['task_id']}/events")).text)
        assert events[-1].data["reason"] == "stopped by an administrator"


class TestDoingAnew:
    async def test_answers_the_owner_in_the_same_conversation(
        self, client_of: ClientOf, stopped: dict[str, Any], held: Held
    ) -> None:
        admin, lan, task_id = client_of("acme/admin"), client_of("acme/lan"), stopped["answer"]["task_id"]
        held.go.set()
        answers = [await admin.post(f"/admin/tasks/{task_id}/retry") for _ in range(2)]
        assert [one.status_code for one in answers] == [202, 202]
        again = answers[0].json()["task_id"]
        assert {one.json()["task_id"] for one in answers} == {again} != {task_id}
        events = parse((await lan.get(f"/tasks/{again}/events")).text)
        assert events[-1].type == "final_report"
        run = (await lan.get(f"/tasks/{again}")).json()
        assert run["session_id"] == stopped["answer"]["session_id"] and run["title"] == stopped["question"]
        conversation = (await lan.get(f"/sessions/{run['session_id']}")).json()
        assert any(message["task_id"] == again for message in conversation["messages"])
        refused = await admin.post(f"/admin/tasks/{again}/retry")
        assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT_IN_FLIGHT")

    async def test_of_a_run_its_owner_stopped_is_refused(self, client_of: ClientOf, held: Held) -> None:
        lan, admin = client_of("acme/lan"), client_of("acme/admin")
        waiting = asyncio.ensure_future(lan.post("/chat", json={"query": secret()}))
        await held.reached.wait()
        [running] = await listed(admin, status="in_progress", user="lan")
        assert (await lan.post(f"/tasks/{running['task_id']}/cancel")).status_code == 200
        await waiting
        refused = await admin.post(f"/admin/tasks/{running['task_id']}/retry")
        assert (refused.status_code, refused.json()["code"]) == (409, "CONFLICT_IN_FLIGHT")
        held.go.set()

    async def test_has_no_right_its_owner_lost_since(
        self, client_of: ClientOf, stopped: dict[str, Any], held: Held, house: Services
    ) -> None:
        admin, task_id, lan = client_of("acme/admin"), stopped["answer"]["task_id"], USERS["acme/lan"]
        held.go.set()
        await _write_down(house, lan, scopes=frozenset())
        try:
            refused = await admin.post(f"/admin/tasks/{task_id}/retry")
            assert (refused.status_code, refused.json()["code"]) == (403, "PERMISSION_DENIED")
            await _write_down(house, lan, scopes=frozenset({"public"}))
            again = (await admin.post(f"/admin/tasks/{task_id}/retry")).json()["task_id"]
            await client_of("acme/lan").get(f"/tasks/{again}/events")
            async with house.database.principal_scope(lan) as tx:
                kept = await tx.driver.fetchval("select principal from tasks where task_id = $1", again)
            assert kept["scopes"] == ["public"] and kept["roles"] == sorted(lan.roles)
        finally:
            await _write_down(house, lan, scopes=lan.scopes)

    async def test_a_document_that_was_stopped_is_read_anew(
        self, client_of: ClientOf, house: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        admin, body = client_of("acme/admin"), {"external_id": "again", "department": "hr", "scope": "private"}
        go = asyncio.Event()
        process = house.ingestion.process

        async def standing(*given: Any) -> Any:
            await go.wait()
            return await process(*given)

        monkeypatch.setattr(house.ingestion, "process", standing)
        accepted = (await admin.post("/documents", json={**body, "text": "Bí mật một. " * 30})).json()
        stopped = await admin.post(f"/admin/tasks/{accepted['task_id']}/cancel")
        assert (stopped.json()["kind"], stopped.json()["document_id"]) == ("ingest", accepted["document_id"])
        go.set()
        answers = [(await admin.post(f"/admin/tasks/{accepted['task_id']}/retry")).json() for _ in range(2)]
        again = answers[0]["task_id"]
        assert answers[1]["task_id"] == again != accepted["task_id"]
        await admin.get(f"/tasks/{again}/events")
        document = (await admin.get(f"/documents/{accepted['document_id']}")).json()
        assert (document["status"], document["current_version"], document["scope"]) == ("ready", 2, "private")
        refused = await admin.post(f"/admin/tasks/{again}/retry")
        assert refused.status_code == 409
        await admin.delete(f"/documents/{accepted['document_id']}")


async def _write_down(house: Services, who: Principal, scopes: frozenset[str]) -> None:
    operator = await house.storage.open_operator()
    async with operator.operator_scope() as tx:
        await tenants.add_user(
            tx, who.tenant_id, "lan", department=who.department, departments=who.departments, scopes=scopes,
            roles=who.roles,
        )  # fmt: skip
