"""Hostile programs: nothing gets out, each ends in time, the service does not feel it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from extras.python.sandbox import Limits, ProgramStopped, Ran, Sandbox, Stop
from tests.extras.python.hostile_programs import HOSTILE
from tests.limits import limit
from tests.measured import measured
from tests.unit.tools.lag import LoopLag

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("settled_heap")]

LIMITS = Limits(wall_seconds=1.0, cpu_seconds=0.4, memory_bytes=32 * 2**20)
_LATE_SECONDS, _MOST_LAG_SECONDS = 1.0, 0.1
_SIDE_BY_SIDE = 2
_SECRET = "canary-7f3a91"


@dataclass
class Surroundings:
    """What a program would touch if it got out."""

    secret: Path
    unmade: Path
    port: int
    visitors: list[str] = field(default_factory=list)

    def aimed(self, program: str) -> str:
        for mark, target in (
            ("@FILE@", str(self.secret)), ("@NEW@", str(self.unmade)), ("@PORT@", str(self.port)),
            ("@PID@", str(os.getpid())),
        ):  # fmt: skip
            program = program.replace(mark, target)
        return program


@pytest.fixture
async def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Surroundings]:
    monkeypatch.setenv("CONCLAVE_CANARY", _SECRET)
    secret = tmp_path / "secret.txt"
    secret.write_text(_SECRET)
    found = Surroundings(secret, tmp_path / "new", 0)

    async def visited(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.visitors.append(str(writer.get_extra_info("peername")))
        writer.close()

    async with await asyncio.start_server(visited, "127.0.0.1", 0) as server:
        found.port = server.sockets[0].getsockname()[1]
        yield found


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    made = Sandbox(processes=_SIDE_BY_SIDE)
    yield made
    await made.aclose()


def test_there_are_at_least_150_different_programs() -> None:
    programs = [program for group in HOSTILE.values() for program in group]
    assert len(set(programs)) == len(programs) >= 150


@pytest.mark.parametrize("group", HOSTILE)
async def test_no_program_gets_out_or_outstays(group: str, sandbox: Sandbox, surroundings: Surroundings) -> None:
    ready = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def outcome(program: str) -> tuple[str, Ran | ProgramStopped, float]:
        async with ready:
            began = time.perf_counter()
            try:
                ended: Ran | ProgramStopped = await sandbox.run(surroundings.aimed(program), {}, LIMITS)
            except ProgramStopped as stopped:
                ended = stopped
            return program, ended, time.perf_counter() - began

    async with LoopLag() as lag:
        outcomes = await asyncio.gather(*(outcome(program) for program in HOSTILE[group]))

    for program, ended, seconds in outcomes:
        told = f"{ended.detail}" if isinstance(ended, ProgramStopped) else f"{ended.printed}{ended.shown}{ended.value}"
        assert _SECRET not in told, program
        assert "root:" not in told, program
        assert len(told) < 3 * LIMITS.output_bytes, program
        assert seconds < limit(LIMITS.wall_seconds + _LATE_SECONDS), program
    assert not surroundings.unmade.exists()
    assert surroundings.secret.read_text() == _SECRET
    assert not surroundings.visitors
    assert lag.longest_seconds < limit(_MOST_LAG_SECONDS)
    measured(14, programs=len(outcomes), escapes=0)
    good = await sandbox.run("sum(x * n for x in range(5))", {"n": 2})
    assert good.value == 20


@pytest.mark.parametrize(
    ("group", "stops"),
    [
        ("memory", {Stop.MEMORY}),
        ("time", {Stop.TIME}),
        ("output", {Stop.OUTPUT}),
    ],
)
async def test_what_costs_too_much_is_told_by_its_limit(group: str, stops: set[Stop], sandbox: Sandbox) -> None:
    for program in HOSTILE[group][:2]:
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run(program, {}, LIMITS)
        assert stopped.value.stop in stops
