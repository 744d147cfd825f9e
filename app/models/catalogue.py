"""The catalogue of models that comes along, and the two shapes of addresses a model may have."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, cast, get_args
from urllib.parse import quote, urlsplit

from pydantic import Field

from app.domain.record import Record
from app.errors import AppError, ErrorCode

Role = Literal["rerank", "embed", "chat"]
Sha256 = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
"""64 hex digits; empty = not known."""
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
_HF = re.compile(rf"hf:({_PART}/{_PART})/((?:{_PART}/)*{_PART})(?:@({_PART}))?")
_OLLAMA = re.compile(rf"ollama:((?:{_PART}/)?{_PART})(?::({_PART}))?")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


class Entry(Record):
    """A model that can be pulled."""

    name: Annotated[str, Field(pattern=f"^{_NAME.pattern}$")]
    role: Role
    source: str
    """``hf:OWNER/REPO/FILE`` or ``ollama:NAME:TAG``."""
    revision: str = "main"
    """Of an ``hf:`` source."""
    size: int = Field(0, ge=0)
    """Bytes; 0 = not known."""
    sha256: Sha256 = ""
    licence: str = ""
    memory_mb: int = Field(0, ge=0)
    """An estimate of what serving takes; 0 = not known."""
    languages: tuple[str, ...] = ()
    note: str = ""

    @property
    def file(self) -> str:
        """Name of the file it is kept in."""
        return self.source.rpartition("/")[2] if self.source.startswith("hf:") else f"{self.name}.gguf"


class Catalogue(Record):
    """What `models.toml` says."""

    hosts: dict[str, str]
    """Where each shape of address is asked without a mirror."""
    models: dict[str, Entry]


class Address(NamedTuple):
    """A source, read."""

    kind: Literal["hf", "ollama"]
    repository: str
    file: str
    """Of ``hf``; empty for ``ollama``."""
    revision: str
    """Of ``hf`` a branch or commit, of ``ollama`` the tag."""

    def url(self, host: str) -> str:
        """Where a host has the file, or for ``ollama`` the manifest that names it."""
        base, revision = host.rstrip("/"), quote(self.revision, safe="")
        if self.kind == "hf":
            return f"{base}/{self.repository}/resolve/{revision}/{quote(self.file)}"
        return f"{base}/v2/{self.repository}/manifests/{revision}"

    def blob_url(self, host: str, digest: str) -> str:
        """Where a host of the shape ``ollama`` has the content with this digest."""
        return f"{host.rstrip('/')}/v2/{self.repository}/blobs/{quote(digest, safe=':')}"


@cache
def read_catalogue() -> Catalogue:
    """Read the catalogue that comes along."""
    told = tomllib.loads(Path(__file__).with_name("models.toml").read_text("utf-8"))
    models = {name: Entry(name=name, **entry) for name, entry in told["models"].items()}
    return Catalogue(hosts=told["hosts"], models=models)


def address_of(entry: Entry) -> Address:
    """Read where an entry comes from. Raises `AppError` VALIDATION_FAILED."""
    if found := _HF.fullmatch(entry.source):
        return Address("hf", found[1], found[2], found[3] or entry.revision)
    if found := _OLLAMA.fullmatch(entry.source):
        repository = found[1] if "/" in found[1] else f"library/{found[1]}"
        return Address("ollama", repository, "", found[2] or "latest")
    detail = (
        f"{entry.source[:200]!r} is no address of a model: write hf:OWNER/REPO/FILE[@REVISION] or ollama:NAME[:TAG]."
    )
    raise AppError(ErrorCode.VALIDATION_FAILED, detail)


def entry_named(name: str, role: Role = "chat") -> Entry:
    """Find a name in the catalogue, or make an unpinned entry of an address, which gets `role`. Raises `AppError`."""
    known = read_catalogue().models
    if name in known:
        return known[name]
    if not name.startswith(("hf:", "ollama:")):
        detail = f"There is no model {name[:100]!r}: name one of {', '.join(known)}, or an address (hf:…, ollama:…)."
        raise AppError(ErrorCode.NOT_FOUND, detail, status=404)
    source, _, revision = name.partition("@")
    address = address_of(Entry(name="unnamed", role=role, source=name))
    told = (
        Path(address.file).stem
        if address.kind == "hf"
        else f"{address.repository.rpartition('/')[2]}-{address.revision}"
    )
    return Entry(name=told.lower()[:100], role=role, source=source, revision=revision or "main")


def checked_role(told: str) -> Role:
    """Check that a word is a role. Raises `AppError` VALIDATION_FAILED."""
    if told not in get_args(Role):
        raise AppError(ErrorCode.VALIDATION_FAILED, f"The roles are {', '.join(get_args(Role))}.")
    return cast(Role, told)


def checked_host(url: str) -> str:
    """Check that an address can be a mirror. Raises `AppError` VALIDATION_FAILED; the address is not repeated."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise AppError(ErrorCode.VALIDATION_FAILED, "--mirror is no address: write https://host or https://host/path.")
    return url.rstrip("/")
