"""The private socket of a server: only its owner opens it, and whoever opens it acts as a user or an administrator."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from app.client.connection import Connection
from app.client.local import ADDRESS_FILE, AS_HEADER, WHO_PATH, LocalServer, local_server
from app.errors import AppError, ErrorCode
from app.main import Services, create_app, private_socket


@pytest.fixture
async def socket(house: Services, tmp_path: Path) -> AsyncIterator[Path]:
    """A private socket before the house."""
    path = tmp_path / "server.sock"
    async with private_socket(create_app(services=house), house, path):
        yield path
    assert not path.exists()


def acting(socket: Path, who: str, token: str = "") -> Connection:
    return Connection("http://here", token, private_socket=socket, acting=who)


class TestWhoOpensIt:
    async def test_is_its_owner_alone(self, socket: Path) -> None:
        assert socket.stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize(
        ("who", "expected"),
        [
            ("acme/hoa", ("acme", "hoa")), ("globex/tom", ("globex", "tom")), ("", ("acme", "lan")),
            ("globex/", ("globex", "operator")), ("/", ("acme", "operator")),
        ],
    )  # fmt: skip
    async def test_is_whoever_is_named_or_the_default(self, socket: Path, who: str, expected: tuple[str, str]) -> None:
        async with acting(socket, who) as connection:
            assert await connection.who() == expected

    @pytest.mark.parametrize("who", ["acme/nobody", "nowhere/", "nowhere/lan", "nowhere"])
    async def test_is_nobody_who_is_not_there(self, socket: Path, who: str) -> None:
        async with acting(socket, who) as connection:
            with pytest.raises(AppError) as refused:
                await connection.send("GET", "/agents")
        assert refused.value.code is ErrorCode.NOT_FOUND

    async def test_has_the_stored_rights_and_no_more(self, socket: Path) -> None:
        async with acting(socket, "acme/an") as connection:
            seen = await connection.send("GET", "/agents")
            assert seen["permissions"] == ["public"] and seen["roles"] == []
            with pytest.raises(AppError) as refused:
                await connection.send("GET", "/documents/health")
            assert refused.value.code is ErrorCode.PERMISSION_DENIED
        async with acting(socket, "acme/") as connection:
            assert (await connection.send("GET", "/agents"))["roles"] == ["admin"]

    async def test_a_token_counts_before_the_name(self, socket: Path, token_of: Callable[[str], str]) -> None:
        async with acting(socket, "acme/", token_of("acme/an")) as connection:
            assert (await connection.send("GET", "/agents"))["roles"] == []


class TestTheNetwork:
    async def test_gains_nothing_by_the_header(self, address: str) -> None:
        for headers in ({AS_HEADER: "acme/lan"}, {AS_HEADER: "acme/", "Authorization": "Bearer x"}):
            async with httpx.AsyncClient(base_url=address, headers=headers) as stranger:
                assert (await stranger.get("/api/v1/agents")).status_code == 401
                assert (await stranger.get(WHO_PATH)).status_code == 401

    async def test_gains_nothing_by_an_earlier_request_on_the_socket(self, house: Services, tmp_path: Path) -> None:
        app, path = create_app(services=house), tmp_path / "server.sock"
        network = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here")
        async with private_socket(app, house, path), acting(path, "acme/lan") as connection, network:
            await connection.send("GET", "/agents")
            assert (await network.get("/api/v1/agents")).status_code == 401


class TestLocalServer:
    def test_is_found_only_where_it_answers(self, tmp_path: Path) -> None:
        assert local_server(tmp_path) is None
        for text in ("", "{}", "[]", json.dumps({"address": "http://x", "socket": str(tmp_path / "gone.sock")})):
            (tmp_path / ADDRESS_FILE).write_text(text, "utf-8")
            assert local_server(tmp_path) is None

    async def test_is_found_by_its_file(self, socket: Path, tmp_path: Path) -> None:
        (tmp_path / ADDRESS_FILE).write_text(json.dumps({"address": "http://x", "socket": str(socket)}), "utf-8")
        assert local_server(tmp_path) == LocalServer("http://x", socket)
