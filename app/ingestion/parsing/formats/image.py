"""Images: what their headers say. Nothing is decoded; pixels are never looked at."""

import struct
from collections.abc import Iterator

from app.ingestion.parsing.advice import ParseFailed
from app.ingestion.parsing.outcome import ParseFailure

_MAX_PARTS = 10_000
_MAX_TEXT = 64
_EXIF_MARK = b"Exif\x00\x00"
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG segments that tell the size."""
_ASCII, _LONGS, _RATIONAL = 2, (3, 4), 5
_MAKE, _MODEL, _CHANGED, _EXIF_AT, _GPS_AT = 0x010F, 0x0110, 0x0132, 0x8769, 0x8825
_TAKEN = 0x9003
_WHERE = {"latitude": (1, 2), "longitude": (3, 4)}
"""Tags of the hemisphere and of the angle."""


def image_facts(content: bytes) -> dict[str, str]:
    """Format, width and height, and where EXIF tells: when, with what and where it was taken. Raises `ParseFailed`."""
    try:
        for is_it, facts in _FORMATS:
            if is_it(content):
                return {name: value for name, value in facts(content).items() if value}
    except (struct.error, IndexError, UnicodeError) as error:
        raise ParseFailed(ParseFailure.DAMAGED, type(error).__name__) from error
    raise ParseFailed(ParseFailure.UNSUPPORTED, "no image")


def _png(content: bytes) -> dict[str, str]:
    if content[12:16] != b"IHDR":
        raise ParseFailed(ParseFailure.DAMAGED, "no IHDR")
    width, height = struct.unpack_from(">II", content, 16)
    exif = next((data for name, data in _png_chunks(content) if name == b"eXIf"), b"")
    return _facts("PNG", width, height, exif)


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    for _ in range(_MAX_PARTS):
        if at + 8 > len(content):
            return
        size, name = struct.unpack_from(">I4s", content, at)
        yield name, content[at + 8 : at + 8 + size]
        at += 12 + size


def _gif(content: bytes) -> dict[str, str]:
    width, height = struct.unpack_from("<HH", content, 6)
    return _facts("GIF", width, height, b"")


def _webp(content: bytes) -> dict[str, str]:
    width = height = 0
    exif, at = b"", 12
    for _ in range(_MAX_PARTS):
        if at + 8 > len(content):
            break
        name, size = struct.unpack_from("<4sI", content, at)
        data = content[at + 8 : at + 8 + size]
        if name in (b"VP8X", b"VP8L", b"VP8 ") and not width:
            width, height = _webp_size(name, data)
        exif = data if name == b"EXIF" else exif
        at += 8 + size + size % 2
    if not width:
        raise ParseFailed(ParseFailure.DAMAGED, "no size")
    return _facts("WebP", width, height, exif.removeprefix(_EXIF_MARK))


def _webp_size(name: bytes, data: bytes) -> tuple[int, int]:
    if name == b"VP8X":
        return 1 + int.from_bytes(data[4:7], "little"), 1 + int.from_bytes(data[7:10], "little")
    if name == b"VP8L":
        bits = struct.unpack_from("<I", data, 1)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", data, 6)
    return width & 0x3FFF, height & 0x3FFF


def _jpeg(content: bytes) -> dict[str, str]:
    width = height = 0
    exif = b""
    for mark, data in _jpeg_segments(content):
        if mark in _FRAMES:
            height, width = struct.unpack_from(">HH", data, 1)
            break
        if mark == 0xE1 and data.startswith(_EXIF_MARK):
            exif = data.removeprefix(_EXIF_MARK)
    if not width:
        raise ParseFailed(ParseFailure.DAMAGED, "no frame")
    return _facts("JPEG", width, height, exif)


def _jpeg_segments(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = 2
    for _ in range(_MAX_PARTS):
        while content[at : at + 2] == b"\xff\xff":
            at += 1
        if at + 4 > len(content) or content[at] != 0xFF:
            return
        mark, size = content[at + 1], struct.unpack_from(">H", content, at + 2)[0]
        yield mark, content[at + 4 : at + 2 + size]
        at += 2 + max(size, 2)


def _facts(name: str, width: int, height: int, exif: bytes) -> dict[str, str]:
    return {"format": name, "width": str(width), "height": str(height), **_exif(exif)}


def _exif(data: bytes) -> dict[str, str]:
    """What EXIF tells; what is broken in it tells nothing, the image is one all the same."""
    try:
        return _Exif(data).facts() if data else {}
    except (struct.error, IndexError, UnicodeError, ZeroDivisionError):
        return {}


class _Exif:
    """Reads the directories of a TIFF structure."""

    def __init__(self, data: bytes):
        self._data = data
        self._order = "<" if data[:2] == b"II" else ">"

    def facts(self) -> dict[str, str]:
        main = self._directory(self._unpack("I", 4)[0])
        own = self._directory(self._number(main[_EXIF_AT])) if _EXIF_AT in main else {}
        where = self._directory(self._number(main[_GPS_AT])) if _GPS_AT in main else {}
        taken = self._text(own.get(_TAKEN)) or self._text(main.get(_CHANGED))
        camera = " ".join(filter(None, (self._text(main.get(_MAKE)), self._text(main.get(_MODEL)))))
        return {"taken_at": taken, "camera": camera, **self._where(where)}

    def _directory(self, at: int) -> dict[int, tuple[int, int, int]]:
        """Tag to (type, count, where its value stands)."""
        found: dict[int, tuple[int, int, int]] = {}
        for number in range(min(self._unpack("H", at)[0], 500)):
            entry = at + 2 + 12 * number
            tag, kind, count = self._unpack("HHI", entry)
            found.setdefault(tag, (kind, count, entry + 8))
        return found

    def _number(self, field: tuple[int, int, int]) -> int:
        kind, _, at = field
        return int(self._unpack("H" if kind == _LONGS[0] else "I", at)[0])

    def _text(self, field: tuple[int, int, int] | None) -> str:
        if field is None or field[0] != _ASCII:
            return ""
        _, count, at = field
        start = at if count <= 4 else self._unpack("I", at)[0]
        raw = self._data[start : start + min(count, _MAX_TEXT)].partition(b"\x00")[0]
        return "".join(char for char in raw.decode("latin-1").strip() if char.isprintable())

    def _where(self, fields: dict[int, tuple[int, int, int]]) -> dict[str, str]:
        told: dict[str, str] = {}
        for name, (side, angle) in _WHERE.items():
            if angle in fields and fields[angle][0] == _RATIONAL and fields[angle][1] >= 3:
                parts = self._unpack("6I", self._unpack("I", fields[angle][2])[0])
                degrees = sum(parts[2 * at] / parts[2 * at + 1] / 60**at for at in range(3))
                sign = "-" if self._text(fields.get(side)) in ("S", "W") else ""
                told[name] = f"{sign}{degrees:.5f}"
        return told

    def _unpack(self, form: str, at: int) -> tuple[int, ...]:
        return struct.unpack_from(self._order + form, self._data, at)


def _is_webp(content: bytes) -> bool:
    return content.startswith(b"RIFF") and content[8:12] == b"WEBP"


_FORMATS = (
    (lambda content: content.startswith(b"\x89PNG\r\n\x1a\n"), _png),
    (lambda content: content.startswith(b"\xff\xd8\xff"), _jpeg),
    (lambda content: content.startswith((b"GIF87a", b"GIF89a")), _gif),
    (_is_webp, _webp),
)
