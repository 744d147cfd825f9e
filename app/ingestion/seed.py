"""The demonstration company data: ``<folder>/<tenant>/<department>/*.md`` and ``<folder>/<tenant>/logs.jsonl``.

A document begins with front matter, ``key: value`` lines between two lines of ``---``; its folder is its department.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal, Scope, tenant_id_of, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import front_matter
from app.ingestion.intake import aware
from app.storage.log_lines import LogLine

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_RETOLD_DAYS = 30


class SeedUser(Record):
    """A demonstration user; the names are part of the documented interface."""

    tenant: str
    name: str
    department: str
    scopes: tuple[Scope, ...]
    departments: tuple[str, ...] = ()
    """Further departments, beside the user's own."""
    roles: tuple[str, ...] = ()

    @property
    def principal(self) -> Principal:
        """This user as a caller."""
        tenant_id = tenant_id_of(self.tenant)
        return Principal(
            tenant_id=tenant_id,
            user_id=user_id_of(tenant_id, self.name),
            department=self.department,
            departments=frozenset({self.department, *self.departments}),
            scopes=frozenset(self.scopes),
            roles=frozenset(self.roles),
            name=self.name,
        )


class SeedTenant(Record):
    """One company with everything it starts with."""

    name: str
    users: tuple[SeedUser, ...]
    documents: tuple[DocumentDraft, ...]
    logs: tuple[LogLine, ...]

    @property
    def admin(self) -> SeedUser:
        """Who brings the documents in."""
        return next(user for user in self.users if "admin" in user.roles)


class SeedData(Record):
    """Every tenant of the folder, by name."""

    tenants: tuple[SeedTenant, ...]


def _user(tenant: str, name: str, department: str, *scopes: Scope) -> SeedUser:
    return SeedUser(tenant=tenant, name=name, department=department, scopes=scopes)


def _admin(tenant: str) -> SeedUser:
    return SeedUser(
        tenant=tenant, name="admin", department=GENERAL, departments=("hr", "it"), scopes=SCOPES, roles=("admin",)
    )


SEED_USERS: tuple[SeedUser, ...] = (
    _user("acme", "lan", "hr", "public", "internal", "private"),
    _user("acme", "minh", "it", "public", "internal", "private"),
    _user("acme", "hoa", GENERAL, "public", "internal"),
    _user("acme", "an", GENERAL, "public"),
    _admin("acme"),
    _user("globex", "jane", "hr", "public", "internal", "private"),
    _user("globex", "raj", "it", "public", "internal", "private"),
    _user("globex", "tom", GENERAL, "public", "internal"),
    _admin("globex"),
)
"""The first is the default asker of the command line."""


def read_seed(folder: Path) -> SeedData:
    """Read a seed folder. Raises `AppError` (`DOCUMENT_REJECTED`) that names the file and the key at fault."""
    if not folder.is_dir():
        raise _refused(folder, "the folder does not exist")
    return SeedData(tenants=tuple(_tenant(path) for path in sorted(folder.iterdir()) if path.is_dir()))


def read_logs(folder: Path) -> list[tuple[Principal, tuple[LogLine, ...]]]:
    """The log lines of each company, with who brings them in; none without the folder. Reads the disk. Raises
    `AppError`."""
    if not folder.is_dir():
        return []
    return [
        (_administrator(path.name).principal, tuple(_logs(path / "logs.jsonl")))
        for path in sorted(folder.iterdir())
        if path.is_dir()
    ]


def repeat_last_day(logs: Sequence[LogLine], now: datetime) -> list[list[LogLine]]:
    """What the last day of `logs` would be on every day since, until `now`: a list a day, of the last 30 at most.

    So "yesterday" tells the same on whatever day the demo is asked. Lines that name a date stay where they are.
    """
    last = max((line.logged_at.astimezone(UTC).date() for line in logs), default=None)
    if last is None:
        return []
    told = [line for line in logs if line.logged_at.astimezone(UTC).date() == last and not _DATE.search(line.message)]
    first = max(1, (now.date() - last).days - _RETOLD_DAYS)
    days = []
    for back in range(first, (now.date() - last).days + 1):
        moved = (line.model_copy(update={"logged_at": line.logged_at + timedelta(days=back)}) for line in told)
        days.append([line for line in moved if line.logged_at <= now])
    return days


def read_document(path: Path, department: str) -> DocumentDraft:
    """One document with front matter. Raises `AppError` (`DOCUMENT_REJECTED`)."""
    fields, text = _front_matter(path)
    draft = {"department": department, **fields, "text": text}
    try:
        read = DocumentDraft.model_validate(draft)
    except ValidationError as error:
        raise _refused(path, _first_fault(error)) from error
    return read.model_copy(update={"created_at": aware(read.created_at)})


def _administrator(tenant: str) -> SeedUser:
    return next((user for user in SEED_USERS if user.tenant == tenant and "admin" in user.roles), _admin(tenant))


def _tenant(folder: Path) -> SeedTenant:
    documents = tuple(_documents(folder))
    seen: dict[str, str] = {}
    for draft in documents:
        if draft.external_id in seen:
            detail = f"external_id {draft.external_id!r} is used twice ({seen[draft.external_id]}; {draft.title})"
            raise _refused(folder, detail)
        seen[draft.external_id] = draft.title
    users = tuple(user for user in SEED_USERS if user.tenant == folder.name) or (_administrator(folder.name),)
    return SeedTenant(name=folder.name, users=users, documents=documents, logs=tuple(_logs(folder / "logs.jsonl")))


def _documents(folder: Path) -> Iterator[DocumentDraft]:
    for department in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted(department.glob("*.md")):
            yield read_document(path, department.name)


def _front_matter(path: Path) -> tuple[dict[str, Any], str]:
    try:
        found = front_matter(path.read_text("utf-8"))
    except ValueError as error:
        raise _refused(path, str(error)) from error
    if found is None:
        raise _refused(path, "it must begin with front matter between two lines of ---")
    return found


def _logs(path: Path) -> Iterator[LogLine]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield LogLine.model_validate(json.loads(line))
            except ValidationError as error:
                raise _refused(path, f"line {number}: {_first_fault(error)}") from error
            except json.JSONDecodeError as error:
                raise _refused(path, f"line {number} is not JSON") from error


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'record'}: {fault['msg']}"


def _refused(path: Path, reason: str) -> AppError:
    return AppError(ErrorCode.DOCUMENT_REJECTED, f"{path}: {reason}.")
