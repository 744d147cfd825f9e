"""Rows of ``sign_ins``: who came in through a provider or an account, until when. The app's role writes hashes of
cookies and never reads one; `use` finds a row by the hash of the whole cookie, whosever it is."""

from datetime import datetime
from uuid import UUID

from app.domain.principal import Principal, Scope
from app.domain.record import Record
from app.storage.database import Database, Transaction

LOCAL = "local account"
"""No provider's name has a space in it."""


class SignedIn(Record):
    """What a sign-in gives at most, and until when."""

    tenant_id: UUID
    sign_in_id: UUID
    user_id: UUID
    provider: str
    """Name in the file of providers, or `LOCAL`."""
    scopes: frozenset[Scope]
    departments: frozenset[str]
    roles: frozenset[str]
    expires_at: datetime

    def principal(self, today: Principal) -> Principal:
        """The user with those of today's rights that the provider gave, too; an account gives all of them."""
        if self.provider == LOCAL:
            return today
        given = {"scopes": self.scopes, "departments": self.departments, "roles": self.roles}
        return today.model_copy(update=given).limited_to(today)


_ADD = """
insert into sign_ins (tenant_id, user_id, sign_in_id, hash, provider, scopes, departments, roles, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, now() + make_interval(secs => $9))
"""
_MAKE = """
insert into users (tenant_id, user_id, name, display_name, department, departments, scopes, roles, provider)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing
"""
_SET = """
update users set display_name = $4, department = $5, departments = $6, scopes = $7, roles = $8
where tenant_id = $1 and user_id = $2 and name = $3 and provider = $9 and disabled_at is null
    and (display_name, department, departments, scopes, roles) is distinct from ($4, $5, $6, $7, $8)
"""


async def use(database: Database, told: bytes) -> SignedIn | None:
    """The sign-in whose cookie has this SHA-256, if it holds now. Raises `AppError` (503) when the database is away."""
    async with database.operator_scope() as tx:  # nobody asks yet: only the function sees a row
        row = await tx.driver.fetchrow("select * from use_sign_in($1)", told)
    return None if row is None else SignedIn.model_validate(dict(row))


async def add(tx: Transaction, sign_in_id: UUID, told: bytes, provider: str, most: Principal, seconds: float) -> None:
    """Write a sign-in of the caller that gives at most the rights of `most`, and forget the caller's that are over."""
    whose = tx.whose
    await tx.driver.execute(
        "delete from sign_ins where tenant_id = $1 and user_id = $2 and expires_at <= now()", *whose
    )
    given = sorted(most.scopes), sorted(most.departments), sorted(most.roles)
    await tx.driver.execute(_ADD, *whose, sign_in_id, told, provider, *given, seconds)


async def end(tx: Transaction, sign_in_id: UUID) -> bool:
    """Remove a sign-in of the caller; False when there is none."""
    found = await tx.driver.fetchval(
        "delete from sign_ins where tenant_id = $1 and user_id = $2 and sign_in_id = $3 returning true",
        *tx.whose,
        sign_in_id,
    )
    return found is not None


async def end_all(tx: Transaction, but: UUID | None = None) -> None:
    """Remove every sign-in of the caller, or all but one."""
    await tx.driver.execute(
        "delete from sign_ins where tenant_id = $1 and user_id = $2 and sign_in_id is distinct from $3", *tx.whose, but
    )


async def keep_user(tx: Transaction, provider: str, one: Principal, name: str) -> None:
    """Make the user a provider tells of, or set the rights of one it made whom nobody changed; for administrators.
    `name` is the one in `users`, that of `one` is shown."""
    values = (
        one.tenant_id, one.user_id, name, one.name, one.department, sorted(one.departments), sorted(one.scopes),
        sorted(one.roles), provider,
    )  # fmt: skip
    await tx.driver.execute("select set_config('app.provider', $1, true)", provider)
    await tx.driver.execute(_SET, *values)
    await tx.driver.execute(_MAKE, *values)
