"""`conclave doctor --attack`: nothing succeeds against a service that is in order, and what is broken is found."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer
import uvicorn
from pydantic import SecretStr

from app.cli import attack
from app.cli.serving import _UVICORN
from app.errors import AppError
from app.main import Services, create_app, heads
from app.settings import Settings
from tests.api.serving import serve
from tests.factories import SEED_USERS

HEAD_SECONDS = 0.5
LOCAL = ("read secrets in the data directory", "guess the signing secret", "reach around row security")


@asynccontextmanager
async def served_as_by_the_command(app: Any) -> AsyncIterator[str]:
    """A server with the settings of `conclave serve`."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, lifespan="off", **_UVICORN))
    running = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn sets a flag and tells nobody
        await asyncio.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "HEAD_SECONDS", HEAD_SECONDS)


@pytest.fixture(scope="module")
async def url(house: Services) -> AsyncIterator[str]:
    async with served_as_by_the_command(create_app(services=house)) as opened:
        yield opened


async def succeeded(settings: Settings, url: str) -> list[str]:
    return [one.attack for one in await attack.replayed(settings, url) if one.ok is False]


async def looked(settings: Settings) -> list[str]:
    """What is found without a request."""
    found = [*attack._of_this_machine(settings), await attack._Attacker(settings, "", None).reach_around()]  # type: ignore[arg-type]
    return [one.attack for one in found if one.ok is False]


async def test_nothing_succeeds_and_everything_is_tried(
    house: Services, url: str, client_of: Callable[[str], httpx.AsyncClient]
) -> None:
    for tenant in ("acme", "globex"):  # whoever is attacked with, there are runs of the other company
        user = next(f"{one.tenant}/{one.name}" for one in SEED_USERS if one.tenant == tenant)
        assert (await client_of(user).post("/chat", json={"query": "1 + 1 = ?"})).status_code == 200
    found = await attack.replayed(house.settings, url)
    assert [one for one in found if not one.ok] == []
    seen = {one.attack: one.seen for one in found}
    assert "document_id, task_id, session_id" in seen["tell foreign ids from unknown ones"]
    assert int(seen["break it with hostile values"].split()[0]) > 100
    assert len(found) >= 12 and set(LOCAL) <= seen.keys()


class TestFound:
    async def test_a_weak_secret(self, house: Services) -> None:
        for weak in ("a" * 64, "secret12" * 8):
            broken = house.settings.model_copy(update={"auth_jwt_secret": SecretStr(weak)})
            assert await looked(broken) == ["guess the signing secret"]

    async def test_a_secret_others_may_read(self, house: Services, tmp_path: Path) -> None:
        (tmp_path / "jwt-secret").write_text("x")
        (tmp_path / "jwt-secret").chmod(0o640)
        broken = house.settings.model_copy(update={"data_dir": tmp_path})
        assert await looked(broken) == ["read secrets in the data directory"]

    async def test_a_role_that_row_security_does_not_bind(self, house: Services) -> None:
        broken = house.settings.model_copy(update={"database_url": house.settings.database_owner_url})
        assert await looked(broken) == ["reach around row security"]

    async def test_a_server_without_bounds_on_heads(self, house: Services) -> None:
        async with serve(create_app(services=house)) as bare:
            assert "hold a line with half a head" in await succeeded(house.settings, bare)

    async def test_tokens_for_others_that_are_let_in_and_errors_of_its_own(
        self, house: Services, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A service that believes tokens made for another audience, and one that tells foreign ids by their status."""
        honest = attack._Attacker.ask

        async def careless(self: Any, path: str, headers: Any = None, **body: Any) -> Any:
            status, text, told = await honest(self, path, headers, **body)
            if path == "/api/v1/agents":
                return 200, text, told
            if any(one in path for one in self._foreign.values()):
                return 403, text, told
            return 500 if "limit=NaN" in path else status, text, {}

        monkeypatch.setattr(attack._Attacker, "ask", careless)
        assert set(await succeeded(house.settings, url)) == {
            "sign in with forged tokens", "tell foreign ids from unknown ones", "break it with hostile values",
            "run foreign scripts on pages",
        }  # fmt: skip


class TestCommand:
    async def test_prints_a_table_and_leaves_with_one_where_something_succeeds(
        self, house: Services, url: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert await attack.attack(house.settings, url, False, False) == 0
        told = capsys.readouterr().out
        assert "SUCCEEDED" not in told and "forged tokens" in told
        broken = house.settings.model_copy(update={"auth_jwks_url": "", "allow_unconfined": True})
        weak = broken.model_copy(update={"auth_jwt_secret": SecretStr("a" * 64)})
        assert await attack.attack(weak, url, False, True) == 1
        assert '"ok": false' in capsys.readouterr().out

    @pytest.mark.parametrize(
        "elsewhere", ["http://192.0.2.1:8000", "http://localhost.example", "http://127.0.0.1.example"]
    )
    async def test_touches_no_other_machine_unasked(self, house: Services, elsewhere: str) -> None:
        with pytest.raises(typer.BadParameter, match="i-own-this"):
            await attack.attack(house.settings, elsewhere, False, False)

    async def test_says_that_nobody_answers(self, house: Services) -> None:
        with pytest.raises(AppError, match="No server runs here"):
            await attack.attack(house.settings, "", False, False)
        with pytest.raises(AppError, match="does not answer"):
            await attack.attack(house.settings, "http://127.0.0.1:9", False, False)
