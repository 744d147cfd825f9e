"""Archives and Office files made to hurt whoever opens them, with how each may end."""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping, Set
from functools import partial

from app.ingestion.parsing import ParseFailure as F
from tests.unit.ingestion.parsing import samples

Case = tuple[str, Callable[[str], bytes], Set[str]]
"""File name, content (given the address of the canary listener), how it may end (``ok`` or codes)."""
MAIN, TYPES, CORE = "word/document.xml", "[Content_Types].xml", "docProps/core.xml"
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + at)} "{f"&{chr(97 + at)};" * 10}">' for at in range(9))
    + "]>"
)


Change = Callable[[bytes], bytes]


def same(part: bytes) -> bytes:
    return part


def changed(source: bytes, changes: Mapping[str, Change], added: Mapping[str, bytes] | None = None) -> bytes:
    """An archive with some parts changed and some more."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(source)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, changes.get(name, same)(old.read(name)))
        for name, content in (added or {}).items():
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return target.getvalue()


def with_declaration(declaration: str, use: str = "") -> Callable[[bytes], bytes]:
    """Put a declaration in front of the root element, and a use of it into the first text."""

    def change(part: bytes) -> bytes:
        head, mark, body = part.partition(b"?>") if b"?>" in part else (b"", b"", part)
        body = re.sub(rb"(<w:t[^>]*>)", rb"\g<1>" + use.encode(), body, count=1)
        return head + mark + declaration.encode() + body

    return change


def entry(name: bytes, content: bytes = b"x", **fields: int) -> tuple[bytes, bytes]:
    """(local header with content, directory entry without offset) written by hand."""
    size = fields.get("size", len(content))
    flags, method, outer = fields.get("flags", 0), fields.get("method", 0), fields.get("outer", 0)
    common = struct.pack("<HHHHHIII", 20, flags, method, 0, 0, zlib.crc32(content), len(content), size)[2:]
    local = b"PK\x03\x04" + struct.pack("<H", 20) + common + struct.pack("<HH", len(name), 0) + name + content
    listed = struct.pack("<HH", 0x314, 20) + common + struct.pack("<HHHHHI", len(name), 0, 0, 0, 0, outer)
    return local, b"PK\x01\x02" + listed + b"%OFFSET%" + name


def archive_of(entries: list[tuple[bytes, bytes]], *, same_place: bool = False) -> bytes:
    """A zip archive of these; with `same_place` every directory entry points to the first content."""
    body = bytearray()
    directory = bytearray()
    for local, listed in entries:
        directory += listed.replace(b"%OFFSET%", struct.pack("<I", 0 if same_place else len(body)), 1)
        if not (same_place and body):
            body += local
    count = min(len(entries), 0xFFFF)
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(body), 0)
    return bytes(body + directory + end)


def named(name: bytes, **fields: int) -> bytes:
    return archive_of([entry(name, b"x", **fields), entry(b"word/document.xml")])


def deflated(content: bytes) -> bytes:
    press = zlib.compressobj(9, zlib.DEFLATED, -15)
    return press.compress(content) + press.flush()


def bomb(_: str) -> bytes:
    return changed(samples.word(), {MAIN: lambda part: part.replace(b"<w:body>", b"<w:body>" + b" " * 60_000_000)})


def nested(_: str) -> bytes:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(20_000_000))
    return changed(samples.word(), {}, {"word/embeddings/a.zip": inner.getvalue()})


def lying(size: int) -> bytes:
    press = deflated(b"<w:document>" + b"a" * 3_000_000)
    local, listed = entry(b"word/document.xml", press, size=size, method=8)
    return archive_of([entry(b"[Content_Types].xml", b"<Types/>"), (local, listed)])


def symlink(_: str) -> bytes:
    return archive_of([entry(b"word/document.xml", b"/etc/passwd", outer=(stat.S_IFLNK | 0o777) << 16)])


def sheet_with(cells: str) -> bytes:
    rows = f"<sheetData>{cells}</sheetData>".encode()
    return changed(
        samples.sheets(),
        {"xl/worksheets/sheet1.xml": lambda part: re.sub(rb"<sheetData>.*</sheetData>", rows, part, flags=re.S)},
    )


def word_with(markup: str, added: Mapping[str, bytes] | None = None) -> bytes:
    return changed(
        samples.word(), {MAIN: lambda part: part.replace(b"<w:body>", b"<w:body>" + markup.encode(), 1)}, added
    )


def external(address: str, kind: str) -> bytes:
    """A relationship of the document to something on the network."""
    link = f'<Relationship Id="rX" Type="http://x/{kind}" Target="http://{address}/x" TargetMode="External"/>'
    name = "word/_rels/document.xml.rels"
    return changed(samples.word(), {name: lambda part: part.replace(b"</Rel", link.encode() + b"</Rel", 1)})


def dtd(part: str, declaration: str = LAUGHS, use: str = "&j;", source: Callable[[], bytes] = samples.word) -> bytes:
    return changed(source(), {part: with_declaration(declaration, use)})


def in_utf16(part: bytes) -> bytes:
    body = part.partition(b"?>")[2]
    return ("<?xml version='1.0' encoding='UTF-16'?>" + LAUGHS + body.decode()).encode("utf-16")


def in_ebcdic(part: bytes) -> bytes:
    body = part.partition(b"?>")[2].decode("utf-8").encode("ascii", "xmlcharrefreplace").decode()
    return ("<?xml version='1.0' encoding='cp037'?>" + LAUGHS + body).encode("cp037", "replace")


def in_utf7(part: bytes) -> bytes:
    body = part.partition(b"?>")[2].decode("utf-8").encode("ascii", "xmlcharrefreplace").decode()
    return b"<?xml version='1.0' encoding='UTF-7'?>" + (LAUGHS + body).encode("utf-7")


XXE_FILE = '<!DOCTYPE x [<!ENTITY j SYSTEM "file:///etc/passwd">]>'
REFUSED, BROKEN, UNSAFE, BOMB = {F.DTD_FORBIDDEN}, {F.DAMAGED}, {F.ARCHIVE_UNSAFE}, {F.ARCHIVE_BOMB}
ENCRYPTED_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(100)


def _same(content: bytes) -> Callable[[str], bytes]:
    return lambda _: content


def _later(make: Callable[[], bytes]) -> Callable[[str], bytes]:
    return lambda _: make()


OFFICE: dict[str, Case] = {
    "a part that inflates to 60 MB": ("a.docx", bomb, BOMB),
    "an archive in the archive": ("a.docx", nested, {"ok", *BOMB}),
    "entries over one another": (
        "a.docx",
        _later(lambda: archive_of([entry(b"word/%d.xml" % at, b"<a/>" * 900) for at in range(90)], same_place=True)),
        BOMB,
    ),
    "100,000 entries": ("a.docx", _later(lambda: archive_of([entry(b"word/%d" % at) for at in range(100_000)])), BOMB),
    "a part larger than it says": ("a.docx", _later(partial(lying, 100)), {*BOMB, *BROKEN}),
    "a part that says it is huge": ("a.docx", _later(partial(lying, 0xFFFFFF00)), BOMB),
    "a name that climbs": ("a.docx", _same(named(b"../../outside.xml")), UNSAFE),
    "a name that climbs with backslashes": ("a.docx", _same(named(b"..\\..\\outside.xml")), UNSAFE),
    "an absolute name": ("a.docx", _same(named(b"/etc/cron.d/x")), UNSAFE),
    "a name with a drive": ("a.docx", _same(named(b"C:\\x.xml")), UNSAFE),
    "a name with a NUL": ("a.docx", _same(named(b"word/a.xml\x00.png")), UNSAFE),
    "a name with control characters": ("a.docx", _same(named(b"word/\x1b[31m\n.xml")), UNSAFE),
    "a name without end": ("a.docx", _same(named(b"w" * 60_000)), UNSAFE),
    "a link to a file": ("a.docx", symlink, UNSAFE),
    "the same name twice": ("a.docx", _same(archive_of([entry(b"word/document.xml")] * 2)), UNSAFE),
    "an encrypted entry": ("a.docx", _same(named(b"word/a.xml", flags=1)), {F.ENCRYPTED}),
    "an unknown compression": ("a.docx", _same(named(b"word/a.xml", method=99)), BROKEN),
    "half of a document": ("a.docx", _later(lambda: samples.word()[:15_000]), BROKEN),
    "a document without its directory": ("a.docx", _later(lambda: samples.word()[:-3_000]), BROKEN),
    "the end of an archive only": ("a.docx", _same(b"PK\x05\x06" + bytes(18)), {F.UNSUPPORTED}),
    "an archive that is no document": ("a.docx", _same(archive_of([entry(b"META-INF/MANIFEST.MF")])), {F.UNSUPPORTED}),
    "a document without its text": (
        "a.docx",
        _later(lambda: changed(samples.word(), {MAIN: lambda _: b""})),
        {F.DAMAGED},
    ),
    "a wrong checksum": (
        "a.docx",
        _later(lambda: samples.word().replace(b"PK\x03\x04\x14\x00\x00\x00\x08", b"PK\x03\x04\x14\x00\x00\x00\x00")),
        {"ok", *BROKEN, *BOMB},
    ),
    "an office file under a password": ("a.docx", _same(ENCRYPTED_OLE), {F.ENCRYPTED}),
    "an old office file": ("a.doc", _same(ENCRYPTED_OLE[:500] + bytes(3_000)), {F.UNSUPPORTED}),
    "entities that multiply": ("a.docx", _later(partial(dtd, MAIN)), REFUSED),
    "an entity that is a file": ("a.docx", _later(partial(dtd, MAIN, XXE_FILE)), REFUSED),
    "an entity from the network": (
        "a.docx",
        lambda address: dtd(MAIN, f'<!DOCTYPE x [<!ENTITY j SYSTEM "http://{address}/x">]>'),
        REFUSED,
    ),
    "a declaration from the network": (
        "a.docx",
        lambda address: dtd(MAIN, f'<!DOCTYPE w:document SYSTEM "http://{address}/x.dtd">', ""),
        REFUSED,
    ),
    "a parameter entity in the relations": (
        "a.docx",
        lambda address: dtd("_rels/.rels", f'<!DOCTYPE x [<!ENTITY % p SYSTEM "http://{address}/x"> %p;]>', ""),
        REFUSED,
    ),
    "entities in the styles": ("a.docx", _later(partial(dtd, "word/styles.xml")), REFUSED),
    "entities in the list of types": ("a.docx", _later(partial(dtd, TYPES)), REFUSED),
    "entities in the properties": ("a.docx", _later(partial(dtd, CORE)), REFUSED),
    "entities in UTF-16": ("a.docx", _later(lambda: changed(samples.word(), {MAIN: in_utf16})), REFUSED),
    "entities in EBCDIC": ("a.docx", _later(lambda: changed(samples.word(), {MAIN: in_ebcdic})), BROKEN),
    "entities in UTF-7": ("a.docx", _later(lambda: changed(samples.word(), {MAIN: in_utf7})), {*BROKEN, *REFUSED}),
    "entities on a slide": (
        "a.pptx",
        _later(partial(dtd, "ppt/slides/slide1.xml", source=samples.slides)),
        REFUSED,
    ),
    "entities in a sheet": (
        "a.xlsx",
        _later(partial(dtd, "xl/worksheets/sheet1.xml", source=samples.sheets)),
        REFUSED,
    ),
    "entities in a picture": (
        "a.docx",
        _later(lambda: changed(samples.word(), {}, {"word/media/a.svg": f"<?xml?>{XXE_FILE}<svg>&j;</svg>".encode()})),
        {"ok"},
    ),
    "a template on the network": ("a.docx", lambda address: external(address, "attachedTemplate"), {"ok"}),
    "a picture on the network": ("a.docx", lambda address: external(address, "image"), {"ok"}),
    "styles on the network": ("a.docx", lambda address: external(address, "styles"), {"ok"}),
    "elements 9,000 deep": (
        "a.docx",
        _later(lambda: word_with("<w:customXml>" * 9_000 + "</w:customXml>" * 9_000)),
        BROKEN,
    ),
    "tables 60 deep": (
        "a.docx",
        _later(lambda: word_with("<w:tbl><w:tr><w:tc>" * 60 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 60)),
        {"ok", *BROKEN},
    ),
    "a cell over a billion columns": (
        "a.docx",
        _later(
            lambda: word_with(
                '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p/></w:tc>'
                "<w:tc><w:p/></w:tc></w:tr><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>"
            )
        ),
        {"ok"},
    ),
    "styles that rest on one another": (
        "a.docx",
        _later(
            lambda: changed(
                samples.word(),
                {
                    "word/styles.xml": lambda part: part.replace(
                        b"</w:styles>",
                        b'<w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B">'
                        b'<w:basedOn w:val="A"/></w:style></w:styles>',
                    ),
                    MAIN: lambda part: part.replace(
                        b"<w:body>", b'<w:body><w:p><w:pPr><w:pStyle w:val="A"/></w:pPr></w:p>', 1
                    ),
                },
            )
        ),
        {"ok"},
    ),
    "a paragraph of 9 MB": (
        "a.docx",
        _later(lambda: word_with(f"<w:p><w:r><w:t>{'dài ' * 2_000_000}</w:t></w:r></w:p>")),
        {F.TOO_MUCH_TEXT, F.DAMAGED, *BOMB},
    ),
    "a cell in the last corner": (
        "a.xlsx",
        _later(
            lambda: sheet_with(
                '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>12345</v></c></row>'
            )
        ),
        {"ok", F.TIME_LIMIT, F.NO_TEXT},
    ),
    "3,000 rows as wide as can be": (
        "a.xlsx",
        _later(
            lambda: sheet_with("".join(f'<row r="{at}"><c r="XFD{at}"><v>12345</v></c></row>' for at in range(1, 3001)))
        ),
        {"ok", F.TIME_LIMIT, F.MEMORY_LIMIT, *BOMB},
    ),
    "cells that are not where they say": (
        "a.xlsx",
        _later(lambda: sheet_with('<row r="-5"><c r="ZZZZZ99999999999"><v>1</v></c></row><row r="x"><c r="%"/></row>')),
        {"ok", *BROKEN},
    ),
    "a presentation without slides": (
        "a.pptx",
        _later(lambda: changed(samples.slides(), {"ppt/slides/slide1.xml": lambda _: b"<a/>"})),
        {"ok", *BROKEN, F.NO_TEXT},
    ),
}
