"""What lies in the file of a backup: a manifest, then its members one after the other, sealed as by
`app.operations.sealed`."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import ValidationError

from app.domain.record import Moment, Record
from app.operations.sealed import CHUNK, SealedReader, SealedWriter, refused

DUMP = "database.dump"
FOLDERS = ("spool", "evaluations", "agents", "mcp", "models/pulled")
"""Folders of the data directory whose files may be members."""
SINGLE = ("jwt-secret", "postgres/.seeded", "postgres/.logs_retold")
"""Single files of the data directory that may be."""
_LENGTH, _MOST_MANIFEST = 8, 1 << 26
Seen = Callable[[int, int], None]
"""Told of bytes done, and of how many there are."""


class Member(Record):
    """A file in the backup."""

    name: str
    """``database.dump``, or a path below the data directory."""
    size: int
    sha256: str


class Manifest(Record):
    """What a backup says of itself; it stands before everything else in it."""

    version: str
    revision: str
    """Of the schema."""
    server: int
    """PostgreSQL's major version."""
    made_at: Moment
    companies: tuple[str, ...]
    counts: dict[str, int]
    """Rows by table."""
    models: dict[str, str]
    """SHA-256 of the models that were here, by name; their files are members only where that was asked for."""
    members: tuple[Member, ...]


def member_of(name: str, body: IO[bytes]) -> Member:
    """A member's record, of all that `body` holds. Reads it."""
    body.seek(0)
    sha256 = hashlib.sha256()
    while part := body.read(CHUNK):
        sha256.update(part)
    return Member(name=name, size=body.tell(), sha256=sha256.hexdigest())


def write_backup(
    manifest: Manifest, bodies: Sequence[IO[bytes]], target: Path, passphrase: str | None, on_progress: Seen
) -> None:
    """Write the file beside its place, read it back, and put it there; `bodies` in the order of the members. Blocks."""
    draft = target.with_name(f"{target.name}.part")
    draft.unlink(missing_ok=True)
    told = manifest.model_dump_json().encode()
    done, total = 0, 2 * sum(one.size for one in manifest.members)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            sealed = SealedWriter(file, passphrase)
            sealed.write(len(told).to_bytes(_LENGTH, "big") + told)
            for body in bodies:
                body.seek(0)
                while part := body.read(CHUNK):
                    sealed.write(part)
                    on_progress(done := done + len(part), total)
            sealed.finish()
            file.flush()
            os.fsync(file.fileno())
        check_backup(draft, passphrase, lambda read, _: on_progress(total // 2 + read, total))
        draft.rename(target)
        folder = os.open(target.absolute().parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    finally:
        draft.unlink(missing_ok=True)


def check_backup(path: Path, passphrase: str | None, on_progress: Seen) -> Manifest:
    """Read a backup to its end and hold every byte against its seal and its hash; its manifest. Writes nothing, blocks.

    Raises `AppError` with what is wrong.
    """
    with path.open("rb") as file:
        reader = SealedReader(file, passphrase)
        manifest = _manifest(reader)
        done, total = 0, sum(one.size for one in manifest.members)
        for member in manifest.members:
            for part in _parts(reader, member):
                on_progress(done := done + len(part), total)
        if reader.read(1):
            raise refused("The backup holds more than it says.")
    return manifest


def extract(path: Path, passphrase: str | None, folder: Path) -> None:
    """Write the members below a new folder, for this user alone; each is checked again. Blocks."""
    folder.mkdir(mode=0o700)
    with path.open("rb") as file:
        reader = SealedReader(file, passphrase)
        for member in _manifest(reader).members:
            place = folder / member.name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as body:
                for part in _parts(reader, member):
                    body.write(part)
                os.fsync(body.fileno())


def _manifest(reader: SealedReader) -> Manifest:
    length = int.from_bytes(reader.exactly(_LENGTH), "big")
    if length > _MOST_MANIFEST:
        raise refused("The backup is damaged: its manifest has no end.")
    try:
        manifest = Manifest.model_validate_json(reader.exactly(length))
    except ValidationError:
        raise refused("The manifest of the backup cannot be read: it is of another version.") from None
    names = [one.name for one in manifest.members]
    if names[:1] != [DUMP] or len({*names}) != len(names) or not all(map(_is_ours, names[1:])):
        raise refused("The backup holds files that belong to no data directory.")
    return manifest


def _is_ours(name: str) -> bool:
    below = name.startswith(tuple(f"{folder}/" for folder in FOLDERS))
    return name in SINGLE or (below and ".." not in PurePosixPath(name).parts and "\0" not in name)


def _parts(reader: SealedReader, member: Member) -> Iterator[bytes]:
    left, sha256 = member.size, hashlib.sha256()
    while left:
        part = reader.exactly(min(left, CHUNK))
        left -= len(part)
        sha256.update(part)
        yield part
    if sha256.hexdigest() != member.sha256:
        raise refused(f"{member.name} in the backup is not what was put there: take another one.")
