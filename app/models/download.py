"""Bringing a model in, from a host or from a file: resumed where it stopped, held against its pin, never half there."""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal

import httpx2

from app.errors import AppError, ErrorCode
from app.models.catalogue import Entry, address_of, checked_host, read_catalogue
from app.models.store import ModelStore, Pulled, make_private, write_private

OnBytes = Callable[[int, int], None]
"""Is told how many bytes are here, and of how many; 0 = nobody knows."""
_BLOCK = 1 << 20
_MOST_BYTES = 1 << 40
_MOST_MANIFEST = 1 << 20
_TIMEOUT = httpx2.Timeout(30.0)
_MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"
_MODEL_LAYER = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MAGIC = b"GGUF"


@dataclass
class _Wanted:
    """What is to come, as far as it is known before."""

    url: str
    sha256: str
    size: int


class Downloader:
    """Pulls models into a store."""

    def __init__(self, store: ModelStore, *, reserve_bytes: int = 0, timeout: httpx2.Timeout = _TIMEOUT):
        """`reserve_bytes`: room that is left free on the disk."""
        self._store, self._reserve, self._timeout = store, reserve_bytes, timeout

    def pull(
        self, entry: Entry, *, mirror: str = "", file: Path | None = None, trust: bool = False,
        on_bytes: OnBytes = lambda _have, _of: None,
    ) -> Pulled:  # fmt: skip
        """Bring a model in, from `mirror` in place of its own host, or from a `file`; one that is here is left alone.

        Raises `AppError`: unpinned without `trust`, not reachable, another content than the pin's, no room on the disk,
        or another process at it. What was taken so far stays for the next try, unless it was wrong.
        """
        address = address_of(entry)
        host = checked_host(mirror) if mirror else read_catalogue().hosts[address.kind]
        with self._store.alone(entry.name):
            if (here := self._store.pulled().get(entry.name)) is not None:
                return here
            pin = self._store.pin_of(entry)
            if not pin and not trust:
                detail = f"Nobody pinned what the file of {entry.name} has to be: take and pin what comes with --trust."
                raise AppError(ErrorCode.VALIDATION_FAILED, detail)
            make_private(self._store.partial(entry.name))
            body = self._store.partial(entry.name) / "body"
            with _explained():
                if file is not None:
                    found = self._copy(file, body, _Wanted("", pin, entry.size), on_bytes)
                else:
                    with httpx2.Client(timeout=self._timeout, follow_redirects=True) as client:
                        wanted = _Wanted(address.url(host), pin, entry.size)
                        if address.kind == "ollama":
                            layer = _model_layer(client, wanted.url)
                            wanted = _Wanted(address.blob_url(host, layer[0]), pin or layer[0][7:], layer[1])
                        found = _Transfer(client, wanted, body, self._check_room, on_bytes).run()
            _check_form(entry, body)
            model = Pulled(entry=entry, sha256=found, size=body.stat().st_size, pulled_at=datetime.now(UTC))
            self._store.publish(model, body)
            return model

    def _copy(self, file: Path, body: Path, wanted: _Wanted, on_bytes: OnBytes) -> str:
        """Copy a file of this machine; its hash."""
        size, have, digest = file.stat().st_size, 0, hashlib.sha256()
        self._check_room(size)
        with file.open("rb") as source, _private(body, "wb") as target:
            while block := source.read(_BLOCK):
                _write(target, block)
                digest.update(block)
                have += len(block)
                on_bytes(have, size)
            os.fsync(target.fileno())
        return _held_against(wanted, digest.hexdigest(), body)

    def _check_room(self, more: int) -> None:
        """Raise `AppError` OVERLOADED unless there is room for so many bytes beside the reserve."""
        free = shutil.disk_usage(self._store.folder).free
        if free - more < self._reserve:
            detail = (
                f"The disk of {self._store.folder} has {free >> 20} MB free; {more >> 20} MB are to come and"
                f" {self._reserve >> 20} MB are kept free. Make room and pull again: what is here already stays."
            )
            raise AppError(ErrorCode.OVERLOADED, detail, status=503)


class _Transfer:
    """One body over HTTP, from where an earlier try stopped if it is surely the same body."""

    def __init__(
        self, client: httpx2.Client, wanted: _Wanted, body: Path, check_room: Callable[[int], None], on_bytes: OnBytes
    ):
        self._client, self._wanted, self._body = client, wanted, body
        self._check_room, self._on_bytes = check_room, on_bytes
        self._state = body.with_name("state.json")

    def run(self) -> str:
        """Transfer it; its hash. Raises `AppError`, `httpx2.HTTPError`, OSError."""
        have, tag = self._resumable()
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        if have and tag:
            headers["If-Range"] = tag
        with self._client.stream("GET", self._wanted.url, headers=headers) as response:
            _check_redirects(response)
            if response.status_code == 416:  # all of it is here, or nothing of it is right
                response.close()
                return self._settle(have, _hash_of(self._body))
            if response.status_code not in (200, 206):
                raise _unreachable(f"answered {response.status_code}")
            if response.status_code == 206 and not response.headers.get("content-range", "").startswith(
                f"bytes {have}-"
            ):
                self._forget()
                raise _unreachable("sent another part than was asked for")
            have = have if response.status_code == 206 else 0
            return self._settle(*self._receive(response, have))

    def _receive(self, response: httpx2.Response, have: int) -> tuple[int, "hashlib._Hash"]:
        """Append what comes to the body; how much is there then, and its running hash."""
        length = response.headers.get("content-length", "")
        total = self._wanted.size or (have + int(length) if length.isdecimal() else 0)
        self._check_room(max(total - have, 0))
        write_private(self._state, json.dumps({**self._identity(), "tag": _strong_tag(response)}))
        digest = _hash_of(self._body) if have else hashlib.sha256()
        with _private(self._body, "ab" if have else "wb") as target:
            for block in response.iter_raw():
                have += len(block)
                if have > (total or _MOST_BYTES):
                    self._forget()
                    raise _wrong(f"is longer than {total} bytes")
                if not total:
                    self._check_room(len(block))
                _write(target, block)
                digest.update(block)
                self._on_bytes(have, total)
            target.flush()
            os.fsync(target.fileno())
        if total and have < total:
            raise _unreachable(f"ended after {have} of {total} bytes; pull again to go on from there")
        return have, digest

    def _settle(self, have: int, digest: "hashlib._Hash") -> str:
        """Hold what is here against what is wanted."""
        if self._wanted.size and have != self._wanted.size:
            self._forget()
            raise _wrong(f"has {have} bytes instead of {self._wanted.size}")
        found = _held_against(self._wanted, digest.hexdigest(), self._body)
        self._state.unlink(missing_ok=True)
        return found

    def _resumable(self) -> tuple[int, str]:
        """How many bytes an earlier try left that can be gone on from, and the mark of the body they are of."""
        try:
            state: dict[str, Any] = json.loads(self._state.read_text("utf-8"))
            have = self._body.stat().st_size
        except (OSError, ValueError):
            return 0, ""
        tag = str(state.pop("tag", ""))
        # Without a hash to be held against, only the server's mark says that it is the same body.
        is_safe = state == self._identity() and bool(self._wanted.sha256 or tag)
        return (have, tag) if is_safe else (0, "")

    def _identity(self) -> dict[str, str]:
        pinned = self._wanted.sha256
        return {"sha256": pinned} if pinned else {"url": self._wanted.url}

    def _forget(self) -> None:
        self._body.unlink(missing_ok=True)
        self._state.unlink(missing_ok=True)


def _model_layer(client: httpx2.Client, url: str) -> tuple[str, int]:
    """Digest and size of the weights a manifest of the Ollama shape names."""
    with client.stream("GET", url, headers={"Accept": _MANIFEST_TYPE}) as response:
        _check_redirects(response)
        if response.status_code != 200:
            raise _unreachable(f"answered {response.status_code}")
        told = b""
        for block in response.iter_bytes(65_536):
            if len(told := told + block) > _MOST_MANIFEST:
                raise _wrong("has too long a manifest")
    try:
        layers = [one for one in json.loads(told)["layers"] if one["mediaType"] == _MODEL_LAYER]
        digest, size = layers[0]["digest"], layers[0]["size"]
    except (ValueError, LookupError, TypeError) as error:
        raise _wrong("has a manifest that names no model") from error
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest) and isinstance(size, int) and size > 0):
        raise _wrong("has a manifest that names no model")
    return digest, size


def _held_against(wanted: _Wanted, found: str, body: Path) -> str:
    """The hash, if it is what it has to be; else the body is thrown away and `AppError` raised."""
    if wanted.sha256 and found != wanted.sha256:
        body.unlink(missing_ok=True)
        body.with_name("state.json").unlink(missing_ok=True)
        raise _wrong(f"has the SHA-256 {found}, its pin is {wanted.sha256}")
    return found


def _check_form(entry: Entry, body: Path) -> None:
    """Raise `AppError` for a body that is no GGUF file: a page of an intermediary, say."""
    with body.open("rb") as file:
        if entry.file.lower().endswith(".gguf") and file.read(len(_MAGIC)) != _MAGIC:
            body.unlink()
            raise _wrong("is no GGUF file")


def _check_redirects(response: httpx2.Response) -> None:
    hops = [*response.history, response]
    if hops[0].url.scheme == "https" and any(hop.url.scheme != "https" for hop in hops):
        raise _wrong("was sent on to an address without TLS")


def _strong_tag(response: httpx2.Response) -> str:
    tag = str(response.headers.get("etag", ""))
    return "" if tag.startswith("W/") else tag


def _hash_of(body: Path) -> "hashlib._Hash":
    digest = hashlib.sha256()
    with body.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest


def has_its_hash(store: ModelStore, model: Pulled) -> bool:
    """Whether the file of a model is still what was pulled; reads all of it."""
    return _hash_of(store.file_of(model)).hexdigest() == model.sha256


def _private(path: Path, mode: Literal["ab", "wb"]) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if mode == "ab" else os.O_TRUNC)
    return os.fdopen(os.open(path, flags, 0o600), mode)


def _write(target: BinaryIO, block: bytes) -> None:
    """Write, and take the body away where the disk is full all the same: others need the room."""
    try:
        target.write(block)
        target.flush()
    except OSError as error:
        if error.errno in _FULL:
            os.ftruncate(target.fileno(), 0)
            raise AppError(ErrorCode.OVERLOADED, "The disk is full. Make room and pull again.", status=503) from error
        raise


@contextmanager
def _explained() -> Iterator[None]:
    """Turn failures of the network and of files into an `AppError`."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise _unreachable(f"cannot be read ({type(error).__name__}); pull again to go on") from error
    except OSError as error:
        detail = f"{error.filename or 'A file'} cannot be used: {error.strerror}."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail) from error


def _unreachable(what: str) -> AppError:
    return AppError(ErrorCode.LLM_UNAVAILABLE, f"The model's host {what}.", status=503)


def _wrong(what: str) -> AppError:
    detail = f"The model's file {what}; it was thrown away."
    return AppError(ErrorCode.VALIDATION_FAILED, detail, status=422)
