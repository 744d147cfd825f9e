"""Tokens through the real door."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx
import jwt
import pytest

from app.api.auth import Authenticator, Claims, SharedSecret, known_people
from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.main import Services
from app.main.identity import sign_token
from app.storage import people, tenants
from app.storage.database import Database
from tests.api.conftest import SECRET
from tests.unit.api.test_auth import FORGED

ACME = tenant_id_of("acme")
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


class Clock:
    """Tells the seconds it was set to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Desk:
    """Makes people, signs tokens for them that say what they may do now, and lets them in by a clock of its own."""

    house: Services
    operator: Database
    clock: Clock
    door: Authenticator

    @classmethod
    async def open(cls, house: Services, **settings: Any) -> "Desk":
        clock = Clock()
        changed = house.settings.model_copy(update=settings)
        storage = replace(house.storage, settings=changed)
        door = replace(house.rooms.authenticator, rights_today=storage.rights_today, known=known_people(clock))
        return cls(house, await house.storage.open_operator(), clock, door)

    async def write_down(self, name: str, **rights: Any) -> None:
        given = {"department": "hr", "departments": {"it"}, "scopes": {"public", "private"}, "roles": {"admin"}}
        async with self.operator.operator_scope() as tx:
            await tenants.add_user(tx, ACME, name, **{**given, **rights})

    async def shut_out(self, name: str, *, out: bool = True) -> None:
        async with self.operator.operator_scope() as tx:
            assert await people.shut_out(tx, ACME, user_id_of(ACME, name), out=out)

    def token(self, name: str) -> str:
        claims = Claims(
            sub=name, tenant_id="acme", department="hr", departments=("it",), permissions=("public", "private"),
            roles=("admin",),
        )  # fmt: skip
        return SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=3_600)

    async def comes_in(self, token: str) -> Principal | int:
        """Who is let in, or the status of the refusal."""
        try:
            return await self.door.authenticate(f"Bearer {token}")
        except AppError as refused:
            assert refused.code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED)
            return refused.status


@pytest.fixture
async def desk(house: Services) -> Desk:
    return await Desk.open(house)


class TestRightsToday:
    async def test_taken_away_they_leave_an_old_token_within_a_minute(self, desk: Desk) -> None:
        await desk.write_down("moving")
        token = desk.token("moving")
        before = await desk.comes_in(token)
        assert isinstance(before, Principal) and before.is_admin
        assert before.departments == {"hr", "it"} and before.scopes == {"public", "private"}
        await desk.write_down("moving", department="it", departments=set(), scopes={"public"}, roles=set())
        desk.clock.seconds += 59
        assert await desk.comes_in(token) == before
        desk.clock.seconds += 2
        after = await desk.comes_in(token)
        assert isinstance(after, Principal) and not after.is_admin
        assert after.department == "it" and after.departments == {"it"} and after.scopes == {"public"}

    async def test_given_later_they_are_in_no_old_token(self, desk: Desk) -> None:
        await desk.write_down("rising", scopes={"public"})
        token = SharedSecret(SECRET).sign(
            await desk.house.claims_of("acme/rising"), issuer="conclave", audience="conclave", ttl_seconds=60
        )
        await desk.write_down("rising", scopes={"public", "internal", "private"})
        found = await desk.comes_in(token)
        assert isinstance(found, Principal) and found.scopes == {"public"}

    async def test_somebody_shut_out_is_refused_within_a_minute_and_may_come_back(self, desk: Desk) -> None:
        await desk.write_down("leaving")
        token = desk.token("leaving")
        assert isinstance(await desk.comes_in(token), Principal)
        await desk.shut_out("leaving")
        desk.clock.seconds += 61
        assert await desk.comes_in(token) == 403
        await desk.write_down("leaving")  # rights alone let nobody in again
        desk.clock.seconds += 61
        assert await desk.comes_in(token) == 403
        await desk.shut_out("leaving", out=False)
        desk.clock.seconds += 61
        assert isinstance(await desk.comes_in(token), Principal)

    async def test_somebody_shut_out_gets_no_further_with_any_request(
        self, desk: Desk, nobody: httpx.AsyncClient
    ) -> None:
        await desk.write_down("gone")
        await desk.shut_out("gone")
        headers = {"Authorization": f"Bearer {desk.token('gone')}"}
        for method, path in (("GET", "/agents"), ("POST", "/chat"), ("GET", "/admin/tasks")):
            answer = await nobody.request(method, path, headers=headers, json={} if method == "POST" else None)
            assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        with pytest.raises(AppError, match="disabled"):
            await desk.house.claims_of("acme/gone")

    async def test_somebody_nobody_wrote_down_is_refused_until_it_is_done(self, desk: Desk) -> None:
        token = desk.token("stranger")
        assert await desk.comes_in(token) == 403
        await desk.write_down("stranger")
        assert isinstance(await desk.comes_in(token), Principal)

    async def test_where_the_provider_makes_users_a_stranger_comes_in_with_what_the_token_says(
        self, house: Services
    ) -> None:
        desk = await Desk.open(house, auth_provider_makes_users=True)
        found = await desk.comes_in(desk.token("guest"))
        assert isinstance(found, Principal) and found.scopes == {"public", "private"}
        await desk.write_down("guest", scopes={"public"})
        desk.clock.seconds += 61
        found = await desk.comes_in(desk.token("guest"))
        assert isinstance(found, Principal) and found.scopes == {"public"}
        assert await desk.comes_in(unknown_tenant_token(desk.token("guest"))) == 401

    async def test_are_looked_up_once_a_minute_and_person(
        self, desk: Desk, house: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked: list[Principal] = []
        really = house.database.statements_scope

        def counted(principal: Principal, **how: Any) -> Any:
            looked.append(principal)
            return really(principal, **how)

        monkeypatch.setattr(house.database, "statements_scope", counted)
        for name in ("first", "second"):
            await desk.write_down(name)
            for _ in range(20):
                assert isinstance(await desk.comes_in(desk.token(name)), Principal)
        assert len(looked) == 2
        assert not any(one.scopes or one.roles for one in looked)  # what the token says opens nothing before
        assert known_people().maxsize == 10_000


class TestLife:
    def test_a_token_that_nobody_would_take_is_not_signed(self, house: Services) -> None:
        claims = Claims(sub="lan", tenant_id="acme", department="hr")
        assert sign_token(house.settings, claims, 86_400)
        with pytest.raises(AppError, match="CONCLAVE_AUTH_TOKEN_MAX_SECONDS"):
            sign_token(house.settings, claims, 86_401)

    async def test_a_token_of_a_hundred_years_is_refused(self, nobody: httpx.AsyncClient, house: Services) -> None:
        claims = await house.claims_of("acme/lan")
        signed = SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=3_155_760_000)
        answer = await nobody.get("/agents", headers={"Authorization": f"Bearer {signed}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
