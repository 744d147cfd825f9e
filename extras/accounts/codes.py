"""Codes of an authenticator app (TOTP) beside the password, for whoever wants them.

The secret of somebody's codes is sealed with the installation's, for that person alone: the database alone gives nobody
codes, and what it keeps of one person is of no use in another one's row.
"""

import base64
import hmac
import secrets
import time
from collections.abc import Callable
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor import InvalidToken
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.identity.accounts import Accounts, Wrong
from app.storage import accounts as rows
from app.storage.accounts import Held
from app.storage.database import Transaction
from app.storage.documents import note

_STEP_SECONDS, _DIGITS = 30, 6


class Codes:
    """The codes of an installation's people."""

    def __init__(self, accounts: Accounts, clock: Callable[[], float] = time.time):
        """`clock`: seconds."""
        self._accounts, self._clock = accounts, clock
        self._seal = AESGCM(hmac.digest(accounts.secret.encode(), b"conclave: secrets of codes", "sha256"))

    async def takes(self, tx: Transaction, held: Held, code: str) -> bool:
        """Whether a code is the caller's, and neither it nor a later one was taken before; takes it."""
        step = None if held.totp is None else self._step_of(code, held.totp, tx.principal.user_id)
        return step is not None and await rows.take_code(tx, step)

    async def begin(self, caller: Principal, password: str, network: str) -> tuple[str, str]:
        """Make the secret of the caller's codes, told this once, and what an authenticator app takes in. They are asked
        for once the person has shown one (`settle`).

        Raises `AppError`: 409 for a wrong password and for who has codes, 429, 503.
        """
        held = await self._accounts.demand(caller, password, network)
        if held.has_totp:
            detail = "Codes are asked for already: switch them off first, with a code of the app you have."
            raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
        secret, nonce = secrets.token_bytes(20), secrets.token_bytes(12)
        sealed = nonce + self._seal.encrypt(nonce, secret, caller.user_id.bytes)
        guest = await self._accounts.guest_of(caller)
        async with self._accounts.database.principal_scope(caller) as tx:
            await rows.set_totp(tx, sealed, is_on=False)
        address = _totp(secret).get_provisioning_uri(guest.user, f"Conclave {guest.company}")
        return base64.b32encode(secret).decode(), address

    async def settle(self, caller: Principal, password: str, code: str, network: str, *, is_on: bool) -> None:
        """Ask for codes from now on, or no longer; the caller shows one either way. Raises `AppError`: 409 for a wrong
        password or code, 429, 503."""
        held = await self._accounts.demand(caller, password, network)
        async with self._accounts.database.principal_scope(caller) as tx:
            if not await self.takes(tx, held, code):
                raise Wrong(ErrorCode.VALIDATION_FAILED, 409)
            await rows.set_totp(tx, held.totp if is_on else None, is_on=is_on)
            await note(tx, "codes_on" if is_on else "codes_off", str(caller.user_id), {})

    def _step_of(self, code: str, sealed: bytes, user_id: UUID) -> int | None:
        """The time step whose code this is, of the present one and its neighbours; None when it is no such code, or
        the secret cannot be opened: another person's, or another installation's."""
        try:
            secret = self._seal.decrypt(sealed[:12], sealed[12:], user_id.bytes)
        except InvalidTag:
            return None
        found, now = None, int(self._clock()) // _STEP_SECONDS
        for step in (now - 1, now, now + 1):
            try:
                _totp(secret).verify(code.encode(), step * _STEP_SECONDS)
                found = step
            except InvalidToken:
                continue
        return found


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, _DIGITS, SHA1(), _STEP_SECONDS)  # what every authenticator app computes
