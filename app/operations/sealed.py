"""A file that tells when a byte of it was changed, moved or is missing: chunks, each sealed with its place in the file.

Two lines of text (format, and how the key is made), then chunks of `CHUNK` bytes and one shorter last one. The nonce of
a chunk is its number and whether it is the last; both lines are sealed with every chunk. Without a passphrase a hash
stands where the seal would: that finds damage, and hides and proves nothing.
"""

import hashlib
import json
import os
from typing import IO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from app.errors import AppError, ErrorCode

MAGIC = b"conclave-backup 1\n"
CHUNK = 1 << 20
COST = 1 << 17
"""Of scrypt: 128 MiB and about half a second for each try of a passphrase."""
_LEAST_COST, _MOST_COST = 1 << 10, 1 << 20
_BLOCK, _MOST_HEADER = 8, 1_000
_TAG = 16
"""Bytes a chunk is longer by when it is sealed."""


class _Seal(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, aad: bytes) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, aad: bytes) -> bytes: ...


class _Hashed:
    def encrypt(self, nonce: bytes, data: bytes, aad: bytes) -> bytes:
        return data + hashlib.sha256(nonce + aad + data).digest()[:_TAG]

    def decrypt(self, nonce: bytes, data: bytes, aad: bytes) -> bytes:
        if self.encrypt(nonce, data[:-_TAG], aad) != data:
            raise InvalidTag
        return data[:-_TAG]


class SealedWriter:
    """Writes into a binary file; nothing is complete before `finish`."""

    def __init__(self, file: IO[bytes], passphrase: str | None):
        """`passphrase`: None = not encrypted."""
        salt = os.urandom(16)
        told: dict[str, str | int] = {"seal": "sha256"}
        self._seal: _Seal = _Hashed()
        if passphrase is not None:
            self._seal, check = _seal_of(passphrase, salt, COST)
            told = {"seal": "chacha20-poly1305", "salt": salt.hex(), "cost": COST, "check": check}
        self._head = MAGIC + json.dumps(told).encode() + b"\n"
        self._file, self._number, self._waiting = file, 0, bytearray()
        file.write(self._head)

    def write(self, data: bytes) -> None:
        """Add bytes. Does I/O."""
        self._waiting += data
        while len(self._waiting) > CHUNK:
            self._put(bytes(self._waiting[:CHUNK]), is_last=False)
            del self._waiting[:CHUNK]

    def finish(self) -> None:
        """Write what waits as the last chunk."""
        self._put(bytes(self._waiting), is_last=True)

    def _put(self, data: bytes, *, is_last: bool) -> None:
        self._file.write(self._seal.encrypt(_nonce(self._number, is_last), data, self._head))
        self._number += 1


class SealedReader:
    """Reads what a `SealedWriter` wrote; gives no byte that was not checked."""

    def __init__(self, file: IO[bytes], passphrase: str | None):
        """Read the two first lines. Raises `AppError` for another file, and for a wrong or missing passphrase."""
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise refused("This is no backup of Conclave, or its first bytes are damaged.")
        line = file.readline(_MOST_HEADER)
        self._head, self._seal = MAGIC + line, _seal_told(line, passphrase)
        self._ahead, self._ready = file.read(CHUNK + _TAG), b""
        self._number, self._ended = 0, False

    def read(self, count: int) -> bytes:
        """The next bytes, at most `count`; empty at the end. Raises `AppError` where a chunk is not what was
        written."""
        if not self._ready and not self._ended:
            self._ready = self._chunk()
        taken, self._ready = self._ready[:count], self._ready[count:]
        return taken

    def exactly(self, count: int) -> bytes:
        """The next `count` bytes. Raises `AppError` where there are fewer."""
        parts, missing = [], count
        while missing:
            parts.append(part := self.read(missing))
            if not part:
                raise refused("The backup ends too early.")
            missing -= len(part)
        return b"".join(parts)

    def _chunk(self) -> bytes:
        sealed, self._ahead = self._ahead, self._file.read(CHUNK + _TAG)
        self._ended = not self._ahead
        try:
            opened = self._seal.decrypt(_nonce(self._number, self._ended), sealed, self._head)
        except InvalidTag:
            where = f"in its chunk {self._number + 1}"
            raise refused(f"The backup is damaged, cut off or was changed, {where}: take another one.") from None
        self._number += 1
        return opened


def refused(detail: str) -> AppError:
    """Why a backup is not taken or not restored, as an error for the operator."""
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=422)


def _seal_told(line: bytes, passphrase: str | None) -> _Seal:
    try:
        told = json.loads(line)
        if told["seal"] == "sha256":
            return _Hashed()
        salt, cost, check = bytes.fromhex(told["salt"]), int(told["cost"]), str(told["check"])
        if not _LEAST_COST <= cost <= _MOST_COST or cost & (cost - 1):
            raise ValueError(cost)
    except (ValueError, KeyError, TypeError):
        raise refused("The first lines of the backup are damaged: take another one.") from None
    if passphrase is None:
        raise refused("The backup is encrypted: give its passphrase.")
    seal, right = _seal_of(passphrase, salt, cost)
    if check != right:
        raise refused("The passphrase is not that of this backup, or its first lines are damaged.")
    return seal


def _seal_of(passphrase: str, salt: bytes, cost: int) -> tuple[_Seal, str]:
    """What seals, and what tells later whether a passphrase is the same one."""
    made = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=cost, r=_BLOCK, p=1, maxmem=256 * cost * _BLOCK, dklen=64
    )  # fmt: skip
    return ChaCha20Poly1305(made[:32]), hashlib.sha256(made[32:]).hexdigest()


def _nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])
