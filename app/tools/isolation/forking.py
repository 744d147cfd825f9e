"""The process that others are forked from: what the function needs is loaded once, a call costs one fork.

Started by `isolated` with one end of a socket pair. Every message on it carries one descriptor, a socket: through it
the forked process gets the bytes, to their end, and answers with one status byte and the result. This process only
watches: when the other side closes that socket, the forked process is killed.
"""

import gc
import importlib
import json
import os
import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.confinement import confine, detach, die_with_parent

DONE, RAISED, OUT_OF_MEMORY = b"=", b"!", b"m"
"""First byte of an answer; behind `RAISED` stands the name of what was raised."""
READY = b"ready"
_IDLE_MS = 120_000
"""With nothing to do for so long this process ends; the next call starts another."""
_READ_BYTES = 1 << 18


class _Forker:
    def __init__(self, control: socket.socket, function: Callable[[bytes], bytes], limits: dict[str, Any]):
        self._control = control
        self._function = function
        self._limits = limits
        self._running: dict[int, socket.socket] = {}
        """By the number of the process: our copy of its socket."""
        self._wake, self._waker = socket.socketpair()
        for one in (self._wake, self._waker):
            one.setblocking(False)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Fork until the other side goes away or nothing comes any more."""
        while ready := self._wait():
            if self._wake.fileno() in ready:
                self._wake.recv(4096)
            for process, data in self._running.items():
                if data.fileno() in ready:
                    os.kill(process, signal.SIGKILL)
            self._reap()
            if self._control.fileno() in ready and not self._begin():
                break
        for process in self._running:
            os.kill(process, signal.SIGKILL)

    def _wait(self) -> set[int]:
        poll = select.poll()
        for one in (self._control, self._wake):
            poll.register(one, select.POLLIN | select.POLLHUP)
        for data in self._running.values():
            # Nothing is asked for: a hang-up is told all the same, and only that counts.
            poll.register(data, 0)
        while True:
            ready = {found for found, _ in poll.poll(_IDLE_MS)}
            if ready or not self._running:
                return ready

    def _reap(self) -> None:
        while self._running:
            ended, _ = os.waitpid(-1, os.WNOHANG)
            if not ended:
                return
            self._running.pop(ended).close()

    def _begin(self) -> bool:
        """Fork for the next call; False when no more will come."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        except OSError:
            return False
        if not message or len(descriptors) != 1:
            return False
        data = socket.socket(fileno=descriptors[0])
        process = os.fork()
        if process == 0:
            self._become(data)
        self._running[process] = data
        return True

    def _become(self, data: socket.socket) -> None:
        """In the child: drop what belongs to others, do the work, answer, end."""
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            for one in (self._control, self._wake, self._waker, *self._running.values()):
                one.close()
            data.setblocking(True)
            confine(**self._limits)
            _answer(data.fileno(), self._function)
        finally:
            os._exit(0)


def _answer(data: int, function: Callable[[bytes], bytes]) -> None:
    try:
        content = bytearray()
        while piece := os.read(data, _READ_BYTES):
            content += piece
        answer = DONE + function(bytes(content))
    except MemoryError:
        answer = OUT_OF_MEMORY
    except Exception as error:
        answer = RAISED + type(error).__name__.encode("ascii", "replace")
    with suppress(OSError):
        left = memoryview(answer)
        while left:
            left = left[os.write(data, left) :]


def main(descriptor: int, order: str) -> None:
    """Serve on an inherited socket until its other end is closed. `order`: function and limits, as JSON."""
    told = json.loads(order)
    path, _, name = told["function"].partition(":")
    module = importlib.import_module(path)
    function: Callable[[bytes], bytes] = getattr(module, name)
    # Libraries load parts of themselves when they are first used; later nothing can be opened.
    if sample := getattr(module, "SAMPLE", b""):
        function(sample)
    control = socket.socket(fileno=descriptor)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    os.close(silence)
    detach()
    gc.collect()
    gc.freeze()
    control.sendall(READY)
    _Forker(control, function, told["limits"]).serve()
    os._exit(0)
