"""Taking power away from a process that works on untrusted bytes. Linux has more of it than others.

Everything such a process needs is in memory before it starts. What it may still ask of the kernel is a short list:
memory, time, random numbers, its open socket, its own end.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_NICENESS = 5
_FIRST_VICTIM = "1000"
_GRANTED = {
    "x86_64": (0xC000003E, (
        0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 24, 25, 28, 35, 39, 60, 96, 98, 100, 102, 110, 131, 186, 201,
        202, 219, 228, 229, 230, 231, 262, 273, 318, 324, 334,
    )),
    "aarch64": (0xC00000B7, (
        57, 62, 63, 64, 65, 66, 79, 80, 93, 94, 98, 99, 101, 113, 114, 115, 124, 128, 132, 134, 135, 139, 153, 165,
        169, 172, 173, 174, 178, 214, 215, 216, 222, 226, 233, 278, 283, 293,
    )),
}  # fmt: skip
"""Architecture and the numbers of the system calls that are granted: reading, writing and closing what is open, memory,
signals to itself, waiting, clocks, random numbers, its own number, its end. All others fail as not permitted."""
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1


def withdraw() -> None:
    """For the process that forks the others: no network, killed with its parent, gives way to them."""
    with suppress(OSError):
        os.nice(_NICENESS)
    if sys.platform != "linux":
        return
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM, "ascii")
    libc = ctypes.CDLL(None, use_errno=True)
    # Without the right to make namespaces there are still no sockets to be had: `confine` sees to that.
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        libc.unshare(_CLONE_NEWNET)
    die_with_parent()


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that made it ends. Does nothing outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(*, wall_seconds: float, cpu_seconds: int, memory_bytes: int) -> None:
    """For the process that gets the untrusted bytes, before it does. `memory_bytes` is what it may take on top."""
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)
    _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _limit(resource.RLIMIT_AS, _mapped_bytes() + memory_bytes)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        _limit(kind, 0)
    if sys.platform == "linux":
        _grant_system_calls()


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    # A limit that is lower already stays; macOS refuses some of them.
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, soft if hard is None else hard))


def _mapped_bytes() -> int:
    if sys.platform != "linux":
        return 1 << 33
    return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()


def _grant_system_calls() -> None:
    """Install the filter; where the architecture is unknown, the limits alone hold."""
    architecture, granted = _GRANTED.get(platform.machine(), (0, ()))
    if not granted:
        return
    program = _filter(architecture, granted)
    steps = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    libc = ctypes.CDLL(None)
    none = ctypes.c_ulong(0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none)
    libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.c_char_p(pointer), none, none)


def _filter(architecture: int, granted: tuple[int, ...]) -> bytes:
    """A packet filter program: allow the listed calls of this architecture, refuse all else.

    Calls of the 32-bit kind (x32) carry a bit that makes their numbers equal none of the list.
    """
    steps = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 0, len(granted) + 1, architecture), (_LOAD, 0, 0, 0)]
    steps += [(_JUMP_EQUAL, len(granted) - at, 0, number) for at, number in enumerate(granted)]
    steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)
