"""Nobody sees what belongs to somebody else: random requests of every user against every id there is."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.api.auth import SharedSecret
from app.domain.principal import Principal, Scope
from app.main import Services
from tests.api.conftest import SECRET
from tests.api.sse_reader import parse
from tests.factories import SEED_USERS
from tests.samples import SEED, size

ROUNDS = size(100, 2_500)
USERS = {f"{user.tenant}/{user.name}": user.principal for user in SEED_USERS}
QUERIES = (
    "giá trị cốt lõi", "đi muộn bị phạt thế nào", "mật khẩu dài bao nhiêu ký tự", "gửi xe ở đâu", "di muon",
    "lateness and attendance", "how do I connect to the VPN", "password", "private salary discipline", "globex", "acme",
)  # fmt: skip
BODIES = {"change": {"title": "Mine", "pinned": True, "archived": True}}
"""Of requests that have one, by kind."""
UNKNOWN = "5f0d5a51-7e57-4b1d-8f0e-3a1c2d4e5f60"
Client = httpx.AsyncClient


@dataclass(frozen=True)
class Run:
    """A finished run and its owner."""

    owner: str
    task_id: str
    child_id: str | None
    session_id: str


@dataclass(frozen=True)
class Paper:
    """A document of the seed, as the tests know it."""

    document_id: UUID
    external_id: str
    tenant_id: UUID
    department: str
    scope: Scope

    def is_listed_for(self, user: Principal) -> bool:
        is_own = user.tenant_id == self.tenant_id
        return is_own and (user.is_admin or user.may_read(self.scope, self.department))


@pytest.fixture(scope="module")
async def papers(house: Services, client_of: Callable[[str], Client]) -> AsyncIterator[list[Paper]]:
    """Every document of both companies, and some that only few may read."""
    written = (("acme/admin", "hr", "private"), ("acme/admin", "it", "private"), ("globex/admin", "hr", "private"))
    made = []
    for user, department, scope in written:
        name = f"{user.partition('/')[0]}-{department}"
        body = {"external_id": name, "department": department, "scope": scope, "text": "Bí mật."}
        accepted = (await client_of(user).post("/documents", json=body)).json()
        await client_of(user).get(f"/tasks/{accepted['task_id']}/events")
        made.append((user, accepted["document_id"]))
    found: list[Paper] = []
    for user in ("acme/admin", "globex/admin"):
        async with house.database.principal_scope(USERS[user]) as tx:
            rows = await tx.driver.fetch("select document_id, external_id, tenant_id, department, scope from documents")
        found += [Paper(**row) for row in rows]
    yield found
    for user, document_id in made:
        await client_of(user).delete(f"/documents/{document_id}")


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
        for number in range(ROUNDS // 4):
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
        assert checked > ROUNDS // 2

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
            answer = await client_of(user).request(method, path, json=BODIES.get(kind))
            assert (answer.status_code, answer.text) == unknown[user][kind], (SEED, number, user, method, path)
        assert foreign > ROUNDS * 0.8

    async def test_foreign_sessions_cannot_be_talked_in(
        self, client_of: Callable[[str], Client], runs: list[Run]
    ) -> None:
        random = Random(SEED)
        for _ in range(size(25, 150)):
            user, run = random.choice(list(USERS)), random.choice(runs)
            if user != run.owner:
                answer = await client_of(user).post("/chat", json={"query": "hi", "session_id": run.session_id})
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")

    async def test_lists_hold_only_own_sessions(self, client_of: Callable[[str], Client], runs: list[Run]) -> None:
        owners = {run.session_id: run.owner for run in runs}
        for user in USERS:
            page = (await client_of(user).get("/sessions?limit=100")).json()
            assert {owners.get(item["session_id"], user) for item in page["sessions"]} <= {user}

    async def test_searches_find_only_own_sessions(self, client_of: Callable[[str], Client], runs: list[Run]) -> None:
        owners, found = {run.session_id: run.owner for run in runs}, 0
        for user in USERS:
            for text in ("di muon", "lateness", "rule"):
                page = (await client_of(user).get("/sessions", params={"limit": 100, "q": text})).json()["sessions"]
                found += len(page)
                assert {owners.get(item["session_id"], user) for item in page} <= {user}
        assert found >= len(runs)

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


class TestDocuments:
    async def test_are_answered_by_the_rules_and_foreign_ones_like_unknown_ones(
        self, client_of: Callable[[str], Client], papers: list[Paper]
    ) -> None:
        unknown = {user: (await client_of(user).get(f"/documents/{UNKNOWN}")).text for user in USERS}
        assert len(papers) > 8
        for user, principal in USERS.items():
            http = client_of(user)
            for paper in papers:
                where = f"/documents/{paper.document_id}"
                is_listed = paper.is_listed_for(principal)
                for path in (where, f"{where}/versions"):
                    answer = await http.get(path)
                    assert answer.status_code == (200 if is_listed else 404), (user, paper)
                    assert is_listed or answer.text == unknown[user]
                if not (is_listed and principal.is_admin):
                    for method, body in (("PATCH", {"scope": "public"}), ("DELETE", None)):
                        answer = await http.request(method, where, json=body)
                        assert answer.status_code == (404 if principal.is_admin else 403), (user, paper)
                        assert paper.external_id not in answer.text

    async def test_are_listed_for_those_who_may_know_of_them(
        self, client_of: Callable[[str], Client], papers: list[Paper]
    ) -> None:
        for user, principal in USERS.items():
            listed = (await client_of(user).get("/documents?limit=100")).json()["documents"]
            expected = {str(paper.document_id) for paper in papers if paper.is_listed_for(principal)}
            assert {one["document_id"] for one in listed} == expected, user

    async def test_of_a_name_that_is_taken_elsewhere_are_documents_of_their_own(
        self, client_of: Callable[[str], Client], papers: list[Paper]
    ) -> None:
        """Nobody learns that another company has a document of this name, and nobody replaces it."""
        body = {"external_id": "acme-it", "department": "it", "scope": "public", "text": "Ours."}
        accepted = (await client_of("globex/admin").post("/documents", json=body)).json()
        await client_of("globex/admin").get(f"/tasks/{accepted['task_id']}/events")
        theirs = next(paper for paper in papers if paper.external_id == "acme-it")
        assert accepted["document_id"] != str(theirs.document_id)
        view = (await client_of("acme/admin").get(f"/documents/{theirs.document_id}")).json()
        assert (view["scope"], view["latest_version"]) == ("private", 1)
        await client_of("globex/admin").delete(f"/documents/{accepted['document_id']}")

    async def test_on_their_way_are_followed_by_nobody_else(self, client_of: Callable[[str], Client]) -> None:
        body = {"external_id": "secret-task", "department": "hr", "scope": "private", "text": "Bí mật."}
        accepted = (await client_of("acme/admin").post("/documents", json=body)).json()
        for user in USERS.keys() - {"acme/admin"}:
            for path in (f"/tasks/{accepted['task_id']}", f"/tasks/{accepted['task_id']}/events"):
                assert (await client_of(user).get(path)).status_code == 404, user
            assert (await client_of(user).post(f"/tasks/{accepted['task_id']}/cancel")).status_code == 404
        events = parse((await client_of("acme/admin").get(f"/tasks/{accepted['task_id']}/events")).text)
        assert events[-1].type == "final_report"
        assert not any("Bí mật" in str(event.data) or "secret-task" in str(event.data) for event in events)
        listed = (await client_of("acme/admin").get("/sessions")).json()["sessions"]
        assert not any(one["title"] == "document" for one in listed)
        await client_of("acme/admin").delete(f"/documents/{accepted['document_id']}")


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
        ("POST", f"/tasks/{run.task_id}/resolve", "resolve"),
        ("GET", f"/sessions/{run.session_id}", "session"),
        ("DELETE", f"/sessions/{run.session_id}", "delete"),
        ("PATCH", f"/sessions/{run.session_id}", "change"),
    ]
    if run.child_id is not None:
        found += [("GET", f"/tasks/{run.child_id}", "task"), ("GET", f"/tasks/{run.child_id}/events", "events")]
    return found


async def unknown_answers(client: Client) -> dict[str, tuple[int, str]]:
    """What this caller is told about an id that does not exist, by kind of request."""
    nowhere = Run("", UNKNOWN, None, UNKNOWN)
    told = {}
    for method, path, kind in requests_for(nowhere):
        answer = await client.request(method, path, json=BODIES.get(kind))
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
