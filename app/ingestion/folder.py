"""A folder as the source of documents: what lies in it, what its ``conclave.toml`` says, and what is to be done.

What a later one says wins: the command line, ``[defaults]``, the department of the first-level folder, the file's own
front matter, then every matching ``[[rules]]`` in order. So a rule is the administrator's last word on who may read. A
synchronisation owns the documents whose external id begins with its prefix, and never touches another one.
"""

import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from app.domain.documents import DocumentFields
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import FORMATS, Entry, Source, first_fault
from app.text.language import clean

MANIFEST = "conclave.toml"
_MAX_BYTES = 2**20
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_GLOB_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_HIDDEN = (".", "~$", "#")
_TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".crdownload", ".download", ".swp", ".bak", "~")
_MAY_VANISH = 0.5
"""Share of a folder's known documents; more than that looks like a disk that is not there."""


@dataclass
class Listing:
    """What lies in a folder, in order of names; hidden and temporary files are not even named."""

    sources: list[Source] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Files that are not brought in, and why."""
    unreadable: list[str] = field(default_factory=list)
    """Folders and files nobody may look into; their documents are neither brought in nor retired."""


def walk(root: Path, is_ignored: Callable[[str], bool] = lambda _name: False) -> Listing:
    """List the documents in `root` and below. Links that lead out of it are not followed, nor are links to folders.

    Raises `AppError` when the folder itself cannot be read.
    """
    root = root.resolve()
    listing = Listing()

    def unreadable(error: OSError) -> None:
        if error.filename is None or Path(error.filename) == root:
            raise AppError(ErrorCode.NOT_FOUND, f"{root}: the folder cannot be read ({error.strerror}).", status=404)
        listing.unreadable.append(_name(root, Path(error.filename)))

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in [*links, *sorted(names)]:
            if not name.startswith(_HIDDEN) and not name.lower().endswith(_TEMPORARY) and name != MANIFEST:
                _add(listing, root, Path(folder, name), is_ignored)
    return listing


def _add(listing: Listing, root: Path, path: Path, is_ignored: Callable[[str], bool]) -> None:
    name = _name(root, path)
    try:
        target = path.resolve(strict=True) if path.is_symlink() else path
        mode = target.lstat().st_mode
    except OSError:
        listing.unreadable.append(name)
        return
    if is_ignored(name):
        listing.skipped.append((name, f"ignored by {MANIFEST}"))
    elif not target.is_relative_to(root):
        listing.skipped.append((name, "a link that leads out of the folder is not followed"))
    elif not stat.S_ISREG(mode):
        listing.skipped.append((name, "not a file"))
    elif not name.lower().endswith(FORMATS):
        listing.skipped.append((name, "none of the formats that are read"))
    else:
        listing.sources.append(Source(target, name))


def _name(root: Path, path: Path) -> str:
    return clean(path.relative_to(root).as_posix())


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
    """Plan the steps from `known` (external ids of the catalogue) to `files` (external ids of the folder).

    Only ids that begin with `prefix` are ever retired, and none of a file or folder in `unreadable` (names relative to
    the folder; "" = all of it). When nothing is left in the folder, or more than half of what was known is gone,
    nothing is retired unless `allow_retire_all` says so.
    """
    wanted, own = set(files), {name for name in known if name.startswith(prefix)}
    gone = tuple(sorted(name for name in own - wanted if not _is_below(name.removeprefix(prefix), unreadable)))
    is_allowed = allow_retire_all or (bool(wanted) and len(gone) <= _MAY_VANISH * len(own))
    retire, withheld = (gone, ()) if is_allowed else ((), gone)
    return Plan(arrive=tuple(sorted(wanted - own)), check=tuple(sorted(wanted & own)), retire=retire, withheld=withheld)


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(not folder or name == folder or name.startswith((f"{folder}/", f"{folder}#")) for folder in folders)


def _sync_name(name: str) -> str:
    name = clean(name).strip()
    if not name or "/" in name or len(name) > 100:
        raise ValueError("must be 1 to 100 characters without a slash")
    return name


def _pattern(pattern: str) -> str:
    if not pattern or pattern.startswith(("/", "./", "../")) or "\\" in pattern:
        raise ValueError("must be relative to the folder and use /, like hr/**/*.pdf")
    return pattern


Pattern = Annotated[str, AfterValidator(_pattern)]
"""``*`` and ``?`` stay inside one folder, ``**`` crosses folders; without ``/`` it means a file name anywhere."""


class Rule(DocumentFields):
    """What holds for the files that match; `supersedes` is an external id, or ``./path`` of a file of the folder."""

    match: Pattern


class Manifest(Record):
    """The content of ``conclave.toml``."""

    name: Annotated[str, AfterValidator(_sync_name)] | None = None
    """Of the synchronisation; part of every external id. Unset = the folder's own name."""
    defaults: DocumentFields = DocumentFields()
    departments: dict[str, Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]] = {}
    """Which department a first-level folder means, by the folder's name."""
    ignore: tuple[Pattern, ...] = ()
    """Files that are no documents."""
    rules: tuple[Rule, ...] = ()


class FolderRules:
    """A manifest at work for one folder."""

    def __init__(self, name: str, manifest: Manifest, base: Mapping[str, Any], departments: Collection[str]):
        """`base` is what the command line says, `departments` are those that exist."""
        self.prefix = f"folder:{name}/"
        self.is_ignored = matcher(manifest.ignore)
        self._base = {**base, **manifest.defaults.model_dump(exclude_unset=True)}
        named = {clean(folder).casefold(): department for folder, department in manifest.departments.items()}
        self._departments = {name: name for name in departments} | named
        self._rules = [
            (rule.match, matcher([rule.match]), rule.model_dump(exclude_unset=True, exclude={"match"}))
            for rule in manifest.rules
        ]
        self._used: set[str] = set()

    def describe(self, entry: Entry, own: Mapping[str, Any]) -> dict[str, Any]:
        """Put together the fields of an entry, which says `own` of itself."""
        name, fields = entry.source.name, dict(self._base)
        top, slash, _ = name.partition("/")
        if slash and (department := self._departments.get(top.casefold())):
            fields["department"] = department
        fields |= own
        for pattern, matches, said in self._rules:
            if matches(name):
                self._used.add(pattern)
                fields |= said
        return {**fields, "external_id": self.prefix + entry.name}

    @property
    def unused(self) -> tuple[str, ...]:
        """Patterns of rules that no file matched so far: often a misspelling."""
        return tuple(pattern for pattern, _, _ in self._rules if pattern not in self._used)

    def resolve(self, entries: Sequence[Entry]) -> list[Entry]:
        """Let `supersedes` name what is brought in: ``./path``, or the id another file gives itself."""
        ids = {entry.own_id: entry.fields.external_id for entry in entries if entry.own_id and not entry.fault}

        def meant(said: str | None) -> str | None:
            return self.prefix + clean(said[2:]) if said and said.startswith("./") else ids.get(said or "", said)

        return [
            replace(one, fields=one.fields.model_copy(update={"supersedes": meant(one.fields.supersedes)}))
            for one in entries
        ]


def read_manifest(folder: Path) -> Manifest:
    """Read the folder's manifest; an empty one when there is none. Raises `AppError` that names file, key and what is
    allowed."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise _refused(path, f"it has more than {_MAX_BYTES} bytes")
        return Manifest.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise _refused(path, f"it cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise _refused(path, first_fault(error, Manifest, DocumentFields)) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"it is not TOML: {error}") from error


def sync_name(folder: Path, manifest: Manifest) -> str:
    """The name this folder's documents are known by. Raises `AppError` when neither manifest nor folder has one."""
    try:
        return manifest.name or _sync_name(folder.resolve().name)
    except ValueError as error:
        raise _refused(folder / MANIFEST, f"name: say one; the folder's own {error}") from error


def matcher(patterns: Sequence[str], compiled: Callable[[str], Any] = re.compile) -> Callable[[str], bool]:
    """Whether a relative path matches one of the patterns, in any case of letters."""
    wholes = (clean(pattern) if "/" in pattern else f"**/{clean(pattern)}" for pattern in patterns)
    parts = ("".join(_GLOB_PARTS.get(part) or re.escape(part) for part in _GLOB.findall(whole)) for whole in wholes)
    regex = compiled("(?is)" + ("|".join(parts) or r"\b\B"))
    return lambda name: regex.fullmatch(name) is not None


def _refused(path: Path, reason: str) -> AppError:
    return AppError(ErrorCode.PAYLOAD_INVALID, f"{path}: {reason}.", status=422)
