"""Taking power away from a process: first from the one that forks readers, then from each reader. Linux has more of it.

What a reader needs it has in memory before it starts: no file can be opened and no socket made (no file descriptor is
left to it), nothing can be started, no other process can be touched.
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

from app.ingestion.parsing.outcome import ParseLimits

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_NICENESS = 5
_FIRST_VICTIM = "1000"

_REFUSED = {
    "x86_64": (0xC000003E, (
        2, 41, 42, 43, 49, 50, 53, 56, 57, 58, 59, 62, 76, 82, 83, 84, 85, 86, 87, 88, 90, 92, 94, 101, 129, 133, 155,
        161, 165, 166, 175, 200, 234, 248, 250, 257, 258, 260, 263, 264, 265, 266, 268, 272, 288, 297, 298, 302, 304,
        308, 310, 311, 313, 316, 319, 321, 322, 323, 424, 425, 434, 435, 437, 438, 452,
    )),
    "aarch64": (0xC00000B7, (
        33, 34, 35, 36, 37, 38, 39, 40, 41, 45, 51, 53, 54, 56, 97, 105, 117, 129, 130, 131, 138, 198, 199, 200, 201,
        202, 203, 217, 219, 220, 221, 240, 241, 242, 261, 265, 268, 270, 271, 273, 276, 279, 280, 281, 282, 424, 425,
        434, 435, 437, 438, 452,
    )),
}  # fmt: skip
"""Architecture and the numbers of the system calls that a reader is refused: opening, creating, renaming and removing
files, sockets, new processes and programs, signals to others, tracing, namespaces, mounts, kernel interfaces."""
_LOAD, _JUMP_EQUAL, _JUMP_FROM, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1
_X32_BIT = 0x40000000

_FORBIDDEN_EVENTS = (
    "open", "socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile",
    "os.kill", "os.remove", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "ctypes.dlopen", "shutil.", "ftplib.",
    "urllib.", "http.", "smtplib.", "webbrowser.",
)  # fmt: skip
"""Audit events of Python that a reader has no business with; the net above the one of the kernel."""


def detach() -> None:
    """For the process that forks readers, before it starts: no network, dies with its parent, gives way to others."""
    with suppress(OSError):
        os.nice(_NICENESS)
    if sys.platform != "linux":
        return
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM, "ascii")
    libc = ctypes.CDLL(None, use_errno=True)
    # Without the right to make namespaces there are still no file descriptors for sockets.
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        libc.unshare(_CLONE_NEWNET)
    die_with_parent()


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that made it ends. Does nothing outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def confine(limits: ParseLimits) -> None:
    """For a reader, before it sees a byte of the file: limits of time and memory, nothing to open, nothing to start."""
    for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limits.wall_seconds)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)
    _limit(resource.RLIMIT_AS, limits.memory_bytes + _unused_address_space())
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):
        _limit(kind, 0)
    if sys.platform == "linux":
        _refuse_system_calls()
    sys.addaudithook(_refuse_events)


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    # A limit that is lower already stays; macOS refuses some of them.
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, soft if hard is None else hard))


def _unused_address_space() -> int:
    """Bytes that are mapped but not in memory (libraries, mostly): they do not count as memory of the file."""
    if sys.platform != "linux":
        return 0
    mapped, resident = map(int, Path("/proc/self/statm").read_text("ascii").split()[:2])
    return (mapped - resident) * resource.getpagesize()


def _refuse_system_calls() -> None:
    """Install the filter; where the architecture is unknown, the limits alone hold."""
    architecture, refused = _REFUSED.get(platform.machine(), (0, ()))
    if not refused:
        return
    program = _filter(architecture, refused)
    steps = ctypes.create_string_buffer(program, len(program))
    pointer = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(steps))
    libc = ctypes.CDLL(None)
    none = ctypes.c_ulong(0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none)
    libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), ctypes.c_char_p(pointer), none, none)


def _filter(architecture: int, refused: tuple[int, ...]) -> bytes:
    """A packet filter program: refuse the listed calls, and all of another architecture; allow the rest."""
    steps = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 0, len(refused) + 3, architecture), (_LOAD, 0, 0, 0)]
    steps += [(_JUMP_FROM, len(refused) + 1, 0, _X32_BIT)]
    steps += [(_JUMP_EQUAL, len(refused) - at, 0, number) for at, number in enumerate(refused)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _refuse_events(event: str, _: tuple[object, ...]) -> None:
    if event.startswith(_FORBIDDEN_EVENTS):
        raise PermissionError(f"a reader may not do this: {event}")
