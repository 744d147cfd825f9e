"""`Isolated`: one function from bytes to bytes, run in a fresh confined process for every call."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from app.confinement.forking import DONE, OUT_OF_MEMORY, READY, UNCONFINED, Verdict

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from app.confinement.forking import main; main(int(sys.argv[1]), sys.argv[2])"
)
_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""All else stays behind: keys and passwords are in the environment."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 1.0
_READ_BYTES, _VERDICT_BYTES = 1 << 18, 4096
NEAR_THE_LIMIT = 0.8
"""Share of the memory above which an end by surprise is an end for want of memory."""
_NEAR_THE_TIME = 0.95


class IsolationEnd(StrEnum):
    """Why a call gave no result."""

    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    RAISED = "raised"
    """The function raised; `IsolationFailed.detail` has the name."""
    CRASHED = "crashed"
    UNAVAILABLE = "unavailable"
    """The function could not be loaded, or no process could be started."""
    UNCONFINED = "unconfined"
    """The kernel does not let the process be confined, so the bytes were not looked at."""


class IsolationFailed(Exception):
    """There is no result."""

    def __init__(self, end: IsolationEnd, detail: str = ""):
        super().__init__(f"{end} {detail}".strip())
        self.end = end
        self.detail = detail


@dataclass(frozen=True)
class ProcessLimits:
    """What one call may take."""

    wall_seconds: float = 5.0
    cpu_seconds: int = 4
    memory_bytes: int = 256 * 1024 * 1024
    """On top of what the loaded libraries take."""
    output_bytes: int = 4_000_000


class _Lost(Exception):
    """The forking process ended; another may be started."""


class Isolated:
    """Runs a module-level function on untrusted bytes, each call in a process of its own that can open and send nothing
    and is killed at its limits. Nothing is started before the first call. Belongs to one event loop."""

    may_stay_unconfined: ClassVar[bool] = False
    """Of all that are made from now on: whether they run where Linux does not let them be confined."""

    def __init__(
        self,
        function: str,
        limits: ProcessLimits | None = None,
        *,
        processes: int = 2,
        hidden_modules: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ):
        """`function`: ``package.module:name``, from bytes to bytes; a ``SAMPLE`` of its module is run once at the
        start. `processes` at a time, without `hidden_modules`, with `environment` alone."""
        self.limits = limits or ProcessLimits()
        confinement = {name: getattr(self.limits, name) for name in ("wall_seconds", "cpu_seconds", "memory_bytes")}
        confinement["may_stay_unconfined"] = self.may_stay_unconfined
        self._order = json.dumps({"function": function, "limits": confinement, "hidden": list(hidden_modules)})
        self._environment = dict(environment or {})
        self._slots = asyncio.Semaphore(processes)
        self._starting = asyncio.Lock()
        self._forking: _Forking | None = None
        self._is_closed = False

    async def __call__(self, content: bytes) -> bytes:
        """Run the function and return its result. Raises `IsolationFailed`."""
        async with self._slots:
            # It may have ended by itself a moment ago, for want of work.
            with contextlib.suppress(_Lost):
                return await self._run(content)
            try:
                return await self._run(content)
            except _Lost as lost:
                raise IsolationFailed(IsolationEnd.UNAVAILABLE) from lost

    async def warm(self) -> None:
        """Start now what the first call would start. Raises `IsolationFailed`."""
        try:
            await self._running()
        except _Lost as lost:
            raise IsolationFailed(IsolationEnd.UNAVAILABLE) from lost

    async def aclose(self) -> None:
        """End everything that was started; calls under way fail."""
        self._is_closed = True
        async with self._starting:
            forking, self._forking = self._forking, None
            if forking is not None:
                await forking.stop()

    async def _running(self) -> "_Forking":
        async with self._starting:
            if self._is_closed:
                raise _Lost
            if self._forking is not None and not self._forking.is_alive:
                await self._forking.stop()
                self._forking = None
            if self._forking is None:
                started = _Forking(self._order, self._environment)
                try:
                    await started.ready()
                except BaseException:
                    await started.stop()
                    raise
                self._forking = started
            return self._forking

    async def _run(self, content: bytes) -> bytes:
        forking = await self._running()
        try:
            async with asyncio.timeout(self.limits.wall_seconds + _GRACE_SECONDS):
                answer, verdict = await forking.exchange(content, self.limits.output_bytes)
        except TimeoutError as error:
            raise IsolationFailed(IsolationEnd.TIME_LIMIT) from error
        except _Lost:
            # What was killed a moment ago may still look alive to the system.
            forking.is_lost = True
            raise
        if verdict.signal or verdict.exit or not answer:
            detail = f"signal {verdict.signal}, exit {verdict.exit}"
            raise IsolationFailed(_end_of(verdict, self.limits), detail)
        if answer[:1] == DONE:
            return answer[1:]
        raise IsolationFailed(IsolationEnd.RAISED, answer[1:61].decode("ascii", "replace"))


class _Forking:
    """The forking process, seen from here."""

    def __init__(self, order: str, environment: Mapping[str, str]) -> None:
        self.is_lost = False
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        arguments = [sys.executable, "-I", "-c", _PROGRAM, str(theirs.fileno()), order, json.dumps(sys.path)]
        with theirs:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                env=kept | dict(environment),
            )  # fmt: skip

    @property
    def is_alive(self) -> bool:
        """Whether calls can be given to it."""
        return not self.is_lost and self._process.poll() is None

    async def ready(self) -> None:
        """Wait until the function is loaded. Raises `_Lost`."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                greeting = await asyncio.get_running_loop().sock_recv(self._control, len(READY))
        except (OSError, TimeoutError) as error:
            raise _Lost from error
        if not greeting:
            raise _Lost

    async def exchange(self, content: bytes, most: int) -> tuple[bytes, Verdict]:
        """Return what one forked process answers, and how it ended. Raises `_Lost`, `IsolationFailed`."""
        with contextlib.ExitStack() as ends:
            (data, their_data), (life, their_life) = socket.socketpair(), socket.socketpair()
            for one in (data, life):
                one.setblocking(False)
                ends.enter_context(one)
            with their_data, their_life:
                self._hand_over([their_data.fileno(), their_life.fileno()])
            return await _converse(data, content, most), await _verdict(life)

    async def stop(self) -> None:
        """Kill it, and with it all it forked."""
        self._control.close()
        if self._process.poll() is None:
            self._process.kill()
        await asyncio.to_thread(self._process.wait)

    def _hand_over(self, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._control, [b"+"], descriptors)
        except OSError as error:
            raise _Lost from error


async def _converse(data: socket.socket, content: bytes, most: int) -> bytes:
    """Send the bytes, receive the answer; what was received when the process ended early."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        await loop.sock_sendall(data, content)
        data.shutdown(socket.SHUT_WR)
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while len(received) <= most and (piece := await loop.sock_recv(data, _READ_BYTES)):
            received += piece
    if len(received) > most:
        raise IsolationFailed(IsolationEnd.OUTPUT_LIMIT)
    return bytes(received)


async def _verdict(life: socket.socket) -> Verdict:
    try:
        written = await asyncio.get_running_loop().sock_recv(life, _VERDICT_BYTES)
    except ConnectionError as error:
        raise _Lost from error
    if not written:
        raise _Lost
    return Verdict(*json.loads(written))


def _end_of(verdict: Verdict, limits: ProcessLimits) -> IsolationEnd:
    """Why a process gave no answer."""
    if verdict.exit == UNCONFINED:
        return IsolationEnd.UNCONFINED
    is_out_of_time = verdict.cpu_seconds >= limits.cpu_seconds * _NEAR_THE_TIME
    if verdict.signal in (signal.SIGXCPU, signal.SIGALRM) or (verdict.signal == signal.SIGKILL and is_out_of_time):
        return IsolationEnd.TIME_LIMIT
    if verdict.exit == OUT_OF_MEMORY or verdict.peak_bytes > limits.memory_bytes * NEAR_THE_LIMIT:
        return IsolationEnd.MEMORY_LIMIT
    return IsolationEnd.CRASHED
