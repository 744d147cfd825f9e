"""Keep writes that PostgreSQL could not take in a local, bounded, durable store: SQLite files in one folder.

What it holds is opaque here: entries of a kind, in the order they came, of one run at a time. An entry is on the disk
when `put` returns. A file belongs to one process as long as that lives (a kernel lock says so); the next process of the
same folder takes over what a killed one left. The files hold people's text: only their owner may read them, removed
entries are overwritten, and an empty file is deleted.
"""

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import IO, NamedTuple, TypeVar
from uuid import UUID, uuid4

_FILES = "*.sqlite"
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
_WAITING = "select count(distinct root_task_id), count(*), coalesce(sum(length(cast(body as blob))), 0) from entries"
_Result = TypeVar("_Result")


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

    runs: int = 0
    entries: int = 0
    size_bytes: int = 0


class SpoolFull(Exception):
    """There is no room for these entries; none of them was kept."""


class SpoolFile:
    """One file, written by one thread of one process. Every function blocks."""

    def __init__(self, path: Path, limits: SpoolLimits, lock: IO[bytes] | None = None):
        """Makes the file when it is not there, readable by its owner only; `lock` is let go with it."""
        self.path, self.origin, self._limits, self._lock = path, path.stem, limits, lock
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._rows = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            for setting in ("journal_mode = wal", "synchronous = full", "secure_delete = on", "fullfsync = on"):
                self._rows.execute(f"pragma {setting}")
            self._rows.executescript(_SCHEMA)
            folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            os.fsync(folder)  # a new file survives a power cut only when its folder is on the disk too
            os.close(folder)
            counted = self._rows.execute(f"{_COUNT} group by tenant_id")
            self._used = {tenant_id: (entries, size) for tenant_id, entries, size in counted}
            """(entries, bytes) by tenant."""
        except BaseException:
            self._rows.close()
            raise

    def put(self, tenant_id: UUID, root_task_id: UUID, entries: Sequence[Entry]) -> None:
        """Keep all of them or none, on the disk when this returns. Raises `SpoolFull`."""
        tenant, limits, added = str(tenant_id), self._limits, sum(entry.size_bytes for entry in entries)
        own, size = self._used.get(tenant, (0, 0))
        has_room = (
            self.entries + len(entries) <= limits.max_entries
            and sum(used for _, used in self._used.values()) + added <= limits.max_bytes
            and own + len(entries) <= limits.tenant_max_entries
            and size + added <= limits.tenant_max_bytes
        )
        if not has_room:
            raise SpoolFull("the spool is full")
        try:
            self._rows.execute("begin immediate")
            self._rows.executemany(
                "insert into entries (tenant_id, root_task_id, kind, body) values (?, ?, ?, ?)",
                [(tenant, str(root_task_id), entry.kind, entry.body) for entry in entries],
            )
            self._rows.execute("commit")
        except sqlite3.Error as error:  # the disk is full, or does not answer
            if self._rows.in_transaction:
                self._rows.execute("rollback")
            raise SpoolFull(f"the spool cannot be written ({type(error).__name__})") from error
        self._used[tenant] = own + len(entries), size + added

    def runs(self) -> list[UUID]:
        """The root tasks something waits of, the longest waiting first."""
        statement = "select root_task_id from entries group by root_task_id order by min(id)"
        return [UUID(root_task_id) for (root_task_id,) in self._rows.execute(statement)]

    def read(self, root_task_id: UUID) -> SpooledRun | None:
        """What waits of one run; None when nothing does."""
        statement = "select id, kind, body from entries where root_task_id = ? order by id"
        found = self._rows.execute(statement, (str(root_task_id),)).fetchall()
        numbered = tuple((number, Entry(kind, body)) for number, kind, body in found)
        return SpooledRun(self.origin, root_task_id, numbered[-1][0], numbered) if numbered else None

    def remove(self, root_task_id: UUID, upto: int) -> None:
        """Forget the entries of a run up to a number; what they said is overwritten by `tidy`."""
        gone = (str(root_task_id), upto)
        counted = self._rows.execute(f"{_COUNT} where root_task_id = ? and id <= ? group by tenant_id", gone).fetchall()
        self._rows.execute("delete from entries where root_task_id = ? and id <= ?", gone)
        for tenant, entries, size in counted:
            had, had_size = self._used[tenant]
            self._used[tenant] = had - entries, had_size - size

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
        """Close it and let its lock go; of an empty one nothing is left."""
        self._rows.close()
        if not self.entries:
            for path in (self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm"))):
                path.unlink(missing_ok=True)
            self.path.with_suffix(".lock").unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()


class Spool:
    """Used from one event loop; the files are worked on by one thread, one call at a time."""

    def __init__(self, folder: Path, limits: SpoolLimits | None = None):
        """Touches nothing yet."""
        self._folder, self._limits = folder, limits or SpoolLimits()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")
        self._own: SpoolFile | None = None
        self._left: list[SpoolFile] = []
        """Files of processes that are gone."""

    async def put(self, tenant_id: UUID, root_task_id: UUID, entries: Sequence[Entry]) -> None:
        """Keep all of these or none; they are on the disk when this returns. Raises `SpoolFull`. Who is cancelled
        meanwhile does not know whether they were kept."""
        await self._run(lambda: self._opened().put(tenant_id, root_task_id, entries))

    async def take_over(self) -> int:
        """Take the files of processes that are gone; how many entries lie in them now."""
        return await self._run(self._take_over)

    async def runs(self) -> list[tuple[str, UUID]]:
        """(origin, root task) of everything that waits here; what others left comes first."""
        return await self._run(lambda: [(file.origin, root) for file in self._files() for root in file.runs()])

    async def read(self, origin: str, root_task_id: UUID) -> SpooledRun | None:
        """What waits of a run in the file called `origin`."""
        return await self._run(lambda: next((f.read(root_task_id) for f in self._files() if f.origin == origin), None))

    async def remove(self, origin: str, root_task_id: UUID, upto: int) -> None:
        """Forget the entries of a run up to a number; `tidy` wipes them out."""

        def remove() -> None:
            for file in self._files():
                if file.origin == origin:
                    file.remove(root_task_id, upto)
            self._put_away_empty()

        await self._run(remove)

    async def discard(self, root_task_id: UUID) -> None:
        """Forget everything this process kept of a run."""

        def discard() -> None:
            if self._own and (found := self._own.read(root_task_id)):
                self._own.remove(root_task_id, found.upto)
                self._own.tidy()

        await self._run(discard)

    async def tidy(self) -> None:
        """Overwrite what was removed; files that hold nothing any more are gone already."""
        await self._run(lambda: list(map(SpoolFile.tidy, self._files())))

    async def waiting(self) -> Waiting:
        """How much waits here."""
        return await self._run(lambda: _sum([file.waiting() for file in self._files()]))

    async def aclose(self) -> None:
        """Close the files; what waits stays for the next process."""
        await self._run(lambda: list(map(SpoolFile.close, self._files())))
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _files(self) -> list[SpoolFile]:
        return [*self._left, *([self._own] if self._own else [])]

    def _opened(self) -> SpoolFile:
        """This process's own file; it is locked before anybody can see it. Raises `SpoolFull`."""
        if self._own is None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                path = self._folder / f"{uuid4().hex}.sqlite"
                self._own = SpoolFile(path, self._limits, _locked(path))
            except (OSError, sqlite3.Error) as error:
                raise SpoolFull(f"the spool cannot be opened ({type(error).__name__})") from error
        return self._own

    def _take_over(self) -> int:
        mine = {file.path for file in self._files()}
        for path in sorted(self._folder.glob(_FILES)) if self._folder.is_dir() else ():
            lock = None if path in mine else _locked(path)
            if lock is not None and path.exists():
                self._left.append(SpoolFile(path, self._limits, lock))
            elif lock is not None:  # its owner deleted it meanwhile
                path.with_suffix(".lock").unlink(missing_ok=True)
                lock.close()
        self._put_away_empty()
        return sum(file.entries for file in self._left)

    def _put_away_empty(self) -> None:
        """Delete files that hold nothing any more; the next entry makes a new one."""
        for file in [one for one in self._files() if not one.entries]:
            file.close()
        self._left = [file for file in self._left if file.entries]
        self._own = self._own if self._own and self._own.entries else None


def waiting_in(folder: Path) -> Waiting:
    """How much waits in all the files of a folder, whoever holds them. Blocks; changes nothing."""
    found: list[Waiting] = []
    for path in sorted(folder.glob(_FILES)) if folder.is_dir() else ():
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)) as rows:
                found.append(Waiting(*rows.execute(_WAITING).fetchone()))
        except sqlite3.Error:  # being made, or being deleted
            continue
    return _sum(found)


def _locked(path: Path) -> IO[bytes] | None:
    """The lock of a file, held until it is closed or this process ends; None while a living process holds it."""
    lock = os.fdopen(os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    except OSError:
        lock.close()
        return None


def _sum(parts: Sequence[Waiting]) -> Waiting:
    return Waiting(*map(sum, zip(*parts, strict=True)))
