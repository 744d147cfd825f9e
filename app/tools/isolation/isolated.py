"""`Isolated`: one function from bytes to bytes, run in a fresh confined process for every call."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from app.tools.isolation.forking import DONE, OUT_OF_MEMORY, READY

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from app.tools.isolation.forking import main; main(int(sys.argv[1]), sys.argv[2])"
)
_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""All else stays behind: keys and passwords are in the environment."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 0.5
_READ_BYTES = 1 << 18
_ALMOST = 0.9


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
    """Runs a module-level function on untrusted bytes, at most `processes` calls at a time.

    Each call has a process of its own: nothing is left over from one to the next, it can open and send nothing, and it
    is killed at its limits and when the call is cancelled. Nothing is started before the first call. Belongs to one
    event loop. `aclose` ends what was started; so does the end of this process.
    """

    def __init__(self, function: str, limits: ProcessLimits | None = None, *, processes: int = 2):
        """Args:
        function: ``package.module:name``, a function from bytes to bytes. Where the module has a ``SAMPLE`` (bytes), it
            is run on that once at the start, so that libraries load all they load lazily.
        limits: What one call may take; unset = the defaults.
        processes: Calls at a time.
        """
        self.limits = limits or ProcessLimits()
        self._order = {"function": function, "limits": _confinement(self.limits)}
        self._slots = asyncio.Semaphore(processes)
        self._starting = asyncio.Lock()
        self._forking: _Forking | None = None
        self._is_closed = False

    async def __call__(self, content: bytes) -> bytes:
        """The function's result. Raises `IsolationFailed`."""
        async with self._slots:
            try:
                return await self._run(content)
            except _Lost:
                # It may have ended by itself a moment ago, for want of work.
                pass
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
                started = _Forking(self._order)
                try:
                    await started.ready()
                except BaseException:
                    await started.stop()
                    raise
                self._forking = started
            return self._forking

    async def _run(self, content: bytes) -> bytes:
        forking = await self._running()
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self.limits.wall_seconds + _GRACE_SECONDS):
                answer = await forking.exchange(content, self.limits.output_bytes)
        except TimeoutError as error:
            raise IsolationFailed(IsolationEnd.TIME_LIMIT) from error
        if not answer:
            if not forking.is_alive:
                raise _Lost
            is_late = loop.time() - began >= min(self.limits.wall_seconds, self.limits.cpu_seconds) * _ALMOST
            raise IsolationFailed(IsolationEnd.TIME_LIMIT if is_late else IsolationEnd.CRASHED)
        status, result = answer[:1], answer[1:]
        if status == DONE:
            return result
        if status == OUT_OF_MEMORY:
            raise IsolationFailed(IsolationEnd.MEMORY_LIMIT)
        raise IsolationFailed(IsolationEnd.RAISED, result[:60].decode("ascii", "replace"))


class _Forking:
    """The forking process, seen from here."""

    def __init__(self, order: Mapping[str, object]) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        arguments = [
            sys.executable, "-I", "-c", _PROGRAM, str(theirs.fileno()), json.dumps(order), json.dumps(sys.path),
        ]  # fmt: skip
        with theirs:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(theirs.fileno(),), env=kept
            )

    @property
    def is_alive(self) -> bool:
        """Whether calls can be given to it."""
        return self._process.poll() is None

    async def ready(self) -> None:
        """Wait until the function is loaded. Raises `_Lost`."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                greeting = await asyncio.get_running_loop().sock_recv(self._control, len(READY))
        except (OSError, TimeoutError) as error:
            raise _Lost from error
        if not greeting:
            raise _Lost

    async def exchange(self, content: bytes, most: int) -> bytes:
        """What one forked process answers; empty when it ended without. Raises `_Lost`, `IsolationFailed`."""
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            with theirs:
                self._hand_over(theirs)
            with contextlib.suppress(ConnectionError):
                await loop.sock_sendall(ours, content)
                ours.shutdown(socket.SHUT_WR)
            received = bytearray()
            with contextlib.suppress(ConnectionError):
                while len(received) <= most and (piece := await loop.sock_recv(ours, _READ_BYTES)):
                    received += piece
        if len(received) > most:
            raise IsolationFailed(IsolationEnd.OUTPUT_LIMIT)
        return bytes(received)

    async def stop(self) -> None:
        """Kill it, and with it all it forked."""
        self._control.close()
        if self._process.poll() is None:
            self._process.kill()
        await asyncio.to_thread(self._process.wait)

    def _hand_over(self, theirs: socket.socket) -> None:
        try:
            socket.send_fds(self._control, [b"+"], [theirs.fileno()])
        except OSError as error:
            raise _Lost from error


def _confinement(limits: ProcessLimits) -> dict[str, float]:
    told: dict[str, float] = asdict(limits)
    del told["output_bytes"]
    return told
