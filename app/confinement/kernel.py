"""Taking power away from a process that works on untrusted bytes. Linux has more of it than others.

Everything it needs is in memory before it starts. `detach` is called by the process that forks, `confine` by the forked
ones.
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
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_GRANTED: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "lseek": (8, 62), "close": (3, 57),
    "fstat": (5, 80), "newfstatat": (262, 79),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214), "mremap": (25, 216),
    "madvise": (28, 233), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "futex": (202, 98), "set_robust_list": (273, 99), "rseq": (334, 293), "sched_yield": (24, 124),
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "restart_syscall": (219, 128),
    "time": (201, None), "gettimeofday": (96, 169), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "times": (100, 153), "getrusage": (98, 165), "getrandom": (318, 278),
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
"""The system calls that are granted and their numbers, in the order of `_ARCHITECTURES` (None = there is none): what is
open is read, written and closed; memory; how signals are taken; waiting; clocks; random numbers; its own number; its
end. All others fail as not permitted: nothing can be opened, made, started or sent to, and nobody signalled."""
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1

_FORBIDDEN_EVENTS = (
    "open", "socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile",
    "os.kill", "os.remove", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "ctypes.dlopen", "shutil.", "ftplib.",
    "urllib.", "http.", "smtplib.", "webbrowser.",
)  # fmt: skip
"""Audit events of Python that such a process has no business with: a net above the kernel's."""


def detach() -> None:
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


class Unconfined(Exception):
    """The kernel does not let system calls be taken away."""


def confine(*, wall_seconds: float, cpu_seconds: int, memory_bytes: int, may_stay_unconfined: bool = False) -> None:
    """For the process that gets the untrusted bytes, before it does. `memory_bytes` is what it may take on top. Raises
    `Unconfined` on a Linux without the filter, unless that may be."""
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, wall_seconds)
    _limit(resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1)
    _limit(resource.RLIMIT_AS, _mapped_bytes() + memory_bytes)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        _limit(kind, 0)
    if sys.platform == "linux" and not _grant_system_calls() and not may_stay_unconfined:
        raise Unconfined
    sys.addaudithook(_refuse_events)


def resident_bytes() -> int:
    """Memory this process takes now; 0 where that cannot be told."""
    return 0 if sys.platform != "linux" else _pages()[1] * resource.getpagesize()


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    # A limit that is lower already stays; macOS refuses some of them.
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, soft if hard is None else hard))


def _mapped_bytes() -> int:
    return 1 << 33 if sys.platform != "linux" else _pages()[0] * resource.getpagesize()


def _pages() -> tuple[int, int]:
    """Pages that are mapped, and those of them in memory."""
    mapped, resident = map(int, Path("/proc/self/statm").read_text("ascii").split()[:2])
    return mapped, resident


def can_confine() -> bool:
    """Try in a forked process whether the filter can be installed; true outside Linux, where there is none."""
    if sys.platform != "linux":
        return True
    if (process := os.fork()) == 0:
        os._exit(0 if _grant_system_calls() else 1)
    return os.waitpid(process, 0)[1] == 0


def _grant_system_calls() -> bool:
    """Install the filter; whether it is."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    program = _filter(_ARCHITECTURES[machine], granted_numbers(machine))
    steps = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    libc = ctypes.CDLL(None)
    none = ctypes.c_ulong(0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none)
    mode = ctypes.c_ulong(_SECCOMP_MODE_FILTER)
    return bool(libc.prctl(_PR_SET_SECCOMP, mode, ctypes.c_char_p(pointer), none, none) == 0)


def granted_numbers(machine: str) -> list[int]:
    """The numbers of the granted system calls on an architecture."""
    at = list(_ARCHITECTURES).index(machine)
    return [number for numbers in _GRANTED.values() if (number := numbers[at]) is not None]


def _filter(architecture: int, granted: list[int]) -> bytes:
    """A packet filter program: allow the listed calls of this architecture, refuse all else.

    Calls of the 32-bit kind (x32) carry a bit that makes their numbers equal none of the list.
    """
    steps = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 0, len(granted) + 1, architecture), (_LOAD, 0, 0, 0)]
    steps += [(_JUMP_EQUAL, len(granted) - at, 0, number) for at, number in enumerate(granted)]
    steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _refuse_events(event: str, _: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN_EVENTS):
        raise PermissionError(f"a confined process may not do this: {event}")
