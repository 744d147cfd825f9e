"""No value of a parameter makes the service fail: every one is answered, or refused with a code."""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import uuid4

import httpx
import jwt
import pytest

from app.client.local import AS_HEADER
from app.domain.principal import tenant_id_of, user_id_of
from tests.api.conftest import SECRET
from tests.api.test_private_socket import socket
from tests.api.test_routes import code_of, openapi, routes
from tests.samples import SEED, drawn

__all__ = ["openapi", "socket"]  # fixtures
ID = "00000000-0000-4000-8000-000000000000"
HOSTILE = user_id_of(tenant_id_of("acme"), "hostile")
"""A user these tests make."""
NUMBERS = [-(2**63) - 1, -(2**31), -1, 0, 2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**63 - 1, 2**63, 2**64, 10**30]
MOMENTS = [
    "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z",
    "0001-01-01", "9999-12-31", "10000-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z",
]  # fmt: skip
TEXTS = ["\x00", "a\x00b", "acme/\x00", "\\u0000", "\u202e", "x" * 5_000, "%", "_", "'", "1e400", "NaN", "-0", "٣", ""]
VALUES = [*map(str, NUMBERS), *MOMENTS, *TEXTS]
KEYS: list[Sequence[object]] = [
    *([moment, ID] for moment in MOMENTS),
    *([moment, ID, ID] for moment in MOMENTS),
    *([moment, ID, 1] for moment in MOMENTS),
    *([moment, 1, 1] for moment in MOMENTS),
    *(["2026-01-01T00:00:00Z", ID, number] for number in NUMBERS),
    *(["2026-01-01T00:00:00Z", number, 1] for number in NUMBERS),
    *(["2026-01-01T00:00:00Z", 1, number] for number in NUMBERS),
    *([number, 1.5, ID] for number in NUMBERS),
    [1, 1e308, ID],
]
CURSORS = [base64.urlsafe_b64encode(json.dumps(key).encode()).decode() for key in KEYS]
NAMES = re.compile(r"{(\w+)}")
RAW = ["%ff", "%ED%A0%80", "%00", "%%00"]
"""As they stand in an address: no text gives these bytes."""
DRAWN = 5
"""Values that are tried in one place; `make chaos` tries all of them everywhere."""
T = TypeVar("T")


@pytest.fixture(scope="module")
async def admin_task(client_of: Callable[[str], httpx.AsyncClient]) -> str:
    """A run of acme/admin that has ended."""
    answer = await client_of("acme/admin").post("/chat", json={"query": "xin chào"})
    assert answer.status_code == 200
    return str(answer.json()["task_id"])


def parameters(route: Mapping[str, Any], place: str) -> list[str]:
    return [one["name"] for one in route.get("parameters", ()) if one["in"] == place]


def needed(route: Mapping[str, Any], but: str = "") -> dict[str, str]:
    """Good values for what a route wants besides the parameter in question."""
    good = {"scope": "public", "department": "hr", "url": "/x", "documents": "keep"}
    found = [one for one in route.get("parameters", ()) if one["in"] == "query" and one["required"]]
    return {one["name"]: good[one["name"]] for one in found if one["name"] != but}


def some(values: Sequence[T], *where: object) -> list[T]:
    """A drawn part of the values, another one in every place; all of them where the whole is played."""
    return drawn(values, DRAWN, seed=f"{SEED} {where}")


def addresses(path: str, route: Mapping[str, Any], ids: Mapping[str, str]) -> Iterator[str]:
    """The route with hostile values in each of its parameters, one at a time."""
    good = NAMES.sub(lambda name: ids.get(name[1], ID), path)
    for name in parameters(route, "path"):
        for value in some((*map(quote, filter(None, VALUES)), *RAW), path, name):
            yield path.replace("{" + name + "}", value)
    for name in parameters(route, "query"):
        rest = "".join(f"&{key}={quote(value, safe='')}" for key, value in needed(route, name).items())
        values = (*(quote(one, safe="") for one in VALUES), *RAW)
        for value in (*some(values, path, name), *(some(CURSORS, path) if name == "cursor" else ())):
            yield f"{good}?{name}={value}{rest}"
    yield f"{good}?nobody-reads-this=%00"


class TestEveryValueOfAParameter:
    async def test_is_answered_or_refused_with_a_code(
        self,
        openapi: dict[str, Any],
        address: str,
        client_of: Callable[[str], httpx.AsyncClient],
        admin_task: str,
    ) -> None:
        http, failed, tried = client_of("acme/admin"), [], 0
        ids = {"task_id": admin_task, "model": "auto"}
        for _, path in (one for one in routes(openapi) if one[0] == "get"):
            for target in addresses(path, openapi["paths"][path]["get"], ids):
                answer = await http.get(address + target)
                tried += 1
                if answer.status_code >= 500 or (answer.status_code >= 400 and not code_of(answer)):
                    failed.append((answer.status_code, target[:200]))
        assert not failed, "\n".join(map(str, failed))
        assert tried > DRAWN * 50


MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "xin chào"}]}
A2A = {"messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [{"text": "xin chào"}]}
A2A_03 = {"messageId": "m1", "contextId": "c1", "role": "user", "parts": [{"kind": "text", "text": "xin chào"}]}
TURN = {"role": "user", "content": "xin chào"}
DOCUMENT = {
    "text": "Văn bản mẫu.", "external_id": "hostile", "title": "Mẫu", "url": "https://intra.example/x", "lang": "vi",
    "department": "hr", "scope": "public", "authority": "policy", "created_at": "2026-01-01T00:00:00Z",
    "effective_from": "2026-01-01", "effective_to": "2027-01-01", "supersedes": "older",
}  # fmt: skip
DEEP = {"mode": "deep"}
CALL = {"jsonrpc": "2.0", "id": 1}
BODIES: list[tuple[str, str, Any]] = [
    ("POST", "/api/v1/chat", {
        "query": "đi muộn", "history_chat": [TURN], "mode": "auto", "as_of": "2026-01-01", "files": [ID],
        "user_context": {"department": "hr"}, "agents": {"hr": {"desc": "x", "tools": [{"name": "rag_tool"}]}},
    }),
    ("POST", "/api/v1/plans", {"query": "nghỉ phép", "as_of": "2026-01-01"}),
    ("POST", "/api/v1/search", {"query": "đi muộn", "departments": ["hr"], "limit": 5, "as_of": "2026-01-01"}),
    ("POST", "/api/v1/documents", DOCUMENT),
    ("PATCH", "/api/v1/documents/{document_id}", {
        name: value for name, value in DOCUMENT.items() if name not in ("text", "external_id", "title")
    }),
    ("POST", "/api/v1/tasks/{task_id}/approve", {"approved": False, "feedback": "x", "attempt": 1}),
    ("PATCH", "/api/v1/sessions/{session_id}", {"title": "x", "pinned": True, "archived": False}),
    ("PUT", "/api/v1/tasks/{task_id}/feedback", {"rating": 1, "correction": "x"}),
    ("POST", "/api/v1/tasks/{task_id}/resolve", {
        "weights": {"domain": 1, "scope": 1, "recency": 1, "relevance": 1}, "threshold": 0.5,
    }),
    ("POST", "/api/v1/auth/dev", {"user": "acme/lan"}),
    ("POST", "/api/v1/auth/local", {"user": "acme/lan", "password": "x", "code": "123456"}),
    ("POST", "/api/v1/auth/link", {"link": "x" * 43}),
    ("PUT", "/api/v1/auth/link", {
        "link": "x" * 43, "password": "x" * 12, "company": "x", "user": "x", "name": "x", "language": "vi",
    }),
    ("PUT", "/api/v1/account/password", {"password": "x", "new_password": "x"}),
    ("POST", "/api/v1/account/codes", {"password": "x"}),
    ("PUT", "/api/v1/account/codes", {"password": "x", "code": "123456", "asked": True}),
    ("POST", "/api/v1/users", {
        "name": "hostile", "display_name": "x", "department": "hr", "departments": ["it"], "scopes": ["public"],
        "roles": ["reader"], "service": False,
    }),
    ("PATCH", "/api/v1/users/{user_id}", {
        "display_name": "x", "department": "hr", "departments": ["it"], "scopes": ["public"], "roles": ["reader"],
        "disabled": False,
    }),
    ("POST", "/api/v1/keys", {
        "name": "x", "user": "admin", "scopes": ["public"], "departments": ["hr"], "roles": ["admin"],
        "expires_in_days": 1,
    }),
    ("POST", f"/api/v1/keys/{ID}/rotate", {"grace_seconds": 1}),
    ("POST", "/api/v1/connectors", {
        "name": "x", "kind": "git", "source": {"url": "https://x.example/a"}, "secret": "x", "every_minutes": 1,
        "ignore": ["a"], "access": [{"match": "**", "department": "hr", "scope": "public"}],
    }),
    ("POST", f"/api/v1/connectors/{ID}/sync", {"withdraw_all": False}),
    ("POST", "/api/v1/logs", [{
        "logged_at": "2026-01-01T00:00:00Z", "source": "a", "level": "INFO", "message": "x", "department": "hr",
    }]),
    ("POST", "/v1/chat/completions", {"model": "auto", "messages": [TURN], "metadata": {"as_of": "2026-01-01"}}),
    ("POST", "/v1/embeddings", {"model": "auto", "input": ["xin chào"], "input_type": "query", "dimensions": 384}),
    ("POST", "/v1/responses", {
        "model": "auto", "input": [{"role": "user", "content": [{"type": "input_text", "text": "xin chào"}]}],
        "instructions": "x", "previous_response_id": f"resp_{ID}", "metadata": {"as_of": "2026-01-01"},
        "max_output_tokens": 9, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "store": False,
    }),
    ("POST", "/ui/chat", {"id": "c1", "messages": [MESSAGE], "agent": "hr", "as_of": "2026-01-01"}),
    ("POST", "/ag-ui", {
        "threadId": "t1", "runId": "r1", "messages": [{**TURN, "id": "m1"}], "state": "x", "tools": [], "context": [],
        "forwardedProps": {"as_of": "2026-01-01"},
    }),
    ("POST", "/ag-ui", {
        "threadId": "t1", "runId": "r1", "messages": [{**TURN, "id": "m1"}], "tools": [], "context": [],
        "resume": [{"interruptId": "{task_id}:1", "status": "resolved", "payload": {"approved": True}}],
    }),
    ("POST", "/a2a", {**CALL, "method": "SendMessage", "params": {"message": A2A, "metadata": {"agent": "hr"}}}),
    ("POST", "/a2a", {**CALL, "method": "message/send", "params": {"message": A2A_03}}),
    ("POST", "/a2a", {**CALL, "method": "GetTask", "params": {"id": "{task_id}", "historyLength": 1}}),
    ("POST", "/a2a", {**CALL, "method": "tasks/get", "params": {"id": "{task_id}"}}),
    ("POST", "/mcp", {**CALL, "method": "tools/call", "params": {
        "name": "search_documents", "arguments": {"query": "đi muộn", "departments": ["hr"], "as_of": "2026-01-01"},
    }}),
    ("POST", "/mcp", {**CALL, "method": "tools/call", "params": {"name": "ask", "arguments": {
        "question": "xin chào", "agent": "hr", "as_of": "2026-01-01", "session_id": ID,
    }}}),
]  # fmt: skip
IN_BODIES: list[object] = ["a\x00b", *MOMENTS[:6], "10000-01-01", -1, 2**31, 2**63, 10**30, 1e308]


def spoilt(body: Any) -> Iterator[Any]:
    """The body with one of its leaves, or one of its names, replaced by NUL and some other hostile values."""
    if isinstance(body, dict):
        for name, value in body.items():
            yield from ({**body, name: one} for one in spoilt(value))
            yield {**{key: other for key, other in body.items() if key != name}, f"{name}\x00": value}
    elif isinstance(body, list):
        yield from ([one, *body[1:]] for value in body[:1] for one in spoilt(value))
    elif body != "2.0":
        yield from ("\x00", *some(IN_BODIES, body))


def code_in(answer: httpx.Response) -> str:
    """Of an answer in any protocol that tells a mistake of the service's."""
    signs = ('"INTERNAL"', "-32603") if answer.url.path == "/mcp" else ('"INTERNAL"',)
    return next((sign for sign in signs if sign in answer.text), "")


class TestEveryValueInABody:
    @pytest.mark.parametrize(("method", "path", "body"), BODIES, ids=[path for _, path, _ in BODIES])
    async def test_is_answered_or_refused_with_a_code(
        self,
        address: str,
        client_of: Callable[[str], httpx.AsyncClient],
        admin_task: str,
        method: str,
        path: str,
        body: Any,
    ) -> None:
        http, failed = client_of("acme/admin"), []
        documents = (await http.get("/documents")).json()["documents"]
        sessions = (await http.get("/sessions")).json()["sessions"]
        known = {"task_id": admin_task, "document_id": documents[0]["document_id"], "user_id": str(HOSTILE)}
        known["session_id"] = sessions[0]["session_id"]
        for one in spoilt(body):
            target, sent = path, json.dumps(one)
            for name, value in known.items():
                target, sent = (text.replace("{" + name + "}", value) for text in (target, sent))
            headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
            answer = await http.request(method, address + target, content=sent, headers=headers)
            if answer.status_code >= 500 or code_in(answer):
                failed.append((answer.status_code, code_in(answer), sent[:200]))
        assert not failed, "\n".join(map(str, failed))


class TestEveryValueInAHeader:
    async def test_an_event_id_nobody_gave_out_means_the_beginning(
        self, address: str, client_of: Callable[[str], httpx.AsyncClient], admin_task: str
    ) -> None:
        http, events = client_of("acme/admin"), f"/tasks/{admin_task}/events"
        whole = (await http.get(events)).text
        for value in (*map(str, NUMBERS), *MOMENTS, "-1", "9" * 10, "9" * 5_000, "NaN", "1.0", "0x1", "x", ""):
            answer = await http.get(events, headers={"Last-Event-ID": value})
            assert (answer.status_code, answer.text) == (200, whole), value

    async def test_a_seq_no_journal_can_reach_is_refused(
        self, client_of: Callable[[str], httpx.AsyncClient], admin_task: str
    ) -> None:
        http, events = client_of("acme/admin"), f"/tasks/{admin_task}/events"
        for number in NUMBERS:
            answer = await http.get(f"{events}?after={number}")
            assert answer.status_code == (200 if 0 <= number < 2**31 else 422), number

    async def test_a_token_with_nul_in_a_claim_is_no_good_token(
        self, nobody: httpx.AsyncClient, token_of: Callable[[str], str]
    ) -> None:
        claims = jwt.decode(token_of("acme/lan"), options={"verify_signature": False})
        assert "name" in claims
        for name in ("sub", "name", "tenant_id", "department"):
            token = jwt.encode({**claims, name: f"{claims[name]}\x00"}, SECRET, algorithm="HS256")
            answer = await nobody.post(
                "/chat", json={"query": "xin chào"}, headers={"Authorization": f"Bearer {token}"}
            )
            assert answer.status_code == 401, (name, answer.text)

    async def test_a_name_with_nul_is_nobodys(self, socket: Path) -> None:
        door = httpx.AsyncHTTPTransport(uds=str(socket))
        async with httpx.AsyncClient(transport=door, base_url="http://here") as http:
            for who in ("acme/lan%00", "acme%00/lan", "acme%00/", "%00", "%00/%00"):
                answer = await http.get("/api/v1/agents", headers={AS_HEADER: who})
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), who


class TestEveryValueInAForm:
    async def test_is_answered_or_refused_with_a_code(self, client_of: Callable[[str], httpx.AsyncClient]) -> None:
        http, failed = client_of("acme/admin"), []
        fields = {name: value for name, value in DOCUMENT.items() if name != "text"}
        for name in fields:
            for value in map(str, some(IN_BODIES, name)):
                file = {"file": ("a.md", f"# Mẫu {uuid4()}\n\nVăn bản mẫu.".encode())}
                answer = await http.post("/documents", data={**fields, name: value}, files=file)
                if answer.status_code >= 500:
                    failed.append((answer.status_code, name, value))
        for path in ("/documents", "/files"):
            for value in ("a\x00b.md", "a%00b.md", "\x00", "\x80.md"):
                file = {"file": (value, b"# A\n\nText.")}
                answer = await http.post(path, data={"department": "hr", "scope": "public"}, files=file)
                if answer.status_code >= 500:
                    failed.append((answer.status_code, path, value))
        assert not failed, "\n".join(map(str, failed))


class TestTheFirstAndTheLastDay:
    async def test_of_a_document_are_told_wherever_documents_are(
        self, client_of: Callable[[str], httpx.AsyncClient]
    ) -> None:
        http, found = client_of("acme/admin"), []
        for at, (made, since, until) in enumerate([
            ("0002-01-01T00:00:00+00:00", "0001-01-01", "0001-01-01"),
            ("9998-12-31T23:59:59Z", "9999-12-31", "9999-12-31"),
            ("9998-12-31T23:59:59+00:00", "0001-01-01", "9999-12-31"),
        ]):  # fmt: skip
            text = f"# Quy định thẻ gửi xe số {at}\n\nNhân viên đóng {at + 3}0.000 đồng tiền thẻ gửi xe mỗi tháng."
            given = {"text": text, "external_id": f"edge-{at}", "department": "hr", "scope": "public"}
            dates = {"created_at": made, "effective_from": since, "effective_to": until}
            accepted = await http.post("/documents", json={**given, **dates, "supersedes": f"edge-{at - 1}"})
            assert accepted.status_code == 202, accepted.text
            events = (await http.get(f"/tasks/{accepted.json()['task_id']}/events")).text
            assert "INTERNAL" not in events and "task_failed" not in events, events
            found.append(accepted.json()["document_id"])
        for path in (
            "/documents", "/documents/health", "/reading?url=x",
            *(f"/documents/{one}{further}" for one in found for further in ("", "/versions")),
        ):  # fmt: skip
            answer = await http.get(path)
            assert answer.status_code < 500, answer.text
        for as_of in (None, "0001-01-01", "9999-12-31", "2026-06-01"):
            asked = {"query": "Tiền thẻ gửi xe mỗi tháng là bao nhiêu?", "as_of": as_of}
            for path, body in (("/search", asked), ("/plans", asked), ("/chat", asked), ("/chat", asked | DEEP)):
                answer = await http.post(path, json=body)
                assert answer.status_code < 500, (as_of, path, answer.text)
        for one in found:
            assert (await http.delete(f"/documents/{one}")).status_code == 204
