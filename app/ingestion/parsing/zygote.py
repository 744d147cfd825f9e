"""The process that readers are forked from: the libraries are loaded once, a file costs one fork.

Started by `parser` as ``python -I -c …``, with one end of a socket pair. Every message on it is one job: its limits
and two sockets. Through ``data`` the reader gets the file and answers. ``life`` stays here: when the other side closes
it, the reader is killed; when the reader ends, how it ended is written to it. There is nothing else to agree upon, and
no process id is ever given to anybody.
"""

import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from contextlib import suppress

from app.confinement import confine, detach, die_with_parent, resident_bytes
from app.ingestion.parsing.advice import ParseFailed
from app.ingestion.parsing.job import BROKEN, JOB_BYTES, OUT_OF_MEMORY, Job, Verdict
from app.ingestion.parsing.reading import read_file

_IDLE_SECONDS = 120
"""With nothing to do for so long this process ends; the next file starts another."""


class _Zygote:
    def __init__(self, control: socket.socket):
        self._control = control
        self._lives: dict[int, socket.socket] = {}
        """Open jobs by the process id of their reader."""
        self._wake, waker = socket.socketpair()
        self._wake.setblocking(False)
        waker.setblocking(False)
        self._waker = waker
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Fork readers until the other side goes away or nothing comes any more."""
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
        """What can be read; nothing after a long time without work."""
        poll = select.poll()
        for one in (self._control, self._wake, *self._lives.values()):
            poll.register(one, select.POLLIN | select.POLLHUP)
        while True:
            ready = {found for found, _ in poll.poll(_IDLE_SECONDS * 1000)}
            if ready or not self._lives:
                return ready

    def _begin(self) -> bool:
        """Fork a reader for the next job; False when no more will come."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, JOB_BYTES, 2)
        except OSError:
            return False
        if not message or len(descriptors) != 2:
            return False
        data, life = (socket.socket(fileno=one) for one in descriptors)
        process = os.fork()
        if process == 0:
            self._become_reader(Job.from_message(message), data, life)
        data.close()
        self._lives[process] = life
        return True

    def _become_reader(self, job: Job, data: socket.socket, life: socket.socket) -> None:
        """In the child: drop what belongs to others, read the file, answer, end."""
        status = BROKEN
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            for one in (self._control, self._wake, self._waker, life, *self._lives.values()):
                one.close()
            limits = job.limits
            confine(
                wall_seconds=limits.wall_seconds,
                cpu_seconds=limits.cpu_seconds,
                memory_bytes=limits.memory_bytes - resident_bytes(),
            )
            status = _answer(data.fileno(), job)
        except MemoryError:
            status = OUT_OF_MEMORY
        finally:
            os._exit(status)

    def _reap(self, process: int = -1) -> None:
        """Tell the other side how readers ended; wait for one that was just killed, else only look."""
        while self._lives:
            ended, status, usage = os.wait4(process, 0 if process > 0 else os.WNOHANG)
            if ended == 0:
                return
            life = self._lives.pop(ended, None)
            if life is not None:
                _tell(life, _verdict(status, usage))
            if process > 0:
                return


def _verdict(status: int, usage: resource.struct_rusage) -> Verdict:
    return Verdict(
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        peak_bytes=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        cpu_seconds=usage.ru_utime + usage.ru_stime,
    )


def _tell(life: socket.socket, verdict: Verdict) -> None:
    # When nobody waits for it any more, the socket is closed at the other end.
    with suppress(OSError), life:
        life.sendall(verdict.to_message())


def _answer(data: int, job: Job) -> int:
    """Read the file from the socket, and write what it says to it as JSON. The exit code."""
    content = bytearray(job.size)
    missing = memoryview(content)
    while missing and (received := os.readv(data, [missing])):
        missing = missing[received:]
    try:
        answer = json.dumps(read_file(bytes(content), job.kind, job.limits), ensure_ascii=False)
    except ParseFailed as failure:
        answer = json.dumps({"failure": failure.code, "detail": failure.detail})
    left = memoryview(answer.encode("utf-8", "replace"))
    while left:
        left = left[os.write(data, left) :]
    return 0


def main(descriptor: int) -> None:
    """Serve on an inherited socket until its other end is closed."""
    control = socket.socket(fileno=descriptor)
    control.sendall(b"ready")
    # Libraries complain about hostile files; nobody reads that.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    os.close(silence)
    detach()
    gc.collect()
    gc.freeze()
    _Zygote(control).serve()
    os._exit(0)
