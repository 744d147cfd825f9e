"""Bytes in, the fields of a `ParsedFile` out: chooses the reader, and names what went wrong. Runs in the sandbox."""

import io
import json
import resource
import zipfile
from collections.abc import Callable
from typing import Any

from app.confinement.forking import peak_bytes
from app.ingestion.parsing.archive import list_entries, office_kind, rebuild
from app.ingestion.parsing.draft import Draft, one_line
from app.ingestion.parsing.image import image_facts
from app.ingestion.parsing.outcome import DescribedKind, FileKind, ParseFailed, ParseFailure, ParseLimits
from app.ingestion.parsing.pdf import read_pdf
from app.ingestion.parsing.sheets import read_sheets
from app.ingestion.parsing.slides import read_slides
from app.ingestion.parsing.texts import read_delimited, read_mail, read_markdown, read_plain
from app.ingestion.parsing.web_page import read_web_page
from app.ingestion.parsing.word import read_word
from app.text.language import clean

_READERS: dict[FileKind, Callable[[bytes, Draft], None]] = {
    FileKind.PDF: read_pdf,
    FileKind.CSV: read_delimited,
    FileKind.HTML: read_web_page,
    FileKind.MARKDOWN: read_markdown,
    FileKind.TEXT: read_plain,
    FileKind.EML: read_mail,
}
_OFFICE_READERS: dict[FileKind, Callable[[io.BytesIO, Draft], None]] = {
    FileKind.DOCX: read_word,
    FileKind.PPTX: read_slides,
    FileKind.XLSX: read_sheets,
}
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
            return {"described": _described(content, kind, limits)}
        return draft.finish(_read(content, kind, draft))
    except (ParseFailed, MemoryError, PermissionError):
        raise
    except Exception as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error


def _read(content: bytes, kind: FileKind, draft: Draft) -> FileKind:
    _refuse_two_formats(content, kind)
    if kind not in _OFFICE_READERS:
        _READERS[kind](content, draft)
        return kind
    archive = rebuild(content, draft.limits)
    found = office_kind(archive)
    if found is None:
        raise ParseFailed(ParseFailure.UNSUPPORTED, "no office file")
    archive.seek(0)
    _OFFICE_READERS[found](archive, draft)
    return found


def _described(content: bytes, kind: DescribedKind, limits: ParseLimits) -> dict[str, Any]:
    if kind is DescribedKind.IMAGE:
        return {"kind": kind, "facts": image_facts(content)}
    entries = list_entries(content, limits)
    facts = {"entries": str(len(entries)), "unpacked_bytes": str(sum(size for _, size in entries))}
    return {"kind": kind, "facts": facts, "entries": [(printable_name(name), size) for name, size in entries]}


def printable_name(name: str) -> str:
    """The name of an entry, on one line and without anything invisible."""
    return one_line(clean(name))


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
