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
from pathlib import Path
from typing import IO, TypeVar
from uuid import UUID, uuid4

from app.storage.spool_file import Entry, SpooledRun, SpoolFile, SpoolFull, SpoolLimits, Waiting

_FILES, _LOCKS = "*.sqlite", ".lock"
_Result = TypeVar("_Result")


class _Owned:
    """A file this process holds by a kernel lock, which ends with the process however it ends."""

    def __init__(self, path: Path, lock: IO[bytes]):
        self.path, self._lock = path, lock
        self.file: SpoolFile | None = None
        """None until something lies in it."""

    def let_go(self) -> None:
        """Close it and, when it is empty, remove every trace of it."""
        if self.file is not None:
            self.file.close()
            self.file = None
        if not self.path.exists():
            _lock_of(self.path).unlink(missing_ok=True)
        self._lock.close()


class Spool:
    """Used from one event loop; the files are worked on by one thread, one call at a time."""

    def __init__(self, folder: Path, limits: SpoolLimits | None = None):
        """Touches nothing yet."""
        self._folder, self._limits = folder, limits or SpoolLimits()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool")
        self._own: _Owned | None = None
        self._left: list[_Owned] = []
        """Files of processes that are gone."""

    async def put(self, tenant_id: UUID, root_task_id: UUID, entries: Sequence[Entry]) -> None:
        """Keep all of these or none; they are on the disk when this returns. Raises `SpoolFull`.

        A caller who is cancelled meanwhile does not know whether they were kept.
        """
        await self._run(lambda: self._put(tenant_id, root_task_id, entries))

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
            file = self._own and self._own.file
            if file and (found := file.read(root_task_id)):
                file.remove(root_task_id, found.upto)
                file.tidy()

        await self._run(discard)

    async def tidy(self) -> None:
        """Overwrite what was removed; files that hold nothing any more are gone already."""

        def tidy() -> None:
            for file in self._files():
                file.tidy()

        await self._run(tidy)

    async def waiting(self) -> Waiting:
        """How much waits here."""
        return await self._run(lambda: _sum([file.waiting() for file in self._files()]))

    async def aclose(self) -> None:
        """Close the files; what waits stays for the next process."""

        def close() -> None:
            for owned in (*self._left, *([self._own] if self._own else [])):
                owned.let_go()

        await self._run(close)
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _files(self) -> list[SpoolFile]:
        owned = (*self._left, *([self._own] if self._own else []))
        return [one.file for one in owned if one.file is not None]

    def _put(self, tenant_id: UUID, root_task_id: UUID, entries: Sequence[Entry]) -> None:
        try:
            if self._own is None:
                self._own = self._make()
            if self._own.file is None:
                self._own.file = SpoolFile(self._own.path, self._limits)
        except (OSError, sqlite3.Error) as error:
            raise SpoolFull(f"the spool cannot be opened ({type(error).__name__})") from error
        self._own.file.put(tenant_id, root_task_id, entries)

    def _make(self) -> _Owned:
        """A place for a new file; it is locked before anybody can see a file there."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = self._folder / f"{uuid4().hex}.sqlite"
            if (owned := _owned(path)) is not None:
                return owned

    def _take_over(self) -> int:
        if not self._folder.is_dir():
            return 0
        mine = {owned.path for owned in (*self._left, *([self._own] if self._own else []))}
        for path in sorted(self._folder.glob(_FILES)):
            owned = None if path in mine else _owned(path)
            if owned is None:
                continue
            if path.exists():
                owned.file = SpoolFile(path, self._limits)
            self._left.append(owned)
        self._put_away_empty()
        return sum(file.entries for owned in self._left if (file := owned.file))

    def _put_away_empty(self) -> None:
        """Delete files that hold nothing any more; the next entry makes a new one."""
        for owned in [one for one in self._left if one.file is None or not one.file.entries]:
            owned.let_go()
            self._left.remove(owned)
        if self._own is not None and self._own.file is not None and not self._own.file.entries:
            self._own.let_go()
            self._own = None


def waiting_in(folder: Path) -> Waiting:
    """How much waits in all the files of a folder, whoever holds them. Blocks; changes nothing."""
    found: list[Waiting] = []
    for path in sorted(folder.glob(_FILES)) if folder.is_dir() else ():
        try:
            rows = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)
            try:
                counted = rows.execute(
                    "select count(distinct root_task_id), count(*), coalesce(sum(length(cast(body as blob))), 0)"
                    " from entries"
                ).fetchone()
            finally:
                rows.close()
        except sqlite3.Error:  # being made, or being deleted
            continue
        found.append(Waiting(*counted))
    return _sum(found)


def _owned(path: Path) -> _Owned | None:
    """The file as this process's own; None when a living process holds it."""
    lock = os.fdopen(os.open(_lock_of(path), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), "r+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return _Owned(path, lock)


def _lock_of(path: Path) -> Path:
    return path.with_suffix(_LOCKS)


def _sum(parts: Sequence[Waiting]) -> Waiting:
    return Waiting(*(sum(part[at] for part in parts) for at in range(3)))
