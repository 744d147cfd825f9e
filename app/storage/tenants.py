"""Rows of ``tenants`` and ``users``. Everybody sees the own tenant and its people; an administrator changes its
people; only the operator (maintenance role) makes tenants."""

from collections.abc import Callable
from datetime import date, datetime, tzinfo
from typing import Literal, NamedTuple
from uuid import UUID

import asyncpg

from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.storage.database import OperatorTransaction, Transaction
from app.text.dates import HOME, zone_named

_USER = "tenant_id, user_id, name, display_name, department, departments, scopes, roles"
_SEEN = f"{_USER}, disabled_at"
AnswerMode = Literal["model", "strict"]


class Tenant(Record):
    """A company; nothing of it is ever visible to another one."""

    tenant_id: UUID
    name: str
    """Unique and short. Its id follows from it (`app.domain.principal.tenant_id_of`)."""
    display_name: str
    language: str
    time_zone: str = HOME
    """IANA name: what "today" means to its people."""
    answer_mode: AnswerMode = "model"
    """``strict``: where a model is configured, its people get literal quotes only."""


class User(Record):
    """A person of a tenant and what that person may read."""

    tenant_id: UUID
    user_id: UUID
    name: str
    display_name: str
    department: str
    departments: frozenset[str]
    scopes: frozenset[str]
    roles: frozenset[str]
    disabled_at: datetime | None = None
    """Since when the person is shut out."""

    def principal(self) -> Principal:
        """The person as a caller, with all own rights; with none while shut out."""
        if self.disabled_at is not None:
            return Principal.without_rights(self.tenant_id, self.user_id)
        return Principal.model_validate(self.model_dump(exclude={"display_name", "disabled_at"}))


async def add_tenant(
    tx: OperatorTransaction, name: str, *, display_name: str = "", language: str = "vi", time_zone: str = HOME,
    answer_mode: AnswerMode = "model",
) -> Tenant:  # fmt: skip
    """Make a tenant, or update the one of that name. Raises `ValueError` for a time zone that does not exist."""
    zone_named(time_zone)
    tenant = Tenant(
        tenant_id=tenant_id_of(name), name=name, display_name=display_name, language=language, time_zone=time_zone,
        answer_mode=answer_mode,
    )  # fmt: skip
    await tx.driver.execute(
        "insert into tenants (tenant_id, name, display_name, language, time_zone, answer_mode)"
        " values ($1, $2, $3, $4, $5, $6)"
        " on conflict (tenant_id) do update set display_name = excluded.display_name, language = excluded.language,"
        " time_zone = excluded.time_zone, answer_mode = excluded.answer_mode",
        tenant.tenant_id,
        name,
        display_name,
        language,
        time_zone,
        answer_mode,
    )
    return tenant


async def remove_tenant(tx: OperatorTransaction, tenant_id: UUID) -> dict[str, int]:
    """Remove a tenant with every row there is of it; gives how many went, by table, but for those that hung on others.
    Raises `AppError` (409) while somebody of it is under legal hold."""
    try:
        rows = await tx.driver.fetch("select * from remove_tenant($1)", tenant_id)
    except asyncpg.ObjectInUseError as held:
        detail = "People of this tenant are under legal hold: nothing of it may be removed."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409) from held
    return {row["part"]: row["gone"] for row in rows}


class Own(NamedTuple):
    """What holds for all people of a tenant."""

    time_zone: str = HOME
    is_strict: bool = False
    """Whether a model may only quote."""


async def own(tx: Transaction) -> Own:
    """What holds for the caller's tenant; Vietnam's time where the tenant is not known."""
    found = await tx.driver.fetchrow(
        "select time_zone, answer_mode = 'strict' from tenants where tenant_id = $1", tx.tenant_id
    )
    return Own(*found) if found else Own()


async def own_day(tx: Transaction, today: Callable[[tzinfo], date]) -> date:
    """The day it is for the caller's tenant, by a clock that tells the day of a time zone."""
    return today(zone_named((await own(tx)).time_zone))


async def tenants(tx: Transaction | OperatorTransaction) -> list[Tenant]:
    """The tenants the caller may see, by name: the own one, or all for the operator."""
    rows = await tx.driver.fetch(
        "select tenant_id, name, display_name, language, time_zone, answer_mode from tenants order by name"
    )
    return [Tenant.model_validate(dict(row)) for row in rows]


async def add_user(
    tx: Transaction | OperatorTransaction,
    tenant_id: UUID,
    name: str,
    *,
    department: str,
    scopes: frozenset[str] | set[str],
    departments: frozenset[str] | set[str] = frozenset(),
    roles: frozenset[str] | set[str] = frozenset(),
    display_name: str = "",
) -> User:
    """Make a person, or replace the rights of the one of that name. An administrator does so in the own tenant only."""
    user = User(
        tenant_id=tenant_id,
        user_id=user_id_of(tenant_id, name),
        name=name,
        display_name=display_name,
        department=department,
        departments=frozenset(departments) | {department},
        scopes=frozenset(scopes),
        roles=frozenset(roles),
    )
    await tx.driver.execute(
        f"insert into users ({_USER}) values ($1, $2, $3, $4, $5, $6, $7, $8)"
        " on conflict (tenant_id, user_id) do update set display_name = excluded.display_name,"
        " department = excluded.department, departments = excluded.departments, scopes = excluded.scopes,"
        " roles = excluded.roles",
        user.tenant_id, user.user_id, name, display_name, department, sorted(user.departments), sorted(user.scopes),
        sorted(user.roles),
    )  # fmt: skip
    return user


async def users(tx: Transaction | OperatorTransaction, tenant_id: UUID) -> list[User]:
    """The people of a tenant, by name; none of another tenant's."""
    rows = await tx.driver.fetch(f"select {_SEEN} from users where tenant_id = $1 order by name", tenant_id)
    return [_user(row) for row in rows]


async def user(tx: Transaction | OperatorTransaction, tenant_id: UUID, user_id: UUID) -> User | None:
    """One person of a tenant."""
    row = await tx.driver.fetchrow(
        f"select {_SEEN} from users where tenant_id = $1 and user_id = $2", tenant_id, user_id
    )
    return None if row is None else _user(row)


def _user(row: asyncpg.Record) -> User:
    return User.model_validate(dict(row))
