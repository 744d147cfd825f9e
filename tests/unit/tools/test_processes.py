import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed, ProcessLimits
from tests.limits import limit
from tests.unit.tools.lag import LoopLag

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("settled_heap")]

LIMITS = ProcessLimits(wall_seconds=1.0, cpu_seconds=1, memory_bytes=64 * 1024 * 1024, output_bytes=1_000_000)
Start = Callable[[str], Awaitable[Isolated]]


@pytest.fixture(scope="module")
async def start() -> AsyncIterator[Start]:
    """A started runner for a function of `isolated_functions`."""
    async with AsyncExitStack() as ends:

        async def started(name: str) -> Isolated:
            isolated = Isolated(f"tests.unit.tools.isolated_functions:{name}", LIMITS)
            ends.push_async_callback(isolated.aclose)
            await isolated.warm()
            return isolated

        yield started


async def end_of(isolated: Isolated, content: bytes = b"x") -> tuple[IsolationEnd, str]:
    """How a call ends; asserts that it took no longer than its limit and a second, and did not hold up the loop."""
    began = time.monotonic()
    with pytest.raises(IsolationFailed) as failed:
        async with LoopLag() as lag:
            await isolated(content)
    assert time.monotonic() - began < limit(LIMITS.wall_seconds + 1)
    assert lag.longest_seconds < limit(0.1)
    return failed.value.end, failed.value.detail


class TestIsolated:
    async def test_gives_what_the_function_gives(self, start: Start) -> None:
        isolated = await start("backwards")
        assert await isolated(b"") == b""
        assert await isolated(b"abc") == b"cba"
        big = bytes(range(256)) * 3_000
        assert await isolated(big) == big[::-1]

    async def test_keeps_nothing_from_one_call_to_the_next(self, start: Start) -> None:
        """The sample was the first call; every later one is the second."""
        isolated = await start("remembers")
        assert [await isolated(b"x") for _ in range(3)] == [b"2"] * 3

    async def test_calls_run_side_by_side(self, start: Start) -> None:
        isolated = await start("backwards")
        assert await asyncio.gather(*(isolated(str(at).encode()) for at in range(12))) == [
            str(at).encode()[::-1] for at in range(12)
        ]

    @pytest.mark.parametrize(
        ("function", "end"),
        [
            ("sleeps", IsolationEnd.TIME_LIMIT),
            ("computes", IsolationEnd.TIME_LIMIT),
            ("backtracks", IsolationEnd.TIME_LIMIT),
            ("hoards", IsolationEnd.MEMORY_LIMIT),
            ("babbles", IsolationEnd.OUTPUT_LIMIT),
            ("dies", IsolationEnd.CRASHED),
        ],
    )
    async def test_ends_at_its_limits(self, start: Start, function: str, end: IsolationEnd) -> None:
        isolated = await start(function)
        assert (await end_of(isolated))[0] is end
        assert (await end_of(isolated))[0] is end

    async def test_tells_what_was_raised_by_name_only(self, start: Start) -> None:
        assert await end_of(await start("raises"), b"secret") == (IsolationEnd.RAISED, "LookupError")

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux takes system calls away")
    async def test_can_do_nothing_but_compute(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        contacted = asyncio.Event()
        listening = await asyncio.start_server(lambda *_: contacted.set(), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        monkeypatch.setenv("CONCLAVE_CANARY", "secret")
        isolated = await start("breaks_out")
        assert await isolated(str(port).encode()) == b""
        listening.close()
        assert not contacted.is_set()
        assert not Path("/tmp/escaped").exists()

    async def test_a_cancelled_call_is_killed_and_the_next_one_works(self, start: Start) -> None:
        isolated = await start("sleeps")
        task = asyncio.create_task(isolated(b"x"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await isolated(b"sample") == b""

    async def test_is_started_anew_when_its_process_is_gone(self, start: Start) -> None:
        isolated = await start("backwards")
        assert isolated._forking is not None
        process = isolated._forking._process
        process.kill()
        process.wait()
        assert await isolated(b"ab") == b"ba"

    async def test_what_cannot_be_loaded_is_unavailable(self) -> None:
        isolated = Isolated("tests.unit.tools.isolated_functions:nothing", LIMITS)
        with pytest.raises(IsolationFailed) as failed:
            await isolated(b"x")
        assert failed.value.end is IsolationEnd.UNAVAILABLE
        await isolated.aclose()

    async def test_a_closed_one_starts_nothing(self, start: Start) -> None:
        isolated = await start("backwards")
        await isolated.aclose()
        with pytest.raises(IsolationFailed):
            await isolated(b"x")


_SERVICE = """
import asyncio
from app.confinement.processes import Isolated
async def main():
    isolated = Isolated("tests.unit.tools.isolated_functions:sleeps")
    await isolated.warm()
    print(isolated._forking._process.pid, flush=True)
    await isolated(b"x")
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent is gone")
async def test_processes_end_with_a_service_that_is_killed() -> None:
    service = await asyncio.to_thread(
        subprocess.Popen, [sys.executable, "-c", _SERVICE], stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    forking = int(await asyncio.to_thread(service.stdout.readline))
    await asyncio.sleep(0.2)
    service.send_signal(signal.SIGKILL)
    await asyncio.to_thread(service.wait)
    service.stdout.close()
    assert await asyncio.to_thread(_is_gone, forking, 5.0)


def _is_gone(process: int, seconds: float) -> bool:
    """Whether it ends in time; one that nobody has buried yet is gone, too."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        stat = Path(f"/proc/{process}/stat")
        try:
            if stat.read_text("ascii").rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False
