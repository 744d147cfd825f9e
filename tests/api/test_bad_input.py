"""Every malformed request gets a stable code and no echo."""

import json
from typing import Any

import httpx
import pytest

from app.main import Services

CASES: dict[str, tuple[Any, int, str]] = {
    "no body": (b"", 422, "PAYLOAD_INVALID"),
    "not JSON": (b"{", 422, "PAYLOAD_INVALID"),
    "not UTF-8": (b'{"query": "\xff\xfe"}', 422, "PAYLOAD_INVALID"),
    "UTF-16": ('{"query": "hi"}'.encode("utf-16-be")[:9], 422, "PAYLOAD_INVALID"),
    "a list": ([], 422, "PAYLOAD_INVALID"),
    "null": (None, 422, "PAYLOAD_INVALID"),
    "empty object": ({}, 422, "PAYLOAD_INVALID"),
    "empty query": ({"query": ""}, 422, "PAYLOAD_INVALID"),
    "blank query": ({"query": " \n\t\u200b"}, 422, "PAYLOAD_INVALID"),
    "number": ({"query": 1}, 422, "PAYLOAD_INVALID"),
    "NUL": ({"query": "nghỉ\x00phép"}, 422, "PAYLOAD_INVALID"),
    "lone surrogate": (b'{"query": "\\ud800 ngh\xe1\xbb\x89"}', 422, "PAYLOAD_INVALID"),
    "surrogate in a key": (b'{"query": "hi", "\\udfff": 1}', 422, "PAYLOAD_INVALID"),
    "too long a query": ({"query": "a" * 4_001}, 422, "PAYLOAD_INVALID"),
    "one megabyte": ({"query": "a" * 1_000_000}, 413, "PAYLOAD_TOO_LARGE"),
    "deep JSON": (b'{"query": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", 422, "PAYLOAD_INVALID"),
    "extra field": ({"query": "hi", "role": "admin"}, 422, "PAYLOAD_INVALID"),
    "extra field in the context": ({"query": "hi", "user_context": {"roles": ["admin"]}}, 422, "PAYLOAD_INVALID"),
    "unknown mode": ({"query": "hi", "mode": "root"}, 422, "PAYLOAD_INVALID"),
    "unknown agent": ({"query": "hi", "agents": {"ceo": {"desc": "x"}}}, 422, "VALIDATION_FAILED"),
    "unknown tool": ({"query": "hi", "agents": {"hr": {"tools": [{"name": "shell"}]}}}, 422, "VALIDATION_FAILED"),
    "no agents": ({"query": "hi", "agents": {}}, 422, "PAYLOAD_INVALID"),
    "another tenant": ({"query": "hi", "user_context": {"tenant_id": "globex"}}, 403, "PERMISSION_DENIED"),
    "another user": ({"query": "hi", "user_context": {"user_id": "minh"}}, 403, "PERMISSION_DENIED"),
    "more scopes": ({"query": "hi", "user_context": {"permissions": ["public", "secret"]}}, 403, "PERMISSION_DENIED"),
    "another department": ({"query": "hi", "user_context": {"department": "it"}}, 403, "PERMISSION_DENIED"),
    "unknown session": (
        {"query": "hi", "session_id": "00000000-0000-4000-8000-000000000000"},
        404,
        "NOT_FOUND",
    ),
    "session that is no id": ({"query": "hi", "session_id": "1; drop table tasks"}, 422, "PAYLOAD_INVALID"),
    "bad day": ({"query": "hi", "as_of": "2026-02-30"}, 422, "PAYLOAD_INVALID"),
    "too much history": (
        {"query": "hi", "history_chat": [{"role": "user", "content": "x"}] * 51},
        422,
        "PAYLOAD_INVALID",
    ),
}


def raw(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


async def count_tasks(house: Services) -> int:
    principal = (await house.claims_of("acme/lan")).principal()
    async with house.database.principal_scope(principal) as tx:
        return int(await tx.driver.fetchval("select count(*) from tasks"))


class TestBadInput:
    async def test_gets_its_code_and_starts_nothing(
        self, lan: httpx.AsyncClient, house: Services, subtests: pytest.Subtests
    ) -> None:
        for body, status, code in CASES.values():
            for path in ["/chat", "/chat/stream"]:
                with subtests.test(ascii((body, status, code, path))[:80]):
                    before = await count_tasks(house)
                    answer = await lan.post(path, content=raw(body), headers={"Content-Type": "application/json"})
                    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
                    assert answer.headers["content-type"] == "application/problem+json"
                    assert answer.json().keys() >= {"type", "title", "status", "code", "detail"}
                    assert await count_tasks(house) == before

    async def test_is_never_repeated_in_the_answer(self, lan: httpx.AsyncClient) -> None:
        marker = "CANARY-7f3a"
        for wrong in ({"query": f"{marker}\x00"}, {"session_id": marker}, {"mode": marker}):
            answer = await lan.post("/chat", json={"query": "hi", **wrong})
            assert answer.status_code == 422 and marker not in answer.text

    async def test_a_body_that_lies_about_its_length_is_cut_off_while_it_streams(self, lan: httpx.AsyncClient) -> None:
        sent = 0

        async def endless() -> Any:
            nonlocal sent
            while True:
                sent += 65_536
                yield b"a" * 65_536

        try:
            answer = await lan.post("/chat", content=endless(), headers={"Content-Type": "application/json"})
            assert answer.status_code == 413
        except httpx.NetworkError:
            pass  # the server answered and closed before everything was sent
        assert sent < 50_000_000

    async def test_other_content_types_are_not_read_as_json(
        self, lan: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for content_type in ["text/plain", "application/x-www-form-urlencoded", ""]:
            with subtests.test(ascii(content_type)[:80]):
                answer = await lan.post("/chat", content=b'{"query": "hi"}', headers={"Content-Type": content_type})
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_of_search_is_refused(self, lan: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
        for body in [
            {"query": "hi", "limit": 0},
            {"query": "hi", "limit": 51},
            {"query": "hi", "limit": "8; drop"},
            {"query": "hi", "departments": []},
            {"query": "hi", "tenant_id": "globex"},
            {"query": "a" * 4_001},
        ]:
            with subtests.test(ascii(body)[:80]):
                answer = await lan.post("/search", json=body)
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_of_lists_is_refused(self, lan: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
        for query in [
            "cursor=garbage",
            "cursor=%00",
            "cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwgIjAxOGYwMDAwLTAwMDAtNzAwMC04MDAwLTAwMDAwMDAwMDAwMSJd",
            "limit=0",
            "limit=101",
            "limit=x",
        ]:
            with subtests.test(ascii(query)[:80]):
                answer = await lan.get(f"/sessions?{query}")
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_of_idempotency_keys_is_refused(self, lan: httpx.AsyncClient, subtests: pytest.Subtests) -> None:
        for key in ["a b", "á", "x" * 201, ""]:
            with subtests.test(ascii(key)[:80]):
                answer = await lan.post(
                    "/chat", json={"query": "xin chào"}, headers=[(b"Idempotency-Key", key.encode())]
                )
                assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")
