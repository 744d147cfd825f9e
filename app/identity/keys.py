"""Keys by which programs come in: made, listed, rotated and revoked by people, and looked up for whoever brings one.

A key speaks as its user with that user's rights of the day, narrowed by what the key gives; never more. Nobody gets the
secret of a key that speaks as another person: for others an administrator makes keys of service users alone.
"""

import hashlib
import re
import secrets
import string
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

from cachetools import TTLCache
from pydantic import AwareDatetime, TypeAdapter

from app.domain.principal import GENERAL, Principal, Scope, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.identity import RightsToday, speaking_as
from app.storage import keys, tenants
from app.storage.database import Database, Transaction
from app.storage.documents import note
from app.storage.keys import KeyRights, Secret, StoredKey
from app.storage.paging import cut_page, read_cursor
from app.storage.tenants import User

KEY_MARK = "cvk_"
"""Every key begins so, and no token does."""
SERVICE = "service"
"""The role of users who are programs. Given when they are made and never taken: others may make keys for them."""
MOST_LIVE = 50
"""Keys of one user that may be used at a time."""
MOST_GRACE_SECONDS = 86_400
_FORM = re.compile(r"cvk_([a-z0-9]{8})_[A-Za-z0-9]{40}([0-9a-f]{8})", re.ASCII)
_PREFIX_SIGNS = string.ascii_lowercase + string.digits
_SECRET_SIGNS = string.ascii_letters + string.digits
_PLACE: TypeAdapter[keys.Place] = TypeAdapter(tuple[AwareDatetime, UUID])


class WantedKey(Record):
    """What somebody wants a key for; what is None is all that may be given."""

    name: str
    user: str | None = None
    """Name or id of a service user; None = the caller."""
    scopes: frozenset[Scope] | None = None
    departments: frozenset[str] | None = None
    roles: frozenset[str] = frozenset()
    """None unless asked for."""
    days: int


class ApiKeys:
    """The keys of an installation; every method but `forget` may do I/O."""

    def __init__(self, database: Database, most_days: int, clock: Callable[[], float] = time.monotonic):
        """`most_days`: no key is made for longer. What was looked up is believed for a minute of `clock`."""
        self._database, self._most_days = database, most_days
        self._known: TTLCache[bytes, KeyRights] = TTLCache(10_000, 60, clock)

    async def rights_of(self, key: str) -> KeyRights | None:
        """What a key gives at most; None for all that are no good, whatever the reason. What has not the form of a key
        is refused before the database is asked. Raises `AppError` (503) when that is away.

        A key is looked up by the hash of the whole of it, so the time that takes says nothing about any other key.
        """
        if not has_form(key):
            return None
        told = _hash(key)
        found = self._known.get(told)
        if found is None:
            found = await keys.use(self._database, told)
            if found is not None:
                self._known[told] = found
        return found if found is not None and found.expires_at > datetime.now(UTC) else None

    async def caller(self, key: str, rights_today: RightsToday) -> Principal | None:
        """Find who comes with a key, with the rights of now (`speaking_as`); None for a key that is no good."""
        found = await self.rights_of(key)
        return None if found is None else await speaking_as(found, rights_today)

    def forget(self, key_id: UUID) -> None:
        """Believe nothing of a key any more that was looked up before."""
        for told in [told for told, found in self._known.items() if found.key_id == key_id]:
            self._known.pop(told, None)

    async def page(
        self, caller: Principal, user: str | None, cursor: str | None, limit: int
    ) -> tuple[tuple[StoredKey, ...], str | None]:
        """The caller's keys, or an administrator's tenant's, newest first, and the next cursor. Raises `AppError` (422)
        for a foreign cursor."""
        behind = read_cursor(_PLACE, cursor)
        user_id = None if user is None else user_id_of(caller.tenant_id, user)
        async with self._database.principal_scope(caller) as tx:
            found = await keys.page(tx, user_id, behind, limit + 1)
        return cut_page(_PLACE, found, limit, lambda last: (last.created_at, last.key_id))

    async def make(self, caller: Principal, wanted: WantedKey, by: KeyRights | None = None) -> tuple[StoredKey, str]:
        """Make a key and give its text, told this once. `by` is the key the caller came with, if any: a new
        one gives no more, and for no longer.

        Raises `AppError`: 403 for more than may be given, 404 for an unknown user, 409 for one who cannot have another
        key, 422 for too long a time.
        """
        if not 0 < wanted.days <= self._most_days:
            detail = f"A key lives for 1 to {self._most_days} days (CONCLAVE_AUTH_KEY_MAX_DAYS): ask for fewer."
            raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
        user_id = caller.user_id if wanted.user is None else user_id_of(caller.tenant_id, wanted.user)
        text, secret = _new_key()
        async with self._database.principal_scope(caller) as tx:
            owner = await _owner(tx, caller, user_id)
            given = _given(caller, owner, wanted, by)
            if await keys.live(tx, user_id) >= MOST_LIVE:
                raise _refused(f"There are {MOST_LIVE} keys of this user already: revoke one that nobody needs.")
            made = await keys.add(tx, uuid4(), user_id, wanted.name, secret, given, wanted.days)
            if by is not None and made.expires_at > by.expires_at:
                raise _denied("A key made with a key cannot live longer than that one: ask for fewer days.")
            rights = made.model_dump(mode="json", include={"user_id", "scopes", "departments", "roles", "expires_at"})
            await note(tx, "key_made", str(made.key_id), rights)
        return made, text

    async def rotate(
        self, caller: Principal, key_id: UUID, grace_seconds: int, by: KeyRights | None = None
    ) -> tuple[StoredKey, str]:
        """Give a key a new secret, told this once; the one before is taken for `grace_seconds` more, those before it no
        longer. The caller must be allowed to have such a key made, as in `make`.

        Raises `AppError`: 403, 404, and 409 for a key that is revoked or has expired.
        """
        text, secret = _new_key()
        async with self._database.principal_scope(caller) as tx:
            found = await _found(tx, key_id, to_change=True)
            if found.revoked_at is not None or found.expires_at <= datetime.now(UTC):
                raise _refused("This key is revoked or has expired: make a new one.")
            owner = await _owner(tx, caller, found.user_id)
            wanted = WantedKey(
                name=found.name, scopes=found.scopes, departments=found.departments, roles=found.roles, days=1
            )
            _given(caller, owner, wanted, by)
            if by is not None and found.expires_at > by.expires_at:
                raise _denied("This key lives longer than the one you came with: sign in with a token.")
            await keys.rotate(tx, key_id, secret, grace_seconds)
            await note(tx, "key_rotated", str(key_id), {"user_id": found.user_id, "grace_seconds": grace_seconds})
            changed = await _found(tx, key_id)
        self.forget(key_id)
        return changed, text

    async def revoke(self, caller: Principal, key_id: UUID) -> None:
        """Refuse a key from now on: at once in this process, within a minute in others. Raises `AppError` (404) for
        unknown and foreign ones."""
        async with self._database.principal_scope(caller) as tx:
            found = await _found(tx, key_id, to_change=True)
            if found.revoked_at is None:
                await keys.revoke(tx, key_id)
                await note(tx, "key_revoked", str(key_id), {"user_id": found.user_id})
        self.forget(key_id)


def has_form(text: str) -> bool:
    """Whether a text is built as every key is, its last eight characters being the checksum of those before."""
    form = _FORM.fullmatch(text)
    return form is not None and form[2] == _checksum(text[:-8])


def _new_key() -> tuple[str, Secret]:
    prefix = "".join(secrets.choice(_PREFIX_SIGNS) for _ in range(8))
    body = f"{KEY_MARK}{prefix}_" + "".join(secrets.choice(_SECRET_SIGNS) for _ in range(40))
    text = body + _checksum(body)
    return text, Secret(f"{KEY_MARK}{prefix}", _hash(text))


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


async def _owner(tx: Transaction, caller: Principal, user_id: UUID) -> User:
    """The user a key is to speak as: the caller, or for administrators a service user."""
    if user_id != caller.user_id and not caller.is_admin:
        raise _denied("Only administrators make keys for others: leave `user` out for a key of your own.")
    found = await tenants.user(tx, caller.tenant_id, user_id)
    if found is None and user_id != caller.user_id:
        raise AppError(ErrorCode.NOT_FOUND, "There is no such user.", status=404)
    if found is None or found.disabled_at is not None:
        raise _refused("Only users whom an administrator has added, and who are not disabled, may have keys.")
    if user_id != caller.user_id and SERVICE not in found.roles:
        raise _denied("A key for somebody else is made for service users alone: a person makes an own one.")
    return found


def _given(caller: Principal, owner: User, wanted: WantedKey, by: KeyRights | None) -> Principal:
    """The rights a new key has. At most the caller's; a service user's key has that user's, unless the caller came with
    a key. Raises `AppError` (403) for more."""
    own = owner.principal()
    most = own if owner.user_id != caller.user_id and by is None else caller.limited_to(own)
    scopes = most.scopes if wanted.scopes is None else wanted.scopes
    departments = most.departments if wanted.departments is None else wanted.departments
    roles = wanted.roles - {SERVICE}
    held = caller.roles & own.roles
    over = [*(scopes - most.scopes), *(departments - most.departments - {GENERAL}), *(roles - held)]
    if over:
        detail = f"The key would give more than may be given: leave out {', '.join(sorted(over)[:5])}."
        raise _denied(detail)
    return most.model_copy(update={"scopes": scopes, "departments": departments, "roles": roles})


async def _found(tx: Transaction, key_id: UUID, *, to_change: bool = False) -> StoredKey:
    found = await keys.find(tx, key_id, to_change=to_change)
    if found is None:
        raise AppError(ErrorCode.NOT_FOUND, "There is no such key.", status=404)
    return found


def _refused(detail: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)


def _denied(detail: str) -> AppError:
    return AppError(ErrorCode.PERMISSION_DENIED, detail, status=403)
