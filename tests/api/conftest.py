"""One house for all API tests: a database with a few seed documents, a worker, and a real server in front."""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest
from pydantic import SecretStr

from app.main import Services, create_app
from app.settings import Settings
from app.storage.embedded import EmbeddedServer
from tests.api import node
from tests.api.serving import serve
from tests.factories import SEED_USERS, demo_token, with_demo_people
from tests.warm import warm

SEED = Path(__file__).parents[2] / "seed_data"
DOCUMENTS = {
    "acme": ("general/core-values.md", "general/parking.md", "hr/punctuality-2026.md", "it/password-policy-2026.md"),
    "globex": ("hr/lateness-and-attendance.md", "it/vpn-guide.md"),
}
LOG_LINES = 50
SECRET = "the-secret-of-the-api-tests-is-longer-than-64-bytes-and-of-no-use-elsewhere"


@pytest.fixture(scope="package")
def small_seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A seed folder with six documents."""
    folder = tmp_path_factory.mktemp("seed")
    for tenant, names in DOCUMENTS.items():
        for name in names:
            copy = folder / tenant / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SEED / tenant / name, copy)
        lines = (SEED / tenant / "logs.jsonl").read_text("utf-8").splitlines(keepends=True)
        (folder / tenant / "logs.jsonl").write_text("".join(lines[:LOG_LINES]), "utf-8")
    return with_demo_people(folder)


@pytest.fixture(scope="package")
async def api_settings(
    embedded_server: EmbeddedServer, small_seed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """An installation with an external database, as in production."""
    name = "test_api"
    superuser = await asyncpg.connect(embedded_server.url("postgres", "postgres"))
    await superuser.execute(f"create database {name} template conclave_template owner conclave_owner")
    await superuser.close()
    data_dir = warm(tmp_path_factory.mktemp("data"))
    (data_dir / "connectors.yaml").touch()
    return Settings(
        _env_file=None,
        data_dir=data_dir,
        connectors_file=data_dir / "connectors.yaml",
        seed_dir=small_seed,
        default_user="acme/lan",
        database_url=SecretStr(embedded_server.url("conclave_app", name)),
        database_owner_url=SecretStr(embedded_server.url("conclave_owner", name)),
        database_operator_url=SecretStr(embedded_server.url("conclave_maintenance", name)),
        auth_jwt_secret=SecretStr(SECRET),
    )


@pytest.fixture(scope="package")
async def house(api_settings: Settings) -> AsyncIterator[Services]:
    """The services behind the server."""
    services = await Services.open(api_settings)
    try:
        await services.seed()
        yield services
    finally:
        await services.aclose()


@pytest.fixture(scope="package")
async def address(house: Services) -> AsyncIterator[str]:
    """Where the server listens."""
    async with serve(create_app(services=house)) as url:
        yield url


@pytest.fixture(scope="package")
def token_of(house: Services) -> Callable[[str], str]:
    """Signs a token for a demo user."""
    return partial(demo_token, house.settings)


@pytest.fixture(scope="package")
async def client_of(address: str, token_of: Callable[[str], str]) -> AsyncIterator[Callable[[str], httpx.AsyncClient]]:
    """An HTTP client signed in as a demo user; `""` = nobody."""
    async with AsyncExitStack() as stack:
        clients = {
            user: await stack.enter_async_context(
                httpx.AsyncClient(
                    base_url=f"{address}/api/v1",
                    headers={"Authorization": f"Bearer {token_of(user)}"} if user else {},
                    timeout=30,
                )
            )
            for user in ("", *(f"{known.tenant}/{known.name}" for known in SEED_USERS))
        }
        yield clients.__getitem__


@pytest.fixture(scope="session")
async def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the clients that are written in JavaScript."""
    return await node.installed(tmp_path_factory.mktemp("node"))


@pytest.fixture
async def lan(client_of: Callable[[str], httpx.AsyncClient]) -> httpx.AsyncClient:
    """acme/lan: hr, every scope."""
    return client_of("acme/lan")


@pytest.fixture
async def nobody(client_of: Callable[[str], httpx.AsyncClient]) -> httpx.AsyncClient:
    """A caller without a token."""
    return client_of("")
