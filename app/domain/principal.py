"""Who asks, and what this person may read."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from app.domain.record import Record

Scope = Literal["public", "internal", "private"]
SCOPES: tuple[Scope, ...] = ("public", "internal", "private")
GENERAL = "general"

_NAMESPACE = uuid5(NAMESPACE_URL, "urn:conclave")


def tenant_id_of(name: str) -> UUID:
    """The id of the tenant called `name`: the name itself when it is a UUID, else a stable UUID made from it."""
    return _id_of(_NAMESPACE, name)


def user_id_of(tenant_id: UUID, name: str) -> UUID:
    """The id of the user called `name` in a tenant; the same rule as `tenant_id_of`."""
    return _id_of(tenant_id, name)


def _id_of(namespace: UUID, name: str) -> UUID:
    try:
        return UUID(name)
    except ValueError:
        return uuid5(namespace, name.strip().lower())


class Principal(Record):
    """A verified caller. Made only by the auth layer (or the CLI for its operator); passed explicitly everywhere."""

    tenant_id: UUID
    user_id: UUID
    department: str
    departments: frozenset[str]
    """Every department the caller belongs to; always contains `department`."""
    scopes: frozenset[Scope]
    roles: frozenset[str] = frozenset()
    name: str = ""
    """For greeting and logs; never used to decide anything."""

    @classmethod
    def without_rights(cls, tenant_id: UUID, user_id: UUID) -> "Principal":
        """Name somebody who may read no document: enough for rows of their own."""
        everybody = frozenset({GENERAL})
        return cls(tenant_id=tenant_id, user_id=user_id, department=GENERAL, departments=everybody, scopes=frozenset())

    @property
    def is_admin(self) -> bool:
        """Whether the caller administers the tenant (manages documents and users; reads no more than its scopes)."""
        return "admin" in self.roles

    def may_read(self, scope: Scope, department: str) -> bool:
        """The permission rule inside one tenant; the row policies in `migrations/` say the same in SQL."""
        if scope not in self.scopes:
            return False
        return scope != "private" or department == GENERAL or department in self.departments

    def limited_to(self, today: "Principal") -> "Principal":
        """The same person with those of the rights that `today` has too; who is left no department belongs to
        general, as everybody does."""
        departments = self.departments & today.departments
        own = (one for one in (self.department, today.department, *sorted(departments)) if one in departments)
        department = next(own, GENERAL)
        return self.model_copy(
            update={
                "scopes": self.scopes & today.scopes, "department": department, "roles": self.roles & today.roles,
                "departments": departments | {department},
            }
        )  # fmt: skip

    def narrowed(self, *, scopes: Iterable[Scope], department: str) -> "Principal":
        """The same person with fewer rights. `scopes` must be a subset and `department` one of the caller's own."""
        wanted = frozenset(scopes)
        if not wanted <= self.scopes or department not in self.departments:
            raise ValueError("a principal can only be narrowed")
        return self.model_copy(
            update={"scopes": wanted, "department": department, "departments": frozenset({department})}
        )


class Visit(NamedTuple):
    """What a request says about where it comes from."""

    method: str
    headers: Mapping[str, str]
    """By small names."""
