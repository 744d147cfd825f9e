"""Bytes in, the fields of a `ParsedFile` out: chooses the reader, and names what went wrong. Runs in the sandbox."""

import io
import json
import resource
import zipfile
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from app.confinement.forking import peak_bytes
from app.ingestion.parsing.archive import list_entries, office_kind, rebuild
from app.ingestion.parsing.draft import Draft, one_line
from app.ingestion.parsing.outcome import DescribedKind, FileKind, ParseFailed, ParseFailure, ParseLimits
from app.plugins import PARSERS, load_plugins
from app.text.language import clean

_BUILT_IN = {
    "pdf": "app.ingestion.parsing.pdf:read_pdf",
    "html": "app.ingestion.parsing.web_page:read_web_page",
    "markdown": "app.ingestion.parsing.texts:read_markdown",
    "text": "app.ingestion.parsing.texts:read_plain",
    "csv": "app.ingestion.parsing.texts:read_delimited",
}
_READERS: Mapping[str, Callable[[bytes, Draft], None]] = load_plugins(PARSERS, _BUILT_IN, FunctionType).found
"""By kind: each fills a draft from the bytes of a file, or of the checked archive that an office file became."""
_OFFICE = frozenset({FileKind.DOCX, FileKind.PPTX, FileKind.XLSX})
_ARCHIVE_END = b"PK\x05\x06"
_TAIL_BYTES = 66_000
_PDF_MARK = b"%PDF-"
_NEAR_THE_LIMIT = 0.8
"""Of the memory: what is then called damaged may as well be too large."""


def read_request(request: bytes) -> bytes:
    """Read the file of a request (`ParseLimits.as_request`); the answer is JSON. Raises `MemoryError`."""
    head, _, content = request.partition(b"\n")
    name, limits = json.loads(head)
    allowed = ParseLimits(**limits)
    kind = DescribedKind(name) if name in tuple(DescribedKind) else FileKind(name)
    try:
        answer = read_file(content, kind, allowed)
    except ParseFailed as failure:
        # Libraries report what they could not allocate as a fault of the file.
        is_full = peak_bytes(resource.getrusage(resource.RUSAGE_SELF)) > allowed.memory_bytes * _NEAR_THE_LIMIT
        if failure.code is ParseFailure.DAMAGED and is_full:
            raise MemoryError from failure
        answer = {"failure": failure.code, "detail": failure.detail}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def read_file(content: bytes, kind: FileKind | DescribedKind, limits: ParseLimits) -> dict[str, Any]:
    """The fields of a `ParsedFile`, warnings as counts, or under ``described`` those of a `DescribedFile`.

    Raises `ParseFailed`, `MemoryError`, and `PermissionError`. Whatever else a library raises about hostile bytes says
    one thing: the file is damaged.
    """
    draft = Draft(limits)
    try:
        if isinstance(kind, DescribedKind):
            return {"described": _described(content, kind, draft)}
        return draft.finish(_read(content, kind, draft))
    except (ParseFailed, MemoryError, PermissionError):
        raise
    except Exception as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error


def _read(content: bytes, kind: FileKind, draft: Draft) -> FileKind:
    _refuse_two_formats(content, kind)
    if kind in _OFFICE:
        content = rebuild(content, draft.limits)
        found = office_kind(content)
        if found is None:
            raise ParseFailed(ParseFailure.UNSUPPORTED, "no office file")
        kind = found
    _reader(kind)(content, draft)
    return kind


def _reader(kind: FileKind | DescribedKind) -> Callable[[bytes, Draft], None]:
    if kind not in _READERS:
        raise ParseFailed(ParseFailure.UNSUPPORTED, f"no reader of {kind} is installed")
    return _READERS[kind]


def _described(content: bytes, kind: DescribedKind, draft: Draft) -> dict[str, Any]:
    if kind is DescribedKind.IMAGE:
        _reader(kind)(content, draft)
        return {"kind": kind, "facts": draft.facts}
    entries = list_entries(content, draft.limits)
    facts = {"entries": str(len(entries)), "unpacked_bytes": str(sum(size for _, size in entries))}
    # A name stands on one line, without anything invisible.
    return {"kind": kind, "facts": facts, "entries": [(one_line(clean(name)), size) for name, size in entries]}


def _refuse_two_formats(content: bytes, kind: FileKind) -> None:
    """A file that two programs open as two different documents is refused."""
    if kind is FileKind.PDF:
        before = content[: max(content.find(_PDF_MARK), 0)].lower()
        is_double = b"<html" in before or b"<body" in before or b"<!doctype" in before
        is_double = is_double or (_ARCHIVE_END in content[-_TAIL_BYTES:] and zipfile.is_zipfile(io.BytesIO(content)))
    else:
        is_double = _PDF_MARK in content[:1024] and b"%%EOF" in content[-_TAIL_BYTES:]
    if is_double:
        raise ParseFailed(ParseFailure.WRONG_TYPE)
