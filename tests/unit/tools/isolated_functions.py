"""What tests run in confined processes: honest work, and what a page that took a process over would try."""

import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

SAMPLE = b"sample"
_loaded: list[int] = []


def backwards(content: bytes) -> bytes:
    return content[::-1]


def remembers(content: bytes) -> bytes:
    _loaded.append(len(content))
    return str(len(_loaded)).encode()


def raises(content: bytes) -> bytes:
    if content == SAMPLE:
        return b""
    raise LookupError(content.decode())


def sleeps(content: bytes) -> bytes:
    time.sleep(0 if content == SAMPLE else 60)
    return b""


def computes(content: bytes) -> bytes:
    while content != SAMPLE:
        pass
    return b""


def backtracks(content: bytes) -> bytes:
    return b"" if content == SAMPLE else str(re.match(r"(a+)+$", "a" * 60 + "!")).encode()


def hoards(content: bytes) -> bytes:
    return b"" if content == SAMPLE else str(len(b"x" * 2_000_000_000)).encode()


def babbles(content: bytes) -> bytes:
    return b"" if content == SAMPLE else b"x" * 5_000_000


def dies(content: bytes) -> bytes:
    if content != SAMPLE:
        os._exit(3)
    return b""


def breaks_out(content: bytes) -> bytes:
    """Whatever succeeds of what must not; names of attempts, one a line."""
    if content == SAMPLE:
        return b""
    port = int(content)
    attempts: dict[str, Callable[[], object]] = {
        "open": lambda: Path("/etc/hostname").read_bytes(),
        "write": lambda: Path("/tmp/escaped").write_bytes(b"x"),
        "list": lambda: list(Path("/").iterdir()),
        "socket": lambda: socket.socket(),
        "pair": lambda: socket.socketpair(),
        "connect": lambda: socket.create_connection(("127.0.0.1", port), 1),
        "fork": os.fork,
        "run": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "kill": lambda: os.kill(os.getppid(), 0),
        "environment": lambda: os.environ["CONCLAVE_CANARY"],
        "pipe": os.pipe,
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, KeyError):
            continue
        done.append(name)
    return "\n".join(done).encode()
