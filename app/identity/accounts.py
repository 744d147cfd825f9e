"""Accounts of people whose company has no identity provider: links by which they set their passwords, and signing in.

A link is a value by chance, in the database as its hash alone; it counts once, and for three days. Whoever tries
passwords waits longer from try to try, but is never shut out. Nobody learns from an answer, or from the time it takes,
who has an account. Who may bring what over HTTP stands in `extras.accounts`.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime
from typing import Protocol
from uuid import UUID

from app.domain.principal import Principal, tenant_id_of, user_id_of
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.identity.keys import SERVICE
from app.identity.passwords import Passwords, check_password
from app.identity.people import demand_administrator
from app.identity.sign_ins import begun, hash_of
from app.storage import accounts, people, sign_ins, tenants
from app.storage.accounts import Held
from app.storage.database import Database, OperatorTransaction, Transaction
from app.storage.documents import note
from app.storage.sign_ins import LOCAL
from app.storage.tenants import User

LINK_SECONDS = 3 * 86_400
FREE_TRIES, FREE_OF_NETWORK, MOST_WAIT_SECONDS = 5, 50, 900
"""Wrong passwords of a user, and of a part of the network, before a wait; and the longest one."""
NOWHERE = UUID(int=0)
"""Under this tenant's id the parts of the network have theirs."""
_HOME_SECONDS = 5


class Wrong(AppError):
    """The one refusal of every name, password and code; 409 for who is signed in."""

    def __init__(self, code: ErrorCode = ErrorCode.UNAUTHENTICATED, status: int = 401):
        super().__init__(code, "The name, the password or the code is wrong.", status=status)


class House(Protocol):
    """What is known of the installation's companies."""

    async def home(self) -> str:
        """The company of who names none; empty where several may be meant."""

    async def own_companies(self) -> list[str]:
        """Every company but the demo's."""

    def as_operator(self) -> AbstractAsyncContextManager[OperatorTransaction]:
        """A transaction that makes companies and people."""


class Guest(Record):
    """Whom a link is for."""

    company: str
    user: str
    name: str
    """To be shown."""


class Accounts:
    """The accounts of an installation; every method does I/O."""

    def __init__(self, database: Database, house: House, secret: str, closed: frozenset[UUID]):
        """`secret`: the installation's, for what has to be sealed. `closed`: tenants whose people have no accounts."""
        self.database, self.house, self.secret, self._closed = database, house, secret, closed
        self._passwords, self._home, self._home_until = Passwords(), "", 0.0

    async def invite(self, caller: Principal, user_id: UUID) -> tuple[str, datetime]:
        """Make the link with which somebody sets a first or another password, told this once, and until when it holds;
        the one before counts no more. Raises `AppError`: 403 for all but administrators, 404 for unknown and foreign
        ids, 409 for programs and people who are shut out."""
        demand_administrator(caller)
        link = secrets.token_urlsafe(32)
        async with self.database.principal_scope(caller) as tx:
            found = await people.lock(tx, user_id)
            if found is None:
                raise AppError(ErrorCode.NOT_FOUND, "There is no such user.", status=404)
            if found.disabled_at is not None or SERVICE in found.roles or caller.tenant_id in self._closed:
                raise _conflict("Only people who are not disabled have accounts: programs get keys, demo users links.")
            until = await accounts.invite(tx, user_id, hash_of(link), LINK_SECONDS)
            await note(tx, "invited", str(user_id), {"expires_at": until})
        return link, until

    async def guest(self, link: str) -> Guest:
        """Whom a link is for. Raises `AppError` (404) for one that cannot be used (any more)."""
        return await self.guest_of(await self._whose_link(link))

    async def guest_of(self, whose: Principal) -> Guest:
        """What somebody is called. Raises `AppError` (404) for who may have no account."""
        async with self.database.principal_scope(whose) as tx:
            [company], found = await tenants.tenants(tx), _known(await tenants.user(tx, *tx.whose))
        if found is None:
            raise _gone()
        return Guest(company=company.name, user=found.name, name=found.display_name)

    async def redeem(self, link: str, password: str) -> tuple[Principal, str]:
        """Set the password of whom a link is for, end all sign-ins of that person, and give a new one with its cookie.
        No second factor is asked for then. Raises `AppError`: 404 as `guest`, 422 for a password one cannot take."""
        whose = await self._whose_link(link)
        check_password(password, (await self.guest_of(whose)).model_dump().values())
        kept = await self._passwords.hashed(password)
        async with self.database.principal_scope(whose) as tx:
            found = _known(await tenants.user(tx, *tx.whose))
            if found is None or not await accounts.take_invitation(tx, hash_of(link), kept):
                raise _gone()
            await sign_ins.end_all(tx)
            await note(tx, "password_set", str(found.user_id), {"by": "link"})
            return await _enter(tx, found)

    async def named(self, name: str) -> Principal:
        """Whoever this name would be, ``user`` or ``company/user``, without asking whether there is such a user."""
        company, _, user = name.rpartition("/")
        tenant_id = tenant_id_of(company or await self._only_company())
        return Principal.without_rights(tenant_id, user_id_of(tenant_id, user))

    async def sign_in(
        self, whose: Principal, password: str, network: str, second: Callable[[Transaction, Held], Awaitable[bool]]
    ) -> tuple[Principal, str]:
        """Give who has this password, and passes the `second` factor where there is one, a new sign-in with its cookie.
        `network`: the part of the network that asks. Raises `AppError`: 401 whatever is wrong, after the same work, 429
        for who has to wait, 503."""
        held = await self._held(whose, password, network)
        async with self.database.principal_scope(whose) as tx:
            found = _known(await tenants.user(tx, *tx.whose))
            if held is None or found is None or whose.tenant_id in self._closed:
                raise Wrong
            if held.has_totp and not await second(tx, held):
                raise Wrong
            entered = await _enter(tx, found)
        await self._forgive(network)
        return entered

    async def is_unruled(self) -> bool:
        """Whether no administrator of an own company has an account yet. Raises `AppError` (403) where the operator's
        role is not known."""
        ids = [tenant_id_of(one) for one in await self.house.own_companies()]
        async with self.house.as_operator() as tx:
            return not await accounts.has_ruler(tx, ids)

    async def change(self, caller: Principal, password: str, new: str, network: str, sign_in_id: UUID | None) -> None:
        """Put a new password in the place of the caller's and end all sign-ins but one. Raises `AppError`: 409 for a
        wrong password, 422 for a new one that will not do, 429, 503."""
        await self.demand(caller, password, network)
        check_password(new, (await self.guest_of(caller)).model_dump().values())
        kept = await self._passwords.hashed(new)
        async with self.database.principal_scope(caller) as tx:
            await accounts.set_password(tx, kept)
            await sign_ins.end_all(tx, sign_in_id)
            await note(tx, "password_set", str(caller.user_id), {"by": "the person"})

    async def _only_company(self) -> str:
        """As `House.home`, asked at most every few seconds."""
        if time.monotonic() > self._home_until:
            with suppress(AppError):
                self._home = await self.house.home()
            self._home_until = time.monotonic() + _HOME_SECONDS
        return self._home

    async def _whose_link(self, link: str) -> Principal:
        found = await accounts.invited(self.database, hash_of(link))
        if found is None:
            raise _gone()
        return Principal.without_rights(*found)

    async def _held(self, whose: Principal, password: str, network: str) -> Held | None:
        """The account of whom this is the password; counted as a try before it is looked at."""
        held: Held | None = None
        for one, free in ((_part(network), FREE_OF_NETWORK), (whose, FREE_TRIES)):
            async with self.database.principal_scope(one, durable=False) as tx:
                if wait := await accounts.take_turn(tx, free, MOST_WAIT_SECONDS):
                    detail = f"Too many tries. Wait {wait} seconds, or ask an administrator for a new link."
                    raise AppError(ErrorCode.RATE_LIMITED, detail, status=429, retry_after_seconds=wait)
                held = await accounts.own(tx)
        return held if await self._passwords.is_right(password, held.password if held else None) else None

    async def demand(self, caller: Principal, password: str, network: str) -> Held:
        """The account of who is signed in and brings the password once more. Raises `AppError`: 409, 429, 503."""
        if (held := await self._held(caller, password, network)) is None:
            raise Wrong(ErrorCode.VALIDATION_FAILED, 409)
        async with self.database.principal_scope(caller) as tx:
            await accounts.forget_tries(tx, every_one=True)
        await self._forgive(network)
        return held

    async def _forgive(self, network: str) -> None:
        async with self.database.principal_scope(_part(network), durable=False) as tx:
            await accounts.forget_tries(tx, every_one=False)


async def _enter(tx: Transaction, found: User) -> tuple[Principal, str]:
    await accounts.forget_tries(tx, every_one=True)
    return found.principal(), await begun(tx, LOCAL, found.principal(), {})


def _known(found: User | None) -> User | None:
    """Whoever may have an account."""
    return None if found is None or found.disabled_at is not None or SERVICE in found.roles else found


def _part(network: str) -> Principal:
    return Principal.without_rights(NOWHERE, user_id_of(NOWHERE, network))


def _gone() -> AppError:
    detail = "This link was used already, or is too old: ask an administrator for a new one."
    return AppError(ErrorCode.NOT_FOUND, detail, status=404)


def _conflict(detail: str) -> AppError:
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
