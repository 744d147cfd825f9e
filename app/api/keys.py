"""Keys of programs: a person's own, and those of service users for administrators."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import Response

from app.api.auth import Slug
from app.api.deps import Caller, Services
from app.api.schemas import Body, Label, Problem, View
from app.domain.principal import Scope
from app.errors import AppError, ErrorCode
from app.identity.keys import MOST_GRACE_SECONDS, ApiKeys, WantedKey
from app.storage.keys import KeyRights, StoredKey

_REFUSED: dict[int | str, dict[str, Any]] = {status: {"model": Problem} for status in (403, 409)}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"model": Problem}}
router = APIRouter(prefix="/keys", tags=["keys"])


async def _key_used(request: Request, services: Services) -> KeyRights | None:
    return await services.authenticator.key_behind(request.headers.get("authorization"))


async def _api_keys(services: Services) -> ApiKeys:
    if (found := services.authenticator.api_keys) is None:
        raise AppError(ErrorCode.NOT_FOUND, "This service takes no keys.", status=404)
    return found


Keys = Annotated[ApiKeys, Depends(_api_keys)]
Used = Annotated[KeyRights | None, Depends(_key_used)]


class KeyBody(Body):
    """A key that is wanted."""

    name: Label
    """What it is for, as it stands in the list."""
    user: Label | None = None
    """Name or id of the service user it speaks as, for administrators; left out: yourself."""
    scopes: frozenset[Scope] | None = Field(None, min_length=1)
    """Left out: all that may be given."""
    departments: frozenset[Slug] | None = Field(None, min_length=1, max_length=64)
    """Left out: all that may be given."""
    roles: frozenset[Slug] = Field(frozenset(), max_length=64)
    """A role comes with a key only where it stands here and you have it."""
    expires_in_days: int = Field(90, ge=1, le=3_650)
    """At most ``CONCLAVE_AUTH_KEY_MAX_DAYS``."""


class RotationBody(Body):
    """How a key gets a new secret."""

    grace_seconds: int = Field(0, strict=True, ge=0, le=MOST_GRACE_SECONDS)
    """For so long the secret before is taken, too."""


class KeyView(StoredKey, View):
    """A key; its secret was shown when it was made, and is kept nowhere."""

    scopes: tuple[str, ...]  # type: ignore[assignment]  # in order
    departments: tuple[str, ...]  # type: ignore[assignment]
    roles: tuple[str, ...]  # type: ignore[assignment]


class NewKeyView(KeyView):
    """A key with its secret, shown this once."""

    key: str
    """To be sent as ``Authorization: Bearer …``. Put it where your program keeps its secrets."""


class KeyPage(View):
    """Keys, newest first; those that were revoked are among them."""

    keys: tuple[KeyView, ...]
    next_cursor: str | None
    """Ask again with ``?cursor=`` for the next page; null at the end."""


@router.get("", summary="Keys you may see")
async def listing(
    caller: Caller,
    keys: Keys,
    user: Annotated[Label | None, Query(description="Name or id of whom a key speaks as")] = None,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> KeyPage:
    """Your own; for administrators those of the whole company. No secret is in it."""
    found, further = await keys.page(caller, user, cursor, limit)
    return KeyPage(keys=tuple(KeyView(**_shown(one)) for one in found), next_cursor=further)


@router.post("", summary="Make a key", status_code=201, responses={**_REFUSED, **_UNKNOWN})
async def make(body: KeyBody, caller: Caller, keys: Keys, used: Used) -> NewKeyView:
    """For yourself, or as an administrator for a service user. The key gives what its user may do at the time it
    is used, narrowed by what is asked for here, and never more than you may give. It is shown in this answer alone."""
    wanted = WantedKey(**body.model_dump(exclude={"expires_in_days"}), days=body.expires_in_days)
    made, text = await keys.make(caller, wanted, used)
    return NewKeyView(**_shown(made), key=text)


@router.post("/{key_id}/rotate", summary="Give a key a new secret", responses={**_REFUSED, **_UNKNOWN})
async def rotate(key_id: UUID, caller: Caller, keys: Keys, used: Used, body: RotationBody | None = None) -> NewKeyView:
    """The key stays what it is; the secret before is taken for as long as `grace_seconds` says, and shown nowhere."""
    changed, text = await keys.rotate(caller, key_id, body.grace_seconds if body else 0, used)
    return NewKeyView(**_shown(changed), key=text)


@router.delete("/{key_id}", summary="Revoke a key", status_code=204, response_class=Response, responses=_UNKNOWN)
async def revoke(key_id: UUID, caller: Caller, keys: Keys) -> None:
    """An own key, or as an administrator any of the company. At once in this process, within a minute in others.
    Idempotent."""
    await keys.revoke(caller, key_id)


def _shown(found: StoredKey) -> dict[str, Any]:
    return {
        **found.model_dump(),
        **{right: sorted(getattr(found, right)) for right in ("scopes", "departments", "roles")},
    }
