"""Rows of ``api_keys``: keys of programs. The app's role writes hashes and never reads one; `use` finds a key by the
hash of the whole of it, whosever it is."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.principal import Principal, Scope
from app.domain.record import Record
from app.storage.database import Database, Transaction

Place = tuple[datetime, UUID]
"""Where a key stands in the listing: when it was made, and its id."""


class StoredKey(Record):
    """A key as it is shown; its secret is nowhere."""

    key_id: UUID
    user_id: UUID
    user: str
    """Name of whom it speaks as."""
    is_service: bool
    """Whether that is a program, and no person."""
    name: str
    prefix: str
    """The public beginning, to tell keys apart by."""
    scopes: frozenset[Scope]
    departments: frozenset[str]
    roles: frozenset[str]
    created_at: datetime
    created_by: UUID
    expires_at: datetime
    old_until: datetime | None
    """Until when the secret before the last rotation is taken, too."""
    last_used_at: datetime | None
    """Written at most once a minute."""
    revoked_at: datetime | None


class KeyRights(Record):
    """What a key gives at most, and until when."""

    tenant_id: UUID
    key_id: UUID
    user_id: UUID
    scopes: frozenset[Scope]
    departments: frozenset[str]
    roles: frozenset[str]
    expires_at: datetime
    """Of the secret that was brought."""

    def principal(self, today: Principal) -> Principal:
        """The user of the key with those of today's rights that the key gives, too."""
        given = today.model_copy(
            update={"scopes": self.scopes, "departments": self.departments, "roles": self.roles - {"service"}}
        )
        return given.limited_to(today)


class Secret(NamedTuple):
    """What is kept of a key's text."""

    prefix: str
    hash: bytes
    """SHA-256 of the whole text."""


_FIND = """
select k.key_id, k.user_id, u.name as user, 'service' = any(u.roles) as is_service, k.name, k.prefix, k.scopes,
    k.departments, k.roles, k.created_at, k.created_by, k.expires_at, k.old_until, k.last_used_at, k.revoked_at
from api_keys k join users u on u.tenant_id = k.tenant_id and u.user_id = k.user_id
where k.tenant_id = $1 and (k.user_id = $2 or app_is_admin())
"""
_PAGE = f"""{_FIND} and ($3::uuid is null or k.user_id = $3)
    and ($4::timestamptz is null or (k.created_at, k.key_id) < ($4::timestamptz, $5::uuid))
order by k.created_at desc, k.key_id desc limit $6
"""
_LIVE = """
select count(*) from api_keys where tenant_id = $1 and user_id = $2 and revoked_at is null and expires_at > now()
"""
_ADD = """
insert into api_keys (tenant_id, created_by, key_id, user_id, name, prefix, hash, scopes, departments, roles,
    expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now() + make_interval(days => $11))
"""
_REVOKE = """
update api_keys set revoked_at = now(), revoked_by = $2
where tenant_id = $1 and (user_id = $2 or app_is_admin()) and key_id = $3 and revoked_at is null
"""
_ROTATE = """
update api_keys set prefix = $3, hash = $4, old_until = case when $5 > 0 then now() + make_interval(secs => $5) end
where tenant_id = $1 and key_id = $2
"""


async def use(database: Database, told: bytes) -> KeyRights | None:
    """The key with this hash, if it may be used now; None for unknown, expired and revoked ones. Notes the use."""
    async with database.operator_scope() as tx:  # nobody asks yet: only the function sees a row
        row = await tx.driver.fetchrow("select * from use_key($1)", told)
    return None if row is None else KeyRights.model_validate(dict(row))


async def page(tx: Transaction, user_id: UUID | None, behind: Place | None, limit: int) -> list[StoredKey]:
    """The keys the caller may see, newest first, behind a place; only those of one user where one is named."""
    rows = await tx.driver.fetch(_PAGE, *tx.whose, user_id, *(behind or (None, None)), limit)
    return [StoredKey.model_validate(dict(row)) for row in rows]


async def find(tx: Transaction, key_id: UUID, *, to_change: bool = False) -> StoredKey | None:
    """A key the caller may see; `to_change` holds others off until the commit."""
    row = await tx.driver.fetchrow(
        f"{_FIND} and k.key_id = $3 {'for update of k' if to_change else ''}", *tx.whose, key_id
    )
    return None if row is None else StoredKey.model_validate(dict(row))


async def live(tx: Transaction, user_id: UUID) -> int:
    """How many keys of a user may be used, of those the caller may see."""
    count: int = await tx.driver.fetchval(_LIVE, tx.tenant_id, user_id)
    return count


async def add(
    tx: Transaction, key_id: UUID, user_id: UUID, name: str, secret: Secret, most: Principal, days: int
) -> StoredKey:
    """Write a key of a user that gives at most the rights of `most`, for so many days."""
    given = sorted(most.scopes), sorted(most.departments), sorted(most.roles)
    await tx.driver.execute(_ADD, *tx.whose, key_id, user_id, name, *secret, *given, days)
    found = await find(tx, key_id)
    assert found is not None
    return found


async def rotate(tx: Transaction, key_id: UUID, secret: Secret, grace_seconds: int) -> None:
    """Put a new secret in the place of a key's; the one before is taken for so long."""
    await tx.driver.execute(_ROTATE, tx.tenant_id, key_id, *secret, grace_seconds)


async def revoke(tx: Transaction, key_id: UUID) -> None:
    """Refuse a key from now on, unless it was before."""
    await tx.driver.execute(_REVOKE, *tx.whose, key_id)
