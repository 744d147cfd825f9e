"""Keys of programs through the real door, on every face."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import httpx
import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from app.api.auth import Authenticator, SharedSecret, known_people
from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.errors import AppError
from app.identity import keys as identity_keys
from app.identity.keys import MOST_LIVE, ApiKeys, has_form
from app.main import Services
from app.storage import people, tenants
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer
from tests.api.conftest import SECRET
from tests.api.test_a2a import called
from tests.api.test_tokens import Clock

ACME = tenant_id_of("acme")
EVERY = {"public", "internal", "private"}
PEOPLE: dict[str, dict[str, Any]] = {
    "key-lena": {"department": "hr", "departments": {"it"}, "scopes": EVERY},
    "key-boss": {"department": "hr", "departments": {"it"}, "scopes": EVERY, "roles": {"admin"}},
    "key-bot": {"department": "it", "scopes": {"public", "internal"}, "roles": {"service"}},
}
Client_ = httpx.AsyncClient


@dataclass
class Door:
    """Makes people, signs them in, and speaks with keys."""

    house: Services
    address: str
    operator: Database

    async def write_down(self, name: str, *, tenant: UUID = ACME, **rights: Any) -> None:
        async with self.operator.operator_scope() as tx:
            await tenants.add_user(tx, tenant, name, **rights)
        self.house.rooms.authenticator.known.pop((tenant, user_id_of(tenant, name)), None)

    @asynccontextmanager
    async def bringing(self, token: str) -> AsyncIterator[Client_]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=f"{self.address}/api/v1", headers=headers, timeout=30) as http:
            yield http

    async def token(self, user: str) -> str:
        claims = await self.house.claims_of(user)
        return SharedSecret(SECRET).sign(claims, issuer="conclave", audience="conclave", ttl_seconds=600)

    @asynccontextmanager
    async def signed_in(self, user: str) -> AsyncIterator[Client_]:
        async with self.bringing(await self.token(user)) as http:
            yield http

    async def made(self, who: str, /, **body: Any) -> dict[str, Any]:
        """A key, made with a token of that user's own."""
        async with self.signed_in(who) as http:
            answer = await http.post("/keys", json={"name": "a program", **body})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def status(self, key: str) -> int:
        async with self.bringing(key) as http:
            return (await http.get("/keys")).status_code

    async def principal(self, key: str) -> Principal:
        return await self.house.rooms.authenticator.authenticate(f"Bearer {key}")


@pytest.fixture(scope="module")
async def operator(house: Services) -> Database:
    """The operator's role, for all tests of a module."""
    return await house.storage.open_operator()


@pytest.fixture
async def door(house: Services, address: str, operator: Database) -> Door:
    opened = Door(house, address, operator)
    for name, rights in PEOPLE.items():
        await opened.write_down(name, **rights)
    return opened


@pytest.fixture
async def superuser(embedded_server: EmbeddedServer, house: Services) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(embedded_server.url("postgres", "test_api"))
    yield connection
    await connection.execute("delete from api_keys")
    await connection.close()


class TestAKey:
    async def test_speaks_as_its_user_on_every_face(self, door: Door) -> None:
        key = (await door.made("acme/key-lena"))["key"]
        async with door.bringing(key) as http:
            answer = (await http.post("/chat", json={"query": "xin chào"})).json()
            assert "result" in await called(door.address, http, "GetTask", {"id": answer["task_id"]})
        async with openai.AsyncOpenAI(base_url=f"{door.address}/v1", api_key=key, max_retries=0) as client:
            assert "hr" in [one.id async for one in client.models.list()]
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http2,
            Client(streamable_http_client(f"{door.address}/mcp", http_client=http2)) as mcp,
        ):
            found = await mcp.call_tool("search_documents", {"query": "đi muộn"})
            assert not found.is_error
        who = await door.principal(key)
        assert who.user_id == user_id_of(ACME, "key-lena") and who.department == "hr"
        assert who.departments == {"hr", "it"} and who.scopes == EVERY and not who.roles

    async def test_is_shown_once(self, door: Door, superuser: Any) -> None:
        made = await door.made("acme/key-lena", scopes=["public"])
        assert made["key"].startswith(made["prefix"] + "_") and made["prefix"].startswith("cvk_")
        secret = made["key"][len(made["prefix"]) + 1 :]
        async with door.signed_in("acme/key-lena") as http:
            listed = await http.get("/keys")
        assert made["key_id"] in listed.text and secret not in listed.text
        shown = next(one for one in listed.json()["keys"] if one["key_id"] == made["key_id"])
        assert shown == {name: value for name, value in made.items() if name != "key"}
        for table in ("api_keys", "audit"):
            for row in await superuser.fetch(f"select t::text as said from {table} t"):
                assert secret not in row["said"]

    async def test_gives_what_was_asked_for_and_no_role_unless_it_was_named(self, door: Door) -> None:
        plain = await door.made("acme/key-boss", scopes=["public"], departments=["it"])
        who = await door.principal(plain["key"])
        assert who.scopes == {"public"} and who.departments == {"it"} and who.department == "it" and not who.roles
        async with door.bringing(plain["key"]) as http:
            assert (await http.get("/admin/tasks")).status_code == 403
        ruling = await door.made("acme/key-boss", roles=["admin"])
        assert (await door.principal(ruling["key"])).is_admin

    async def test_gives_no_more_than_its_user_has_now(self, door: Door) -> None:
        key = (await door.made("acme/key-boss", roles=["admin"]))["key"]
        assert (await door.principal(key)).is_admin
        await door.write_down("key-boss", department="it", scopes={"public"})
        who = await door.principal(key)
        assert who.scopes == {"public"} and who.departments == {"it"} and not who.roles

    async def test_is_used_at_most_once_a_minute_for_the_records(self, door: Door, superuser: Any) -> None:
        made = await door.made("acme/key-lena")
        assert made["last_used_at"] is None
        used = "select last_used_at from api_keys where key_id = $1"
        await door.principal(made["key"])
        first = await superuser.fetchval(used, UUID(made["key_id"]))
        assert first is not None
        door.house.rooms.authenticator.api_keys.forget(UUID(made["key_id"]))  # type: ignore[union-attr]
        await door.principal(made["key"])
        assert await superuser.fetchval(used, UUID(made["key_id"])) == first
        await superuser.execute("update api_keys set last_used_at = now() - interval '61 seconds'")
        door.house.rooms.authenticator.api_keys.forget(UUID(made["key_id"]))  # type: ignore[union-attr]
        await door.principal(made["key"])
        assert await superuser.fetchval(used, UUID(made["key_id"])) > first


class TestMaking:
    @pytest.mark.parametrize(
        "more", [{"scopes": ["internal", "private"]}, {"departments": ["hr"]}, {"roles": ["admin"]}], ids=str
    )
    async def test_gives_nobody_more_than_the_maker_has(self, door: Door, more: dict[str, Any]) -> None:
        await door.write_down("key-small", department="it", scopes={"public", "internal"})
        async with door.signed_in("acme/key-small") as http:
            answer = await http.post("/keys", json={"name": "x", **more})
        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")

    @pytest.mark.parametrize(
        "more",
        [{"scopes": ["internal"]}, {"departments": ["hr"]}, {"roles": ["admin"]}, {"expires_in_days": 3}],
        ids=str,
    )
    async def test_with_a_key_gives_no_more_and_for_no_longer(self, door: Door, more: dict[str, Any]) -> None:
        narrow = await door.made("acme/key-boss", scopes=["public"], departments=["it"], expires_in_days=2)
        async with door.bringing(narrow["key"]) as http:
            same = await http.post("/keys", json={"name": "x", "expires_in_days": 1})
            assert (same.status_code, same.json()["scopes"], same.json()["departments"]) == (201, ["public"], ["it"])
            answer = await http.post("/keys", json={"name": "x", "expires_in_days": 1, **more})
        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")

    async def test_with_an_administrators_key_gives_a_service_user_no_more_than_that_key(self, door: Door) -> None:
        key = (await door.made("acme/key-boss", scopes=["public"], departments=["it"], roles=["admin"]))["key"]
        async with door.bringing(key) as http:
            wider = await http.post("/keys", json={"name": "x", "user": "key-bot", "scopes": ["internal"]})
            assert wider.status_code == 403
            made = await http.post("/keys", json={"name": "x", "user": "key-bot", "expires_in_days": 1})
        assert (made.status_code, made.json()["scopes"]) == (201, ["public"])

    async def test_for_a_service_user_is_an_administrators(self, door: Door) -> None:
        async with door.signed_in("acme/key-lena") as http:
            assert (await http.post("/keys", json={"name": "x", "user": "key-bot"})).status_code == 403
        made = await door.made("acme/key-boss", user="key-bot")
        assert made["is_service"] and made["user"] == "key-bot" and made["scopes"] == ["internal", "public"]
        who = await door.principal(made["key"])
        assert who.user_id == user_id_of(ACME, "key-bot") and who.departments == {"it"} and not who.roles
        async with door.signed_in("acme/key-boss") as http:
            assert (await http.post("/keys", json={"name": "x", "user": "key-nobody"})).status_code == 404
            over = await http.post("/keys", json={"name": "x", "user": "key-bot", "scopes": ["private"]})
        assert over.status_code == 403

    async def test_for_another_person_is_nobodys(self, door: Door) -> None:
        async with door.signed_in("acme/key-boss") as http:
            answer = await http.post("/keys", json={"name": "x", "user": "key-lena"})
        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")
        boss = (await door.house.claims_of("acme/key-boss")).principal()
        with pytest.raises(asyncpg.InsufficientPrivilegeError):  # the database says so, too
            async with door.house.database.principal_scope(boss) as tx:
                await tx.driver.execute(
                    "insert into api_keys (tenant_id, key_id, user_id, name, prefix, hash, scopes, departments, roles,"
                    " expires_at, created_by) values ($1, $2, $3, '', '', sha256(''), '{}', '{}', '{}', now(), $4)",
                    ACME, uuid4(), user_id_of(ACME, "key-lena"), boss.user_id,
                )  # fmt: skip

    @pytest.mark.parametrize(
        "wrong",
        [{"expires_in_days": 366}, {"expires_in_days": 0}, {"scopes": ["secret"]}, {"scopes": []}, {"nam": "x"}],
    )
    async def test_refuses_what_cannot_be(self, door: Door, wrong: dict[str, Any]) -> None:
        async with door.signed_in("acme/key-lena") as http:
            answer = await http.post("/keys", json={"name": "x", **wrong})
        assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_has_an_end(self, door: Door, superuser: Any) -> None:
        user_id = user_id_of(ACME, "key-bot")
        await superuser.execute(
            "insert into api_keys (tenant_id, key_id, user_id, name, prefix, hash, scopes, departments, roles,"
            " expires_at, created_by) select $1, gen_random_uuid(), $2, '', '', sha256(''), '{}', '{}', '{}',"
            " now() + interval '1 day', $2 from generate_series(1, $3)", ACME, user_id, MOST_LIVE,
        )  # fmt: skip
        async with door.signed_in("acme/key-boss") as http:
            answer = await http.post("/keys", json={"name": "x", "user": "key-bot"})
        assert (answer.status_code, answer.json()["code"]) == (409, "VALIDATION_FAILED")

    async def test_stands_in_the_audit_or_is_not_done(self, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
        made = await door.made("acme/key-lena")
        async with door.signed_in("acme/key-lena") as lena, door.signed_in("acme/key-boss") as boss:
            assert (await lena.post(f"/keys/{made['key_id']}/rotate", json={"grace_seconds": 5})).status_code == 200
            assert (await lena.delete(f"/keys/{made['key_id']}")).status_code == 204
            told = (await boss.get("/audit", params={"user": "key-lena"})).json()["entries"]
            acts = [one["action"] for one in told if one["target"] == made["key_id"]]
            assert acts == ["key_revoked", "key_rotated", "key_made"]

            async def away(*_: object) -> None:
                raise AppError(code=told and "DATABASE_UNAVAILABLE", detail="away", status=503)  # type: ignore[arg-type]

            kept = (await lena.get("/keys")).json()
            monkeypatch.setattr(identity_keys, "note", away)
            assert (await lena.post("/keys", json={"name": "x"})).status_code >= 500
            assert (await lena.get("/keys")).json() == kept


class TestOthersKeys:
    async def test_are_not_there_for_anybody_but_administrators(
        self, door: Door, client_of: Callable[[str], Client_]
    ) -> None:
        made = await door.made("acme/key-lena")
        path = f"/keys/{made['key_id']}"
        for user in ("acme/lan", "globex/admin"):
            http = client_of(user)
            assert made["key_id"] not in (await http.get("/keys")).text
            for answer in (await http.delete(path), await http.post(f"{path}/rotate")):
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), user
        assert await door.status(made["key"]) == 200
        admin = client_of("acme/admin")
        assert made["key_id"] in (await admin.get("/keys", params={"user": "key-lena"})).text
        assert made["key_id"] not in (await admin.get("/keys", params={"user": "lan"})).text
        rotated = await admin.post(f"{path}/rotate")  # it would tell the secret of another person
        assert (rotated.status_code, rotated.json()["code"]) == (403, "PERMISSION_DENIED")
        assert (await admin.delete(path)).status_code == 204
        assert await door.status(made["key"]) == 401

    async def test_cannot_be_given_a_secret_past_the_routes(self, door: Door) -> None:
        made = await door.made("acme/key-lena")
        boss = (await door.house.claims_of("acme/key-boss")).principal()
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with door.house.database.principal_scope(boss) as tx:
                change = "update api_keys set hash = sha256('mine') where key_id = $1"
                await tx.driver.execute(change, UUID(made["key_id"]))

    async def test_are_paged(self, door: Door) -> None:
        made = [(await door.made("acme/key-lena", name=f"n{number}"))["key_id"] for number in range(5)]
        async with door.signed_in("acme/key-lena") as http:
            found, cursor = [], None
            while True:
                page = (await http.get("/keys", params={"limit": 2, **({"cursor": cursor} if cursor else {})})).json()
                found += [one["key_id"] for one in page["keys"]]
                if (cursor := page["next_cursor"]) is None:
                    break
            assert found[:5] == made[::-1] and len(found) == len(set(found))


class TestRevoking:
    async def test_stops_a_key_at_once_and_for_good(self, door: Door) -> None:
        made = await door.made("acme/key-lena")
        assert await door.status(made["key"]) == 200
        async with door.signed_in("acme/key-lena") as http:
            for _ in range(2):
                assert (await http.delete(f"/keys/{made['key_id']}")).status_code == 204
            assert (await http.post(f"/keys/{made['key_id']}/rotate")).status_code == 409
        assert await door.status(made["key"]) == 401

    async def test_reaches_other_processes_within_a_minute(self, door: Door, superuser: Any) -> None:
        made, clock = await door.made("acme/key-lena"), Clock()
        elsewhere = ApiKeys(door.house.database, 365, clock)
        assert await elsewhere.rights_of(made["key"]) is not None
        await superuser.execute("update api_keys set revoked_at = now()")
        clock.seconds += 61
        assert await elsewhere.rights_of(made["key"]) is None


class TestRotating:
    async def test_ends_the_secret_before(self, door: Door) -> None:
        made = await door.made("acme/key-lena", scopes=["public"])
        assert await door.status(made["key"]) == 200
        async with door.bringing(made["key"]) as http:
            rotated = (await http.post(f"/keys/{made['key_id']}/rotate")).json()
        assert rotated["key"] != made["key"] and rotated["prefix"] != made["prefix"]
        assert {rotated[name] == made[name] for name in ("key_id", "scopes", "departments", "expires_at")} == {True}
        assert (await door.status(made["key"]), await door.status(rotated["key"])) == (401, 200)

    async def test_with_grace_takes_both_for_a_while(self, door: Door, superuser: Any) -> None:
        made = await door.made("acme/key-lena")
        async with door.signed_in("acme/key-lena") as http:
            rotate = f"/keys/{made['key_id']}/rotate"
            assert (await http.post(rotate, json={"grace_seconds": 86_401})).status_code == 422
            rotated = (await http.post(rotate, json={"grace_seconds": 60})).json()
        assert (await door.status(made["key"]), await door.status(rotated["key"])) == (200, 200)
        async with door.bringing(made["key"]) as http:  # the old secret gets nobody a new one
            assert (await http.post(rotate)).status_code == 403
        await superuser.execute("update api_keys set old_until = now() where old_hash is not null")
        door.house.rooms.authenticator.api_keys.forget(UUID(made["key_id"]))  # type: ignore[union-attr]
        assert (await door.status(made["key"]), await door.status(rotated["key"])) == (401, 200)

    async def test_of_a_wider_key_is_not_for_a_narrow_one(self, door: Door) -> None:
        wide = await door.made("acme/key-boss", roles=["admin"])
        for body in ({"scopes": ["public"], "roles": ["admin"]}, {}, {"roles": ["admin"], "expires_in_days": 1}):
            narrow = await door.made("acme/key-boss", **body)
            async with door.bringing(narrow["key"]) as http:
                answer = await http.post(f"/keys/{wide['key_id']}/rotate")
            assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED"), body


class TestRefusing:
    async def test_tells_no_reason(self, door: Door, superuser: Any) -> None:
        made = [await door.made("acme/key-lena") for _ in range(3)]
        disabled = await door.made("acme/key-boss", user="key-bot")
        revoked, expired, good = made
        await superuser.execute("update api_keys set revoked_at = now() where key_id = $1", UUID(revoked["key_id"]))
        await superuser.execute("update api_keys set expires_at = now() where key_id = $1", UUID(expired["key_id"]))
        async with door.operator.operator_scope() as tx:
            await people.shut_out(tx, ACME, user_id_of(ACME, "key-bot"), out=True)
        door.house.rooms.authenticator.known.clear()
        unknown, _ = identity_keys._new_key()
        told = set()
        for key in (revoked["key"], expired["key"], disabled["key"], unknown, good["key"][:-1] + "z", "cvk_"):
            async with door.bringing(key) as http:
                answer = await http.get("/agents")
                assert answer.headers["www-authenticate"].startswith("Bearer")
                told.add((answer.status_code, answer.text))
        assert len(told) == 1 and told.pop()[0] == 401
        assert await door.status(good["key"]) == 200
        async with door.operator.operator_scope() as tx:
            await people.shut_out(tx, ACME, user_id_of(ACME, "key-bot"), out=False)

    async def test_holds_for_the_end_of_a_key_that_was_looked_up_before(self, door: Door, superuser: Any) -> None:
        made = await door.made("acme/key-lena")
        keys = ApiKeys(door.house.database, 365)
        await superuser.execute("update api_keys set expires_at = now() + interval '300 milliseconds'")
        assert await keys.rights_of(made["key"]) is not None
        await superuser.execute("select pg_sleep(0.3)")
        assert await keys.rights_of(made["key"]) is None

    async def test_stops_keys_of_disabled_users_within_a_minute(self, door: Door, superuser: Any) -> None:
        made, clock = await door.made("acme/key-lena"), Clock()
        mine = door.house.rooms.authenticator
        elsewhere = replace(mine, known=known_people(clock), api_keys=ApiKeys(door.house.database, 365, clock))
        assert isinstance(await elsewhere.authenticate(f"Bearer {made['key']}"), Principal)
        await superuser.execute("update users set disabled_at = now() where name = 'key-lena'")
        clock.seconds += 61
        with pytest.raises(AppError) as refused:
            await elsewhere.authenticate(f"Bearer {made['key']}")
        assert refused.value.status == 401
        await superuser.execute("update users set disabled_at = null where name = 'key-lena'")


class _NoDatabase:
    """Fails when anybody asks it."""

    def operator_scope(self) -> None:
        raise AssertionError("the database was asked")


KEY, _ = identity_keys._new_key()


class TestForm:
    def test_of_a_key_is_its_own(self) -> None:
        assert all(has_form(identity_keys._new_key()[0]) for _ in range(100))

    @given(st.one_of(
        st.text(max_size=80).map("cvk_".__add__),
        st.from_regex(r"cvk_[a-z0-9]{8}_[A-Za-z0-9]{40}[0-9a-f]{8}", fullmatch=True),
        st.tuples(st.integers(0, len(KEY) - 1), st.characters()).map(lambda at: KEY[: at[0]] + at[1] + KEY[at[0] + 1:]),
        st.integers(0, len(KEY) - 1).map(lambda at: KEY[:at]),
        st.sampled_from([KEY + "\n", KEY + " ", " " + KEY, KEY.upper(), KEY.lower(), KEY + KEY, KEY.replace("_", "-")]),
    ).filter(lambda one: one != KEY))  # fmt: skip
    async def test_that_is_wrong_asks_no_database(self, text: str) -> None:
        assert not has_form(text)
        assert await ApiKeys(_NoDatabase(), 365).rights_of(text) is None  # type: ignore[arg-type]

    async def test_without_keys_is_no_token(self, house: Services) -> None:
        closed: Authenticator = replace(house.rooms.authenticator, api_keys=None)
        with pytest.raises(AppError) as refused:
            await closed.authenticate(f"Bearer {KEY}")
        assert refused.value.status == 401
        assert await closed.key_behind(f"Bearer {KEY}") is None


class TestTheAppsRole:
    async def test_reads_no_hash(self, door: Door) -> None:
        await door.made("acme/key-lena")
        lena = (await door.house.claims_of("acme/key-lena")).principal()
        for column in ("hash", "old_hash", "*"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with door.house.database.principal_scope(lena) as tx:
                    await tx.driver.fetch(f"select {column} from api_keys")

    async def test_finds_no_key_but_by_its_whole_hash(self, door: Door) -> None:
        await door.made("acme/key-lena")
        async with door.house.database.operator_scope() as tx:
            assert await tx.driver.fetch("select key_id from api_keys") == []
            for told in (None, b"", bytes(32)):
                assert await tx.driver.fetch("select * from use_key($1)", told) == []
