"""Nobody sees what belongs to somebody else: random requests of every user against every id there is."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.api.auth import SharedSecret
from app.domain.principal import Principal
from app.ingestion.seed import SEED_USERS
from app.main import Services
from tests.api.conftest import SECRET
from tests.api.sse_reader import parse

SEED, ROUNDS = 20261121, 2_500
USERS = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
QUERIES = (
    "giá trị cốt lõi", "đi muộn bị phạt thế nào", "mật khẩu dài bao nhiêu ký tự", "gửi xe ở đâu", "di muon",
    "lateness and attendance", "how do I connect to the VPN", "password", "private salary discipline", "globex", "acme",
)  # fmt: skip
Client = httpx.AsyncClient


@dataclass(frozen=True)
class Run:
    """A finished run and its owner."""

    owner: str
    task_id: str
    child_id: str | None
    session_id: str


@pytest.fixture(scope="module")
async def runs(client_of: Callable[[str], Client]) -> list[Run]:
    """Two runs of every user."""
    made = []
    for owner in USERS:
        for query in ("đi muộn bị xử lý thế nào?", "What is the rule about lateness?"):
            answer = (await client_of(owner).post("/chat", json={"query": query})).json()
            task = (await client_of(owner).get(f"/tasks/{answer['task_id']}")).json()
            child = task["children"][0]["task_id"] if task["children"] else None
            made.append(Run(owner, answer["task_id"], child, answer["session_id"]))
    return made


def may_look(user: str, owner: str) -> bool:
    """An administrator may look at the tasks of the own tenant, as far as the own rights reach."""
    looker, asker = USERS[user], USERS[owner]
    if user == owner:
        return True
    is_admin = looker.is_admin and looker.tenant_id == asker.tenant_id
    return is_admin and asker.scopes <= looker.scopes and asker.departments <= looker.departments


class TestIsolation:
    async def test_searches_show_only_what_the_asker_may_read(
        self, client_of: Callable[[str], Client], house: Services
    ) -> None:
        random, checked = Random(SEED), 0
        tenants_of_documents = await documents_by_tenant(house)
        for number in range(ROUNDS // 5):
            user = random.choice(list(USERS))
            body: dict[str, Any] = {"query": random.choice(QUERIES), "limit": random.choice((1, 5, 50))}
            if random.random() < 0.4:
                body["departments"] = random.sample(["hr", "it", "general", "finance"], random.randint(1, 3))
            if random.random() < 0.2:
                body["as_of"] = random.choice(("2020-01-01", "2026-01-01", "2030-01-01"))
            answer = await client_of(user).post("/search", json=body)
            assert answer.status_code == 200, (SEED, number, answer.text)
            for passage in answer.json()["passages"]:
                checked += 1
                where = (SEED, number, user, passage["external_id"])
                assert USERS[user].may_read(passage["scope"], passage["department"]), where
                assert tenants_of_documents[passage["external_id"]] == USERS[user].tenant_id, where
                assert passage["department"] in body.get("departments", [passage["department"]]), where
        assert checked > ROUNDS

    async def test_foreign_ids_are_answered_like_unknown_ones(
        self, client_of: Callable[[str], Client], runs: list[Run]
    ) -> None:
        random = Random(SEED)
        unknown = {user: await unknown_answers(client_of(user)) for user in USERS}
        foreign = 0
        for number in range(ROUNDS):
            user, run = random.choice(list(USERS)), random.choice(runs)
            method, path, kind = random.choice(requests_for(run))
            if kind == "task" and may_look(user, run.owner):
                continue
            if user == run.owner:
                continue
            foreign += 1
            answer = await client_of(user).request(method, path)
            assert (answer.status_code, answer.text) == unknown[user][kind], (SEED, number, user, method, path)
        assert foreign > ROUNDS * 0.8

    async def test_foreign_sessions_cannot_be_talked_in(
        self, client_of: Callable[[str], Client], runs: list[Run]
    ) -> None:
        random = Random(SEED)
        for _ in range(150):
            user, run = random.choice(list(USERS)), random.choice(runs)
            if user != run.owner:
                answer = await client_of(user).post("/chat", json={"query": "hi", "session_id": run.session_id})
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")

    async def test_lists_hold_only_own_sessions(self, client_of: Callable[[str], Client], runs: list[Run]) -> None:
        owners = {run.session_id: run.owner for run in runs}
        for user in USERS:
            page = (await client_of(user).get("/sessions?limit=100")).json()
            assert {owners.get(item["session_id"], user) for item in page["sessions"]} <= {user}

    async def test_the_owner_still_sees_everything_afterwards(
        self, client_of: Callable[[str], Client], runs: list[Run]
    ) -> None:
        for run in runs:
            assert (await client_of(run.owner).get(f"/tasks/{run.task_id}")).json()["status"] == "completed"
            assert (await client_of(run.owner).get(f"/sessions/{run.session_id}")).status_code == 200

    async def test_answers_cite_only_what_the_asker_may_read(
        self, client_of: Callable[[str], Client], runs: list[Run]
    ) -> None:
        for run in runs:
            journal = parse((await client_of(run.owner).get(f"/tasks/{run.task_id}/events")).text)
            for evidence in journal[-1].data["answer"]["evidence"]:
                assert evidence["scope"] in USERS[run.owner].scopes
                assert run.owner.split("/")[0] in evidence["url"]


class TestLostRights:
    async def test_a_run_is_hidden_from_a_token_with_fewer_rights(
        self, house: Services, address: str, runs: list[Run]
    ) -> None:
        claims = (await house.claims_of("acme/lan")).model_copy(update={"permissions": ("public",)})
        fewer = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=60)
        [run] = [run for run in runs if run.owner == "acme/lan"][:1]
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {fewer}"}) as http:
            for path in (f"/tasks/{run.task_id}", f"/tasks/{run.child_id}", f"/tasks/{run.task_id}/events"):
                assert (await http.get(f"{address}/api/v1{path}")).status_code == 404


def requests_for(run: Run) -> list[tuple[str, str, str]]:
    found = [
        ("GET", f"/tasks/{run.task_id}", "task"),
        ("GET", f"/tasks/{run.task_id}/events", "events"),
        ("GET", f"/tasks/{run.task_id}/events?after=3", "events"),
        ("POST", f"/tasks/{run.task_id}/cancel", "cancel"),
        ("GET", f"/sessions/{run.session_id}", "session"),
        ("DELETE", f"/sessions/{run.session_id}", "delete"),
    ]
    if run.child_id is not None:
        found += [("GET", f"/tasks/{run.child_id}", "task"), ("GET", f"/tasks/{run.child_id}/events", "events")]
    return found


async def unknown_answers(client: Client) -> dict[str, tuple[int, str]]:
    """What this caller is told about an id that does not exist, by kind of request."""
    nowhere = Run("", "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60", None, "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60")
    told = {}
    for method, path, kind in requests_for(nowhere):
        answer = await client.request(method, path)
        assert answer.status_code == 404
        told[kind] = (answer.status_code, answer.text)
    return told


async def documents_by_tenant(house: Services) -> dict[str, UUID]:
    """external_id to tenant, read as each tenant's administrator."""
    found: dict[str, UUID] = {}
    for user in ("acme/admin", "globex/admin"):
        principal: Principal = USERS[user]
        async with house.database.principal_scope(principal) as tx:
            for row in await tx.driver.fetch("select external_id, tenant_id from documents"):
                assert row["tenant_id"] == principal.tenant_id
                found[row["external_id"]] = row["tenant_id"]
    return found
