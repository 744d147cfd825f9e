"""The demonstration company data: ``<folder>/<tenant>/<department>/*.md``, and ``<folder>/demo.toml``, which says who
the companies' people are. Plug-ins find more in a company's folder.

A document begins with front matter, ``key: value`` lines between two lines of ``---``; its folder is its department.
"""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from app.domain.knowledge import DocumentDraft
from app.domain.principal import GENERAL, SCOPES, Principal, Scope, tenant_id_of, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import first_fault, front_matter
from app.ingestion.intake import aware
from app.text.dates import HOME


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


class DemoCompany(Record):
    """What ``demo.toml`` says of one company; a folder it does not name is a company with an administrator alone."""

    language: str = "vi"
    time_zone: str = HOME
    users: tuple[SeedUser, ...] = (
        SeedUser(
            name="admin", department=GENERAL, departments=("hr", "it"), scopes=tuple(SCOPES), roles=("admin",)
        ),
    )  # fmt: skip


class SeedTenant(DemoCompany):
    """One company with everything it starts with."""

    name: str
    documents: tuple[DocumentDraft, ...]
    folder: Path
    """Where all of it lies; plug-ins find more there."""

    @property
    def admin(self) -> SeedUser:
        """Who brings the documents in."""
        return next(user for user in self.users if "admin" in user.roles)


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
    with naming(path):
        return Demo.model_validate(tomllib.loads(path.read_text("utf-8"))) if path.exists() else Demo()


def read_seed(folder: Path) -> tuple[SeedTenant, ...]:
    """Read the companies of a seed folder. Raises `AppError` (`DOCUMENT_REJECTED`) that names file and key at fault."""
    if not folder.is_dir():
        raise _refused(folder, "the folder does not exist")
    demo = read_demo(folder)
    return tuple(
        SeedTenant(
            **dict(demo.company(path.name)),
            name=path.name,
            documents=tuple(read_document(one, one.parent.name) for one in sorted(path.glob("*/*.md"))),
            folder=path,
        )
        for path in sorted(folder.iterdir())
        if path.is_dir()
    )


def read_document(path: Path, department: str) -> DocumentDraft:
    """Read one document with front matter. Raises `AppError` (`DOCUMENT_REJECTED`)."""
    with naming(path):
        found = front_matter(path.read_text("utf-8"))
        if found is None:
            raise ValueError("it must begin with front matter between two lines of ---")
        read = DocumentDraft.model_validate({"department": department, **found[0], "text": found[1]})
    return read.model_copy(update={"created_at": aware(read.created_at)})


@contextmanager
def naming(path: Path, where: str = "") -> Iterator[None]:
    """Name the file, and the key, of what cannot be read inside. Raises `AppError` (`DOCUMENT_REJECTED`)."""
    try:
        yield
    except ValidationError as error:
        raise _refused(path, where + first_fault(error)) from error
    except ValueError as error:
        raise _refused(path, where + str(error)) from error


def _refused(path: Path, reason: str) -> AppError:
    return AppError(ErrorCode.DOCUMENT_REJECTED, f"{path}: {reason}.")
