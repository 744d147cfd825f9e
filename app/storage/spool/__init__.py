"""A local, bounded, durable store for writes that PostgreSQL could not take: SQLite files in one folder.

What it holds is opaque here: entries of a kind, in the order they came, of one run at a time. An entry is on the disk
when `put` returns. A file belongs to one process as long as that lives (a kernel lock says so); the next process of the
same folder takes over what a killed one left. The files hold people's text: only their owner may read them, removed
entries are overwritten, and an empty file is deleted.
"""

from app.storage.spool.file import Entry, SpooledRun, SpoolFull, SpoolLimits, Waiting
from app.storage.spool.folder import Spool, waiting_in

__all__ = ["Entry", "Spool", "SpoolFull", "SpoolLimits", "SpooledRun", "Waiting", "waiting_in"]
