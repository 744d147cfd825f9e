"""The machines of the tests: processes of the service and PostgreSQL. Each ends by its own id."""

import asyncio
import json
import os
import re
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.storage.embedded import EmbeddedServer, start_embedded
from tests.nursery import CONCLAVE, Child, Nursery

READY_SECONDS = 90
_POLL_SECONDS = 0.05
_WORKER_ID = re.compile(r"^worker (\S+)", re.MULTILINE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def until(holds: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Wait for something to hold; TimeoutError when it takes longer."""
    give_up = time.monotonic() + seconds
    while not await holds():
        if time.monotonic() > give_up:
            raise TimeoutError(f"not within {seconds:.0f} s")
        await asyncio.sleep(_POLL_SECONDS)


class Machine:
    """One process of the service, in a folder of its own; it may be started again after its end."""

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, nursery: Nursery
    ):
        self.name = name
        self._nursery = nursery
        self._arguments = arguments
        self._environment = environment
        self._folder = folder
        self._process: Child | None = None
        self.starts = 0

    @property
    def process(self) -> Child:
        assert self._process is not None, f"{self.name} was never started"
        return self._process

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def log_file(self) -> Path:
        """What the current process writes on its standard error."""
        return self._folder / f"{self.name}.{self.starts}.log"

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8", "replace")

    def logged(self) -> list[dict[str, Any]]:
        """The log lines of every start so far."""
        texts = (file.read_text("utf-8", "replace") for file in self._folder.glob(f"{self.name}.*.log"))
        lines = (line for text in texts for line in text.splitlines() if line.startswith("{"))
        return [entry for line in lines if (entry := _json(line)) is not None]

    def comes_from(self, nursery: Nursery) -> None:
        """Have its next process made there."""
        self._nursery = nursery

    async def start(self) -> None:
        """Begin, without waiting until it is ready."""
        assert not self.is_up
        self.starts += 1
        with Path(os.devnull).open("r+b") as nothing, self.log_file.open("wb") as log:  # noqa: ASYNC230 - at once
            streams = [nothing.fileno(), nothing.fileno(), log.fileno()]
            self._process = await self._nursery.bear(
                CONCLAVE, self._arguments, self._environment, self._folder, streams
            )

    async def ready(self) -> None:
        """Wait until it takes work."""
        give_up = time.monotonic() + READY_SECONDS
        while not await self.is_ready():
            assert self.is_up, f"{self.name} ended with {self.process.returncode}:\n{self.log[-4000:]}"
            assert time.monotonic() < give_up, f"{self.name} does not get ready:\n{self.log[-4000:]}"
            await asyncio.sleep(_POLL_SECONDS)

    async def is_ready(self) -> bool:
        """Whether it says that it takes work."""
        raise NotImplementedError

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        if self.is_up:
            self.process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        """End it as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def restart(self) -> None:
        await self.start()
        await self.ready()

    async def terminate(self, *, again_after: float | None = None) -> float:
        """Ask it to end, once or twice; the seconds it took. It must not take longer than 60."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if again_after is not None:
            await asyncio.sleep(again_after)
            if self.is_up:
                self.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self.process.wait(), 60)
        return time.monotonic() - began


class Api(Machine):
    """`conclave serve` on a port of the loopback interface."""

    def __init__(self, name: str, environment: Mapping[str, str], folder: Path, nursery: Nursery):
        self.port = free_port()
        super().__init__(name, ("serve", "--port", str(self.port)), environment, folder, nursery)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def is_ready(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            writer.write(b"GET /ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return b" 200 " in await asyncio.wait_for(reader.readline(), 5)
        except (OSError, TimeoutError):
            return False
        finally:
            writer.close()


class Worker(Machine):
    """`conclave worker`, of some queues or of all."""

    def __init__(self, name: str, queues: str, environment: Mapping[str, str], folder: Path, nursery: Nursery):
        self.queues = queues
        arguments = ("worker", "--queues", queues) if queues else ("worker",)
        super().__init__(name, arguments, environment, folder, nursery)

    @property
    def worker_id(self) -> str:
        """The name it claims tasks under."""
        found = _WORKER_ID.search(self.log)
        return found[1] if found else ""

    async def is_ready(self) -> bool:
        return bool(self.worker_id)


class Postgres:
    """A PostgreSQL that crashes as a process does: what was promised before it was written is lost, what was written
    is not. So it need not wait for the disk."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._shares: list[EmbeddedServer] = []
        self.crashes = 0

    @property
    def server(self) -> EmbeddedServer:
        return self._shares[-1]

    def start(self) -> None:
        self._shares.append(start_embedded(self._folder, durable=False))

    def crash(self) -> None:
        """Stop at once, as ``pg_ctl stop -m immediate`` does: connections break, memory is lost."""
        pid = int((self.server.data_dir / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, signal.SIGQUIT)
        self.crashes += 1
        give_up = time.monotonic() + 20
        while _is_running(pid):
            assert time.monotonic() < give_up, "PostgreSQL does not stop"
            time.sleep(0.02)

    def stop(self) -> None:
        for share in self._shares:
            share.stop()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"Z" not in Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[-1][:3]


def _json(line: str) -> dict[str, Any] | None:
    """A log line; None for one that a kill cut off."""
    try:
        value: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return value
