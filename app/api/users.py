"""People of a company: who there is, what they may do, and erasing what somebody asked and was told."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from app.api.auth import Slug
from app.api.deps import AppServices, Caller, Services
from app.api.schemas import Body, Label, Problem, Text, View
from app.domain.principal import GENERAL, Scope
from app.identity.keys import SERVICE
from app.identity.people import People
from app.storage.people import Looked, Person

router = APIRouter(prefix="/users", tags=["users"])
_REFUSED: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (403, 409)}


def _people(services: Services) -> People:
    return People(services.database)


Here = Annotated[People, Depends(_people)]


class UserView(View):
    """Somebody of the company, and what that person may do now."""

    user_id: UUID
    name: str
    """Short, as in tokens and ``tenant/user``."""
    display_name: str
    department: str
    departments: tuple[str, ...]
    scopes: tuple[Scope, ...]
    roles: tuple[str, ...]
    is_service: bool
    """Whether it is a program."""
    created_at: datetime
    disabled_at: datetime | None
    """Since when the user is shut out."""


class UserPage(View):
    """Users by name."""

    users: tuple[UserView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


class UserBody(Body):
    """What is changed of a user; what is left out stays."""

    display_name: Annotated[Text | None, Field(max_length=200)] = None
    department: Slug | None = None
    """Where the user is at home; one of `departments` whether it stands there or not."""
    departments: frozenset[Slug] | None = Field(None, max_length=64)
    """All of them."""
    scopes: frozenset[Scope] | None = None
    """All of them."""
    roles: frozenset[Slug] | None = Field(None, max_length=16)
    """All of them: ``admin``, ``auditor``, ``reader``, ``owner``."""
    disabled: bool | None = Field(None, strict=True)
    """Whether the user is shut out, whatever token or key is brought."""


class NewUserBody(Body):
    """A user who is added."""

    name: Annotated[Label, Field(pattern=r"^[^/\x00-\x20\x7f]([^/\x00-\x1f\x7f]*[^/\x00-\x20\x7f])?$")]
    """As it stands in tokens (``sub``); never changed."""
    display_name: Text = Field("", max_length=200)
    department: Slug = GENERAL
    departments: frozenset[Slug] = Field(frozenset(), max_length=64)
    scopes: frozenset[Scope] = frozenset[Scope]({"public"})
    roles: frozenset[Slug] = Field(frozenset(), max_length=16)
    service: bool = Field(False, strict=True)
    """Whether it is a program, for which administrators make keys; nobody becomes or ceases to be one later."""


@router.get("", summary="Who there is", responses={403: {"model": Problem}})
async def listing(
    caller: Caller,
    people: Here,
    q: Annotated[Label | None, Query(description="A part of a name, with or without accents")] = None,
    department: Annotated[Label | None, Query()] = None,
    disabled: bool | None = None,
    cursor: Annotated[str | None, Query(max_length=1_200)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> UserPage:
    """For administrators and auditors. People who are known by their tokens alone are not among them."""
    wanted = Looked(department=department, is_disabled=disabled, folded=q)
    found, further = await people.page(caller, wanted, cursor, limit)
    return UserPage(users=tuple(map(_view, found)), next_cursor=further)


@router.post("", summary="Add a user", status_code=201, responses=_REFUSED)
async def add(body: NewUserBody, caller: Caller, people: Here, services: Services) -> UserView:
    """For administrators; written to the audit."""
    made = await people.add(caller, body.model_dump(exclude={"service"}), _offered(services), is_service=body.service)
    _forget(services, caller.tenant_id, made.user_id)
    return _view(made)


@router.patch("/{user_id}", summary="Change a user", responses={**_REFUSED, 404: {"model": Problem}})
async def amend(user_id: UUID, body: UserBody, caller: Caller, people: Here, services: Services) -> UserView:
    """For administrators; written to the audit. Holds at once in this process, within a minute in others, for every
    token and key. Not for the own role ``admin``, nor for the last administrator's (409)."""
    changes = body.model_dump(exclude_unset=True, exclude_none=True)
    changed = await people.amend(caller, user_id, changes, _offered(services))
    _forget(services, caller.tenant_id, user_id)
    return _view(changed)


class ErasedView(View):
    """What was erased of a person."""

    conversations: int
    files: int
    remaining: int
    """Rows with words of theirs that are left: 0."""


@router.delete("/{user_id}/data", summary="Erase a person's data", responses={403: {"model": Problem}})
async def erase_person(user_id: UUID | Literal["me"], caller: Caller, services: Services) -> ErasedView:
    """Deletes every conversation and attached file of yourself (`me`), or as an administrator of anybody of your
    company. A run going on is lost. What they cost and did stays in the records, without a word of theirs."""
    whose = caller.user_id if user_id == "me" else user_id
    return ErasedView.model_validate((await services.sessions.erase(caller, whose))._asdict())


def _offered(services: AppServices) -> frozenset[str]:
    """The departments that agents answer for."""
    return frozenset(one for name in services.agents.names for one in services.agents.spec(name).departments)


def _forget(services: AppServices, tenant_id: UUID, user_id: UUID) -> None:
    """Ask anew what somebody may do at the next request."""
    services.authenticator.known.pop((tenant_id, user_id), None)


def _view(one: Person) -> UserView:
    listed = {name: tuple(sorted(getattr(one, name))) for name in ("departments", "scopes", "roles")}
    return UserView.model_validate({**one.model_dump(), **listed, "is_service": SERVICE in one.roles})
