"""Every route, every kind of person, every kind of id: who gets through stands in one table, and a route that is not in
it fails."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx
import pytest

from app.api.auth import Claims
from app.domain.principal import tenant_id_of, user_id_of
from app.main import Services
from app.main.identity import sign_token
from tests.api.test_hostile_values import BODIES, needed
from tests.api.test_routes import PUBLIC, openapi, routes

__all__ = ["openapi"]  # a fixture
Route = tuple[str, str]
UNKNOWN = "00000000-0000-4000-8000-000000000000"
ROLES = {"reader": ("reader",), "owner": ("owner",), "auditor": ("auditor",), "admin": ("admin",)}
EVERYBODY, ADMINS = frozenset(ROLES), frozenset({"admin"})
AUDITORS, OWNERS = ADMINS | {"auditor"}, ADMINS | {"owner"}
WHO: dict[frozenset[str], str] = {
    EVERYBODY: """
        get /api/v1/agents · get /api/v1/auth/session · post /api/v1/auth/logout · post /api/v1/chat
        post /api/v1/chat/stream · post /api/v1/plans · post /api/v1/search · get /api/v1/conflicts
        get /api/v1/tasks/{task_id} · get /api/v1/tasks/{task_id}/events · post /api/v1/tasks/{task_id}/cancel
        post /api/v1/tasks/{task_id}/approve · put /api/v1/tasks/{task_id}/feedback
        post /api/v1/tasks/{task_id}/resolve · post /api/v1/tasks/{task_id}/conflicts/tell
        get /api/v1/sessions · get /api/v1/sessions/{session_id} · patch /api/v1/sessions/{session_id}
        delete /api/v1/sessions/{session_id} · get /api/v1/files · post /api/v1/files
        get /api/v1/files/{file_id} · delete /api/v1/files/{file_id} · get /api/v1/documents
        get /api/v1/documents/{document_id} · get /api/v1/documents/{document_id}/versions
        get /api/v1/documents/{document_id}/original · get /api/v1/reading · get /api/v1/reading/titles
        get /api/v1/logs · get /api/v1/performance · get /api/v1/keys · post /api/v1/keys/{key_id}/rotate
        delete /api/v1/keys/{key_id} · get /v1/models · get /v1/models/{model} · post /v1/chat/completions
        post /v1/embeddings · post /v1/responses · post /a2a · post /ag-ui · post /ui/chat
        get /ui/chat/{chat_id}/stream · get /api/v1/account · put /api/v1/account/password
        post /api/v1/account/codes · put /api/v1/account/codes
    """,
    OWNERS: """
        get /api/v1/desk/items · patch /api/v1/desk/items/{item_id} · post /api/v1/desk/items/{item_id}/ask
        post /api/v1/desk/items/{item_id}/answer
        patch /api/v1/contradictions/{finding_id}
    """,
    AUDITORS: "get /api/v1/audit · get /api/v1/audit/chain · get /api/v1/users · get /api/v1/account/invitations",
    ADMINS: """
        post /api/v1/documents · get /api/v1/documents/health · patch /api/v1/documents/{document_id}
        delete /api/v1/documents/{document_id} · get /api/v1/contradictions
        post /api/v1/logs · get /api/v1/admin/tasks
        get /api/v1/admin/queues · post /api/v1/admin/tasks/{task_id}/cancel
        post /api/v1/admin/tasks/{task_id}/retry · get /api/v1/admin/usage · get /api/v1/admin/evaluations
        get /api/v1/admin/agents · get /api/v1/admin/readers · post /api/v1/users
        patch /api/v1/users/{user_id} · delete /api/v1/users/{user_id}/data · get /api/v1/connectors
        post /api/v1/connectors · get /api/v1/connectors/{connector_id}
        delete /api/v1/connectors/{connector_id} · post /api/v1/connectors/{connector_id}/sync
        post /api/v1/account/invitations/{user_id}
    """,
}
"""Who is not refused by their role. `POST /keys` for somebody else and what a person owns are judged by the id."""
BY_BODY: set[Route] = {("post", "/api/v1/keys")}
"""Refused or not by what the body asks for; tests/api/test_keys.py tries it."""
_NAME = re.compile(r"{(\w+)}")
_SENT: Mapping[Route, Any] = {(method.lower(), path): body for method, path, body in BODIES} | {
    ("post", "/api/v1/chat/stream"): {"query": "xin chào"},
    ("post", "/api/v1/chat"): {"query": "xin chào"},
    ("patch", "/api/v1/desk/items/{item_id}"): {"act": "done"},
    ("post", "/api/v1/desk/items/{item_id}/answer"): {
        "text": "Bốn.", "department": "hr", "scope": "public", "review_on": "2999-01-01",
    },
    ("patch", "/api/v1/contradictions/{finding_id}"): {"act": "reopen"},
    ("post", "/api/v1/tasks/{task_id}/conflicts/tell"): {"document_id": UNKNOWN, "other_document_id": UNKNOWN},
    ("post", "/api/v1/documents"): {"text": "Văn bản.", "department": "hr", "scope": "public", "external_id": "matrix"},
    ("post", "/v1/responses"): {"model": "auto", "input": "xin chào"},
    ("delete", "/api/v1/keys/{key_id}"): None,
}  # fmt: skip


@pytest.fixture(scope="module")
async def people(house: Services, address: str, client_of: Callable[[str], httpx.AsyncClient]) -> AsyncIterator[Any]:
    """A client of a person of acme with each role, by the role."""
    made = {}
    for name, roles in ROLES.items():
        person = {
            "name": f"matrix-{name}", "department": "hr", "departments": ["hr"], "scopes": ["public"], "roles": roles,
        }  # fmt: skip
        assert (await client_of("acme/admin").post("/users", json=person)).status_code == 201
        claims = Claims(
            sub=f"matrix-{name}", tenant_id="acme", department="hr", permissions=("public",), roles=roles
        )  # fmt: skip
        token = sign_token(house.settings, claims, 3600)
        made[name] = httpx.AsyncClient(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    yield made
    for document in (await client_of("acme/admin").get("/documents")).json()["documents"]:
        if document["external_id"] == "matrix":
            await client_of("acme/admin").delete(f"/documents/{document['document_id']}")
    for name, client in made.items():
        await client.aclose()
        await client_of("acme/admin").delete(f"/users/{user_id_of(tenant_id_of('acme'), f'matrix-{name}')}/data")


def table() -> dict[Route, frozenset[str]]:
    """The table by route."""
    told = ((who, route.split()) for who, said in WHO.items() for route in re.split(r" · |\n", said) if route.strip())
    return {(method, path): who for who, (method, path) in told}


async def asked(
    http: httpx.AsyncClient, openapi: Mapping[str, Any], route: Route, ids: Mapping[str, str]
) -> httpx.Response:
    """The route, with a body it takes, and these ids; others are nobody's."""
    method, path = route
    rest = "&".join(f"{name}={value}" for name, value in needed(openapi["paths"][path][method]).items())
    target = _NAME.sub(lambda name: ids.get(name[1], UNKNOWN), path)
    body = _SENT.get(route)
    sent = None if body is None else json.dumps(body).replace("{task_id}", UNKNOWN)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return await http.request(method, f"{target}?{rest}".rstrip("?"), content=sent, headers=headers)


def is_documented(openapi: Mapping[str, Any], route: Route, answer: httpx.Response) -> bool:
    """Whether the document says that this status and this kind of content may come."""
    method, path = route
    told = openapi["paths"][path][method]["responses"].get(str(answer.status_code))
    kind = answer.headers.get("content-type", "").partition(";")[0]
    return told is not None and (kind in told.get("content", ()) or not kind or "content" not in told)


class TestMatrix:
    def test_every_route_stands_in_the_table_once(self, openapi: dict[str, Any]) -> None:
        assert set(table()) | BY_BODY == set(routes(openapi)) - PUBLIC
        assert len(table()) == sum(len(re.findall(r"\b(?:get|post|put|patch|delete) /", said)) for said in WHO.values())

    @pytest.mark.parametrize("role", ROLES)
    async def test_a_role_opens_what_the_table_says_and_nothing_else(
        self, openapi: dict[str, Any], people: Mapping[str, httpx.AsyncClient], role: str
    ) -> None:
        wrong = list[tuple[object, ...]]()
        for route, who in table().items():
            answer = await asked(people[role], openapi, route, {})
            if (answer.status_code == 403) == (role in who) or answer.status_code in (401, *range(500, 600)):
                wrong.append((*route, answer.status_code))
            if not is_documented(openapi, route, answer):
                wrong.append((*route, answer.status_code, answer.headers.get("content-type")))
        assert not wrong

    async def test_an_id_of_somebody_else_is_like_one_that_nobody_has(
        self,
        openapi: dict[str, Any],
        people: Mapping[str, httpx.AsyncClient],
        address: str,
        client_of: Callable[[str], httpx.AsyncClient],
    ) -> None:
        ids, tried = await owned(people["reader"], client_of("acme/admin")), 0
        personal = {name: ids[name] for name in ("task_id", "session_id", "file_id", "key_id")}
        strangers = [("globex/admin", ids), ("globex/tom", ids), ("acme/an", personal)]
        for name, foreign in strangers:
            async with httpx.AsyncClient(base_url=address, headers=client_of(name).headers, timeout=30) as http:
                for route in (one for one in table() if foreign.keys() & set(_NAME.findall(one[1]))):
                    seen = [await asked(http, openapi, route, given) for given in (foreign, {})]
                    said = [re.sub(r"\w{8}-\w{4}-\w{4}-\w{4}-\w{12}", "-", one.text) for one in seen]
                    tried += 1
                    assert seen[0].status_code == seen[1].status_code and said[0] == said[1], (name, route, said)
        assert tried >= 55
        for path in ("tasks/{task_id}", "sessions/{session_id}", "files/{file_id}", "documents/{document_id}"):
            still = await people["reader"].get(f"/api/v1/{path.format_map(ids)}")
            assert still.status_code == 200, (path, still.text)


async def owned(reader: httpx.AsyncClient, admin: httpx.AsyncClient) -> dict[str, str]:
    """Ids of acme's, and of what the reader made, by the name that routes give them."""
    run = (await reader.post("/api/v1/chat", json={"query": "xin chào"})).json()
    file = (await reader.post("/api/v1/files", files={"file": ("a.txt", b"Hello there.")})).json()
    wanted = {"name": "matrix", "scopes": ["public"], "expires_in_days": 1}
    key = (await reader.post("/api/v1/keys", json=wanted)).json()
    documents = (await reader.get("/api/v1/documents")).json()["documents"]
    return {
        "task_id": run["task_id"], "session_id": run["session_id"], "file_id": file["file_id"],
        "key_id": key["key_id"], "document_id": documents[0]["document_id"],
        "user_id": (await admin.get("/users")).json()["users"][0]["user_id"],
    }  # fmt: skip
