"""Who of the people the company has written down may read what."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from app.api.admin.access import Administrator
from app.api.deps import Services
from app.api.schemas import Label, View
from app.domain.principal import Scope

router = APIRouter(prefix="/admin")
_MOST = 500


class ReaderView(View):
    """A person, and whether that person may read something of this scope and department."""

    name: str
    display_name: str
    department: str
    may_read: bool
    lacks: Literal["scope", "department"] | None
    """The first part of the rule that does not hold."""


class ReaderList(View):
    """The people written down, by name."""

    readers: tuple[ReaderView, ...]
    is_cut: bool
    """Whether there are more than 500."""


@router.get("/readers", summary="Who may read a scope of a department")
async def readers(
    caller: Administrator, services: Services, scope: Scope, department: Annotated[Label, Query()]
) -> ReaderList:
    """By the rule of `conclave explain-access`. People who are known by their tokens alone are not among them: their
    tokens say what they may read."""
    found = await services.oversight.people(caller)
    shown = []
    for one in found[:_MOST]:
        may_read = one.principal().may_read(scope, department)
        lacks = None if may_read else "department" if scope in one.scopes else "scope"
        shown.append(
            ReaderView.model_validate(
                {**one.model_dump(include={"name", "display_name", "department"}), "may_read": may_read, "lacks": lacks}
            )
        )
    return ReaderList(readers=tuple(shown), is_cut=len(found) > _MOST)
