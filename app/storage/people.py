"""Changes of ``users`` by who administers them: shutting people out and letting them in again."""

from uuid import UUID

from app.storage.database import OperatorTransaction, Transaction


async def shut_out(tx: Transaction | OperatorTransaction, tenant_id: UUID, user_id: UUID, *, out: bool) -> bool:
    """Refuse a person whatever token is brought, or no longer; False when there is no such person."""
    found = await tx.driver.fetchval(
        "update users set disabled_at = case when $3 then coalesce(disabled_at, now()) end"
        " where tenant_id = $1 and user_id = $2 returning true",
        tenant_id, user_id, out,
    )  # fmt: skip
    return found is not None
