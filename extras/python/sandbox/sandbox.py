"""The sandbox as the service sees it: a few processes that run one program each and are killed when they must be."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, ValidationError

from app.domain.record import Record
from app.errors import ToolFailed, ToolRetry
from app.text.language import clean

MAX_CODE_CHARS = 8000
MAX_OUTPUT_BYTES = 64 * 1024
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]);from program_keeper import main; main(int(sys.argv[1]))"
)
_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""All else stays behind: keys and passwords are in the environment."""
_MAX_INPUT_CHARS, _MAX_DETAIL_CHARS = 64 * 1024, 400
_START_SECONDS, _TRIES = 30.0, 4
_BYTES_A_BYTE, _SPARE_BYTES = 16, 64 * 1024
"""An answer is the output twice, as text and for machines, in JSON's ASCII."""
_READ_BYTES = 256 * 1024


class Limits(Record):
    """The costs at which a program is ended."""

    wall_seconds: float = Field(default=10.0, gt=0, le=60)
    """From handing the program over to having its result; sleeping counts."""
    cpu_seconds: float = Field(default=5.0, gt=0, le=60)
    """Of computing; sleeping does not count."""
    memory_bytes: int = Field(default=64 * 2**20, ge=2**20, le=2**30)
    output_bytes: int = Field(default=MAX_OUTPUT_BYTES, ge=1, le=MAX_OUTPUT_BYTES)
    """UTF-8 of what is printed and of the last value written out, together."""


class Ran(Record):
    """A program that came to its end."""

    printed: str
    shown: str
    """The value of the last line, when it is an expression, as Python writes it (a text as it is); else empty."""
    value: JsonValue
    """The same for machines: what JSON has no word for is text (whole numbers beyond 2^53, dates, exact decimals)."""
    seconds: float
    peak_bytes: int | None
    """The most memory its process held, some 9 MB of it the interpreter's own; None where that is not told."""


class Stop(StrEnum):
    """Why a program gave no result."""

    TOO_LONG = "too_long"
    """The program or its inputs; it was not run."""
    PROGRAM = "program"
    """An error of its own: syntax, an unknown name, an exception it did not catch."""
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    CRASH = "crash"
    """The process died under it; the next program gets another."""


class ProgramStopped(ToolFailed):
    """The program gave no result; `detail` is its own message, one bounded line, for `Stop.PROGRAM`."""

    def __init__(self, stop: Stop, detail: str = ""):
        super().__init__(f"{stop}: {detail}" if detail else stop)
        self.stop = stop
        self.detail = detail


class _Gone(Exception):
    """The process had ended before the program began; another may run it."""


class Sandbox:
    """Runs programs side by side, at most `processes` at a time. Nothing is started before the first program.

    Belongs to one event loop. A process without work goes away after `idle_seconds`; `aclose` ends all of them, and so
    does the end of this process, however it comes.
    """

    def __init__(self, processes: int = 2, idle_seconds: float = 60.0):
        self._slots = asyncio.Semaphore(processes)
        self._idle_seconds = idle_seconds
        self._idle: dict[_Keeper, asyncio.TimerHandle] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def run(self, code: str, inputs: Mapping[str, JsonValue] | None = None, limits: Limits | None = None) -> Ran:
        """Run `code` with the names of `inputs` bound; limits unset = the defaults.

        There are no files, no network, no environment and no functions of the service in there: the standard library's
        harmless part is all. Raises `ProgramStopped`, and `ToolRetry` when no process could be started. The process is
        killed at the wall-clock limit and when this call is cancelled.
        """
        allowed = limits or Limits()
        message = _message(code, inputs or {}, allowed)
        async with self._slots:
            for _ in range(_TRIES):
                keeper = await self._ready_keeper()
                with suppress(_Gone):
                    return await self._with(keeper, message, allowed)
        raise ToolRetry("the processes for the program ended before it began")

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of the processes that wait for work."""
        return tuple(keeper.process_id for keeper in self._idle)

    async def aclose(self) -> None:
        """End every process that waits, and wait until all that were ended are gone.

        A process at work ends when its program does.
        """
        self._is_closed = True
        for keeper, timer in list(self._idle.items()):
            timer.cancel()
            self._end(keeper)
        await asyncio.gather(*self._ending)

    async def _with(self, keeper: "_Keeper", message: bytes, limits: Limits) -> Ran:
        """Have one keeper run the program; it is kept for the next where nothing is wrong with it."""
        is_sound = False
        try:
            ran = await keeper.run(message, limits)
            is_sound = True
        except ProgramStopped as stopped:
            is_sound = stopped.stop is Stop.PROGRAM
            raise
        finally:
            if is_sound and not self._is_closed:
                self._keep(keeper)
            else:
                self._end(keeper)
        return ran

    async def _ready_keeper(self) -> "_Keeper":
        """One that waits for work, else a new one. Raises `ToolRetry`."""
        while self._idle:
            keeper, timer = self._idle.popitem()
            timer.cancel()
            if keeper.is_alive:
                return keeper
            self._end(keeper)
        try:
            keeper = _Keeper()
        except OSError as error:
            raise ToolRetry("no process for the program could be started") from error
        try:
            await keeper.ready()
        except BaseException:
            self._end(keeper)
            raise
        return keeper

    def _keep(self, keeper: "_Keeper") -> None:
        loop = asyncio.get_running_loop()
        self._idle[keeper] = loop.call_later(self._idle_seconds, self._end, keeper)

    def _end(self, keeper: "_Keeper") -> None:
        self._idle.pop(keeper, None)
        keeper.kill()
        task = asyncio.get_running_loop().create_task(keeper.gone())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class _Keeper:
    """A keeper process and the interpreter under it, as one group."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        self._received = bytearray()
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        paths = [str(Path(path).absolute()) for path in sys.path if path] + [str(Path(__file__).parent)]
        arguments = [sys.executable, "-I", "-c", _PROGRAM, str(theirs.fileno()), json.dumps(paths)]
        with theirs:
            try:
                self._process = subprocess.Popen(
                    arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),), env=kept, cwd="/", start_new_session=True,
                )  # fmt: skip
            except OSError:
                self._channel.close()
                raise

    @property
    def process_id(self) -> int:
        """Also the id of the group."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it waits for work; it says nothing while it does, so whatever it says is its end."""
        try:
            self._channel.recv(1)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    async def ready(self) -> None:
        """Wait until it can be given a program. Raises `ToolRetry`."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._line(_SPARE_BYTES)
        except (TimeoutError, OSError, ProgramStopped) as error:
            raise ToolRetry("the process for the program did not start") from error

    async def run(self, message: bytes, limits: Limits) -> Ran:
        """Run the program in `message`. Raises `ProgramStopped`, and `_Gone` when it was not begun."""
        most = limits.output_bytes * _BYTES_A_BYTE + _SPARE_BYTES
        try:
            async with asyncio.timeout(limits.wall_seconds):
                await self._begin(message)
                answer = await self._line(most)
        except TimeoutError as late:
            raise ProgramStopped(Stop.TIME) from late
        except OSError as lost:
            raise ProgramStopped(Stop.CRASH) from lost
        return _outcome(answer)

    async def _begin(self, message: bytes) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._channel, message)
            await self._line(_SPARE_BYTES)
        except OSError as lost:
            raise _Gone from lost

    def kill(self) -> None:
        """End the whole group now. The group's id is nobody else's until `gone` has taken the process's leave."""
        self._channel.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until the killed process has left the table."""
        await asyncio.to_thread(self._process.wait)

    async def _line(self, most: int) -> bytes:
        """The next message, of at most so many bytes. Raises `OSError`, and `ProgramStopped` for one that is longer."""
        while (end := self._received.find(b"\n")) < 0:
            piece = await asyncio.get_running_loop().sock_recv(self._channel, _READ_BYTES)
            if not piece:
                raise ConnectionResetError
            self._received += piece
            if len(self._received) > most:
                raise ProgramStopped(Stop.OUTPUT)
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line


def _message(code: str, inputs: Mapping[str, JsonValue], limits: Limits) -> bytes:
    """What the keeper is told. Raises `ProgramStopped` (TOO_LONG)."""
    try:
        bound = json.dumps(inputs)
    except RecursionError as nested:
        raise ProgramStopped(Stop.TOO_LONG) from nested
    if len(code) > MAX_CODE_CHARS or len(bound) > _MAX_INPUT_CHARS:
        raise ProgramStopped(Stop.TOO_LONG)
    return json.dumps({"code": code, "inputs": dict(inputs)} | limits.model_dump()).encode("ascii") + b"\n"


def _outcome(answer: bytes) -> Ran:
    """What the keeper told; it is as little trusted as the program. Raises `ProgramStopped`."""
    try:
        told: dict[str, Any] = json.loads(answer)
        if "stop" in told:
            raise ProgramStopped(Stop(told["stop"]), clean(str(told.get("detail", "")))[:_MAX_DETAIL_CHARS])
        told["value"] = _cleaned(told["value"])
        return Ran(**(told | {"printed": clean(told["printed"]), "shown": clean(told["shown"])}))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError) as error:
        raise ProgramStopped(Stop.CRASH) from error


def _cleaned(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}
        case list():
            return [_cleaned(item) for item in value]
    return value
