"""The demonstration company data: ``<folder>/<tenant>/<department>/*.md``, ``<folder>/<tenant>/logs.jsonl``, and
``<folder>/demo.toml``, which says who the companies' people are.

A document begins with front matter, ``key: value`` lines between two lines of ``---``; its folder is its department.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal, Scope, tenant_id_of, user_id_of
from app.domain.record import Record
from app.domain.zones import HOME
from app.errors import AppError, ErrorCode
from app.ingestion.files import front_matter
from app.ingestion.intake import aware
from app.storage.log_lines import LogLine

_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_RETOLD_DAYS = 30


class SeedUser(Record):
    """A demonstration user."""

    tenant: str = ""
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
    language: str
    time_zone: str
    users: tuple[SeedUser, ...]
    documents: tuple[DocumentDraft, ...]
    logs: tuple[LogLine, ...]

    @property
    def admin(self) -> SeedUser:
        """Who brings the documents in."""
        return _administrator(self.users)


class SeedData(Record):
    """Every tenant of the folder, by name."""

    tenants: tuple[SeedTenant, ...]


class DemoCompany(Record):
    """What ``demo.toml`` says of one company; a folder it does not name is a company with an administrator alone."""

    language: str = "vi"
    time_zone: str = HOME
    users: tuple[SeedUser, ...] = (
        SeedUser(
            name="admin", department=GENERAL, departments=("hr", "it"), scopes=tuple(SCOPES), roles=("admin",)
        ),
    )  # fmt: skip


class Demo(Record):
    """``demo.toml``: the companies, who asks where nobody is named, and whose links may stand in an answer."""

    default_asker: str = ""
    """``tenant/user``."""
    trusted_link_hosts: frozenset[str] = frozenset()
    companies: dict[str, DemoCompany] = {}

    def company(self, name: str) -> DemoCompany:
        """The company of a folder, its users with their tenant."""
        found = self.companies.get(name, DemoCompany())
        users = tuple(user.model_copy(update={"tenant": name}) for user in found.users)
        return found.model_copy(update={"users": users})

    @property
    def users(self) -> tuple[SeedUser, ...]:
        """Everybody, the default asker first."""
        everybody = (user for name in self.companies for user in self.company(name).users)
        return tuple(sorted(everybody, key=lambda user: f"{user.tenant}/{user.name}" != self.default_asker))


def read_demo(folder: Path) -> Demo:
    """``demo.toml`` of a seed folder; nobody where there is none. Raises `AppError` (`DOCUMENT_REJECTED`)."""
    path = folder / "demo.toml"
    if not path.exists():
        return Demo()
    try:
        return Demo.model_validate(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as error:
        raise _refused(path, _first_fault(error)) from error
    except ValueError as error:
        raise _refused(path, str(error)) from error


def read_seed(folder: Path) -> SeedData:
    """Read a seed folder. Raises `AppError` (`DOCUMENT_REJECTED`) that names the file and the key at fault."""
    if not folder.is_dir():
        raise _refused(folder, "the folder does not exist")
    demo = read_demo(folder)
    return SeedData(tenants=tuple(_tenant(path, demo) for path in sorted(folder.iterdir()) if path.is_dir()))


def read_logs(folder: Path) -> list[tuple[Principal, tuple[LogLine, ...]]]:
    """The log lines of each company, with who brings them in; none without the folder. Reads the disk. Raises
    `AppError`."""
    if not folder.is_dir():
        return []
    demo = read_demo(folder)
    return [
        (_administrator(demo.company(path.name).users).principal, tuple(_logs(path / "logs.jsonl")))
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
    try:
        found = front_matter(path.read_text("utf-8"))
        if found is None:
            raise ValueError("it must begin with front matter between two lines of ---")
        fields, text = found
        read = DocumentDraft.model_validate({"department": department, **fields, "text": text})
    except ValidationError as error:
        raise _refused(path, _first_fault(error)) from error
    except ValueError as error:
        raise _refused(path, str(error)) from error
    return read.model_copy(update={"created_at": aware(read.created_at)})


def _administrator(users: Sequence[SeedUser]) -> SeedUser:
    return next(user for user in users if "admin" in user.roles)


def _tenant(folder: Path, demo: Demo) -> SeedTenant:
    documents = tuple(_documents(folder))
    seen: dict[str, str] = {}
    for draft in documents:
        if draft.external_id in seen:
            detail = f"external_id {draft.external_id!r} is used twice ({seen[draft.external_id]}; {draft.title})"
            raise _refused(folder, detail)
        seen[draft.external_id] = draft.title
    company = demo.company(folder.name)
    return SeedTenant(
        name=folder.name, language=company.language, time_zone=company.time_zone, users=company.users,
        documents=documents, logs=tuple(_logs(folder / "logs.jsonl")),
    )  # fmt: skip


def _documents(folder: Path) -> Iterator[DocumentDraft]:
    for department in sorted(path for path in folder.iterdir() if path.is_dir()):
        for path in sorted(department.glob("*.md")):
            yield read_document(path, department.name)


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
