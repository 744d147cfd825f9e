"""Stands between the service and the interpreter: a process that runs one program after another and can be killed.

The interpreter's own process speaks to this one only. What it prints and returns is counted and bounded here, so that
neither a flood nor a giant value ever reaches the service. Both processes are one group: this one ends it when the
service is gone, the service ends it at the wall-clock limit. Knows nothing of the rest of the house, to start fast.

Messages are JSON objects, one a line: ``code``, ``inputs`` and the fields of `Limits` come, those of `Ran` with
``stop`` and ``detail`` go.
"""

import ctypes
import json
import math
import os
import queue
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NoReturn

import pydantic_monty as monty

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_NICENESS = 5
_FIRST_VICTIM = "1000"
_OPEN_FILES = 64
_ADDRESS_SPACE_BYTES, _BYTES_A_BYTE = 768 * 2**20, 4
"""What both processes map without using it, and what a value may take once it is a Python object here."""
_GRACE_SECONDS = 0.25
_MAX_RECURSION = 200
_MAX_SUSPENSIONS = 1000
_MAX_DETAIL_CHARS = 300
_MAX_DEPTH = 40
_EXACT_INTEGER = 2**53
_MANY_DIGITS = 64 * 1024


class _TooMuch(Exception):
    """More output than is allowed."""


class _Output:
    """What the program has printed so far."""

    def __init__(self, channel: socket.socket, limit: int):
        self._channel = channel
        self._printed: list[str] = []
        self.left = limit

    def __call__(self, _: Literal["stdout", "stderr"], text: str) -> None:
        """Take a piece. A program that prints too much is ended here and now: told, it would print on until its time
        is up."""
        self.left -= len(text.encode("utf-8", "replace"))
        if self.left < 0:
            _send(self._channel, {"stop": "output"})
            _end_group()
        self._printed.append(text)

    @property
    def text(self) -> str:
        return "".join(self._printed)


def main(descriptor: int) -> None:
    """Serve programs from the socket with this number until it closes."""
    os.set_inheritable(descriptor, False)
    _confine()
    channel = socket.socket(fileno=descriptor)
    jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, jobs), daemon=True).start()
    sys.set_int_max_str_digits(_MANY_DIGITS)
    # A worker serves one program: nothing of it is left for the next.
    with monty.Monty(
        max_processes=1,
        max_checkouts_per_worker=1,
        feed_duration_limit_grace=_GRACE_SECONDS,
        turn_duration_limit_grace=_GRACE_SECONDS,
    ) as pool:
        _send(channel, {"ready": True})
        while True:
            job = jobs.get()
            _send(channel, {"begun": True})
            _limit_processes(job["cpu_seconds"], job["memory_bytes"])
            _send(channel, _run(pool, job, _Output(channel, job["output_bytes"])))


def _listen(channel: socket.socket, jobs: "queue.SimpleQueue[dict[str, Any]]") -> None:
    with suppress(OSError, ValueError), channel.makefile("rb") as lines:
        for line in lines:
            jobs.put(json.loads(line))
    _end_group()


def _end_group() -> NoReturn:
    """End this process and the interpreter with it, whatever either is doing."""
    os.killpg(0, signal.SIGKILL)
    raise SystemExit(1)


def _confine() -> None:
    """Give up what is not needed, for this process and those it starts: writing files, the network, being spared."""
    with suppress(OSError):
        os.nice(_NICENESS)
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, _OPEN_FILES)):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))
    if sys.platform == "linux":
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM, "ascii")
        libc = ctypes.CDLL(None)
        # Without the right to make namespaces the interpreter itself still has no sockets.
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
            libc.unshare(_CLONE_NEWNET)


def _limit_processes(cpu_seconds: float, memory_bytes: int) -> None:
    """The kernel's limits, behind those of the interpreter; they go to the worker that is started next."""
    spent = math.ceil(time.process_time() + cpu_seconds + 2 * _GRACE_SECONDS) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, spent),
        (resource.RLIMIT_AS, _ADDRESS_SPACE_BYTES + _BYTES_A_BYTE * memory_bytes),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _run(pool: monty.Monty, job: dict[str, Any], output: _Output) -> dict[str, Any]:
    """Run one program and tell how it ended."""
    limits = monty.ResourceLimits(
        max_feed_duration_secs=job["cpu_seconds"],
        max_memory=job["memory_bytes"],
        max_recursion_depth=_MAX_RECURSION,
        max_suspensions=_MAX_SUSPENSIONS,
        max_total_sleep_secs=job["wall_seconds"],
    )
    began = time.perf_counter()
    try:
        # A sleep that would pass the limit is refused at once; none is cut short in silence.
        policy = monty.OSPolicy(sleep="system", sleep_system_max=math.inf)
        with pool.checkout(limits=limits, os_policy=policy) as session:
            value = session.feed_run(job["code"], inputs=job["inputs"], print_callback=output)
            told: dict[str, Any] = {"peak_bytes": _peak_bytes(session.worker_pid)}
        return told | _written(value, output) | {"seconds": time.perf_counter() - began}
    except monty.MontyCrashedError as crash:
        return {"stop": "time" if crash.timed_out else "crash"}
    except monty.MontyError as error:
        return _stopped(error)
    except (_TooMuch, RecursionError):
        return {"stop": "output"}
    except MemoryError:
        return {"stop": "memory"}
    except ValueError as error:  # inputs or a result that do not pass between the processes
        return {"stop": "output"} if "digits" in str(error) else {"stop": "program", "detail": _line(str(error))}


def _stopped(error: monty.MontyError) -> dict[str, Any]:
    inner, message = error.exception(), str(error)
    if isinstance(inner, TimeoutError) and "limit exceeded" in message:
        return {"stop": "time"}
    if isinstance(inner, MemoryError):
        return {"stop": "memory"}
    detail = _line(message)
    if isinstance(error, monty.MontySyntaxError | monty.MontyRuntimeError):
        if isinstance(error, monty.MontySyntaxError):
            detail = _line(error.display("type-msg"))
        frames = error.traceback()
        detail += f" (line {frames[-1].line})" if frames else ""
    return {"stop": "program", "detail": detail}


def _line(message: str) -> str:
    return " ".join(message[: 4 * _MAX_DETAIL_CHARS].split())[:_MAX_DETAIL_CHARS]


def _peak_bytes(process: int | None) -> int | None:
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text("ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


def _written(value: object, output: _Output) -> dict[str, Any]:
    """The value as text and for machines. Raises `_TooMuch`, and `RecursionError` for values nested without end."""
    shown = "" if value is None else value if isinstance(value, str) else repr(value)
    if len(shown.encode("utf-8", "replace")) > output.left:
        raise _TooMuch
    return {"printed": output.text, "shown": shown, "value": _json(value, 0)}


def _json(value: object, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise _TooMuch
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT_INTEGER else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {str(key): _json(item, depth + 1) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return list(_items(value, depth))
    return str(value)


def _items(values: "list[object] | tuple[object, ...] | set[object] | frozenset[object]", depth: int) -> Iterator[Any]:
    for value in values:
        yield _json(value, depth + 1)


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall(json.dumps(message).encode("ascii") + b"\n")
