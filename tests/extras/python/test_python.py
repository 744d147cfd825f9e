"""`python_tool` and the sandbox under it: what programs give back, and what becomes of their processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from app.errors import ToolFailed, ToolRetry
from app.reasoning import Arguments
from extras.python.sandbox import MAX_CODE_CHARS, Limits, ProgramStopped, Sandbox, Stop
from extras.python.sandbox.program_keeper import _json
from extras.python.tool import ProgramFailed, PythonTool
from tests.limits import limit
from tests.unit.tools.recording import RecordingReasoner, call

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("settled_heap")]

SHORT = Limits(wall_seconds=1.0, cpu_seconds=0.5, memory_bytes=32 * 2**20)
LONG = Limits(wall_seconds=30.0, cpu_seconds=30.0)
ENDLESS = "while True: pass"
linux_only = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    made = Sandbox()
    yield made
    await made.aclose()


def group(process: int) -> set[int]:
    """Living processes of a process group."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text("utf-8").rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == process and state != "Z":
            found.add(int(stat.parent.name))
    return found


def computes(process: int) -> bool:
    """Whether the interpreter under a keeper has worked for a while: its program has begun."""
    ticks = 0
    for other in group(process) - {process}:
        try:
            fields = Path(f"/proc/{other}/stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks >= os.sysconf("SC_CLK_TCK") // 5


async def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - nobody tells when a process is gone
            await asyncio.sleep(0.02)


class TestPrograms:
    async def test_print_and_the_last_value_are_the_result(self, sandbox: Sandbox) -> None:
        ran = await sandbox.run("print('một', x)\n[x, 2 ** 70, {1: (2.5, None)}]", {"x": 3})
        assert ran.printed == "một 3\n"
        assert ran.shown == "[3, 1180591620717411303424, {1: (2.5, None)}]"
        assert ran.value == [3, "1180591620717411303424", {"1": [2.5, None]}]
        assert 0 <= ran.seconds < SHORT.wall_seconds

    async def test_nothing_is_left_for_the_next_program(self, sandbox: Sandbox) -> None:
        await sandbox.run("secret = 1\nrandom_name = [secret]")
        with pytest.raises(ProgramStopped, match="NameError"):
            await sandbox.run("secret")

    async def test_an_error_is_told_with_its_line(self, sandbox: Sandbox) -> None:
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run("x = 1\nx / 0")
        assert stopped.value.stop is Stop.PROGRAM
        assert stopped.value.detail == "ZeroDivisionError: division by zero (line 2)"

    @pytest.mark.parametrize(
        ("code", "inputs"),
        [("#" * (MAX_CODE_CHARS + 1), {}), ("1", {"x": "y" * 70_000}), ("1", {"x": [[]] * 40_000})],
    )
    async def test_long_programs_and_inputs_are_not_run(
        self, code: str, inputs: dict[str, JsonValue], sandbox: Sandbox
    ) -> None:
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run(code, inputs)
        assert stopped.value.stop is Stop.TOO_LONG
        assert not sandbox.processes

    async def test_a_name_that_is_none_is_an_error_of_the_program(self, sandbox: Sandbox) -> None:
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run("1", {"not a name": 1})
        assert stopped.value.stop is Stop.PROGRAM

    async def test_output_of_the_whole_allowance_passes_and_one_more_does_not(self, sandbox: Sandbox) -> None:
        ran = await sandbox.run(f"print('x' * {32 * 1024 - 1})\n'y' * {32 * 1024}")
        assert len(ran.printed) + len(ran.shown) == 64 * 1024
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run(f"print('x' * {32 * 1024})\n'y' * {32 * 1024}")
        assert stopped.value.stop is Stop.OUTPUT

    async def test_a_flood_is_ended_long_before_its_time(self, sandbox: Sandbox) -> None:
        began = time.perf_counter()
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run(
                "while True:\n    try:\n        print('x' * 9999)\n    except BaseException: pass", {}, LONG
            )
        assert stopped.value.stop is Stop.OUTPUT
        assert time.perf_counter() - began < limit(LONG.wall_seconds / 3)

    async def test_sleep_counts_on_the_clock_of_the_wall(self, sandbox: Sandbox) -> None:
        code = "import time\nfor _ in range(9): time.sleep(0.09)"
        assert (await sandbox.run(code, {}, SHORT)).seconds >= 0.8
        with pytest.raises(ProgramStopped) as stopped:
            await sandbox.run(code.replace("9)", "99)"), {}, SHORT)
        assert stopped.value.stop is Stop.TIME

    @given(st.recursive(st.none() | st.integers() | st.floats() | st.text() | st.binary(), st.lists, max_leaves=20))
    def test_every_value_has_a_form_for_machines(self, value: object) -> None:
        def is_json(told: Any) -> bool:
            if isinstance(told, list):
                return all(map(is_json, told))
            return told is None or isinstance(told, bool | int | float | str)

        assert is_json(_json(value, 0))


@linux_only
class TestProcesses:
    async def test_programs_run_side_by_side_and_no_more_than_allowed(self, sandbox: Sandbox) -> None:
        nap = "import time\ntime.sleep(0.5)"
        await asyncio.gather(*(sandbox.run("1") for _ in range(2)))
        began = time.perf_counter()
        await asyncio.gather(*(sandbox.run(nap) for _ in range(2)))
        assert time.perf_counter() - began < limit(0.95)
        await asyncio.gather(*(sandbox.run(nap) for _ in range(3)))
        assert len(sandbox.processes) == 2

    async def test_a_process_is_used_again_and_goes_away_when_idle(self) -> None:
        sandbox = Sandbox(idle_seconds=0.3)
        await sandbox.run("1")
        (first,) = sandbox.processes
        await sandbox.run("2")
        assert sandbox.processes == (first,)
        await until(lambda: not sandbox.processes and not group(first))
        assert (await sandbox.run("3")).value == 3
        await sandbox.aclose()

    async def test_one_that_was_killed_while_idle_is_replaced(self, sandbox: Sandbox) -> None:
        await sandbox.run("1")
        (first,) = sandbox.processes
        os.kill(first, signal.SIGKILL)
        await until(lambda: not group(first))
        assert (await sandbox.run("2")).value == 2
        assert first not in sandbox.processes

    @pytest.mark.parametrize("victim", ["keeper", "interpreter"])
    async def test_one_that_dies_under_a_program_is_replaced(self, victim: str, sandbox: Sandbox) -> None:
        await sandbox.run("1")
        (keeper,) = sandbox.processes
        running = asyncio.create_task(sandbox.run(ENDLESS, {}, LONG))
        await until(lambda: computes(keeper))
        os.kill(keeper if victim == "keeper" else max(group(keeper) - {keeper}), signal.SIGKILL)
        with pytest.raises(ProgramStopped) as stopped:
            await running
        assert stopped.value.stop is Stop.CRASH
        assert (await sandbox.run("2")).value == 2
        await until(lambda: not group(keeper))

    async def test_a_cancelled_call_takes_its_processes_with_it(self, sandbox: Sandbox) -> None:
        await sandbox.run("1")
        (keeper,) = sandbox.processes
        running = asyncio.create_task(sandbox.run(ENDLESS, {}, LONG))
        await until(lambda: computes(keeper))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await until(lambda: not group(keeper))

    async def test_nothing_outlives_a_service_that_is_killed(self) -> None:
        service = await asyncio.create_subprocess_exec(sys.executable, "-c", _SERVICE, stdout=subprocess.PIPE)
        assert service.stdout is not None
        keeper = int(await service.stdout.readline())
        await until(lambda: computes(keeper))
        service.kill()
        await service.wait()
        await until(lambda: not group(keeper))

    async def test_no_secret_of_the_service_is_within_reach(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONCLAVE_CANARY", "canary-11c0")
        await sandbox.run("1")
        (keeper,) = sandbox.processes
        process = Path(f"/proc/{keeper}")
        assert b"canary-11c0" not in (process / "environ").read_bytes()
        assert len(list((process / "fd").iterdir())) < 12

    async def test_a_closed_sandbox_keeps_no_process(self) -> None:
        sandbox = Sandbox()
        await sandbox.run("1")
        (keeper,) = sandbox.processes
        await sandbox.aclose()
        assert not sandbox.processes
        await until(lambda: not group(keeper))

    async def test_where_nothing_can_be_started_another_try_may_help(
        self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ToolRetry):
            await sandbox.run("1")


_SERVICE = f"""
import asyncio
from extras.python.sandbox import Limits, Sandbox
async def main():
    sandbox = Sandbox()
    await sandbox.run("1")
    print(*sandbox.processes, flush=True)
    await sandbox.run({ENDLESS!r}, {{}}, Limits(wall_seconds=60, cpu_seconds=60))
asyncio.run(main())
"""


class TestTool:
    def tool(self, sandbox: Sandbox, limits: Limits | None = None, **values: str) -> PythonTool:
        return PythonTool(RecordingReasoner(arguments=Arguments(values=values)), sandbox, limits)

    async def test_answers_with_output_value_evidence_and_cost(self, sandbox: Sandbox) -> None:
        tool = self.tool(sandbox, code="print('tổng')\nsum(rows)", inputs='{"rows": [1, 2, 3]}')
        result = await tool(call("tổng là bao nhiêu?"))
        assert result.text == "tổng\n6"
        assert result.value == 6
        (evidence,) = result.evidence
        assert evidence.source_type == "math"
        assert evidence.url.startswith("python:")
        assert result.trace[0].startswith("program: ")

    async def test_a_silent_program_is_told_as_one(self, sandbox: Sandbox) -> None:
        result = await self.tool(sandbox, code="x = 1")(call("?", language="en"))
        assert result.text == "The program ended and printed nothing."

    @pytest.mark.parametrize(
        ("code", "language", "stop", "sentence"),
        [
            ("missing", "en", Stop.PROGRAM, "error of its own: NameError: name 'missing' is not defined (line 1)."),
            ("missing", "vi", Stop.PROGRAM, "dừng vì lỗi của nó: NameError"),
            ("[0] * 10**10", "vi", Stop.MEMORY, "quá nhiều bộ nhớ"),
            (ENDLESS, "en", Stop.TIME, "ran too long"),
            ("'x' * 70000", "en", Stop.OUTPUT, "too much output"),
        ],
    )
    async def test_a_stopped_program_is_told_in_the_language_of_the_asker(
        self, code: str, language: Any, stop: Stop, sentence: str, sandbox: Sandbox
    ) -> None:
        with pytest.raises(ProgramFailed) as failed:
            await self.tool(sandbox, SHORT, code=code)(call("?", language=language))
        assert failed.value.stop is stop
        assert sentence in str(failed.value)

    async def test_a_call_with_little_time_left_gives_the_program_less(self, sandbox: Sandbox) -> None:
        soon = asyncio.get_running_loop().time() + 1.3
        began = time.perf_counter()
        with pytest.raises(ProgramFailed):
            await self.tool(sandbox, LONG, code=ENDLESS)(call("?").model_copy(update={"until": soon}))
        assert time.perf_counter() - began < limit(5)

    async def test_a_program_that_is_missing_or_too_long_is_refused(self, sandbox: Sandbox) -> None:
        for code, inputs in (("", "{}"), ("x" * (MAX_CODE_CHARS + 1), "{}"), ("1", "not json")):
            with pytest.raises(ToolFailed):
                await self.tool(sandbox, code=code, inputs=inputs)(call("?"))
        assert not sandbox.processes
