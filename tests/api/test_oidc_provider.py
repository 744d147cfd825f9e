"""Signing in at a provider somebody else wrote (`oidc-provider` for Node), as a browser does: pages, forms, cookies."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

import httpx
import pytest

from app.identity.providers import Providers
from app.identity.sign_ins import CSRF_HEADER, SignIns
from app.main import Services, create_app
from tests.api import node
from tests.api.serving import serve

SECRET = "the-secret-of-the-client-is-long"
SCRIPT = """
import { createServer } from "node:http";
import Provider from "oidc-provider";
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "conclave", client_secret: process.env.CLIENT_SECRET, grant_types: ["authorization_code"],
      redirect_uris: [process.env.REDIRECT_URI], post_logout_redirect_uris: [process.env.AFTER_LOGOUT],
    }],
    claims: { openid: ["sub"], profile: ["name", "groups"] },
    conformIdTokenClaims: false,
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, name: "A name", groups: ["hr-team"] }) }),
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
"""


@pytest.fixture(scope="module")
async def url(house: Services, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The service, with that provider beside it."""
    folder = await node.installed(tmp_path_factory.mktemp("provider"), "oidc-provider@9.13.3")
    app = create_app(services=house)
    async with serve(app) as url, provider_process(folder, url) as issuer:
        told = {
            "title": "Company", "issuer": issuer, "client_id": "conclave", "client_secret_env": "X", "tenant": "acme",
            "groups": {"hr-team": {"departments": ["hr"], "scopes": ["public", "private"]}},
        }  # fmt: skip
        read = Providers.model_validate({"address": url, "providers": {"company": told}})
        sign_ins = SignIns(house.database, read, {"company": SECRET}, makes_users=False)
        door = replace(house.rooms.authenticator, sign_ins=sign_ins)
        app.state.services = replace(house.rooms, authenticator=door)
        yield url


def provider_process(folder: Path, url: str) -> "Running":
    (folder / "provider.mjs").write_text(SCRIPT, "utf-8")
    callback = f"{url}/api/v1/auth/company/callback"
    return Running(folder, {"CLIENT_SECRET": SECRET, "REDIRECT_URI": callback, "AFTER_LOGOUT": f"{url}/"})


class Running:
    """The provider's process; gives its address."""

    def __init__(self, folder: Path, given: dict[str, str]):
        self.folder, self.given = folder, given

    async def __aenter__(self) -> str:
        self.process = await node.started(self.folder, "provider.mjs", self.given)
        assert self.process.stdout is not None
        async with asyncio.timeout(30):
            return (await self.process.stdout.readline()).decode().strip()

    async def __aexit__(self, *_: object) -> None:
        self.process.kill()
        await self.process.wait()


async def followed(browser: httpx.AsyncClient, answer: httpx.Response, until: str) -> httpx.Response:
    """Go where answers lead, and fill in the provider's forms, until an address begins with `until`."""
    for _ in range(15):
        if answer.is_redirect:
            there = urljoin(str(answer.url), answer.headers["location"])
            if there.startswith(until):
                return await browser.get(there)
            answer = await browser.get(there)
            continue
        action = re.search(r'action="([^"]+)"', answer.text)
        assert action, answer.text[:500]
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', answer.text))
        filled = {**fields, **({"login": "lan", "password": "x"} if "login" in answer.text else {})}
        answer = await browser.post(urljoin(str(answer.url), action[1]), data=filled)
    raise AssertionError("it goes on and on")


async def test_a_person_signs_in_asks_and_signs_out_everywhere(url: str) -> None:
    callback = f"{url}/api/v1/auth/company/callback"
    async with httpx.AsyncClient(base_url=url, timeout=30) as browser:
        begun = await browser.get("/api/v1/auth/company/start?back=/admin")
        start = browser.cookies["conclave-start"]
        answer = await followed(browser, begun, callback)
        assert (answer.status_code, answer.headers["location"]) == (303, "/admin")
        told = (await browser.get("/api/v1/auth/session")).json()
        assert told["user"] == "lan"
        assert (await browser.get("/api/v1/agents")).json()["permissions"] == ["private", "public"]
        # The provider knows the person: no form is shown, as when eight hours are over.
        again = await browser.get("/api/v1/auth/company/start")
        silent = await browser.get(urljoin(url, again.headers["location"]))
        assert silent.headers["location"].startswith(callback)
        assert (await browser.get(silent.headers["location"])).headers["location"] == "/"
        csrf = (await browser.get("/api/v1/auth/session")).json()["csrf"]
        out = await browser.post("/api/v1/auth/logout", headers={CSRF_HEADER: csrf})
        assert (await browser.get("/api/v1/agents")).status_code == 401
        page = await browser.get(out.json()["location"])
        assert page.status_code == 200 and "/session/end/confirm" in page.text
        # The code is used up: with the cookie of the start, too, it brings nobody in.
        async with httpx.AsyncClient(headers={"Cookie": f"conclave-start={start}"}) as thief:
            used = await thief.get(str(answer.url))
        assert used.headers["location"] == "/?sign-in=refused"
