"""The process that others are forked from: what a function needs is loaded once, a call costs one fork.

A message on its socket pair is one call: two sockets. Through ``data`` the forked process gets the bytes and answers;
when ``life`` is closed it is killed, and how it ended is written there.
"""

import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from app.confinement.kernel import Unconfined, confine, detach, die_with_parent, resident_bytes

READY = b"ready"
DONE, RAISED = b"=", b"!"
"""First byte of an answer; behind `RAISED` stands the name of what was raised."""
OUT_OF_MEMORY, BROKEN, UNCONFINED = 91, 92, 93
"""Exit codes of a process that could not answer."""
_IDLE_SECONDS = 120
"""With nothing to do for so long this process ends; the next call starts another."""
_READ_BYTES = 1 << 18


class Verdict(NamedTuple):
    """How a forked process ended."""

    signal: int = 0
    exit: int = 0
    peak_bytes: int = 0
    """Resident memory at its highest, on top of what the libraries take."""
    cpu_seconds: float = 0.0


class _Forker:
    def __init__(self, control: socket.socket, function: Callable[[bytes], bytes], limits: dict[str, Any]):
        self._own, self._control, self._function, self._limits = os.getpid(), control, function, limits
        self._libraries_bytes = resident_bytes()
        self._lives: dict[int, socket.socket] = {}
        """Of the calls under way, by the id of their process."""
        self._wake, self._waker = socket.socketpair()
        for one in (self._wake, self._waker):
            one.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Fork until the other side goes away or nothing comes any more."""
        while ready := self._wait():
            if self._control.fileno() in ready and not self._begin():
                break
            if self._wake.fileno() in ready:
                self._wake.recv(4096)
                self._reap()
            for process, life in list(self._lives.items()):
                if life.fileno() in ready:
                    os.kill(process, signal.SIGKILL)
                    self._reap(process)
        for process in self._lives:
            os.kill(process, signal.SIGKILL)

    def _wait(self) -> set[int]:
        """Wait for something to read; return nothing after a long time without work."""
        poll = select.poll()
        for one in (self._control, self._wake, *self._lives.values()):
            poll.register(one, select.POLLIN | select.POLLHUP)
        while True:
            ready = {found for found, _ in poll.poll(_IDLE_SECONDS * 1000)}
            if ready or not self._lives:
                return ready

    def _begin(self) -> bool:
        """Fork for the next call; False when no more will come."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 1, 2)
        except OSError:
            return False
        if not message or len(descriptors) != 2:
            return False
        data, life = (socket.socket(fileno=one) for one in descriptors)
        process = os.fork()
        if process == 0:
            self._become_worker(data, life)
        data.close()
        self._lives[process] = life
        return True

    def _become_worker(self, data: socket.socket, life: socket.socket) -> None:
        """In the child: drop what belongs to others, do the work, answer, end."""
        status = BROKEN
        try:
            die_with_parent()
            if os.getppid() != self._own:  # it was killed before that, and nobody would end this one
                return
            signal.set_wakeup_fd(-1)
            for one in (self._control, self._wake, self._waker, life, *self._lives.values()):
                one.close()
            data.setblocking(True)
            confine(**self._limits)
            _answer(data.fileno(), self._function)
            status = 0
        except MemoryError:
            status = OUT_OF_MEMORY
        except Unconfined:
            status = UNCONFINED
        finally:
            os._exit(status)

    def _reap(self, process: int = -1) -> None:
        """Tell the other side how processes ended; wait for one that was just killed, else only look."""
        while self._lives:
            ended, status, usage = os.wait4(process, 0 if process > 0 else os.WNOHANG)
            if ended == 0:
                return
            life = self._lives.pop(ended, None)
            if life is not None:
                # When nobody waits for it any more, the socket is closed at the other end.
                with suppress(OSError), life:
                    life.sendall(json.dumps(self._verdict(status, usage)).encode())
            if process > 0:
                return

    def _verdict(self, status: int, usage: resource.struct_rusage) -> Verdict:
        return Verdict(
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
            peak_bytes=peak_bytes(usage) - self._libraries_bytes,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
        )


def peak_bytes(usage: resource.struct_rusage) -> int:
    """Resident memory of a process at its highest."""
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _answer(data: int, function: Callable[[bytes], bytes]) -> None:
    """Read the bytes from the socket to their end, and write the function's result to it."""
    try:
        answer = DONE + function(b"".join(iter(lambda: os.read(data, _READ_BYTES), b"")))
    except MemoryError:
        raise
    except Exception as error:
        answer = RAISED + type(error).__name__.encode("ascii", "replace")
    with suppress(ConnectionError):
        left = memoryview(answer)
        while left:
            left = left[os.write(data, left) :]


def main(descriptor: int, order: str) -> None:
    """Serve on an inherited socket until its other end is closed. `order`: function, limits, modules to hide (JSON)."""
    ordered = json.loads(order)
    for hidden in ordered["hidden"]:
        sys.modules[hidden] = None  # type: ignore[assignment]
    path, _, name = ordered["function"].partition(":")
    module = importlib.import_module(path)
    function: Callable[[bytes], bytes] = getattr(module, name)
    # Libraries load parts of themselves when they are first used; later nothing can be opened.
    if sample := getattr(module, "SAMPLE", b""):
        function(sample)
    control = socket.socket(fileno=descriptor)
    # Libraries complain about hostile bytes; nobody reads that.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    os.close(silence)
    detach()
    gc.collect()
    gc.freeze()
    control.sendall(READY)
    _Forker(control, function, ordered["limits"]).serve()
    os._exit(0)
