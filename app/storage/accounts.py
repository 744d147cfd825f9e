"""Rows of ``accounts`` and ``invitations``, and the tries of passwords that are counted. What is secret in them the
functions of migration 0026 alone give, for the one user whose transaction it is."""

from datetime import datetime
from uuid import UUID

from app.domain.record import Record
from app.storage.database import Database, OperatorTransaction, Transaction


class Held(Record):
    """What is kept of the caller's account."""

    password: str
    """Its hash, as PHC writes them."""
    totp: bytes | None
    """Sealed secret of codes."""
    has_totp: bool
    """Whether codes are asked for."""
    totp_step: int
    """Of the last code that was taken."""


_INVITE = """
insert into invitations (tenant_id, created_by, user_id, hash, expires_at)
values ($1, $2, $3, $4, now() + make_interval(secs => $5))
on conflict (tenant_id, user_id) do update set hash = $4, created_by = $2, created_at = now(),
    expires_at = now() + make_interval(secs => $5), used_at = null
returning expires_at
"""
_CODE = """
update accounts set totp_step = $3 where tenant_id = $1 and user_id = $2 and totp_step < $3 returning true
"""
_RULED = """
select exists (select from accounts a join users u on u.tenant_id = a.tenant_id and u.user_id = a.user_id
    where a.tenant_id = any($1) and 'admin' = any(u.roles) and u.disabled_at is null)
"""


async def own(tx: Transaction) -> Held | None:
    """The caller's account, with what is secret in it; None without one."""
    row = await tx.driver.fetchrow("select * from own_account()")
    return None if row is None else Held.model_validate(dict(row))


async def invite(tx: Transaction, user_id: UUID, told: bytes, seconds: float) -> datetime:
    """Write the link with this hash for a user, in the place of the one before; gives until when it holds. Only an
    administrator may."""
    until: datetime = await tx.driver.fetchval(_INVITE, *tx.whose, user_id, told, seconds)
    return until


async def invited(database: Database, told: bytes) -> tuple[UUID, UUID] | None:
    """Tenant and user of the link with this hash, if it can be used now."""
    async with database.operator_scope() as tx:  # nobody asks yet: only the function sees a row
        row = await tx.driver.fetchrow("select * from invited($1)", told)
    return None if row is None else (row["tenant_id"], row["user_id"])


async def take_invitation(tx: Transaction, told: bytes, password: str) -> bool:
    """Use the caller's link and set the password, this once; False where the link cannot be used (any more)."""
    taken: bool = await tx.driver.fetchval("select take_invitation($1, $2)", told, password)
    return taken


async def set_password(tx: Transaction, password: str) -> None:
    """Put another hash in the place of the caller's."""
    await tx.driver.execute(
        "update accounts set password = $3, set_at = now() where tenant_id = $1 and user_id = $2", *tx.whose, password
    )


async def set_totp(tx: Transaction, sealed: bytes | None, *, is_on: bool) -> None:
    """Keep the sealed secret of the caller's codes, and whether they are asked for."""
    await tx.driver.execute(
        "update accounts set totp = $3, has_totp = $4 where tenant_id = $1 and user_id = $2", *tx.whose, sealed, is_on
    )


async def take_code(tx: Transaction, step: int) -> bool:
    """Note that a code of this time step was shown; False when it, or a later one, was before."""
    return await tx.driver.fetchval(_CODE, *tx.whose, step) is not None


async def take_turn(tx: Transaction, free: int, most_seconds: int) -> int:
    """Count a try of the caller; gives 0, or for how many seconds it comes too early: none of the first `free`, then
    twice as long each time, up to `most_seconds`."""
    wait: int = await tx.driver.fetchval("select take_turn($1, $2)", free, most_seconds)
    return wait


async def forget_tries(tx: Transaction, *, every_one: bool) -> None:
    """Take back the last try of the caller, or every one, since it was a success."""
    await tx.driver.execute("select forget_tries($1)", every_one)


async def has_ruler(tx: OperatorTransaction, tenant_ids: list[UUID]) -> bool:
    """Whether an administrator of one of these tenants has an account and may come in."""
    found: bool = await tx.driver.fetchval(_RULED, tenant_ids)
    return found
