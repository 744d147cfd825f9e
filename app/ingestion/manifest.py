"""``conclave.toml`` in a synchronised folder: what its documents are that the files do not say themselves.

What a later one says wins: the command line, ``[defaults]``, the department of the first-level folder, the file's own
front matter, then every matching ``[[rules]]`` in order. So a rule is the administrator's last word on who may read.
"""

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, model_validator

from app.domain.documents import DocumentFields
from app.domain.principal import Scope
from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.ingestion.files import Entry
from app.text.language import clean

MANIFEST = "conclave.toml"
FOLDER_PREFIX = "folder:"
_MAX_BYTES = 2**20
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|.", re.DOTALL)
_GLOB_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _sync_name(name: str) -> str:
    name = clean(name).strip()
    if not name or "/" in name or len(name) > 100:
        raise ValueError("must be 1 to 100 characters without a slash")
    return name


def _pattern(pattern: str) -> str:
    if not pattern or pattern.startswith(("/", "./", "../")) or "\\" in pattern:
        raise ValueError("must be relative to the folder and use /, like hr/**/*.pdf")
    return pattern


SyncName = Annotated[str, AfterValidator(_sync_name)]
Pattern = Annotated[str, AfterValidator(_pattern)]
"""``*`` and ``?`` stay inside one folder, ``**`` crosses folders; without ``/`` it means a file name anywhere."""
Department = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]


class DocumentDefaults(Record):
    """What may be said of many documents at once."""

    department: Department | None = None
    scope: Scope | None = None
    authority: str | None = Field(default=None, min_length=1, max_length=64)
    effective_from: date | None = None
    effective_to: date | None = None
    created_at: datetime | None = None
    lang: str | None = Field(default=None, max_length=16)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> "DocumentDefaults":
        if self.effective_from and self.effective_to and self.effective_to < self.effective_from:
            raise ValueError("effective_to must not be before effective_from")
        return self

    def fields(self) -> dict[str, Any]:
        """The fields that are said."""
        return self.model_dump(include=self.model_fields_set & DocumentFields.model_fields.keys())


class Rule(DocumentDefaults):
    """What holds for the files that match."""

    match: Pattern
    title: str | None = Field(default=None, max_length=500)
    url: str | None = Field(default=None, max_length=2000)
    supersedes: str | None = Field(default=None, max_length=500)
    """An external id, or ``./path`` of a file of the same folder."""


class Manifest(Record):
    """The file's content."""

    name: SyncName | None = None
    """Of the synchronisation; part of every external id. Unset = the folder's own name."""
    defaults: DocumentDefaults = DocumentDefaults()
    departments: dict[str, Department] = {}
    """Which department a first-level folder means, by the folder's name."""
    ignore: tuple[Pattern, ...] = ()
    """Files that are no documents."""
    rules: tuple[Rule, ...] = ()


class FolderRules:
    """A manifest at work for one folder."""

    def __init__(self, name: str, manifest: Manifest, base: Mapping[str, Any], departments: Collection[str]):
        """`base` is what the command line says, `departments` are those that exist."""
        self.prefix = f"{FOLDER_PREFIX}{name}/"
        self._manifest, self._base = manifest, base
        named = {clean(folder).casefold(): department for folder, department in manifest.departments.items()}
        self._departments = {name: name for name in departments} | named
        self._rules = [(_matcher([rule.match]), rule) for rule in manifest.rules]
        self._ignored = _matcher(manifest.ignore)
        self._used: set[int] = set()

    def is_ignored(self, name: str) -> bool:
        """Whether a file is no document by the manifest."""
        return self._ignored(name)

    def describe(self, entry: Entry, own: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of an entry, which says `own` of itself."""
        name = entry.source.name
        fields = {**self._base, **self._manifest.defaults.fields()}
        top, slash, _ = name.partition("/")
        if slash and (department := self._departments.get(top.casefold())):
            fields["department"] = department
        fields |= own
        for number, (matches, rule) in enumerate(self._rules):
            if matches(name):
                self._used.add(number)
                fields |= rule.fields()
        return {**fields, "external_id": self.prefix + entry.name}

    @property
    def unused(self) -> tuple[str, ...]:
        """Patterns of rules that no file matched so far: often a misspelling."""
        return tuple(rule.match for number, (_, rule) in enumerate(self._rules) if number not in self._used)

    def resolve(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries with `supersedes` naming what is brought in: ``./path``, or the id another file gives itself."""
        ids = {entry.own_id: entry.external_id for entry in entries if entry.own_id and not entry.fault}
        return [_superseding(entry, self.prefix, ids) for entry in entries]


def _superseding(entry: Entry, prefix: str, ids: Mapping[str, str]) -> Entry:
    said = entry.fields.supersedes
    if not said:
        return entry
    meant = prefix + clean(said[2:]) if said.startswith("./") else ids.get(said, said)
    return entry.with_fields(supersedes=meant)


def read_manifest(folder: Path) -> Manifest:
    """The folder's manifest; an empty one when there is none. Raises `AppError` that names file, key and what is
    allowed."""
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise _refused(path, f"it cannot be read ({error.strerror})") from error
    if len(content) > _MAX_BYTES:
        raise _refused(path, f"it has more than {_MAX_BYTES} bytes")
    try:
        return Manifest.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except ValidationError as error:
        raise _refused(path, "; ".join(_faults(error))) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"it is not TOML: {error}") from error


def sync_name(folder: Path, manifest: Manifest) -> str:
    """The name this folder's documents are known by. Raises `AppError` when neither manifest nor folder has one."""
    if manifest.name is not None:
        return manifest.name
    try:
        return _sync_name(folder.resolve().name)
    except ValueError as error:
        raise _refused(folder / MANIFEST, f"name: say one; the folder's own {error}") from error


def _matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether a relative path matches one of the patterns, in any case of letters."""
    regex = re.compile("|".join(map(_translated, patterns)) or "(?!)", re.IGNORECASE | re.DOTALL)
    return lambda name: regex.fullmatch(name) is not None


def _translated(pattern: str) -> str:
    whole = clean(pattern) if "/" in pattern else f"**/{clean(pattern)}"
    return "".join(_GLOB_PARTS.get(part) or re.escape(part) for part in _GLOB.findall(whole))


def _faults(error: ValidationError) -> list[str]:
    faults = []
    for fault in error.errors(include_url=False, include_input=False):
        key = ".".join(map(str, fault["loc"])) or "the file"
        told = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            told = f"there is no such key; allowed are {', '.join(_allowed(fault['loc']))}"
        faults.append(f"{key}: {told}")
    return faults


def _allowed(location: tuple[int | str, ...]) -> list[str]:
    inner = {"defaults": DocumentDefaults.model_fields, "rules": Rule.model_fields}
    return list(inner.get(str(location[0]), Manifest.model_fields) if len(location) > 1 else Manifest.model_fields)


def _refused(path: Path, reason: str) -> AppError:
    return AppError(ErrorCode.PAYLOAD_INVALID, f"{path}: {reason}.", status=422)
