"""Rows of ``users`` as administrators look at and change them; `app.storage.tenants` reads what somebody may do."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from app.domain.principal import Scope
from app.domain.record import Record
from app.storage.database import OperatorTransaction, Transaction

CHANGEABLE = ("display_name", "department", "departments", "scopes", "roles", "disabled_at")


class Person(Record):
    """A user of a tenant: a person, or a program with the role ``service``."""

    user_id: UUID
    name: str
    display_name: str
    department: str
    departments: frozenset[str]
    """Contains `department`."""
    scopes: frozenset[Scope]
    roles: frozenset[str]
    created_at: datetime
    disabled_at: datetime | None
    """Since when the user is shut out."""

    @property
    def rules(self) -> bool:
        """Whether it is an administrator who may come in."""
        return "admin" in self.roles and self.disabled_at is None


class Looked(Record):
    """Which users to list; what is None does not matter."""

    department: str | None = None
    is_disabled: bool | None = None
    folded: str | None = None
    """A part of the name or display name, in small letters without diacritics."""


_COLUMNS = "user_id, name, display_name, department, departments, scopes, roles, created_at, disabled_at"
# As `fold` in Python, in small letters.
_FOLDED = r"""
translate(lower(regexp_replace(normalize(name || ' ' || display_name, NFD), '[\u0300-\u036f]', '', 'g')), 'đĐ', 'dd')
"""
_PAGE = f"""
select {_COLUMNS} from users
where tenant_id = $1 and ($2::text is null or $2 = any(departments))
    and ($3::boolean is null or (disabled_at is not null) = $3)
    and ($4::text is null or strpos({_FOLDED}, $4) > 0) and ($5::text is null or name > $5)
order by name limit $6
"""
_LOCK = f"select {_COLUMNS} from users where tenant_id = $1 and user_id = $2 for update"
_ADD = f"""
insert into users (tenant_id, user_id, name, display_name, department, departments, scopes, roles)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning {_COLUMNS}
"""
_AMEND = f"""
update users set {", ".join(f"{name} = ${place}" for place, name in enumerate(CHANGEABLE, 3))}
where tenant_id = $1 and user_id = $2
"""
_OTHERS = """
select exists (select from users where tenant_id = $1 and user_id <> $2 and 'admin' = any(roles)
    and disabled_at is null)
"""


async def page(tx: Transaction, wanted: Looked, behind: str | None, limit: int) -> list[Person]:
    """The tenant's users that match, by name, behind a name."""
    rows = await tx.driver.fetch(
        _PAGE, tx.tenant_id, wanted.department, wanted.is_disabled, wanted.folded, behind, limit
    )
    return [Person.model_validate(dict(row)) for row in rows]


async def lock(tx: Transaction, user_id: UUID) -> Person | None:
    """A user of the tenant, whom nobody else changes until the commit; administrators of it change one at a time."""
    await tx.driver.execute(
        "select pg_advisory_xact_lock(hashtextextended('people ' || $1::text, 0))", str(tx.tenant_id)
    )
    row = await tx.driver.fetchrow(_LOCK, tx.tenant_id, user_id)
    return None if row is None else Person.model_validate(dict(row))


async def add(tx: Transaction, user_id: UUID, values: Mapping[str, Any]) -> Person | None:
    """Write a user; None when there is one of that id or name."""
    rights = (sorted(values[name]) for name in ("departments", "scopes", "roles"))
    own = values["name"], values["display_name"], values["department"]
    row = await tx.driver.fetchrow(_ADD, tx.tenant_id, user_id, *own, *rights)
    return None if row is None else Person.model_validate(dict(row))


async def amend(tx: Transaction, one: Person) -> None:
    """Write what may be changed of a user as it is in `one`."""
    values = (getattr(one, name) for name in CHANGEABLE)
    listed = (sorted(value) if isinstance(value, frozenset) else value for value in values)
    await tx.driver.execute(_AMEND, tx.tenant_id, one.user_id, *listed)


async def has_other_administrator(tx: Transaction, but: UUID) -> bool:
    """Whether somebody else administers the tenant and may come in."""
    found: bool = await tx.driver.fetchval(_OTHERS, tx.tenant_id, but)
    return found


async def has_asked(tx: Transaction, user_id: UUID) -> bool:
    """Whether there are tasks of somebody of the tenant; only for its administrators."""
    statement = "select exists (select from tasks where tenant_id = $1 and user_id = $2)"
    found: bool = await tx.driver.fetchval(statement, tx.tenant_id, user_id)
    return found


async def departments(tx: Transaction) -> frozenset[str]:
    """Every department a user of the tenant belongs to."""
    rows = await tx.driver.fetch("select distinct unnest(departments) from users where tenant_id = $1", tx.tenant_id)
    return frozenset(row[0] for row in rows)


async def shut_out(tx: Transaction | OperatorTransaction, tenant_id: UUID, user_id: UUID, *, out: bool) -> bool:
    """Refuse a person whatever token is brought, or no longer; False when there is no such person."""
    found = await tx.driver.fetchval(
        "update users set disabled_at = case when $3 then coalesce(disabled_at, now()) end"
        " where tenant_id = $1 and user_id = $2 returning true",
        tenant_id, user_id, out,
    )  # fmt: skip
    return found is not None
