"""Write refused sign-ins to the audit of the company a token names, at most one row a minute and address class.

What a refused token says is nobody's word: it decides alone in whose audit the row stands, and the row says only which
person it named, as an id. A flood of such tokens fills neither the table nor the pool of connections.
"""

import base64
import json
import time
from collections.abc import Awaitable, Callable
from ipaddress import ip_address, ip_network
from uuid import UUID

from app.domain.principal import Principal, Visit, tenant_id_of, user_id_of
from app.errors import AppError
from app.storage import documents, tenants
from app.storage.database import Database

SIGN_IN_REFUSED = "sign_in_refused"
NOBODY = UUID(int=0)
_PAUSE_SECONDS = 60.0
_MOST_A_MINUTE = 60
"""Rows of one process, whatever the addresses and companies."""
_V4_BITS, _V6_BITS = 24, 48


def address_class(address: str) -> str:
    """Give the network an address belongs to: 256 addresses of IPv4, a site of IPv6; empty for what is no address."""
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    mapped = getattr(found, "ipv4_mapped", None) or found
    return str(ip_network(f"{mapped}/{_V4_BITS if mapped.version == 4 else _V6_BITS}", strict=False))


def named_in(token: str) -> tuple[UUID, UUID] | None:
    """Read which company and person a token names, without believing it; None for what is no token."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        tenant_id = tenant_id_of(str(claims["tenant_id"]))
        return tenant_id, user_id_of(tenant_id, str(claims["sub"]))
    except (LookupError, TypeError, ValueError, RecursionError):
        return None


class Refusals:
    """Notes refused sign-ins of one process."""

    def __init__(self, database: Callable[[], Database], clock: Callable[[], float] = time.monotonic):
        """`database`: asked when the first row is written. `clock`: seconds."""
        self._database, self._clock = database, clock
        self._noted: dict[tuple[UUID, str], float] = {}

    def noting(
        self, authenticate: Callable[[], Callable[[str | None, Visit], Awaitable[Principal]]]
    ) -> Callable[[str | None, str, Visit], Awaitable[Principal]]:
        """Add the caller's address to what `authenticate` gives, note whom that refuses, and raise on."""

        async def noted(authorization: str | None, address: str, visit: Visit) -> Principal:
            try:
                return await authenticate()(authorization, visit)
            except AppError as refused:
                await self.note(authorization, address, refused)
                raise

        return noted

    async def note(self, authorization: str | None, address: str, refused: AppError) -> None:
        """Write a row, unless one of this company and address class was written within the minute, or too many were.
        What names no company of this service leaves none; nor does what cannot be written now."""
        token = (authorization or "").partition(" ")[2]
        if refused.status in (401, 403) and len(token) <= 8_192 and (named := named_in(token)) is not None:
            await self.note_named(named, address, refused)

    async def note_named(self, named: tuple[UUID, UUID], address: str, refused: AppError) -> None:
        """Write a row as `note` does, about this company and person."""
        key, now = (named[0], address_class(address)), self._clock()
        self._noted = {one: since for one, since in self._noted.items() if now - since < _PAUSE_SECONDS}
        if key in self._noted or len(self._noted) >= _MOST_A_MINUTE:
            return
        self._noted[key] = now
        try:
            async with self._database().principal_scope(
                Principal.without_rights(named[0], NOBODY), durable=False
            ) as tx:
                if await tenants.tenants(tx):
                    told = {"address": key[1], "code": refused.code.value}
                    await documents.note(tx, SIGN_IN_REFUSED, str(named[1]), told)
        except AppError:
            return
