"""The model that serves the role ``chat``: one llama.cpp process for all services of a data directory, kept alive."""

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import structlog

from app.errors import AppError, ErrorCode
from app.models.store import ModelStore, Pulled, write_private

NOWHERE = "http://127.0.0.1:1/v1"
"""Where calls go while there is no server: nobody without privileges can listen there."""
OnAddress = Callable[[str, str], None]
"""Is told where the model answers from now on, and with which key."""
_PROGRAM = Path(__file__).with_name("llama_process.py")
_ADDRESS, _LOCK = "serving.json", "=serving"
_ENVIRONMENT = ("PATH", "LD_", "DYLD_", "LANG", "LC_", "HOME", "TMP", "CUDA", "GGML", "PYTHONHOME")
"""Beginnings of variables the process gets; the service's secrets are none of them."""
_START_SECONDS, _WELL_SECONDS, _LOOK_SECONDS = 600.0, 60.0, 1.0
_log = structlog.get_logger(__name__)


class Limits(NamedTuple):
    """What serving may take."""

    context_tokens: int = 8192
    threads: int = max(1, min(8, (os.cpu_count() or 2) - 1))
    idle_seconds: int = 900
    """After so long without a question the weights are let go of; the next question loads them again."""
    memory_bytes: int = 0
    """Beside the mapped weights; 0 = 2 GiB and twice the file."""
    pause_seconds: float = 1.0
    """Before a process that ended is started again; doubled each time, up to a minute."""


_LIMITS = Limits()


class LocalModel:
    """A pulled model that is served to any number of processes: the first one keeps the server, others find it."""

    def __init__(self, store: ModelStore, model: Pulled, limits: Limits | None = None):
        self._store, self._model, self._limits = store, model, limits or _LIMITS
        self.state: Literal["loading", "ready", "failed"] = "loading"
        """``failed`` from the first failure on until it answers again; questions are answered by rules meanwhile."""
        self._settled = asyncio.Event()
        self._told: tuple[str, str] = (NOWHERE, "")

    @property
    def name(self) -> str:
        """As the catalogue or its address names it."""
        return self._model.entry.name

    async def settled(self) -> None:
        """Wait until it answers, or failed for the first time."""
        await self._settled.wait()

    def checks(
        self, others: Callable[[], Awaitable[Mapping[str, bool]]]
    ) -> Callable[[], Awaitable[Mapping[str, bool]]]:
        """Add to the checks of `/ready` that the model is not loading any more."""

        async def both() -> Mapping[str, bool]:
            return {**await others(), "language_model_loaded": self.state != "loading"}

        return both

    @asynccontextmanager
    async def running(self, on_address: OnAddress) -> AsyncIterator["LocalModel"]:
        """Keep it served for as long as the context lasts."""
        task = asyncio.create_task(self._run(on_address))
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self, on_address: OnAddress) -> None:
        while True:
            try:
                with self._store.alone(_LOCK):
                    await self._keep(on_address)
            except AppError:  # another process keeps the server
                self._follow(on_address)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _keep(self, on_address: OnAddress) -> None:
        """Start the server, and again whenever it ended."""
        pause = self._limits.pause_seconds
        try:
            while True:
                began = time.monotonic()
                status = await self._serve_once(on_address)
                pause = self._limits.pause_seconds if time.monotonic() - began > _WELL_SECONDS else min(pause * 2, 60.0)
                _log.warning("local_model_ended", model=self.name, status=status, pause_seconds=pause)
                await asyncio.sleep(pause)
        finally:
            (self._store.folder / _ADDRESS).unlink(missing_ok=True)

    async def _serve_once(self, on_address: OnAddress) -> int | None:
        """Run the server until it ends; its exit status, None = it was too slow to start."""
        key = secrets.token_urlsafe(32)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(_PROGRAM), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)},
        )  # fmt: skip
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps(self._order(key)).encode() + b"\n")
            line = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
            if line:
                self._announce(f"{line.decode().strip()}/v1", key, on_address)
            return await process.wait()
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            self._announce(NOWHERE, "", on_address)

    def _order(self, key: str) -> dict[str, Any]:
        memory = self._limits.memory_bytes or (2 << 30) + 2 * self._model.size
        path = str(self._store.file_of(self._model).resolve())
        return {**self._limits._asdict(), "memory_bytes": memory, "path": path, "name": self.name, "key": key}

    def _announce(self, address: str, key: str, on_address: OnAddress) -> None:
        """Tell this process and the others where it answers."""
        write_private(self._store.folder / _ADDRESS, json.dumps([address, key]))
        self._tell(address, key, on_address)

    def _follow(self, on_address: OnAddress) -> None:
        try:
            address, key = json.loads((self._store.folder / _ADDRESS).read_text("utf-8"))
        except (OSError, ValueError):  # it is still being loaded
            return
        if (address, key) != self._told:
            self._tell(address, key, on_address)

    def _tell(self, address: str, key: str, on_address: OnAddress) -> None:
        self._told, self.state = (address, key), "failed" if address == NOWHERE else "ready"
        on_address(address, key)
        self._settled.set()


def model_of(data_dir: Path) -> LocalModel | None:
    """The model that serves ``chat`` in this data directory; None = none does. Raises `AppError` where it cannot."""
    store = ModelStore(data_dir)
    if not (name := store.roles().get("chat", "")):
        return None
    model = store.find(name)
    check_installed()
    return LocalModel(store, model)


def check_installed() -> None:
    """Raise `AppError` where llama.cpp is not installed."""
    if find_spec("xllamacpp") is None:
        detail = "Serving a model needs llama.cpp: install conclave[local-model]."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail)
