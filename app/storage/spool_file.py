"""One spool file: a SQLite database that is written by one thread of one process. Every function blocks."""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

_BUSY_SECONDS = 5
_SCHEMA = """
create table if not exists entries (
    id integer primary key autoincrement,
    tenant_id text not null,
    root_task_id text not null,
    kind text not null,
    body text not null
);
create index if not exists entries_of_run on entries (root_task_id, id);
"""
_ENTRY_BYTES = 150
"""What an entry takes besides its body: ids, kind and index."""
_COUNT = f"select tenant_id, count(*), sum({_ENTRY_BYTES} + length(kind) + length(cast(body as blob))) from entries"


class Entry(NamedTuple):
    """One write, as JSON that whoever put it in understands."""

    kind: str
    body: str

    @property
    def size_bytes(self) -> int:
        """What it counts for."""
        return _ENTRY_BYTES + len(self.kind) + len(self.body.encode())


class SpooledRun(NamedTuple):
    """Everything that waits of one run."""

    origin: str
    """The file it lies in; with `upto` it names these writes for ever."""
    root_task_id: UUID
    upto: int
    """The number of the last entry; numbers only grow within a file."""
    numbered: tuple[tuple[int, Entry], ...]
    """In the order they were put in."""


class SpoolLimits(NamedTuple):
    """How much one process may keep."""

    max_bytes: int = 64 * 2**20
    max_entries: int = 100_000
    tenant_max_bytes: int = 16 * 2**20
    tenant_max_entries: int = 25_000


class Waiting(NamedTuple):
    """How much waits."""

    runs: int
    entries: int
    size_bytes: int


class SpoolFull(Exception):
    """There is no room for these entries; none of them was kept."""


class SpoolFile:
    """Opened by the thread that uses it."""

    def __init__(self, path: Path, limits: SpoolLimits):
        """Makes the file when it is not there, readable by its owner only."""
        self.path, self._limits = path, limits
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._rows = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            for setting in ("journal_mode = wal", "synchronous = full", "secure_delete = on", "fullfsync = on"):
                self._rows.execute(f"pragma {setting}")
            self._rows.executescript(_SCHEMA)
            _sync_folder(path.parent)
            self._used = {
                tenant_id: (entries, size)
                for tenant_id, entries, size in self._rows.execute(f"{_COUNT} group by tenant_id")
            }
            """(entries, bytes) by tenant."""
        except BaseException:
            self._rows.close()
            raise

    @property
    def origin(self) -> str:
        """The file's own name, unlike any other's."""
        return self.path.stem

    def put(self, tenant_id: UUID, root_task_id: UUID, entries: Sequence[Entry]) -> None:
        """Keep all of them or none, on the disk when this returns. Raises `SpoolFull`."""
        size = sum(entry.size_bytes for entry in entries)
        self._demand_room(str(tenant_id), len(entries), size)
        whose = str(tenant_id), str(root_task_id)
        try:
            self._rows.execute("begin immediate")
            self._rows.executemany(
                "insert into entries (tenant_id, root_task_id, kind, body) values (?, ?, ?, ?)",
                [(*whose, entry.kind, entry.body) for entry in entries],
            )
            self._rows.execute("commit")
        except sqlite3.Error as error:  # the disk is full, or does not answer
            if self._rows.in_transaction:
                self._rows.execute("rollback")
            raise SpoolFull(f"the spool cannot be written ({type(error).__name__})") from error
        self._add(str(tenant_id), len(entries), size)

    def runs(self) -> list[UUID]:
        """The root tasks something waits of, the longest waiting first."""
        found = self._rows.execute("select root_task_id from entries group by root_task_id order by min(id)")
        return [UUID(root_task_id) for (root_task_id,) in found]

    def read(self, root_task_id: UUID) -> SpooledRun | None:
        """What waits of one run; None when nothing does."""
        found = self._rows.execute(
            "select id, kind, body from entries where root_task_id = ? order by id", (str(root_task_id),)
        ).fetchall()
        if not found:
            return None
        numbered = tuple((number, Entry(kind, body)) for number, kind, body in found)
        return SpooledRun(self.origin, root_task_id, numbered[-1][0], numbered)

    def remove(self, root_task_id: UUID, upto: int) -> None:
        """Forget the entries of a run up to a number; what they said is overwritten by `tidy`."""
        gone = (str(root_task_id), upto)
        counted = self._rows.execute(f"{_COUNT} where root_task_id = ? and id <= ? group by tenant_id", gone).fetchall()
        self._rows.execute("delete from entries where root_task_id = ? and id <= ?", gone)
        for tenant_id, entries, size in counted:
            self._add(tenant_id, -entries, -size)

    def tidy(self) -> None:
        """Leave nothing of what was removed, in the file or beside it."""
        self._rows.execute("pragma wal_checkpoint(truncate)")

    def waiting(self) -> Waiting:
        """How much lies here."""
        return Waiting(len(self.runs()), self.entries, sum(size for _, size in self._used.values()))

    @property
    def entries(self) -> int:
        """How many entries lie here."""
        return sum(count for count, _ in self._used.values())

    def close(self) -> None:
        """Close it; an empty one is deleted."""
        is_empty = not self.entries
        self._rows.close()
        if is_empty:
            delete(self.path)

    def _add(self, tenant_id: str, entries: int, size: int) -> None:
        had_entries, had_size = self._used.get(tenant_id, (0, 0))
        self._used[tenant_id] = (had_entries + entries, had_size + size)

    def _demand_room(self, tenant_id: str, count: int, size: int) -> None:
        limits = self._limits
        own_entries, own_size = self._used.get(tenant_id, (0, 0))
        all_size = sum(used for _, used in self._used.values())
        has_room = (
            self.entries + count <= limits.max_entries
            and all_size + size <= limits.max_bytes
            and own_entries + count <= limits.tenant_max_entries
            and own_size + size <= limits.tenant_max_bytes
        )
        if not has_room:
            raise SpoolFull("the spool is full")


def delete(path: Path) -> None:
    """Remove a file with what SQLite keeps beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """A new file survives a power cut only when its folder is on the disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
