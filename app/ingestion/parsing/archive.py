"""Office files are zip archives. This checks one and hands over a new archive of the parts that were checked.

No library ever sees the original: names, sizes and overlaps are judged before anything is inflated, every XML part
is inflated once, within a budget, looked through for declarations of entities, and stored in the new archive.
Pictures, macros and embedded files are left behind as empty parts.
"""

import io
import posixpath
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from lxml import etree

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
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_FORMATS = {
    FileKind.DOCX: ("word", "wordprocessingml", "document"),
    FileKind.PPTX: ("powerpoint", "presentationml", "presentation"),
    FileKind.XLSX: ("excel", "spreadsheetml", "sheet"),
}
_KINDS = {f"{_OPEN_XML}{family}.{main}.main+xml".encode(): kind for kind, (_, family, main) in _FORMATS.items()}
_PLAIN_TYPES = {
    rf"application/vnd\.(?:ms-{program}|openxmlformats-officedocument\.{family})\.[a-z]+(?:\.macroEnabled\w*)?"
    rf"\.main\+xml".encode(): f"{_OPEN_XML}{family}.{main}.main+xml".encode()
    for program, family, main in _FORMATS.values()
}
"""Documents, templates, shows, with macros or without: all are read as the plain document."""
_MACRO_TYPES = re.compile(b"|".join(_PLAIN_TYPES))
_TYPES = "[Content_Types].xml"


def rebuild(content: bytes, limits: ParseLimits) -> bytes:
    """The archive anew, of checked parts only. Raises `ParseFailed`."""
    with _checked(content, limits) as (archive, entries):
        return _stored((entry.filename, _checked_part(archive, entry)) for entry in entries)


def list_entries(content: bytes, limits: ParseLimits) -> tuple[tuple[str, int], ...]:
    """(name, declared bytes) of everything in an archive; nothing is unpacked. Raises `ParseFailed`."""
    with _checked(content, limits) as (_, entries):
        return tuple((entry.filename, entry.file_size) for entry in entries)


@contextmanager
def _checked(content: bytes, limits: ParseLimits) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    """Open an archive whose entries may be read. Raises `ParseFailed`, also for what is found broken while reading."""
    if content.count(_ENTRY_MARK) > limits.archive_entries:
        raise ParseFailed(ParseFailure.ARCHIVE_BOMB, "too many entries")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _check_entries(entries, archive.start_dir, limits)
            yield archive, entries
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error


def office_kind(content: bytes) -> FileKind | None:
    """Which office format a rebuilt archive is, by its list of content types."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
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


def _stored(parts: Iterable[tuple[str, bytes]]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts:
            archive.writestr(zipfile.ZipInfo(name), content)
    return target.getvalue()


def related(archive: zipfile.ZipFile, path: str = "") -> dict[str, str]:
    """Paths of what a part (or the archive itself) refers to, by the last word of its type: ``styles``, ``footnotes``.

    What lies outside is left out: it is never fetched.
    """
    folder, _, name = path.rpartition("/")
    names, listed = set(archive.namelist()), f"{folder}/_rels/{name}.rels".lstrip("/")
    found: dict[str, str] = {}
    for one in elements(root_of(archive.read(listed)) if listed in names else None, "Relationship"):
        target = posixpath.normpath(posixpath.join("/", folder, attribute(one, "Target"))).lstrip("/")
        if attribute(one, "TargetMode") != "External" and target in names:
            found.setdefault(attribute(one, "Type").rpartition("/")[2], target)
    return found


def root_of(markup: bytes) -> etree._Element:
    """A part as XML; nothing is resolved or fetched. Raises `etree.XMLSyntaxError`."""
    safe = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    return etree.fromstring(markup, safe)


def local(element: etree._Element) -> str:
    """The tag without its namespace, so that strict and transitional documents read alike; empty for comments."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def elements(root: etree._Element | None, name: str) -> Iterator[etree._Element]:
    """Every element below `root` with this local name."""
    return iter(()) if root is None else root.iter(f"{{*}}{name}")


def child(element: etree._Element | None, *names: str) -> etree._Element | None:
    """The first child of the first name, its first child of the second, and so on."""
    for name in names:
        element = None if element is None else element.find(f"{{*}}{name}")
    return element


def attribute(element: etree._Element | None, name: str) -> str:
    """An attribute by its local name; empty when there is none."""
    if element is None:
        return ""
    return next((str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), "")


def value_at(element: etree._Element | None, *names: str) -> str:
    """The ``val`` of the child that `child` finds; empty when there is none."""
    return attribute(child(element, *names), "val")
