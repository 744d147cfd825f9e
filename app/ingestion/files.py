"""Files of a disk as documents: what each says of itself, and its bytes when its turn comes.

A Markdown or text file may begin with front matter, ``key: value`` lines between two lines of ``---``; every line of a
``.jsonl`` file is a document of its own. Everything else is a file that the pipeline reads.
"""

import json
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from app.domain.documents import DocumentFields, Upload
from app.errors import AppError
from app.ingestion.intake import external_id_of
from app.text.language import clean

FORMATS = (
    ".pdf", ".docx", ".docm", ".dotx", ".pptx", ".pptm", ".ppsx", ".potx", ".xlsx", ".xlsm", ".xltx", ".csv", ".tsv",
    ".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".eml", ".mht", ".mhtml", ".jsonl",
)  # fmt: skip
"""Endings of the files that are taken from a folder; a file that is named itself may have any."""
_FRONTED = (".md", ".markdown", ".txt")
_FENCE = "---\n"
_NOTHING_SAID = DocumentFields()


class Source(NamedTuple):
    """A file on the disk."""

    path: Path
    """Where it is read; no link."""
    name: str
    """What it is called in reports and ids: relative to its folder, with ``/``."""

    @property
    def file_name(self) -> str:
        """The last part of the name."""
        return PurePosixPath(self.name).name


@dataclass(frozen=True)
class Entry:
    """A document that can be brought in, or why it cannot."""

    source: Source
    name: str
    """The source's name; with ``#`` and what tells the line apart for a line of a ``.jsonl`` file."""
    fields: DocumentFields = _NOTHING_SAID
    own_id: str = ""
    """The external id the file itself names; the fields may have another one."""
    text: str | None = None
    """Of a line of a ``.jsonl`` file."""
    is_fronted: bool = False
    fault: str = ""
    """What to do before it can be brought in; empty = nothing."""

    @property
    def external_id(self) -> str:
        """What tells the document apart; empty where that could not be read."""
        return self.fields.external_id or ""


Describe = Callable[[Entry, Mapping[str, Any]], dict[str, Any]]
"""(an entry without fields, what it says of itself) → its fields."""


def entries_of(sources: Iterable[Source], describe: Describe) -> list[Entry]:
    """What the files hold, in order. Reads front matter and ``.jsonl`` files; a file that cannot be read, and two
    documents that would be one, become entries with a fault."""
    return _without_twins([entry for source in sources for entry in _entries(source, describe)])


def read_upload(entry: Entry) -> Upload:
    """Read the document of an entry without a fault from its file. Raises `OSError` for one that is gone."""
    if entry.text is not None:
        return Upload(fields=entry.fields, text=entry.text)
    content = _content(entry.source)
    if entry.is_fronted:
        _, text = _fronted(content) or ({}, "")
        return Upload(fields=entry.fields, text=text)
    return Upload(fields=entry.fields, content=content, file_name=entry.source.file_name)


def front_matter(text: str) -> tuple[dict[str, Any], str] | None:
    """(what stands between the two lines of ``---``, the text below); None when `text` does not begin with one.

    Raises `ValueError` for front matter that does not end, or holds a line that is no ``key: value``.
    """
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not whole.startswith(_FENCE):
        return None
    head, fence, body = whole.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    if not fence:
        raise ValueError("it must begin with front matter between two lines of ---")
    fields: dict[str, Any] = {}
    for line in filter(str.strip, head.split("\n")):
        key, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"front matter line {line!r} is not 'key: value'")
        fields[key.strip()] = value.strip().strip("\"'")
    return {key: value for key, value in fields.items() if value}, body


def _entries(source: Source, describe: Describe) -> Iterator[Entry]:
    try:
        if source.name.lower().endswith(".jsonl"):
            yield from _lines(source, describe)
        else:
            yield _file(source, describe)
    except UnicodeError:
        yield Entry(source, source.name, fault="the text is not UTF-8; save it as UTF-8")
    except OSError as error:
        yield Entry(source, source.name, fault=f"it cannot be read ({error.strerror or error})")
    except ValueError as error:
        yield Entry(source, source.name, fault=str(error))


def _file(source: Source, describe: Describe) -> Entry:
    content = _content(source) if source.name.lower().endswith(_FRONTED) else b""
    front = _fronted(content)
    if front is None:
        return _entry(Entry(source, source.name), describe, {})
    own, text = front
    own.setdefault("title", _heading(text) or PurePosixPath(source.name).stem)
    return _entry(Entry(source, source.name, is_fronted=True), describe, own)


def _lines(source: Source, describe: Describe) -> Iterator[Entry]:
    for number, line in enumerate(_content(source).decode("utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            own = json.loads(line)
            if not isinstance(own, dict) or not isinstance(own.get("text"), str):
                raise ValueError('it is no object with a "text"')
        except (ValueError, RecursionError) as error:
            reason = "it is not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
            yield Entry(source, f"{source.name}#{number}", fault=f"line {number}: {reason}")
            continue
        text = own.pop("text")
        told_apart = clean(str(own.get("external_id") or own.get("url") or number)).strip()
        yield _entry(Entry(source, f"{source.name}#{told_apart}", text=text), describe, own)


def _entry(entry: Entry, describe: Describe, own: Mapping[str, Any]) -> Entry:
    """The entry with its fields, or with what is wrong with them."""
    try:
        fields = DocumentFields.model_validate(describe(entry, own))
        file_name = "" if entry.text is not None else entry.source.file_name
        name = external_id_of(Upload(fields=fields, file_name=file_name))
    except ValidationError as error:
        return replace(entry, fault=first_fault(error, DocumentFields))
    except AppError as error:
        return replace(entry, fault=error.detail)
    own_id = clean(str(own.get("external_id", ""))).strip()
    return replace(entry, fields=fields.model_copy(update={"external_id": name}), own_id=own_id)


def first_fault(error: ValidationError, *models: type[BaseModel]) -> str:
    """Say what is wrong first: the key and the reason; of an unknown key what is allowed, by the model of its depth."""
    fault = error.errors(include_url=False, include_input=False)[0]
    key, told = ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")
    if models and fault["type"] == "extra_forbidden":
        allowed = models[min(len(fault["loc"]), len(models)) - 1].model_fields
        told = f"there is no such key; allowed are {', '.join(allowed)}"
    return f"{key or 'record'}: {told}"


def _without_twins(entries: list[Entry]) -> list[Entry]:
    """Documents of the same external id would replace one another: none of them is brought in."""
    same: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        same[entry.external_id].append(entry.name)
    return [
        entry
        if entry.fault or len(names := same[entry.external_id]) == 1
        else replace(
            entry, fault=f"external_id {entry.external_id!r} is used by {', '.join(names[:3])}; give each its own"
        )
        for entry in entries
    ]


def _fronted(content: bytes) -> tuple[dict[str, Any], str] | None:
    """Front matter and text. Raises `UnicodeError` for front matter nobody can be sure to read, and `ValueError`."""
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    first_line, end, _ = content[:16].decode(encoding, "replace").partition("\n")
    return front_matter(content.decode(encoding)) if end and first_line.rstrip("\r") == "---" else None


def _heading(text: str) -> str:
    return next((line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), "")


def _content(source: Source) -> bytes:
    """The bytes of a regular file; links are not followed here, so that what was listed is what is read."""
    descriptor = os.open(source.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a file")
        return file.read()
