"""Office files are zip archives. This checks one and hands over a new archive of the parts that were checked.

No library ever sees the original: names, sizes and overlaps are judged before anything is inflated, every XML part
is inflated once, within a budget, looked through for declarations of entities, and stored in the new archive.
Pictures, macros and embedded files are left behind as empty parts.
"""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from app.ingestion.parsing.outcome import FileKind, ParseFailed, ParseFailure, ParseLimits

_ENTRY_MARK = b"PK\x01\x02"
_LOCAL_HEADER_BYTES = 30
_ENCRYPTED_FLAG = 0x1
_XML_ENDINGS = (".xml", ".rels", ".vml")
_MAX_RATIO = 200
"""Text compresses 10–30 times; what inflates further than this was made to, unless it is small."""
_SMALL_PART_BYTES, _SMALL_PICTURE_BYTES = 1_000_000, 50_000_000
_DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.I)
_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_PLAIN_ENCODINGS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "windows-1252"})
_OPEN_XML = b"application/vnd.openxmlformats-officedocument."
_PLAIN_TYPES = {
    rb"application/vnd\.(?:ms-word|openxmlformats-officedocument\.wordprocessingml)\.[a-z]+(?:\.macroEnabled\w*)?"
    rb"\.main\+xml": _OPEN_XML + b"wordprocessingml.document.main+xml",
    rb"application/vnd\.(?:ms-powerpoint|openxmlformats-officedocument\.presentationml)\.[a-z]+(?:\.macroEnabled\w*)?"
    rb"\.main\+xml": _OPEN_XML + b"presentationml.presentation.main+xml",
    rb"application/vnd\.(?:ms-excel|openxmlformats-officedocument\.spreadsheetml)\.[a-z]+(?:\.macroEnabled\w*)?"
    rb"\.main\+xml": _OPEN_XML + b"spreadsheetml.sheet.main+xml",
}
"""Documents, templates, shows, with macros or without: all are read as the plain document."""
_MACRO_TYPES = re.compile(b"|".join(_PLAIN_TYPES))
_KINDS = {
    _OPEN_XML + b"wordprocessingml.document.main+xml": FileKind.DOCX,
    _OPEN_XML + b"presentationml.presentation.main+xml": FileKind.PPTX,
    _OPEN_XML + b"spreadsheetml.sheet.main+xml": FileKind.XLSX,
}
_TYPES = "[Content_Types].xml"


def rebuilt(content: bytes, limits: ParseLimits) -> io.BytesIO:
    """The archive anew, of checked parts only. Raises `ParseFailed`."""
    if content.count(_ENTRY_MARK) > limits.archive_entries:
        raise ParseFailed(ParseFailure.ARCHIVE_BOMB, "too many entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_entries(entries, archive.start_dir, limits)
            return _stored((entry.filename, _checked_part(archive, entry)) for entry in entries)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error


def listed(content: bytes, limits: ParseLimits) -> tuple[tuple[str, int], ...]:
    """(name, declared bytes) of everything in an archive; nothing is unpacked. Raises `ParseFailed`."""
    if content.count(_ENTRY_MARK) > limits.archive_entries:
        raise ParseFailed(ParseFailure.ARCHIVE_BOMB, "too many entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_entries(entries, archive.start_dir, limits)
            return tuple((entry.filename, entry.file_size) for entry in entries)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error


def office_kind(archive: io.BytesIO) -> FileKind | None:
    """Which office format a rebuilt archive is, by its list of content types."""
    try:
        with zipfile.ZipFile(archive) as parts:
            types = parts.read(_TYPES)
    except KeyError:
        return None
    return next((kind for main, kind in _KINDS.items() if main in types), None)


def forbid_declarations(markup: bytes | str) -> None:
    """Refuse a document that declares entities. Raises `ParseFailed` (DTD_FORBIDDEN)."""
    found = _DECLARATION.search(markup if isinstance(markup, bytes) else markup.encode("utf-8", "replace"))
    if found:
        raise ParseFailed(ParseFailure.DTD_FORBIDDEN)


def _check_entries(entries: list[zipfile.ZipInfo], end: int, limits: ParseLimits) -> None:
    names: set[str] = set()
    total = 0
    for entry in entries:
        if entry.flag_bits & _ENCRYPTED_FLAG:
            raise ParseFailed(ParseFailure.ENCRYPTED)
        if _is_unsafe(entry) or entry.filename.casefold() in names:
            raise ParseFailed(ParseFailure.ARCHIVE_UNSAFE, "entry name or type")
        names.add(entry.filename.casefold())
        total += entry.file_size if _is_read(entry.filename) else 0
        if total > limits.inflated_bytes or _is_inflated(entry):
            raise ParseFailed(ParseFailure.ARCHIVE_BOMB, "declared sizes")
    if _overlap(entries, end):
        raise ParseFailed(ParseFailure.ARCHIVE_BOMB, "overlapping entries")


def _is_unsafe(entry: zipfile.ZipInfo) -> bool:
    # orig_filename still has what a reader in C would cut off at a NUL.
    name = entry.orig_filename
    if stat.S_ISLNK(entry.external_attr >> 16) or len(name) > 500 or any(ord(char) < 32 for char in name):
        return True
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in name


def _is_inflated(entry: zipfile.ZipInfo) -> bool:
    small = _SMALL_PART_BYTES if _is_read(entry.filename) else _SMALL_PICTURE_BYTES
    return entry.file_size > small and entry.file_size > max(entry.compress_size, 1) * _MAX_RATIO


def _overlap(entries: list[zipfile.ZipInfo], end: int) -> bool:
    """Whether two entries share bytes, or one reaches into the directory behind them all."""
    spans = sorted((entry.header_offset, entry.compress_size, len(entry.orig_filename)) for entry in entries)
    following = [start for start, _, _ in spans[1:]] + [end]
    return any(
        start + _LOCAL_HEADER_BYTES + name + size > after
        for (start, size, name), after in zip(spans, following, strict=False)
    )


def _is_read(name: str) -> bool:
    return name.lower().endswith(_XML_ENDINGS)


def _checked_part(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if not _is_read(entry.filename):
        return b""
    with archive.open(entry) as part:
        markup = part.read(entry.file_size + 1)
    forbid_declarations(_plain(markup))
    return _MACRO_TYPES.sub(_as_document, markup) if entry.filename == _TYPES else markup


def _as_document(kind: re.Match[bytes]) -> bytes:
    """The content type of a template or of a file with macros, as that of the document it also is."""
    return next(plain for main, plain in _PLAIN_TYPES.items() if re.fullmatch(main, kind[0]))


def _plain(markup: bytes) -> bytes:
    """Markup in an encoding that shows its ASCII. Office files are UTF-8 or UTF-16 by their standard."""
    if markup.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in markup[:4]:
        return markup.replace(b"\x00", b"")
    shown = markup[:300].removeprefix(b"\xef\xbb\xbf").lstrip()
    named = _ENCODING.match(shown)
    if not shown.startswith(b"<") or (named and named[1].decode().lower() not in _PLAIN_ENCODINGS):
        raise ParseFailed(ParseFailure.DAMAGED, "encoding of a part")
    return markup


def _stored(parts: Iterable[tuple[str, bytes]]) -> io.BytesIO:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo(name), content)
    target.seek(0)
    return target
