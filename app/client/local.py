"""Find the server that runs on a data directory; its private socket lets its owner in without a token.

Apart from `connection`, whose library takes half a second to import: a server only leaves its address here.
"""

import json
import math
import os
import socket
import time
from pathlib import Path
from typing import NamedTuple

ADDRESS_FILE = "server.json"
"""In the data directory: where the server that runs on it can be reached."""
AS_HEADER = "Conclave-As"
"""On the private socket: as whom a request is made. ``tenant/user``; ``tenant/`` is whoever sits at the machine, as an
administrator; without a tenant the server's default one."""

WHO_PATH = "/api/v1/who"
"""On the private socket: which tenant and user that is."""
DEMO_KEY_FILE = "demo-key"
"""In the data directory, for its owner: what the sign-in links of the server that was started last carry."""
FIRST_FILE, FIRST_SECONDS = "first-administrator", 3_600
"""The same for the link of a company's first administrator; and for how long that is taken."""
DEMO_KEY_HEADER = "Conclave-Demo-Key"
"""Carries it, on requests for and of demo users."""


class LocalServer(NamedTuple):
    """A server that runs on a data directory."""

    address: str
    """For people."""
    socket: Path
    """The private one, which only its owner can open."""


def demo_key(data_dir: Path) -> str:
    """Read what lets demo users sign in on the server of `data_dir`; empty where it has no demo sign-in."""
    return kept_key(data_dir / DEMO_KEY_FILE)


def kept_key(path: Path, most_seconds: float = math.inf) -> str:
    """Read what links carry that a server printed; empty where there is none, or it is older than `most_seconds`."""
    try:
        return path.read_text("ascii").strip() if time.time() - path.stat().st_mtime < most_seconds else ""
    except OSError:
        return ""


def local_server(data_dir: Path) -> LocalServer | None:
    """The server on `data_dir`, if one answers there and is run by this user or by root."""
    try:
        found = json.loads((data_dir / ADDRESS_FILE).read_text("utf-8"))
        server = LocalServer(str(found["address"]), Path(found["socket"]))
        if server.socket.stat().st_uid not in (os.geteuid(), 0):
            return None
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1)
            probe.connect(str(server.socket))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return server
