"""What a confined process cannot do, whatever the bytes make it try."""

import os
import platform
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.confinement import forking
from app.confinement.kernel import _ARCHITECTURES, _GRANTED, granted_numbers
from tests.limits import limit

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these powers are taken away by means of Linux")
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+)\s+(\d+)"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
"""Where Linux names its system calls."""
SAME_CALL = {"fstatat": "newfstatat"}

CONFINED = """
import ctypes, os, platform, socket, subprocess, sys
from app.confinement.kernel import confine, detach, granted_numbers
libc = ctypes.CDLL(None, use_errno=True)
detach()
{before}
confine(wall_seconds=30, cpu_seconds=30, memory_bytes=512 * 2**20)
try:
    done = {attempt}
    failed = isinstance(done, int) and not isinstance(done, bool) and done < 0
except OSError as error:
    failed = True
os.write(1, b"refused" if failed else b"done")
os._exit(0)
"""
# The kernel's own probes pass by every filter; whoever else makes these two calls is ended.
EVERY_OTHER_CALL = """
def permitted(number):
    ctypes.set_errno(0)
    return libc.syscall(number, -1, -1, -1, -1, -1, -1) != -1 or ctypes.get_errno() != 1
granted = {*granted_numbers(platform.machine()), 335, 336}
others = [n for n in (*range(600), *range(0x40000000, 0x40000000 + 600)) if n not in granted]
"""

WITHOUT_FILTERS = """
import ctypes, struct
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, {prctl}), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, 0x00050001),
         (0x06, 0, 0, 0x7FFF0000)]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
pointer = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program))
libc, none = ctypes.CDLL(None), ctypes.c_ulong(0)
assert libc.prctl(38, ctypes.c_ulong(1), none, none, none) == 0
assert libc.prctl(22, ctypes.c_ulong(2), ctypes.c_char_p(pointer), none, none) == 0
""".replace("{prctl}", {"x86_64": "157", "aarch64": "167"}.get(platform.machine(), "0"))
"""Refuses the call by which filters are installed."""
READING = """
import asyncio
from app.confinement.processes import Isolated, IsolationFailed
Isolated.may_stay_unconfined = {may_stay}
async def read():
    isolated = Isolated("tests.unit.tools.isolated_functions:backwards")
    try:
        print("done", await isolated(b"]["))
    except IsolationFailed as failed:
        print("refused", failed.end)
    finally:
        await isolated.aclose()
asyncio.run(read())
"""


def confined(attempt: str, before: str = "") -> subprocess.CompletedProcess[bytes]:
    """A process that tries something after it was confined, and what it was allowed to do before."""
    program = CONFINED.format(attempt=attempt, before=before)
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False, timeout=60)


@on_linux
class TestConfine:
    @pytest.mark.parametrize(
        ("attempt", "before"),
        [
            ("open('/etc/passwd').fileno()", ""),
            ("libc.open(b'/etc/passwd', 0)", ""),
            ("os.open('/dev/null', os.O_RDONLY)", ""),
            ("libc.creat(b'{folder}/file', 0o600)", ""),
            ("libc.unlink(b'{folder}/file')", "open('{folder}/file', 'w').close()"),
            ("socket.socket().fileno()", ""),
            ("libc.socket(2, 1, 0)", ""),
            ("libc.connect(given, address, 16)", "given = libc.socket(2, 1, 0); address = bytes(16)"),
            ("libc.send(given, b'x', 1, 0)", "pair = socket.socketpair(); given = pair[0].fileno()"),
            ("os.fork()", ""),
            ("libc.fork()", ""),
            ("libc.vfork()", ""),
            ("libc.execv(b'/bin/true', None)", ""),
            ("subprocess.Popen(['/bin/true']).pid", ""),
            ("os.kill(os.getppid(), 0)", ""),
            ("libc.kill(os.getppid(), 0)", ""),
            ("libc.ptrace(16, os.getppid(), 0, 0)", ""),
            ("libc.unshare(0x10000000)", ""),
            ("libc.dup(1)", ""),
            ("os.write(given, b'x' * 100)", "given = os.open('{folder}/file', os.O_WRONLY | os.O_CREAT)"),
        ],
    )
    def test_leaves_no_way_out(self, attempt: str, before: str, tmp_path: Path) -> None:
        done = confined(attempt.replace("{folder}", str(tmp_path)), before.replace("{folder}", str(tmp_path)))
        # Writing beyond the size limit of files is answered by a signal.
        assert done.stdout == b"refused" or done.returncode == -signal.SIGXFSZ, done.stderr

    @pytest.mark.skipif(platform.machine() not in _ARCHITECTURES, reason="there is no filter for it")
    def test_no_call_is_permitted_that_is_not_on_the_list(self) -> None:
        done = confined("os.write(1, repr([n for n in others if permitted(n)]).encode())", EVERY_OTHER_CALL)
        assert done.stdout == b"[]done", done.stderr

    def test_leaves_no_network_to_whoever_forks(self) -> None:
        program = (
            "from app.confinement.kernel import detach; import socket; detach()\n"
            "try: socket.create_connection(('127.0.0.1', 1), 1)\n"
            "except OSError as error: print(error.errno)"
        )
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, timeout=60)
        # Unreachable where namespaces may be made; refused by nobody listening where not.
        assert int(done.stdout) in (101, 111)


@on_linux
@pytest.mark.skipif(platform.machine() not in _ARCHITECTURES, reason="there is no filter for it")
class TestWhereTheKernelRefuses:
    """A machine that takes no filters, as some containers are: one of our own refuses every further one."""

    @pytest.mark.parametrize(("may_stay", "told"), [(False, "refused unconfined"), (True, "done b'[]'")])
    def test_untrusted_bytes_are_not_looked_at_unless_that_is_allowed(self, may_stay: bool, told: str) -> None:
        assert _said(WITHOUT_FILTERS + READING.format(may_stay=may_stay)) == told

    def test_it_can_be_told_beforehand(self) -> None:
        asked = "from app.confinement.kernel import can_confine; print(can_confine())"
        assert _said(asked) == "True"
        assert _said(WITHOUT_FILTERS + asked) == "False"


def _said(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60, text=True).stdout.strip()


class TestGrantedCalls:
    @pytest.mark.parametrize("machine", list(_ARCHITECTURES))
    def test_have_the_numbers_linux_gives_them(self, machine: str) -> None:
        path, pattern = HEADERS[machine]
        if not Path(path).exists():
            pytest.skip(f"the headers of Linux are not here: {path}")
        named = {int(number): name for name, number in re.findall(pattern, Path(path).read_text("ascii"))}
        found = {SAME_CALL.get(named[number], named[number]) for number in granted_numbers(machine)}
        at = list(_ARCHITECTURES).index(machine)
        assert found == {name for name, numbers in _GRANTED.items() if numbers[at] is not None}

    def test_are_all_different(self) -> None:
        for machine in _ARCHITECTURES:
            numbers = granted_numbers(machine)
            assert len(set(numbers)) == len(numbers)


@on_linux
def test_who_is_forked_while_the_forking_process_is_killed_ends_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is asked too late then: it ends only those whose maker is there when it is asked."""
    (ours, theirs), ends = socket.socketpair(), [*socket.socketpair(), *socket.socketpair()]
    (told, tell), (wait, go) = os.pipe(), os.pipe()
    late = lambda: os.write(tell, b"%d" % os.getpid()) and os.read(wait, 1)  # noqa: E731
    monkeypatch.setattr(forking, "die_with_parent", late)
    if (forker := os.fork()) == 0:
        limits = {"wall_seconds": 30, "cpu_seconds": 10, "memory_bytes": 1 << 30}
        forking._Forker(theirs, bytes, limits).serve()
        os._exit(0)
    socket.send_fds(ours, [b"+"], [ends[1].fileno(), ends[3].fileno()])
    forked = int(os.read(told, 20))
    os.kill(forker, signal.SIGKILL)
    os.waitpid(forker, 0)
    os.write(go, b"x")
    for one in (ends[1], ends[3]):
        one.close()
    ends[0].settimeout(limit(1))
    assert ends[0].recv(1) == b"", f"{forked} waits for its orders"
    for end in (ours, theirs, ends[0], ends[2]):
        end.close()
    for descriptor in (told, tell, wait, go):
        os.close(descriptor)
