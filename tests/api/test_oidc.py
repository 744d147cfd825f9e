"""Signing in at a provider, over HTTP: a browser that keeps cookies, a provider with real keys, and ways to cheat."""

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from app.domain.principal import tenant_id_of, user_id_of
from app.identity.providers import Providers
from app.identity.sign_ins import CSRF_HEADER, SignIns
from app.main import Services, create_app
from app.storage import people
from app.storage.embedded import EmbeddedServer
from tests.api.provider import CLIENT, FOREIGN_KEY, SECRET, LoopbackProvider
from tests.api.serving import serve

ACME, GLOBEX = tenant_id_of("acme"), tenant_id_of("globex")
GROUPS = {
    "staff": {"scopes": ["public"]},
    "hr-team": {"departments": ["hr"], "scopes": ["public", "internal", "private"]},
    "leads": {"roles": ["admin"], "scopes": ["public"]},
}


@dataclass
class Desk:
    """The service with two companies' providers, as one browser after another meets it."""

    url: str
    provider: LoopbackProvider
    house: Services
    app: FastAPI

    @property
    def sign_ins(self) -> SignIns:
        found = self.app.state.services.sign_ins
        assert isinstance(found, SignIns)
        return found

    def browser(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30)

    def set_out(self, *, makes_users: bool = False) -> None:
        """Forget what was known of the providers and of people."""
        told = {
            "title": "Company account", "issuer": self.provider.issuer, "client_id": CLIENT, "groups": GROUPS,
            "client_secret_env": "SECRET_OF_CLIENT",
        }  # fmt: skip
        both = {"acme": {**told, "tenant": "acme"}, "globex": {**told, "tenant": "globex"}}
        read = Providers.model_validate({"address": self.url, "providers": both})
        secrets = dict.fromkeys(both, SECRET)
        sign_ins, rooms = SignIns(self.house.database, read, secrets, makes_users=makes_users), self.house.rooms
        door = replace(rooms.authenticator, sign_ins=sign_ins)
        door.known.clear()
        self.app.state.services = replace(rooms, authenticator=door)


@pytest.fixture(scope="module")
async def served(house: Services) -> AsyncIterator[Desk]:
    provider, app = LoopbackProvider(), create_app(services=house)
    async with serve(provider.app) as issuer, serve(app) as url:
        provider.issuer = issuer
        yield Desk(url, provider, house, app)


@pytest.fixture
def desk(served: Desk) -> Desk:
    """The provider says everything right, and that it is lan of hr."""
    mine = served.provider
    mine.person, mine.claims, mine.is_away = {"sub": "lan", "name": "Lan", "groups": ["hr-team"]}, {}, False
    mine.key = LoopbackProvider().key
    served.set_out()
    return served


async def enter(browser: httpx.AsyncClient, company: str = "acme", back: str = "/") -> httpx.Response:
    """Go to the provider and come back; gives the answer of the callback."""
    return await browser.get(await returning(browser, company, back))


async def returning(browser: httpx.AsyncClient, company: str = "acme", back: str = "/") -> str:
    """Where the provider sends the browser back."""
    out = await browser.get(f"/api/v1/auth/{company}/start", params={"back": back})
    assert out.status_code == 303
    return (await browser.get(out.headers["location"])).headers["location"]


async def csrf(browser: httpx.AsyncClient) -> dict[str, str]:
    return {CSRF_HEADER: (await browser.get("/api/v1/auth/session")).json()["csrf"]}


async def is_in(browser: httpx.AsyncClient) -> bool:
    status = (await browser.get("/api/v1/agents")).status_code
    assert status in (200, 401)
    return status == 200


def reason_of(answer: httpx.Response) -> str:
    assert answer.status_code == 303
    assert "set-cookie" not in answer.headers or "conclave-session" not in answer.headers["set-cookie"]
    return answer.headers["location"].removeprefix("/?sign-in=")


class TestSigningIn:
    async def test_lets_a_person_in_with_what_groups_and_users_both_give(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            assert (await browser.get("/api/v1/auth/providers")).json() == [
                {"name": "acme", "title": "Company account"}, {"name": "globex", "title": "Company account"}
            ]  # fmt: skip
            answer = await enter(browser, back="/admin")
            assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
            cookie = next(one for one in answer.headers.get_list("set-cookie") if one.startswith("conclave-session"))
            assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Max-Age=28800" in cookie
            assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["internal", "private", "public"]
            told = (await browser.get("/api/v1/auth/session")).json()
            assert told["user"] == "lan" and len(told["csrf"]) == 43

    async def test_gives_nobody_more_than_users_says(self, desk: Desk) -> None:
        desk.provider.person = {"sub": "an", "groups": ["hr-team", "leads"]}
        async with desk.browser() as browser:
            await enter(browser)
            told = (await browser.get("/api/v1/agents")).json()
            assert (told["permissions"], told["roles"]) == (["public"], [])

    async def test_gives_less_once_a_group_is_gone(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            await enter(browser)
            desk.provider.person["groups"] = ["staff"]
            await enter(browser)
            assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["public"]
            desk.provider.person["groups"] = ["others"]
            assert reason_of(await enter(browser)) == "nothing"

    async def test_takes_the_cookie_for_questions_with_the_header_alone(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            await enter(browser)
            asked: dict[str, Any] = {"json": {"query": "parking"}}
            assert (await browser.post("/api/v1/search", **asked)).status_code == 403
            assert (await browser.post("/api/v1/search", **asked, headers={CSRF_HEADER: "x" * 43})).status_code == 403
            good = await csrf(browser)
            assert (await browser.post("/api/v1/search", **asked, headers=good)).status_code == 200
            for foreign in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
                assert (await browser.post("/api/v1/search", **asked, headers=good | foreign)).status_code == 403
            script = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
            assert (await browser.get("/api/v1/agents", headers=script)).status_code == 403
            link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
            assert (await browser.get("/api/v1/agents", headers=link)).status_code == 200
            assert (await browser.post("/api/v1/search", **asked, headers=good | link)).status_code == 403

    async def test_lets_a_token_win_over_a_cookie(self, desk: Desk, token_of: Callable[[str], str]) -> None:
        async with desk.browser() as browser:
            await enter(browser)
            bearer = {"Authorization": f"Bearer {token_of('acme/an')}"}
            assert (await browser.get("/api/v1/agents", headers=bearer)).json()["permissions"] == ["public"]
            bad = {"Authorization": "Bearer a.b.c"}
            assert (await browser.get("/api/v1/agents", headers=bad)).status_code == 401


class TestSigningOut:
    async def test_ends_the_sign_in_here_and_at_the_provider(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            await enter(browser)
            kept = browser.cookies["conclave-session"]
            assert (await browser.post("/api/v1/auth/logout")).status_code == 403
            answer = await browser.post("/api/v1/auth/logout", headers=await csrf(browser))
            assert answer.json()["location"].startswith(f"{desk.provider.issuer}/end?client_id={CLIENT}&post_logout")
            assert "conclave-session" not in browser.cookies
        async with desk.browser(Cookie=f"conclave-session={kept}") as again:
            assert not await is_in(again)

    async def test_comes_after_eight_hours(
        self, desk: Desk, superuser_of_house: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        async with desk.browser() as browser:
            await enter(browser)
            assert await is_in(browser)
            await superuser_of_house.execute("update sign_ins set expires_at = now()")
            assert not await is_in(browser)

    async def test_comes_when_the_user_is_shut_out(self, desk: Desk) -> None:
        desk.provider.person["sub"] = "tom"
        operator = await desk.house.storage.open_operator()
        tom = GLOBEX, user_id_of(GLOBEX, "tom")
        async with desk.browser() as browser:
            await enter(browser, "globex")
            assert await is_in(browser)
            async with operator.operator_scope() as tx:
                await people.shut_out(tx, *tom, out=True)
            try:
                assert desk.house.rooms.authenticator.known.ttl <= 60
                desk.house.rooms.authenticator.known.clear()
                assert not await is_in(browser)
                assert reason_of(await enter(browser, "globex")) == "unknown"
            finally:
                async with operator.operator_scope() as tx:
                    await people.shut_out(tx, *tom, out=False)


class TestCheating:
    @pytest.mark.parametrize(
        "claims",
        [
            {"nonce": "another"}, {"nonce": None}, {"iss": "https://evil.example"}, {"iss": None}, {"aud": "another"},
            {"aud": []}, {"aud": None}, {"aud": [CLIENT, "another"]}, {"azp": "another"}, {"exp": 1_000_000_000},
            {"exp": None}, {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, {"iat": 9_000_000_000}, {"sub": None},
        ],
        ids=str,
    )  # fmt: skip
    async def test_with_a_token_that_is_not_for_this_start_is_refused(self, desk: Desk, claims: dict[str, Any]) -> None:
        desk.provider.claims = claims
        async with desk.browser() as browser:
            assert reason_of(await enter(browser)) == "refused"
            assert not await is_in(browser)

    async def test_with_a_token_of_other_keys_is_refused(self, desk: Desk) -> None:
        desk.provider.key = FOREIGN_KEY
        async with desk.browser() as browser:
            assert reason_of(await enter(browser)) == "refused"

    async def test_bounds_how_far_clocks_may_be_apart(self, desk: Desk) -> None:
        now = int(time.time())
        async with desk.browser() as browser:
            for past, reason in ((30, "/"), (90, "refused")):
                desk.provider.claims = {"exp": now - past, "iat": now - 300}
                assert (await enter(browser)).headers["location"].removeprefix("/?sign-in=") == reason

    async def test_with_another_state_or_none_is_refused(self, desk: Desk) -> None:
        async with desk.browser() as browser, desk.browser() as victim:
            address = httpx.URL(await returning(browser))
            for state in ("x", "", str(address.params["state"])[:-1]):
                other = address.copy_set_param("state", state)
                assert reason_of(await browser.get(other)) == "refused"
            # A browser that did not set out, or set out elsewhere, is not signed in as somebody else.
            address = httpx.URL(await returning(browser))
            assert reason_of(await victim.get(address)) == "refused"
            await returning(victim)
            assert reason_of(await victim.get(address)) == "refused"

    async def test_with_the_answer_of_another_provider_is_refused(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            address = await returning(browser, "acme")
            assert reason_of(await browser.get(address.replace("/acme/", "/globex/"))) == "refused"
            address = await returning(browser, "acme")
            assert reason_of(await browser.get(f"{address}&iss=https://evil.example")) == "refused"

    async def test_with_a_code_a_second_time_is_refused(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            address = await returning(browser)
            start = browser.cookies["conclave-start"]
            assert (await browser.get(address)).headers["location"] == "/"
            assert "conclave-start" not in browser.cookies
            assert reason_of(await browser.get(address)) == "refused"
        async with desk.browser(Cookie=f"conclave-start={start}") as again:
            assert reason_of(await again.get(address)) == "refused"

    async def test_with_a_start_of_long_ago_is_refused(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            desk.provider.claims = {"exp": int(time.time()) + 7_200}
            address = await returning(browser)
            desk.sign_ins.known["acme"].clock = lambda: time.time() + 601
            assert reason_of(await browser.get(address)) == "refused"

    @pytest.mark.parametrize(
        "back",
        ["https://evil.example", "//evil.example", "/\\evil.example", "\\\\evil", "/%2fevil", "javascript:alert(1)",
         "/a\n", "/a b", "", "evil", "/@evil", "/;x", "/\t/evil.example"],
    )  # fmt: skip
    async def test_with_a_way_back_to_elsewhere_leads_to_the_page(self, desk: Desk, back: str) -> None:
        async with desk.browser() as browser:
            assert (await enter(browser, back=back)).headers["location"] == "/"

    async def test_with_a_cookie_brought_before_is_of_no_use(self, desk: Desk) -> None:
        planted = "A" * 43
        async with desk.browser() as browser:
            browser.cookies.set("conclave-session", planted)
            answer = await enter(browser)
            (made,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith("conclave-session=")]
            assert planted not in made
        async with desk.browser(Cookie=f"conclave-session={planted}") as attacker:
            assert not await is_in(attacker)
        value = made.partition("=")[2].partition(";")[0]
        async with desk.browser(Cookie=f"conclave-session={value}; conclave-session={planted}") as both:
            assert not await is_in(both)
        async with desk.browser(Cookie=f"conclave-session={value}") as first:
            assert await is_in(first)
            first.headers.pop("cookie")
            first.cookies.set("conclave-session", value)
            await enter(first)
        async with desk.browser(Cookie=f"conclave-session={value}") as old:
            assert not await is_in(old), "the sign-in before is over"

    async def test_with_the_cookie_of_another_company_reads_nothing_here(
        self, desk: Desk, lan: httpx.AsyncClient
    ) -> None:
        found = (await lan.post("/search", json={"query": "parking"})).json()
        document = next(iter(found["passages"]))["document_id"]
        assert (await lan.get(f"/documents/{document}")).status_code == 200
        desk.provider.person = {"sub": "jane", "groups": ["hr-team"]}
        async with desk.browser() as browser:
            await enter(browser, "globex")
            assert (await browser.get(f"/api/v1/documents/{document}")).status_code == 404
            desk.provider.person = {"sub": "lan", "groups": ["hr-team"]}
            assert reason_of(await enter(browser, "globex")) == "unknown"


class TestAProviderThatIsAway:
    async def test_leads_to_the_page_that_says_so(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            address = await returning(browser)
            desk.provider.is_away = True
            assert reason_of(await browser.get(address)) in ("away", "refused")
            desk.set_out()
            assert reason_of(await browser.get("/api/v1/auth/acme/start")) == "away"

    async def test_may_be_nobody_at_all(self, desk: Desk) -> None:
        desk.sign_ins.known["acme"].provider = desk.sign_ins.known["acme"].provider.model_copy(
            update={"issuer": "http://127.0.0.1:9"}
        )
        async with desk.browser() as browser:
            assert reason_of(await browser.get("/api/v1/auth/acme/start")) == "away"

    async def test_is_unknown_by_another_name(self, desk: Desk) -> None:
        async with desk.browser() as browser:
            assert (await browser.get("/api/v1/auth/nobody/start")).status_code == 404
            assert (await browser.get("/api/v1/auth/nobody/callback")).status_code == 404


class TestPeopleWhomNobodyAdded:
    async def test_come_in_where_providers_make_users(
        self, desk: Desk, superuser_of_house: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        desk.provider.person = {"sub": "quynh", "name": "Quỳnh", "groups": ["staff"]}
        async with desk.browser() as browser:
            assert reason_of(await enter(browser)) == "unknown"
            desk.set_out(makes_users=True)
            assert (await enter(browser)).headers["location"] == "/"
            assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["public"]
            desk.provider.person["groups"] = ["hr-team"]
            await enter(browser)
            assert "private" in (await browser.get("/api/v1/agents")).json()["permissions"]
            # What an administrator sets stays, whatever the provider says later.
            await superuser_of_house.execute("update users set scopes = '{internal}' where name = 'quynh'")
            await enter(browser)
            assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["internal"]

    async def test_are_not_made_of_those_there_are(
        self, desk: Desk, superuser_of_house: "asyncpg.Connection[asyncpg.Record]"
    ) -> None:
        desk.set_out(makes_users=True)
        desk.provider.person = {"sub": "an", "groups": ["hr-team", "leads"]}
        async with desk.browser() as browser:
            await enter(browser)
            assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["public"]


@pytest.fixture
async def superuser_of_house(
    embedded_server: EmbeddedServer,
) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(embedded_server.url("postgres", "test_api"))
    yield connection
    await connection.close()
