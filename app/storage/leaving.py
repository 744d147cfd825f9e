"""What a tenant leaves beside the database: writes that wait in the spool of this machine."""

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

_BUSY_SECONDS = 5


def forget_spooled(folder: Path, tenant_id: UUID) -> int:
    """Remove and overwrite what waits of a tenant in a spool's files, those of living processes too; gives how many
    entries went. Blocks shortly."""
    gone = 0
    for path in sorted(folder.glob("*.sqlite")):
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as rows:
            rows.execute("pragma secure_delete = on")
            gone += rows.execute("delete from entries where tenant_id = ?", (str(tenant_id),)).rowcount
            rows.execute("pragma wal_checkpoint(truncate)")
    return gone
