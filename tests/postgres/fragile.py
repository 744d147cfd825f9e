"""A PostgreSQL of a test's own that crashes and comes back, and a relay in front of it that loses replies."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from app.storage import embedded
from app.storage.embedded import EmbeddedServer, start_embedded
from app.storage.migrate import upgrade

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"Q\x00\x00\x00\x0bcommit\x00"
_WHOSE, _BEGIN = b"\x00conclave_whose\x00\x00\x06", b"\x00conclave_begin\x00\x00\x00"
_SYNC = b"S\x00\x00\x00\x04"


@dataclass
class FragileServer:
    """One server with one migrated database."""

    server: EmbeddedServer

    @property
    def app_url(self) -> str:
        return self.server.app_url

    @property
    def superuser_url(self) -> str:
        return self.server.url("postgres", embedded.DATABASE)

    async def crash(self) -> None:
        """Every connection breaks; what was committed asynchronously just now may be lost."""
        await asyncio.to_thread(self._control, "stop", "-m", "immediate")

    async def recover(self) -> None:
        """Accept connections again."""
        log = str(self.server.data_dir / "server.log")
        await asyncio.to_thread(self._control, "start", "-l", log)

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        """A crash, and the way back."""
        await self.crash()
        try:
            yield
        finally:
            await self.recover()

    def _control(self, *arguments: str) -> None:
        account = self.server._account
        embedded._run(account, "pg_ctl", "-w", "-D", str(self.server.data_dir), *arguments)


@contextmanager
def fragile_server() -> Iterator[FragileServer]:
    """A server in a short folder of its own, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-frail-"))
    server = start_embedded(folder, durable=False)
    try:
        upgrade(server.owner_url)
        yield FragileServer(server)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class LosingRelay:
    """Carries connections to the server. Told to, it lets a commit through and loses the reply with the connection, or
    lets nobody pass while the server is there for others."""

    def __init__(self, behind: EmbeddedServer, folder: Path):
        self._behind, self.folder = behind, folder
        self._lose = 0
        self.lost = 0
        self._is_cut = False
        self._outer: set[asyncio.StreamWriter] = set()

    def url(self, role: str = "conclave_app") -> str:
        return f"postgresql://{role}@/{embedded.DATABASE}?host={quote(str(self.folder))}"

    def lose_next(self, commits: int = 1) -> None:
        """Lose the replies of the next commits."""
        self._lose = commits

    def cut(self) -> None:
        """Break every connection, and let nobody pass."""
        self._is_cut = True
        for writer in self._outer:
            writer.close()

    def mend(self) -> None:
        """Let everybody pass again."""
        self._is_cut = False

    @contextmanager
    def away(self) -> Iterator[None]:
        """A cut, mended in the end."""
        self.cut()
        try:
            yield
        finally:
            self.mend()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.close()
            return
        self._outer.add(writer)
        try:
            await self._carry_both(reader, writer)
        finally:
            self._outer.discard(writer)

    async def _carry_both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._behind.socket_dir / _SOCKET))
        except OSError:
            writer.close()
            return
        answers = asyncio.create_task(_carry(inner_reader, writer))
        try:
            while said := await reader.read(65_536):
                if self._lose and _is_commit(said):
                    while not said.endswith((_COMMIT, _SYNC)):
                        said += await reader.read(65_536)
                    self._lose -= 1
                    self.lost += 1
                    answers.cancel()
                    await asyncio.gather(answers, return_exceptions=True)
                    inner_writer.write(said)
                    await inner_reader.read(1)  # done
                    return
                inner_writer.write(said)
                await inner_writer.drain()
        except OSError:
            pass
        finally:
            answers.cancel()
            inner_writer.close()
            writer.close()


def _is_commit(said: bytes) -> bool:
    """The word itself, or a statement that is a transaction by itself."""
    return _COMMIT in said or (_WHOSE in said and _BEGIN not in said)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while said := await reader.read(65_536):
            writer.write(said)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def losing_relay(behind: EmbeddedServer) -> AsyncIterator[LosingRelay]:
    """A relay on a socket of its own."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-relay-"))
    relay = LosingRelay(behind, folder)
    listening = await asyncio.start_unix_server(relay.serve, str(folder / _SOCKET))
    try:
        yield relay
    finally:
        listening.close()
        shutil.rmtree(folder, ignore_errors=True)
