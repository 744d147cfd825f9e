"""Passwords: which ones are taken, how they are kept, and whether one is right.

Hashing takes 20 MB and some hundredths of a second, so one thread of the process does it, off the event loop; it lets
go of the interpreter while it computes. A crowd of sign-ins waits for it and holds up nobody else.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from app.errors import AppError, ErrorCode

LEAST_CHARS, MOST_CHARS, MEMORY_KIB = 12, 200, 19_456
"""The last is OWASP's, with two passes and one lane."""
_MOST_WAITING = 20
"""Passwords of a process that wait to be hashed; further ones are refused."""
_ENDS = "0123456789 .!?*#@"
"""What people put around a name to make it long enough."""
_COMMON = frozenset({
    "123456789012", "1234567890123", "12345678901234567890", "password1234", "password12345", "passwordpassword",
    "qwertyuiop12", "qwertyuiop123", "qwertyuiop[]", "1qaz2wsx3edc", "administrator", "changemeplease", "letmeinplease",
    "iloveyou1234", "welcome12345", "admin1234567", "matkhau12345", "matkhaumatkhau", "conclaveconclave",
})  # fmt: skip
T = TypeVar("T")


class Passwords:
    """Hashes and checks passwords, one at a time."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="password")
        self._waiting = 0
        self._nobodys = _hashed(secrets.token_urlsafe())

    async def hashed(self, password: str) -> str:
        """What is kept of a password: Argon2id as PHC writes it. Raises `AppError` (503) when too many wait."""
        return await self._run(lambda: _hashed(password))

    async def is_right(self, password: str, kept: str | None) -> bool:
        """Whether a password is the one of which `kept` was made; for None, the account of nobody, after the same work.
        Raises `AppError` (503) when too many wait."""
        return await self._run(lambda: _is_right(password, kept or self._nobodys)) and kept is not None

    async def _run(self, job: Callable[[], T]) -> T:
        if self._waiting >= _MOST_WAITING:
            detail = "Too many people sign in at this moment. Try again shortly."
            raise AppError(ErrorCode.OVERLOADED, detail, status=503, retry_after_seconds=2)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job)
        finally:
            self._waiting -= 1


def check_password(password: str, names: Iterable[str]) -> None:
    """Refuse a password that is too short or long, among the commonest, or one of the person's `names`, whatever is
    large or small, with or without a number behind. Raises `AppError` (422)."""
    if not LEAST_CHARS <= len(password) <= MOST_CHARS:
        raise _unfit(f"The password needs {LEAST_CHARS} to {MOST_CHARS} characters; several words are best.")
    plain = password.lower()
    if plain in _COMMON or len(set(plain)) < 5:
        raise _unfit("This password is among the first that anybody tries: take another one.")
    if plain.strip(_ENDS) in {name.lower().strip(_ENDS) for name in names if name}:
        raise _unfit("A password must not be the name of the person or the company: take another one.")


def _hashed(password: str) -> str:
    kept = Argon2id(salt=secrets.token_bytes(16), length=32, iterations=2, lanes=1, memory_cost=MEMORY_KIB)
    return kept.derive_phc_encoded(password.encode())


def _is_right(password: str, kept: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(password.encode(), kept)
    except InvalidKey:
        return False
    return True


def _unfit(detail: str) -> AppError:
    return AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
