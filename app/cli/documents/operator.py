"""Whoever sits at the machine, as an administrator; and which document this person means by a name."""

from typing import TYPE_CHECKING
from uuid import UUID

from app.domain.principal import GENERAL, SCOPES, Principal, tenant_id_of, user_id_of
from app.errors import AppError, ErrorCode
from app.ingestion.intake import document_id_of

if TYPE_CHECKING:
    from app.main import Services


async def operator_in(services: "Services", tenant: str) -> Principal:
    """Whoever sits at the machine, as an administrator of `tenant` who belongs to every department.

    Raises `AppError` (404) when there is no such tenant.
    """
    agents = services.rooms.agents
    departments = frozenset(department for name in agents.names for department in agents.spec(name).departments)
    operator = operator_of(tenant, departments)
    if not await services.directory.is_known(operator):
        raise AppError(ErrorCode.NOT_FOUND, f"There is no tenant {tenant[:100]!r}.", status=404)
    return operator


def operator_of(tenant: str, departments: frozenset[str] = frozenset()) -> Principal:
    """Whoever sits at the machine, without asking whether there is such a tenant."""
    tenant_id = tenant_id_of(tenant)
    return Principal(
        tenant_id=tenant_id,
        user_id=user_id_of(tenant_id, "operator"),
        department=GENERAL,
        departments=departments | {GENERAL},
        scopes=frozenset(SCOPES),
        roles=frozenset({"admin"}),
        name="operator",
    )


def id_of(principal: Principal, name: str) -> UUID:
    """The id meant by `name`: itself when it is one, else that of the document with this external id."""
    try:
        return UUID(name)
    except ValueError:
        return document_id_of(principal, name)
