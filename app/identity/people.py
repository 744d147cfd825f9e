"""People of a tenant as its administrators look after them: list, add, change rights, shut out.

The database writes every change of rights to the audit, in the transaction that makes it. What somebody may do in a
request follows within a minute; who changes it in this process ends what was remembered of that person.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import StringConstraints, TypeAdapter

from app.domain.principal import GENERAL, Principal, user_id_of
from app.errors import AppError, ErrorCode
from app.identity.keys import SERVICE
from app.storage import documents, people
from app.storage.database import Database, Transaction
from app.storage.paging import cut_page, read_cursor
from app.storage.people import Looked, Person
from app.text.language import fold

ROLES = ("reader", "owner", "admin", "auditor")
"""Roles an administrator may give. ``admin`` looks after documents and people, ``auditor`` sees who there is, ``owner``
has the desk of the own departments; ``reader`` says what somebody is, and opens nothing."""
_PLACE: TypeAdapter[str] = TypeAdapter(Annotated[str, StringConstraints(max_length=400, pattern=r"^[^\x00]*$")])


class People:
    """The users of tenants; every method does I/O."""

    def __init__(self, database: Database):
        self._database = database

    async def page(
        self, caller: Principal, wanted: Looked, cursor: str | None, limit: int
    ) -> tuple[tuple[Person, ...], str | None]:
        """The tenant's users by name, and the next cursor. Raises `AppError`: 403 unless an administrator or auditor
        asks, 422 for a foreign cursor."""
        if not caller.roles & {"admin", "auditor"}:
            detail = "Only administrators and auditors of the company see who there is: ask one of them for the role."
            raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
        behind = read_cursor(_PLACE, cursor)
        if wanted.folded is not None:
            wanted = wanted.model_copy(update={"folded": fold(wanted.folded).lower()})
        async with self._database.principal_scope(caller, durable=False) as tx:
            found = await people.page(tx, wanted, behind, limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: last.name)

    async def add(
        self, caller: Principal, values: Mapping[str, Any], offered: frozenset[str], *, is_service: bool = False
    ) -> Person:
        """Make a user with these rights, a program where `is_service`. `offered`: departments that agents answer for.

        Raises `AppError`: 403; 409 when there is such a user, or the name of a program is that of somebody who asked
        questions already; 422 for a department or role nobody knows.
        """
        demand_administrator(caller)
        user_id = user_id_of(caller.tenant_id, values["name"])
        async with self._database.principal_scope(caller) as tx:
            await _check(tx, values, offered, frozenset())
            if is_service and await people.has_asked(tx, user_id):
                raise _conflict("Somebody of this name has asked questions here: take another name for the program.")
            rights = {
                "departments": frozenset(values["departments"]) | {values["department"]},
                "roles": frozenset(values["roles"]) | ({SERVICE} if is_service else set()),
            }
            made = await people.add(tx, user_id, {**values, **rights})
            if made is None:
                raise _conflict("There is a user of this name already: change that one with PATCH.")
        return made

    async def amend(
        self, caller: Principal, user_id: UUID, changes: Mapping[str, Any], offered: frozenset[str]
    ) -> Person:
        """Change fields of a user (`changes` names only those; ``disabled`` shuts out or lets in again).

        Raises `AppError`: 403; 404 for unknown and foreign ids; 409 where the tenant would lose its last administrator,
        or the caller the own role; 422 for a department or role nobody knows.
        """
        demand_administrator(caller)
        async with self._database.principal_scope(caller) as tx:
            before = await people.lock(tx, user_id)
            if before is None:
                raise AppError(ErrorCode.NOT_FOUND, "There is no such user.", status=404)
            await _check(tx, changes, offered, before.roles)
            after = _changed(before, changes)
            if before.rules and not after.rules:
                if user_id == caller.user_id:
                    raise _conflict("You cannot take your own administrator role: another administrator does that.")
                if not await people.has_other_administrator(tx, user_id):
                    raise _conflict("This is the last administrator: make somebody else one first.")
            if after != before:
                await people.amend(tx, after)
            if after.display_name != before.display_name:  # the database tells of rights, and keeps no name
                await documents.note(tx, "user_renamed", str(user_id), {})
        return after


def _changed(before: Person, changes: Mapping[str, Any]) -> Person:
    values = {name: value for name, value in changes.items() if name != "disabled"}
    if "roles" in values:
        values["roles"] = frozenset(values["roles"]) | (before.roles & {SERVICE})
    department = values.get("department", before.department)
    values["departments"] = frozenset(values.get("departments", before.departments)) | {department}
    if (is_out := changes.get("disabled")) is not None:
        values["disabled_at"] = (before.disabled_at or datetime.now(UTC)) if is_out else None
    return before.model_copy(update=values)


async def _check(tx: Transaction, values: Mapping[str, Any], offered: frozenset[str], has: frozenset[str]) -> None:
    """Refuse departments and roles nobody knows; roles somebody `has` may stay. Raises `AppError` (422)."""
    if strange := frozenset(values.get("roles", ())) - {*ROLES, *has}:
        why = "is given when a user is made" if strange == {SERVICE} else f"is none of {', '.join(ROLES)}"
        raise AppError(ErrorCode.PAYLOAD_INVALID, f"roles: {sorted(strange)[0]} {why}.", status=422)
    named = frozenset(values.get("departments", ())) | ({values["department"]} if "department" in values else set())
    known = offered | {GENERAL}
    if named - known:
        known |= await documents.departments(tx) | await people.departments(tx)
    if strange := named - known:
        detail = f"departments: {sorted(strange)[0]} is none of {', '.join(sorted(known)[:20])}."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)


def demand_administrator(caller: Principal) -> None:
    """Raise `AppError` (403) for all but administrators."""
    if not caller.is_admin:
        detail = "Only administrators of the company change people: ask with a token that carries the role admin."
        raise AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)


def _conflict(detail: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
