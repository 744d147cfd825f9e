"""Walk the audit of a tenant row by row, and say which one is the first that was changed, removed or added.

Hashes are computed here, not by the database that is being checked. Whoever can write everything in the database can
make a chain anew from some row on; only a copy of the last hash kept elsewhere shows that (`Copy`).
"""

import hashlib
import json
from collections.abc import AsyncIterator, Iterable
from uuid import UUID

from app.domain.principal import Principal
from app.domain.record import Record
from app.storage import audit
from app.storage.audit import Head, Link
from app.storage.database import Database

_AT_ONCE = 1_000
REMOVED = "audit_removed"
"""The act that says how far the beginning of a chain was removed."""


class Broken(Exception):
    """Names the first row where a chain does not hold, and what is wrong with it."""

    def __init__(self, seq: int, problem: str):
        """`seq`: the row's number."""
        super().__init__(f"row {seq} {problem}")
        self.seq = seq


class Verified(Record):
    """What a walk over a chain found."""

    holds: bool = True
    row: int | None = None
    """The first row that was changed, removed or added; None = there is none."""
    problem: str = ""
    """What is wrong with it."""
    rows: int = 0
    head_seq: int = 0
    """Number of the last row."""
    head_hash: str = ""
    """Its hash, in hex: keep it elsewhere."""
    removed: int = 0
    """Rows that were removed after their time, all from the beginning."""


def hash_of(tenant_id: UUID, link: Link) -> bytes:
    """Compute the hash a row must have; the same text as `audit_hash` in migration 0018 makes."""
    values = (
        str(link.seq), link.previous_hash.hex(), str(tenant_id), str(link.user_id), _quoted(link.action),
        _quoted(link.target), link.created_at, link.details,
    )  # fmt: skip
    return hashlib.sha256("\n".join(values).encode()).digest()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class Copy:
    """An export that was kept elsewhere: hashes by number."""

    def __init__(self, lines: Iterable[str]):
        """Raises `ValueError` for lines that are no export."""
        self.hashes: dict[int, str] = {}
        self.tenant_id: UUID | None = None
        for line in filter(str.strip, lines):
            try:
                row = json.loads(line)
                self.tenant_id = UUID(row["tenant_id"])
                if (seq := int(row.get("seq", row.get("head_seq")))) > 0:
                    self.hashes[seq] = str(row.get("hash", row.get("head_hash")))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise ValueError("not a file that `conclave audit export` wrote") from error
        if self.tenant_id is None:
            raise ValueError("not a file that `conclave audit export` wrote")


class Checker:
    """Takes the rows of one chain in order."""

    def __init__(self, tenant_id: UUID, copy: Copy | None = None):
        """`copy`: also hold every row against it."""
        self._tenant_id, self._copy = tenant_id, copy
        self._seq, self._hash, self._rows = 0, b"", 0
        self._said_removed: tuple[int, str] = (0, "")

    def begin(self, head: Head) -> None:
        """Start behind what was removed after its time; also when more of it went since the last row was taken."""
        if head.removed_seq > self._seq:
            self._seq, self._hash = head.removed_seq, head.removed_hash

    def take(self, link: Link) -> None:
        """Check the next row. Raises `Broken`."""
        if link.seq > self._seq + 1:
            raise Broken(self._seq + 1, "is missing")
        if hash_of(self._tenant_id, link) != link.hash:
            raise Broken(link.seq, "was changed")
        if link.previous_hash != self._hash:
            raise Broken(link.seq, "does not follow the row before it: one of the two was exchanged")
        if self._copy is not None and self._copy.hashes.get(link.seq, link.hash.hex()) != link.hash.hex():
            raise Broken(link.seq, "is not the one in the copy")
        if link.action == REMOVED:
            details = json.loads(link.details)
            self._said_removed = details["until"], details["hash"]
        self._seq, self._hash, self._rows = link.seq, link.hash, self._rows + 1

    def end(self, head: Head) -> Verified:
        """Check that the last row is the end of the chain, and that the audit says itself how far its beginning was
        removed. Raises `Broken`."""
        if self._seq < head.seq:
            raise Broken(self._seq + 1, "is missing")
        if self._seq > head.seq:
            raise Broken(head.seq + 1, "was added behind the end of the chain")
        if self._hash != head.hash:
            raise Broken(self._seq, "is not the row the chain ends with")
        if head.removed_seq and self._said_removed != (head.removed_seq, head.removed_hash.hex()):
            raise Broken(head.removed_seq, "and those before it were removed, and no row of the audit says so")
        if self._copy is not None and (last := max(self._copy.hashes, default=0)) > self._seq:
            raise Broken(last, "is in the copy and not in the audit")
        return Verified(rows=self._rows, head_seq=head.seq, head_hash=head.hash.hex(), removed=head.removed_seq)


async def rows(database: Database, auditor: Principal) -> AsyncIterator[tuple[Head, list[Link]]]:
    """Read the chain of the auditor's tenant in pieces, in order; the end of the last piece is that of the chain."""
    behind = 0
    while True:
        async with database.principal_scope(auditor, durable=False) as tx:
            head, links = await audit.chain(tx, behind, _AT_ONCE)
        yield head, list(links)
        if len(links) < _AT_ONCE:
            return
        behind = links[-1].seq


async def verify(database: Database, auditor: Principal, copy: Copy | None = None) -> Verified:
    """Check the whole chain of the auditor's tenant, and that it goes on from a copy."""
    checker = Checker(auditor.tenant_id, copy)
    try:
        async for head, links in rows(database, auditor):
            checker.begin(head)
            for link in links:
                checker.take(link)
        return checker.end(head)
    except Broken as broken:
        return Verified(holds=False, row=broken.seq, problem=str(broken))


async def export(database: Database, auditor: Principal) -> AsyncIterator[dict[str, object]]:
    """Give every row of the tenant's audit in order, then one object with the number and the hash of the last."""
    tenant_id = str(auditor.tenant_id)
    last = Head(0, b"", 0, b"")
    async for last, links in rows(database, auditor):  # noqa: B007 - the last one is needed behind the loop
        for link in links:
            yield {
                "seq": link.seq, "tenant_id": tenant_id, "created_at": link.created_at, "user_id": str(link.user_id),
                "action": link.action, "target": link.target, "details": json.loads(link.details),
                "previous_hash": link.previous_hash.hex(), "hash": link.hash.hex(),
            }  # fmt: skip
    yield {
        "tenant_id": tenant_id, "head_seq": last.seq, "head_hash": last.hash.hex(), "removed_seq": last.removed_seq,
        "removed_hash": last.removed_hash.hex(),
    }  # fmt: skip
