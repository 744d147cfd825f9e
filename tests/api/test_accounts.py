"""Accounts of people whose company has no provider: links, passwords, waits, codes; and every way around them."""

import asyncio
import os
import time
from base64 import b32decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from fastapi import FastAPI

from app.client.local import FIRST_FILE, FIRST_SECONDS
from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.identity import accounts as identity_accounts
from app.identity import passwords
from app.identity.accounts import Accounts
from app.identity.passwords import Passwords, check_password
from app.identity.sign_ins import CSRF_HEADER
from app.main import Services, create_app
from app.main.identity import kept_secret
from app.main.storage import Storage
from app.storage import accounts, tenants
from app.storage.database import Database
from app.storage.embedded import EmbeddedServer
from extras.accounts import api
from extras.accounts.codes import Codes
from tests.api.serving import serve
from tests.api.test_keys import Door, operator

__all__ = ["operator"]  # a fixture
FIRM, NEW = "accounts-firm", "accounts-new-firm"
FIRM_ID = tenant_id_of(FIRM)
EVERY = {"public", "internal", "private"}
STAFF: dict[str, dict[str, Any]] = {
    "boss": {"department": "general", "scopes": EVERY, "roles": {"admin"}},
    "nhi@firm.example": {"department": "hr", "scopes": {"public"}, "display_name": "Đỗ Nhi"},
    "bot": {"department": "it", "scopes": {"public"}, "roles": {"service"}},
}
NHI = "nhi@firm.example"
GOOD, OTHER = "một mật khẩu dài", "another long password"
MOMENT = 1_800_000_000
"""What the clock of codes says in these tests."""
PRECIOUS = passwords.MEMORY_KIB
Client = httpx.AsyncClient


class OwnHouse:
    """The installation, as if there were no companies but these tests'."""

    def __init__(self, storage: Storage):
        self._storage, self.as_operator = storage, storage.as_operator

    async def home(self) -> str:
        own = await self.own_companies()
        return own[0] if len(own) == 1 else ""

    async def own_companies(self) -> list[str]:
        return [one for one in await self._storage.own_companies() if one in (FIRM, NEW)]


@dataclass
class Gate:
    """The service as browsers meet it."""

    url: str
    house: Services
    app: FastAPI
    superuser: "asyncpg.Connection[asyncpg.Record]"

    def browser(self, **headers: str) -> Client:
        return Client(base_url=f"{self.url}/api/v1", headers=headers, timeout=30)

    async def link(self, name: str = NHI) -> str:
        answer = await self.asked("post", f"/account/invitations/{user_id_of(FIRM_ID, name)}")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["link"])

    async def asked(self, method: str, path: str, *, by: str = f"{FIRM}/boss", **options: Any) -> httpx.Response:
        async with Door(self.house, self.url, None).signed_in(by) as http:  # type: ignore[arg-type]  # it is not asked
            return await http.request(method, path, **options)

    async def forget_tries(self) -> None:
        await self.superuser.execute("delete from sign_in_tries")


@pytest.fixture(scope="module")
async def served(house: Services, embedded_server: EmbeddedServer) -> AsyncIterator[Gate]:
    app, rooms = create_app(services=house), house.rooms
    assert rooms.accounts is not None and rooms.sign_ins is not None
    closed = frozenset({tenant_id_of("acme")})
    cheap = pytest.MonkeyPatch()
    cheap.setattr(passwords, "MEMORY_KIB", 64)  # what a hash costs is looked at in one test
    made = Accounts(house.database, OwnHouse(house.storage), rooms.accounts.secret, closed)
    superuser = await asyncpg.connect(embedded_server.url("postgres", "test_api"))
    async with serve(app) as url:
        app.state.services = replace(rooms, accounts=made)
        yield Gate(url, house, app, superuser)
    await superuser.close()
    cheap.undo()


@pytest.fixture
async def gate(served: Gate, operator: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """A company with an administrator, a person and a program; nobody has a password yet."""
    monkeypatch.setattr(identity_accounts, "_HOME_SECONDS", 0)
    monkeypatch.setattr(api, "Codes", partial(Codes, clock=lambda: MOMENT))
    async with operator.operator_scope() as tx:
        await tenants.add_tenant(tx, FIRM)
    door = Door(served.house, served.url, operator)
    for name, rights in STAFF.items():
        await door.write_down(name, tenant=FIRM_ID, **rights)
    yield served
    await served.forget_tries()
    async with operator.operator_scope() as tx:
        await tenants.remove_tenant(tx, FIRM_ID)


async def redeemed(browser: Client, link: str, password: str = GOOD) -> httpx.Response:
    return await browser.put("/auth/link", json={"link": link, "password": password})


async def enter(browser: Client, user: str = NHI, password: str = GOOD, code: str = "") -> httpx.Response:
    return await browser.post("/auth/local", json={"user": user, "password": password, "code": code})


async def is_in(browser: Client) -> bool:
    return (await browser.get("/agents")).status_code == 200


async def csrf(browser: Client) -> dict[str, str]:
    return {CSRF_HEADER: (await browser.get("/auth/session")).json()["csrf"]}


def code_of(secret: str, steps_ago: int = 0) -> str:
    key = b32decode(secret)
    return TOTP(key, 6, SHA1(), 30).generate(MOMENT - 30 * steps_ago).decode()


class TestLinks:
    async def test_set_a_password_once_and_let_the_person_in(self, gate: Gate) -> None:
        link = await gate.link()
        async with gate.browser() as browser:
            told = (await browser.post("/auth/link", json={"link": link})).json()
            assert told == {"is_first": False, "companies": [FIRM], "user": NHI, "name": "Đỗ Nhi"}
            answer = await redeemed(browser, link)
            assert answer.status_code == 200 and answer.json()["user"] == NHI and len(answer.json()["csrf"]) == 43
            cookie = answer.headers["set-cookie"]
            assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Max-Age=28800" in cookie
            assert (await browser.get("/agents")).json()["permissions"] == ["public"]
            assert (await redeemed(browser, link, OTHER)).status_code == 404
            assert (await browser.post("/auth/link", json={"link": link})).status_code == 404
            rights = {"scopes": ["public", "internal"]}  # what `users` says counts, more of it, too
            await gate.asked("patch", f"/users/{user_id_of(FIRM_ID, NHI)}", json=rights)
            assert (await browser.get("/agents")).json()["permissions"] == ["internal", "public"]
            answer = await browser.post("/auth/logout", headers=await csrf(browser))
            assert answer.status_code == 200 and not await is_in(browser)

    async def test_count_once_though_two_use_one_at_once(self, gate: Gate) -> None:
        link = await gate.link()
        async with gate.browser() as one, gate.browser() as other:
            answers = await asyncio.gather(redeemed(one, link), redeemed(other, link, OTHER))
        assert sorted(answer.status_code for answer in answers) == [200, 404]

    async def test_end_after_three_days_and_with_the_next_one(self, gate: Gate) -> None:
        first = await gate.link()
        second = await gate.link()
        async with gate.browser() as browser:
            assert (await redeemed(browser, first)).status_code == 404
            held = await gate.superuser.fetchval(
                "select extract(epoch from expires_at - created_at) from invitations where tenant_id = $1", FIRM_ID
            )
            assert held == 3 * 86_400
            await gate.superuser.execute("update invitations set expires_at = now() where tenant_id = $1", FIRM_ID)
            assert (await browser.post("/auth/link", json={"link": second})).status_code == 404
            assert (await redeemed(browser, second)).status_code == 404

    async def test_of_a_reset_end_every_sign_in_and_the_codes(self, gate: Gate) -> None:
        async with gate.browser() as before, gate.browser() as after:
            await redeemed(before, await gate.link())
            secret = await with_codes(before)
            link = await gate.link()
            assert await is_in(before)  # nothing ends before it is used
            assert (await redeemed(after, link, OTHER)).status_code == 200
            assert not await is_in(before)
            assert (await enter(before, code=code_of(secret))).status_code == 401
            assert (await enter(before, password=OTHER)).status_code == 200

    async def test_are_for_administrators_and_people_of_the_own_company(self, gate: Gate) -> None:
        path = f"/account/invitations/{user_id_of(FIRM_ID, NHI)}"
        assert (await gate.asked("post", path, by=f"{FIRM}/{NHI}")).status_code == 403
        assert (await gate.asked("post", path, by="globex/admin")).status_code == 404
        bot = await gate.asked("post", f"/account/invitations/{user_id_of(FIRM_ID, 'bot')}")
        demo = f"/account/invitations/{user_id_of(tenant_id_of('acme'), 'an')}"
        assert (bot.status_code, (await gate.asked("post", demo, by="acme/admin")).status_code) == (409, 409)
        await gate.asked("patch", f"/users/{user_id_of(FIRM_ID, NHI)}", json={"disabled": True})
        assert (await gate.asked("post", path)).status_code == 409

    async def test_are_listed_without_what_is_secret(self, gate: Gate) -> None:
        await gate.link()
        answer = await gate.asked("get", "/account/invitations")
        [one] = answer.json()
        assert one["user_id"] == str(user_id_of(FIRM_ID, NHI)) and one["invited_until"] and one["set_at"] is None
        assert one.keys() == {"user_id", "set_at", "has_codes", "invited_until"}
        assert (await gate.asked("get", "/account/invitations", by="globex/admin")).json() == []

    async def test_do_nothing_for_who_is_shut_out_meanwhile(self, gate: Gate) -> None:
        link = await gate.link()
        await gate.asked("patch", f"/users/{user_id_of(FIRM_ID, NHI)}", json={"disabled": True})
        async with gate.browser() as browser:
            assert (await redeemed(browser, link)).status_code == 404

    async def test_and_passwords_stand_nowhere(self, gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
        link = await gate.link()
        async with gate.browser() as browser:
            await redeemed(browser, link)
            await enter(browser)
        tables = await gate.superuser.fetch("select tablename from pg_tables where schemaname = 'public'")
        for (table,) in tables:
            for secret in (link, GOOD):
                said = f"select count(*) from {table} t where strpos(t::text, $1) > 0"
                assert await gate.superuser.fetchval(said, secret) == 0, table
        acts = (await gate.asked("get", "/audit")).json()["entries"]
        assert {"invited", "password_set", "signed_in"} <= {one["action"] for one in acts}
        told = capsys.readouterr()
        assert link not in told.out + told.err and GOOD not in told.out + told.err
        kept = await gate.superuser.fetchval("select password from accounts where tenant_id = $1", FIRM_ID)
        assert kept.startswith("$argon2id$v=19$m=64,t=2,p=1$") and len(set(kept)) > 20

    async def test_are_hashed_as_dearly_as_owasp_says(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(passwords, "MEMORY_KIB", PRECIOUS)
        made = Passwords()
        kept = [await made.hashed(GOOD) for _ in range(2)]
        assert kept[0] != kept[1] and all(one.startswith("$argon2id$v=19$m=19456,t=2,p=1$") for one in kept)
        assert await made.is_right(GOOD, kept[0]) and not await made.is_right(OTHER, kept[0])

    @pytest.mark.parametrize(
        "poor", ["short", "matkhau12345", "x" * 12, NHI, NHI.upper() + "1", FIRM + "!!", "a" * 201]
    )
    async def test_take_no_password_that_is_guessed_first(self, poor: str) -> None:
        with pytest.raises(AppError) as refused:
            check_password(poor, (FIRM, NHI, ""))
        assert (refused.value.code, refused.value.status) == (ErrorCode.PAYLOAD_INVALID, 422)
        check_password("bốn từ thường ngày", (FIRM, NHI, ""))


class TestSigningIn:
    async def test_asks_for_the_page_and_what_belongs_to_the_cookie(self, gate: Gate) -> None:
        async with gate.browser() as browser:
            await redeemed(browser, await gate.link())
            for foreign in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
                body = {"user": NHI, "password": GOOD}
                assert (await browser.post("/auth/local", json=body, headers=foreign)).status_code == 403
                again = {"link": await gate.link(), "password": OTHER}
                assert (await browser.put("/auth/link", json=again, headers=foreign)).status_code == 403
            assert (await browser.post("/auth/local", json=body, headers={"Origin": gate.url})).status_code == 200
            asked: dict[str, Any] = {"json": {"query": "parking"}}
            assert (await browser.post("/search", **asked)).status_code == 403
            good = await csrf(browser)
            assert (await browser.post("/search", **asked, headers=good)).status_code == 200
            evil = good | {"Origin": "https://evil.example"}
            assert (await browser.post("/search", **asked, headers=evil)).status_code == 403

    async def test_answers_and_works_the_same_whatever_is_wrong(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with gate.browser() as browser:
            await redeemed(browser, await gate.link())
            await redeemed(browser, await gate.link("boss"))
            await gate.asked("patch", f"/users/{user_id_of(FIRM_ID, NHI)}", json={"disabled": True})
            checked, real = list[str](), passwords._is_right

            def seen(password: str, kept: str) -> bool:
                checked.append(kept)
                return real(password, kept)

            monkeypatch.setattr(passwords, "_is_right", seen)
            browser.cookies.clear()
            said = [
                (one.status_code, one.json()["detail"], sorted(one.headers))
                for user, password in (
                    ("boss", OTHER), ("nobody", GOOD), ("no-such-firm/boss", GOOD), (f"{FIRM}/bot", GOOD), (NHI, GOOD),
                )
                for one in [await enter(browser, user, password)]
            ]  # fmt: skip
        assert said == [said[0]] * 5 and said[0][0] == 401
        assert len(checked) == 5 and all(kept.startswith("$argon2id$v=19$m=64,t=2,p=1$") for kept in checked)

    async def test_waits_longer_from_try_to_try_but_never_for_ever(self, gate: Gate) -> None:
        gate.app.state.refusals._noted.clear()  # of one company and network one row a minute is written
        back = "update sign_in_tries set last_at = last_at - make_interval(secs => $1) where tenant_id <> $2"
        async with gate.browser() as browser:
            await redeemed(browser, await gate.link())
            await gate.forget_tries()
            browser.cookies.clear()  # who has one is refused for a moment without being looked at again
            for user in (NHI, "nobody"):
                whose = FIRM_ID, user_id_of(FIRM_ID, user)
                assert [(await enter(browser, user, OTHER)).status_code for _ in range(5)] == [401] * 5, user
                for wait in (16, 32, 64):  # the first ones are over before a busy machine comes to them
                    await gate.superuser.execute(
                        "update sign_in_tries set tries = 5 + log(2, $3)::integer, last_at = now()"
                        " where tenant_id = $1 and user_id = $2", *whose, wait,
                    )  # fmt: skip
                    refused = await enter(browser, user)
                    assert refused.status_code == 429 and refused.json()["code"] == "RATE_LIMITED"
                    assert wait - 10 < int(refused.headers["retry-after"]) <= wait
                    await gate.superuser.execute(back, wait, identity_accounts.NOWHERE)
                    assert (await enter(browser, user, OTHER)).status_code == 401
            await gate.superuser.execute(
                "update sign_in_tries set tries = 1000, last_at = now() where tenant_id = $1", FIRM_ID
            )
            assert 800 < int((await enter(browser)).headers["retry-after"]) <= identity_accounts.MOST_WAIT_SECONDS
            await gate.superuser.execute(back, 900, identity_accounts.NOWHERE)
            assert (await enter(browser)).status_code == 200
            assert [(await enter(browser, password=OTHER)).status_code for _ in range(5)] == [401] * 5  # anew
        acts = (await gate.asked("get", "/audit?action=sign_in_refused")).json()["entries"]
        assert acts and acts[0]["details"]["address"] == "127.0.0.0/24"

    async def test_counts_tries_before_it_looks(self, gate: Gate) -> None:
        await gate.forget_tries()
        async with gate.browser() as browser:
            crowd = await asyncio.gather(*(enter(browser, password=OTHER) for _ in range(12)))
        said = [one.status_code for one in crowd]
        assert said.count(401) in (5, 6) and said.count(401) + said.count(429) == 12  # a second may have gone by

    async def test_waits_for_a_part_of_the_network_too(self, gate: Gate) -> None:
        await gate.forget_tries()
        async with gate.browser() as browser:
            assert (await enter(browser, "first", OTHER)).status_code == 401
            tries = "update sign_in_tries set tries = 60, last_at = now() where tenant_id = $1"
            await gate.superuser.execute(tries, identity_accounts.NOWHERE)
            assert (await enter(browser, "second", OTHER)).status_code == 429

    async def test_is_off_where_a_provider_is_named(self, house: Services) -> None:
        async with serve(create_app(services=house)) as url, Client(base_url=f"{url}/api/v1") as http:
            assert (await http.get("/auth/local")).json() == {"is_on": True}
        app = create_app(services=house)
        app.state.services = replace(house.rooms, accounts=None)
        async with Client(transport=httpx.ASGITransport(app), base_url="http://localhost/api/v1") as http:
            assert (await http.get("/auth/local")).json() == {"is_on": False}
            assert (await enter(http)).status_code == 404
        named = house.settings.model_copy(update={"auth_jwks_url": "https://x"})
        assert house.settings.has_accounts and not named.has_accounts
        assert named.model_copy(update={"auth_local_accounts": True}).has_accounts
        assert not house.settings.model_copy(update={"auth_local_accounts": False}).has_accounts

    async def test_refuses_a_crowd_that_waits_to_be_hashed(self) -> None:
        made = Passwords()
        crowd = await asyncio.gather(*(made.is_right("x", None) for _ in range(22)), return_exceptions=True)
        refused = [one for one in crowd if isinstance(one, AppError)]
        assert [one.code for one in refused] == [ErrorCode.OVERLOADED] * 2 and crowd.count(False) == 20


async def with_codes(browser: Client) -> str:
    """Switch codes on with a code of a step ago; gives their secret."""
    told = await browser.post("/account/codes", json={"password": GOOD}, headers=await csrf(browser))
    assert told.status_code == 200, told.text
    secret = str(told.json()["secret"])
    assert secret in told.json()["address"]
    body = {"password": GOOD, "code": code_of(secret, 1), "asked": True}
    answer = await browser.put("/account/codes", json=body, headers=await csrf(browser))
    assert answer.status_code == 204, answer.text
    return secret


class TestAnOwnAccount:
    async def test_asks_for_codes_and_takes_none_twice(self, gate: Gate) -> None:
        async with gate.browser() as browser, gate.browser() as other:
            await redeemed(browser, await gate.link())
            secret = await with_codes(browser)
            assert (await browser.get("/account")).json() == {"has_password": True, "has_codes": True}
            assert (await enter(other)).status_code == 401
            assert (await enter(other, code=code_of(secret, 1))).status_code == 401  # it switched codes on
            assert (await enter(other, code=code_of(secret))).status_code == 200
            await gate.forget_tries()
            assert (await enter(other, code=code_of(secret))).status_code == 401
            off = {"password": GOOD, "code": code_of(secret, -1), "asked": False}
            assert (await browser.put("/account/codes", json=off, headers=await csrf(browser))).status_code == 204
            assert (await enter(other)).status_code == 200

    async def test_keeps_their_secret_sealed_for_one_person(self, gate: Gate) -> None:
        async with gate.browser() as browser, gate.browser() as boss:
            await redeemed(browser, await gate.link())
            secret = await with_codes(browser)
            await redeemed(boss, await gate.link("boss"))
            key = b32decode(secret)
            sealed = await gate.superuser.fetchval(
                "select totp from accounts where has_totp and tenant_id = $1", FIRM_ID
            )
            assert key not in sealed
            await gate.superuser.execute(
                "update accounts set totp = $2, has_totp = true where tenant_id = $1", FIRM_ID, sealed
            )
            await gate.forget_tries()
            assert (await enter(browser, code=code_of(secret))).status_code == 200
            assert (await enter(boss, "boss", code=code_of(secret))).status_code == 401

    async def test_ends_all_other_sign_ins_with_a_new_password(self, gate: Gate) -> None:
        async with gate.browser() as browser, gate.browser() as other:
            await redeemed(browser, await gate.link())
            await enter(other)
            good = await csrf(browser)
            wrong = {"password": OTHER, "new_password": OTHER}
            assert (await browser.put("/account/password", json=wrong, headers=good)).status_code == 409
            poor = {"password": GOOD, "new_password": "short"}
            assert (await browser.put("/account/password", json=poor, headers=good)).status_code == 422
            assert await is_in(other)
            right = {"password": GOOD, "new_password": OTHER}
            assert (await browser.put("/account/password", json=right, headers=good)).status_code == 204
            assert await is_in(browser) and not await is_in(other)
            assert (await enter(other)).status_code == 401
            assert (await enter(other, password=OTHER)).status_code == 200

    async def test_ends_with_its_user_within_a_minute(self, gate: Gate) -> None:
        async with gate.browser() as browser:
            await redeemed(browser, await gate.link())
            await gate.asked("patch", f"/users/{user_id_of(FIRM_ID, NHI)}", json={"disabled": True})
            assert gate.house.rooms.authenticator.known.ttl <= 60
            gate.house.rooms.authenticator.known.clear()
            assert not await is_in(browser)


class TestTheTables:
    async def test_give_the_service_no_secret_and_no_account_without_a_link(self, gate: Gate) -> None:
        async with gate.browser() as browser:
            await redeemed(browser, await gate.link())
        boss, nhi = [
            Principal.without_rights(FIRM_ID, user_id_of(FIRM_ID, name)).model_copy(update={"roles": roles})
            for name, roles in (("boss", frozenset({"admin"})), (NHI, frozenset[str]()))
        ]
        for statement in (
            "select password from accounts",
            "select totp from accounts",
            "select hash from invitations",
            "insert into accounts (tenant_id, user_id, password) values (app_tenant(), app_user(), '$argon2id$')",
            "update sign_in_tries set tries = 0",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with gate.house.database.principal_scope(boss) as tx:
                    await tx.driver.execute(statement)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with gate.house.database.principal_scope(nhi) as tx:
                await tx.driver.execute(
                    "insert into invitations (tenant_id, created_by, user_id, hash, expires_at)"
                    " values ($1, $2, $3, $4, now())",
                    *tx.whose, boss.user_id, bytes(32),
                )  # fmt: skip
        async with gate.house.database.principal_scope(boss) as tx:
            assert await accounts.own(tx) is None and await tx.driver.fetchval("select count(*) from accounts") == 1
            assert await tx.driver.execute("update accounts set password = '$argon2id$'") == "UPDATE 0"
        async with gate.house.database.principal_scope(nhi) as tx:
            assert (await accounts.own(tx)) is not None


class TestTheFirstAdministrator:
    @pytest.fixture
    async def link(self, served: Gate, operator: Database) -> AsyncIterator[str]:
        file = served.house.settings.data_dir / FIRST_FILE
        assert (kept_secret(file), file.stat().st_mode & 0o777) == (file.read_text(), 0o600)
        yield file.read_text()
        file.unlink(missing_ok=True)
        await served.forget_tries()
        async with operator.operator_scope() as tx:
            await tenants.remove_tenant(tx, tenant_id_of(NEW))

    def wanted(self, link: str, **told: str) -> dict[str, str]:
        return {"link": link, "password": GOOD, "company": NEW, "user": "founder", "name": "Lê An", **told}

    async def test_makes_the_company_and_comes_in_once(
        self, served: Gate, link: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with served.browser() as browser, served.browser() as late:
            assert (await browser.post("/auth/link", json={"link": link[:-1] + "_"})).status_code == 404
            told = (await browser.post("/auth/link", json={"link": link})).json()
            assert told == {"is_first": True, "companies": [], "user": "", "name": ""}
            for wrong in ({"company": "acme"}, {"password": "short"}, {"user": "a/b"}, {"company": "Nhà"}):
                assert (await browser.put("/auth/link", json=self.wanted(link, **wrong))).status_code == 422
            # Another one comes while the first has the company and no password yet.
            reached, released, really = asyncio.Event(), asyncio.Event(), Accounts.redeem

            async def held_up(self: Accounts, link: str, password: str) -> Any:
                if not reached.is_set():
                    reached.set()
                    await released.wait()
                return await really(self, link, password)

            monkeypatch.setattr(Accounts, "redeem", held_up)
            first = asyncio.create_task(browser.put("/auth/link", json=self.wanted(link)))
            await reached.wait()
            second = await late.put("/auth/link", json=self.wanted(link, user="x"))
            released.set()
            assert ((await first).status_code, second.status_code) == (200, 404)
            assert (await browser.get("/agents")).json()["roles"] == ["admin"]
            listed = (await browser.get("/users")).json()["users"]
            assert len(listed) == 1
            kept_secret(served.house.settings.data_dir / FIRST_FILE)  # though a file were there again
            again = (served.house.settings.data_dir / FIRST_FILE).read_text()
            assert (await browser.post("/auth/link", json={"link": again})).status_code == 404
            kept_secret(served.house.settings.data_dir / FIRST_FILE)
            again = (served.house.settings.data_dir / FIRST_FILE).read_text()
            assert (await browser.put("/auth/link", json=self.wanted(again, user="y"))).status_code == 404

    async def test_comes_to_a_company_that_has_none(self, served: Gate, link: str, operator: Database) -> None:
        async with operator.operator_scope() as tx:
            await tenants.add_tenant(tx, NEW)
        async with served.browser() as browser:
            assert (await browser.post("/auth/link", json={"link": link})).json()["companies"] == [NEW]
            assert (await browser.put("/auth/link", json=self.wanted(link, company="third"))).status_code == 422
            assert (await browser.put("/auth/link", json=self.wanted(link))).status_code == 200

    async def test_comes_within_an_hour(self, served: Gate, link: str) -> None:
        file = served.house.settings.data_dir / FIRST_FILE
        os.utime(file, (0, time.time() - FIRST_SECONDS))
        async with served.browser() as browser:
            assert (await browser.put("/auth/link", json=self.wanted(link))).status_code == 404
