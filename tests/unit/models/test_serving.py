"""A pulled model is served by a process of our own: to nobody without the key, again after it died, one for all."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from app.errors import AppError
from app.models import serving
from app.models.catalogue import read_catalogue
from app.models.serving import NOWHERE, Limits, LocalModel, model_of
from app.models.store import ModelStore, Pulled
from tests.fakes.llama import missing, model_file

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=missing() or "")]
SMALL = Limits(context_tokens=512, threads=1, pause_seconds=0.05)
PATIENCE_SECONDS = 60.0
NAME = "smollm2-135m"


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """Has the little model, linked instead of copied."""
    path, store = model_file(), ModelStore(tmp_path)
    assert path is not None
    entry = read_catalogue().models[NAME]
    model = Pulled(entry=entry, sha256=entry.sha256, size=path.stat().st_size, pulled_at=datetime.now(UTC))
    partial = store.partial(NAME)
    partial.mkdir(parents=True)
    (partial / "body").symlink_to(path)
    store.publish(model, partial / "body")
    store.serve("chat", NAME)
    return store


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_LOOK_SECONDS", 0.05)


class Watched(NamedTuple):
    model: LocalModel
    told: list[tuple[str, str]]

    @property
    def address(self) -> str:
        return self.told[-1][0] if self.told else ""

    @property
    def key(self) -> str:
        return self.told[-1][1]


def watched(store: ModelStore, limits: Limits = SMALL) -> Watched:
    return Watched(LocalModel(store, store.find(NAME), limits), [])


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


async def ask(address: str, key: str) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as client:
        return await client.post(f"{address}/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"})


def child_pids() -> list[int]:
    own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in own if b"llama_process" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def nothing() -> dict[str, bool]:
    return {"database": True}


class TestServing:
    async def test_served_with_a_key_restarted_followed_and_ended(self, store: ModelStore) -> None:
        one, other, others = watched(store), watched(store), set(child_pids())
        assert await one.model.checks(nothing)() == {"database": True, "language_model_loaded": False}
        async with one.model.running(lambda *at: one.told.append(at)):
            await one.model.settled()
            assert await one.model.checks(nothing)() == {"database": True, "language_model_loaded": True}
            assert one.address.startswith("http://127.0.0.1:") and len(one.key) > 40
            assert (await ask(one.address, "guessed")).status_code == 401
            answer = await ask(one.address, one.key)
            assert answer.status_code == 200 and answer.json()["usage"]["completion_tokens"] <= 3
            first, (pid,) = one.told[-1], set(child_pids()) - others
            assert one.key.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert not [line for line in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if b"CONCLAVE" in line]
            async with other.model.running(lambda *at: other.told.append(at)):
                await other.model.settled()
                assert other.told == [first] and set(child_pids()) - others == {pid}, "one server for all"
                os.kill(pid, signal.SIGKILL)
                await until(lambda: one.address not in (NOWHERE, first[0]))
                assert (NOWHERE, "") in one.told and one.key != first[1]
                await until(lambda: other.told[-1] == one.told[-1])
                assert (await ask(other.address, other.key)).status_code == 200
        assert not set(child_pids()) - others and not (store.folder / "serving.json").exists()

    async def test_one_that_may_not_have_the_memory_fails_and_is_tried_again(self, store: ModelStore) -> None:
        one = watched(store, SMALL._replace(memory_bytes=30 << 20))
        async with one.model.running(lambda *at: one.told.append(at)):
            await one.model.settled()
            assert one.model.state == "failed"
            assert (await one.model.checks(nothing)())["language_model_loaded"], "it is not loading: the rules answer"
            await until(lambda: len(one.told) > 1)
        assert {address for address, _ in one.told} == {NOWHERE}


class TestChoice:
    def test_what_serves_is_what_use_wrote(self, store: ModelStore) -> None:
        data_dir = store.folder.parents[1]
        found = model_of(data_dir)
        assert found is not None and found.name == NAME
        store.serve("chat", "")
        assert model_of(data_dir) is None

    def test_a_model_that_is_gone_is_told(self, store: ModelStore) -> None:
        store.serve("chat", "another")
        with pytest.raises(AppError, match="no model 'another' here"):
            model_of(store.folder.parents[1])


KEEP = """
import asyncio, sys
from pathlib import Path
from app.models.serving import model_of
async def keep():
    model = model_of(Path(sys.argv[1]))
    async with model.running(lambda *at: print(at[0], flush=True)):
        await asyncio.sleep(600)
asyncio.run(keep())
"""


class TestEnd:
    async def test_the_server_does_not_outlive_a_service_that_is_killed(self, store: ModelStore) -> None:
        arguments = (sys.executable, "-c", KEEP, str(store.folder.parents[1]))
        service = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
        assert service.stdout
        async with asyncio.timeout(PATIENCE_SECONDS):
            address = (await service.stdout.readline()).decode().strip()
        assert address.startswith("http://127.0.0.1:")
        service.kill()
        await service.wait()
        async with httpx.AsyncClient() as client, asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(httpx.TransportError):
                while True:
                    await client.get(f"{address}/models")
                    await asyncio.sleep(0.02)
