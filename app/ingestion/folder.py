"""A folder as the source of documents: what lies in it, and what has to be done so that the catalogue says the same.

`walk` looks at the disk, `plan` is pure. A synchronisation owns the documents whose external id begins with its
prefix, and never touches another one.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import FORMATS, Source
from app.ingestion.manifest import MANIFEST
from app.text.language import clean

_TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", ".bak", "~")
_MAY_VANISH = 0.5
"""Share of a folder's known documents; more than that looks like a disk that is not there."""


class Skipped(Record):
    """A file that is not brought in."""

    name: str
    reason: str


class Listing:
    """What lies in a folder, in order of names."""

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.skipped: list[Skipped] = []
        """Hidden and temporary files are not even named."""
        self.unreadable: list[str] = []
        """Folders and files nobody may look into; their documents are neither brought in nor retired."""


class Plan(Record):
    """What to do so that the catalogue says what the folder says; external ids, sorted."""

    arrive: tuple[str, ...]
    """New ones."""
    check: tuple[str, ...]
    """Known ones: a new version where the file has changed."""
    retire: tuple[str, ...]
    """Known ones whose file is gone."""
    withheld: tuple[str, ...] = ()
    """Would be retired, but are suspiciously many."""


def plan(
    files: Collection[str],
    known: Collection[str],
    *,
    prefix: str,
    unreadable: Collection[str] = (),
    allow_retire_all: bool = False,
) -> Plan:
    """The steps from `known` (external ids of the catalogue) to `files` (external ids of what lies in the folder).

    Only ids that begin with `prefix` are ever retired, and none of a file or folder in `unreadable` (names relative to
    the folder; "" = all of it). When nothing is left in the folder, or more than half of what was known is gone,
    nothing is retired unless `allow_retire_all` says so.
    """
    wanted, own = set(files), {name for name in known if name.startswith(prefix)}
    gone = sorted(name for name in own - wanted if not _is_below(name.removeprefix(prefix), unreadable))
    is_suspicious = not wanted or len(gone) > _MAY_VANISH * len(own)
    is_allowed = allow_retire_all or not is_suspicious
    return Plan(
        arrive=tuple(sorted(wanted - own)),
        check=tuple(sorted(wanted & own)),
        retire=tuple(gone) if is_allowed else (),
        withheld=() if is_allowed else tuple(gone),
    )


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(not folder or name == folder or name.startswith((f"{folder}/", f"{folder}#")) for folder in folders)


def walk(root: Path, is_ignored: Callable[[str], bool] = lambda _name: False) -> Listing:
    """The documents in `root` and below. Links that lead out of it are not followed, nor are links to folders.

    Raises `AppError` when the folder itself cannot be read.
    """
    root = root.resolve()
    listing = Listing()

    def unreadable(error: OSError) -> None:
        if error.filename is None or Path(error.filename) == root:
            raise AppError(ErrorCode.NOT_FOUND, f"{root}: the folder cannot be read ({error.strerror}).", status=404)
        listing.unreadable.append(_name(root, Path(error.filename)))

    for folder, folders, names in os.walk(root, onerror=unreadable):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        listing.skipped += [
            Skipped(name=_name(root, Path(folder, link)), reason="a link to a folder is not followed") for link in links
        ]
        folders[:] = sorted(name for name in folders if not _is_hidden(name) and name not in links)
        for path in _visible(Path(folder), names):
            _add(listing, root, path, is_ignored)
    return listing


def _visible(folder: Path, names: Collection[str]) -> Iterator[Path]:
    for name in sorted(names):
        if not _is_hidden(name) and not name.lower().endswith(_TEMPORARY) and name != MANIFEST:
            yield folder / name


def _add(listing: Listing, root: Path, path: Path, is_ignored: Callable[[str], bool]) -> None:
    name = _name(root, path)
    try:
        target = path.resolve(strict=True) if path.is_symlink() else path
        mode = target.lstat().st_mode
    except OSError:
        listing.unreadable.append(name)
        return
    reason = ""
    if is_ignored(name):
        reason = f"ignored by {MANIFEST}"
    elif not target.is_relative_to(root):
        reason = "a link that leads out of the folder is not followed"
    elif not name.lower().endswith(FORMATS):
        reason = "none of the formats that are read"
    elif not stat.S_ISREG(mode):
        reason = "not a file"
    if reason:
        listing.skipped.append(Skipped(name=name, reason=reason))
    else:
        listing.sources.append(Source(target, name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$", "#"))


def _name(root: Path, path: Path) -> str:
    return clean(path.relative_to(root).as_posix())
