"""Signing in as a demo user: with a link that was printed at the start, at the server's own machine, and only while
there is nobody but the demo companies. Every condition is broken alone."""

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from app.client import AsyncConclave
from app.client.local import DEMO_KEY_FILE, DEMO_KEY_HEADER, demo_key
from app.main import Services, create_app
from app.settings import Settings
from app.storage import tenants
from tests.api.conftest import SECRET
from tests.api.serving import serve
from tests.nginx import nginx, running_nginx
from tests.warm import planted

DEV = "/api/v1/auth/dev"
LAN = {"user": "acme/lan"}
STOCK = ""
"""What nginx forwards where nobody says anything: the upstream's own name, and nobody's address."""
USUAL = "proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
PROXY_HEADERS = (
    "Via", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Real-IP",
    "X-Client-IP", "Client-IP", "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP", "X-Cluster-Client-IP",
    "X-Original-Host", "X-Envoy-External-Address", "X-Remote-Addr", "X-Forwarded",
)  # fmt: skip
FOREIGN_HOSTS = ("conclave.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "192.168.1.4", "")
FOREIGN_ORIGINS = ("https://evil.example", "null", "http://localhost:1", "http://127.0.0.1")


@pytest.fixture(scope="module")
async def demo(small_seed: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Services]:
    """The services of an installation as it is after the first start."""
    folder = await planted(tmp_path_factory.mktemp("demo") / "data", small_seed)
    services = await Services.open(Settings(_env_file=None, data_dir=folder, seed_dir=small_seed))
    yield services
    await services.aclose()


@pytest.fixture(scope="module")
async def url(demo: Services) -> AsyncIterator[str]:
    async with serve(create_app(services=demo)) as url:
        yield url


@pytest.fixture
def key(demo: Services) -> str:
    return demo_key(demo.settings.data_dir)


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=30) as http:
        yield http


async def statuses(http: httpx.AsyncClient, **headers: str) -> tuple[int, int]:
    """How the list of demo users and the sign-in as one of them are answered."""
    signed = await http.post(DEV, json=LAN, headers=headers)
    assert ("token" in signed.text) == (signed.status_code == 200)
    return (await http.get(DEV, headers=headers)).status_code, signed.status_code


async def raw(url: str, head: str, **peer: Any) -> bytes:
    """The first line of the answer to a request as it is written here; `peer` as of `open_connection`."""
    body = b'{"user": "acme/lan"}'
    address = httpx.URL(url)
    reader, writer = await asyncio.open_connection(peer.pop("host", address.host), address.port, **peer)
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = await reader.readline()
    writer.close()
    return answer


@asynccontextmanager
async def nginx_before(url: str, folder: Path, forwarding: str) -> AsyncIterator[httpx.AsyncClient]:
    """Debian's nginx in front of `url`; skips where there is none."""
    if nginx() is None:
        pytest.skip("no nginx on this machine, and none could be fetched: make nginx")
    server = "server {{ listen 127.0.0.1:{}; location / {{ proxy_pass {}; {} }} }}"
    async with (
        running_nginx(folder / "nginx", lambda port: server.format(port, url, forwarding)) as address,
        httpx.AsyncClient(base_url=address, timeout=30) as http,
    ):
        yield http


class TestWithALink:
    async def test_lists_the_demo_users_and_signs_one_in(self, http: httpx.AsyncClient, key: str) -> None:
        http.headers[DEMO_KEY_HEADER] = key
        users = (await http.get(DEV)).json()
        assert users[0]["user"] == "acme/lan" and len(users) == 9
        signed = (await http.post(DEV, json={"user": "acme/an"})).json()["token"]
        agents = (await http.get("/api/v1/agents", headers={"Authorization": f"Bearer {signed}"})).json()
        assert agents["permissions"] == ["public"]

    async def test_a_page_of_the_server_itself_may_ask(self, http: httpx.AsyncClient, key: str, url: str) -> None:
        assert await statuses(http, **{DEMO_KEY_HEADER: key, "Origin": url}) == (200, 200)

    async def test_a_program_signs_in(self, url: str, key: str) -> None:
        async with AsyncConclave(url) as conclave:
            await conclave.sign_in("acme/hoa", key)
            assert "12" in (await conclave.ask("mật khẩu dài bao nhiêu ký tự?")).answer
            assert [one async for one in conclave.sessions()]

    async def test_knows_nobody_else(self, http: httpx.AsyncClient, key: str) -> None:
        answer = await http.post(DEV, json={"user": "acme/root"}, headers={DEMO_KEY_HEADER: key})
        assert answer.status_code == 404

    def test_its_key_is_long_and_its_owners_alone(self, demo: Services, key: str) -> None:
        assert len(key) >= 32
        assert stat.S_IMODE((demo.settings.data_dir / DEMO_KEY_FILE).stat().st_mode) == 0o600


class TestWithoutALink:
    @pytest.mark.parametrize("wrong", [None, "", "x", "k" * 64])
    async def test_nobody_is_let_in(self, http: httpx.AsyncClient, wrong: str | None) -> None:
        assert await statuses(http, **({} if wrong is None else {DEMO_KEY_HEADER: wrong})) == (404, 404)

    async def test_a_link_of_an_earlier_start_is_worth_nothing(self, http: httpx.AsyncClient, key: str) -> None:
        assert await statuses(http, **{DEMO_KEY_HEADER: key[:-1] + ("A" if key[-1] != "A" else "B")}) == (404, 404)


class TestFromElsewhere:
    @pytest.mark.parametrize("name", PROXY_HEADERS)
    async def test_what_a_proxy_passes_on_is_refused(self, http: httpx.AsyncClient, key: str, name: str) -> None:
        assert await statuses(http, **{DEMO_KEY_HEADER: key, name: "127.0.0.1"}) == (404, 404)

    @pytest.mark.parametrize("host", FOREIGN_HOSTS)
    async def test_a_foreign_name_is_refused(self, http: httpx.AsyncClient, key: str, host: str) -> None:
        assert set(await statuses(http, **{DEMO_KEY_HEADER: key, "Host": host})) <= {400, 404}

    async def test_a_request_without_a_name_is_refused(self, url: str, key: str) -> None:
        with_name = f"POST {DEV} HTTP/1.0\r\nHost: localhost\r\n{DEMO_KEY_HEADER}: {key}\r\n"
        assert b" 200 " in await raw(url, with_name)
        assert b" 404 " in await raw(url, with_name.replace("Host: localhost\r\n", ""))

    @pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
    async def test_a_foreign_page_is_refused(self, http: httpx.AsyncClient, key: str, origin: str) -> None:
        assert await statuses(http, **{DEMO_KEY_HEADER: key, "Origin": origin}) == (404, 404)

    async def test_another_machine_is_refused(self, demo: Services, key: str) -> None:
        for peer, expected in ((("127.0.0.1", 5), 200), (("192.0.2.7", 5), 404), (("::ffff:192.0.2.7", 5), 404)):
            transport = httpx.ASGITransport(create_app(services=demo), client=peer)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                assert await statuses(http, **{DEMO_KEY_HEADER: key}) == (expected, expected)

    async def test_whom_a_plain_nginx_lets_through_is_refused(self, url: str, key: str, tmp_path: Path) -> None:
        async with nginx_before(url, tmp_path, STOCK) as http:
            assert await statuses(http) == (404, 404)
            assert await statuses(http, **{DEMO_KEY_HEADER: "", "Host": "localhost"}) == (404, 404)

    async def test_an_nginx_that_says_so_is_refused_with_the_key_too(self, url: str, key: str, tmp_path: Path) -> None:
        async with nginx_before(url, tmp_path, USUAL) as http:
            assert await statuses(http, **{DEMO_KEY_HEADER: key}) == (404, 404)


class TestWhenItIsOver:
    async def test_a_company_of_ones_own_ends_it(self, demo: Services, http: httpx.AsyncClient, key: str) -> None:
        operator = await demo.storage.open_operator()
        async with operator.operator_scope() as tx:
            made = await tenants.add_tenant(tx, "initech")
        try:
            assert await statuses(http, **{DEMO_KEY_HEADER: key}) == (404, 404)
        finally:
            async with operator.operator_scope() as tx:
                await tenants.remove_tenant(tx, made.tenant_id)
        assert await statuses(http, **{DEMO_KEY_HEADER: key}) == (200, 200)

    async def test_an_external_database_never_has_it(self, nobody: httpx.AsyncClient, house: Services) -> None:
        assert house.settings.auth_dev_login and house.rooms.dev_login is None
        assert not (house.settings.data_dir / DEMO_KEY_FILE).exists()
        assert (await nobody.post("/auth/dev", json=LAN, headers={DEMO_KEY_HEADER: ""})).status_code == 404

    def test_the_setting_turns_it_off(self, tmp_path: Path) -> None:
        assert Settings(_env_file=None, data_dir=tmp_path).dev_login
        assert not Settings(_env_file=None, data_dir=tmp_path, auth_dev_login=False).dev_login
        external = Settings(_env_file=None, database_url=SecretStr("postgresql://x"), auth_jwt_secret=SecretStr(SECRET))
        assert not external.dev_login
