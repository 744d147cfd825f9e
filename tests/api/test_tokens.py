"""Tokens through the real door."""

from collections.abc import Callable

import httpx
import jwt
import pytest

from app.main import Services
from tests.api.conftest import SECRET
from tests.unit.api.test_auth import FORGED

SENDABLE = {name: text for name, text in FORGED.items() if text is None or (text.isascii() and text == text.strip())}
"""Those an HTTP client lets out."""


def unknown_tenant_token(token: str) -> str:
    claims = jwt.decode(token, options={"verify_signature": False})
    return jwt.encode({**claims, "tenant_id": "initech"}, SECRET, algorithm="HS256")


class TestTokens:
    async def test_forged_ones_get_the_same_401_on_every_method(
        self, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for header in SENDABLE.values():
            with subtests.test(ascii(header)[:80]):
                headers = {} if header is None else {"Authorization": header}
                for method, path in (
                    ("GET", "/agents"),
                    ("POST", "/chat"),
                    ("GET", "/tasks/1"),
                    ("DELETE", "/nowhere"),
                ):
                    answer = await nobody.request(method, path, headers=headers, json={} if method == "POST" else None)
                    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
                    assert answer.headers["content-type"] == "application/problem+json"
                    assert answer.headers["www-authenticate"].startswith("Bearer")

    async def test_of_an_unknown_tenant_is_refused(
        self, nobody: httpx.AsyncClient, token_of: Callable[[str], str]
    ) -> None:
        signed = unknown_tenant_token(token_of("acme/lan"))
        answer = await nobody.get("/agents", headers={"Authorization": f"Bearer {signed}"})
        assert answer.status_code == 401

    async def test_a_bad_one_takes_no_database_connection(
        self, nobody: httpx.AsyncClient, house: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def asked(*_: object, **__: object) -> None:
            raise AssertionError("the database was asked")

        monkeypatch.setattr(house.database, "principal_scope", asked)
        answer = await nobody.get("/agents", headers={"Authorization": "Bearer a.b.c"})
        assert answer.status_code == 401


class TestDemoSignIn:
    async def test_lists_the_demo_users_and_signs_one_in(self, nobody: httpx.AsyncClient) -> None:
        users = (await nobody.get("/auth/dev")).json()
        assert users[0]["user"] == "acme/lan" and len(users) == 9
        signed = (await nobody.post("/auth/dev", json={"user": "acme/an"})).json()["token"]
        agents = (await nobody.get("/agents", headers={"Authorization": f"Bearer {signed}"})).json()
        assert agents["permissions"] == ["public"]

    async def test_knows_nobody_else(self, nobody: httpx.AsyncClient) -> None:
        assert (await nobody.post("/auth/dev", json={"user": "acme/root"})).status_code == 404

    async def test_is_not_there_for_foreign_names_and_proxies(
        self, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for headers in [
            {"Host": "conclave.example"},
            {"Host": "127.0.0.1.evil.example"},
            {"X-Forwarded-For": "127.0.0.1"},
            {"Forwarded": "for=127.0.0.1"},
        ]:
            with subtests.test(ascii(headers)[:80]):
                answer = await nobody.post("/auth/dev", json={"user": "acme/lan"}, headers=headers)
                assert answer.status_code == 404
                assert "token" not in answer.text
