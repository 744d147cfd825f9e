"""Which format a file is, by what it begins with. Its name is a hint that only chooses between kinds of text."""

import re

from app.ingestion.parsing.outcome import DescribedKind, FileKind

HEAD_BYTES = 64 * 1024
_PDF_MARK = b"%PDF-"
_PDF_MARK_WITHIN = 1024
"""Readers accept that much in front of the mark."""
_PDF_LINE = re.compile(rb"(?:^[\s\xef\xbb\xbf]*|[\r\n])%PDF-\d")
_SCAN_MARKS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*")
_IMAGE_MARKS = (*_SCAN_MARKS[:2], b"GIF87a", b"GIF89a")
_OFFICE = {FileKind.DOCX: b"word/", FileKind.PPTX: b"ppt/", FileKind.XLSX: b"xl/"}
_ENDINGS = {
    "md": FileKind.MARKDOWN, "markdown": FileKind.MARKDOWN, "csv": FileKind.CSV, "tsv": FileKind.CSV,
    "html": FileKind.HTML, "htm": FileKind.HTML, "xhtml": FileKind.HTML, "eml": FileKind.EML, "mht": FileKind.EML,
    "mhtml": FileKind.EML, "txt": FileKind.TEXT, "pdf": FileKind.PDF,
    "docx": FileKind.DOCX, "docm": FileKind.DOCX, "dotx": FileKind.DOCX, "pptx": FileKind.PPTX,
    "pptm": FileKind.PPTX, "ppsx": FileKind.PPTX, "potx": FileKind.PPTX, "xlsx": FileKind.XLSX,
    "xlsm": FileKind.XLSX, "xltx": FileKind.XLSX,
}  # fmt: skip
_TEXT_KINDS = (FileKind.TEXT, FileKind.MARKDOWN, FileKind.CSV, FileKind.HTML, FileKind.EML)

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)*(?:<!doctype\s+html|<html|<head|<body)\b", re.I | re.S
)
_OTHER_MARKUP = re.compile(r"\s*(?:<\?xml\b|<!doctype\b|<svg\b|\{\\rtf|%!PS)", re.I)
_MAIL_FIELD = re.compile(r"^([A-Za-z][A-Za-z0-9-]{1,50}):[ \t]?.*(?:\r?\n[ \t]+.*)*", re.M)
_MAIL_ONLY = frozenset({"message-id", "mime-version", "received", "return-path", "content-type", "delivered-to"})
_MAIL_USUAL = frozenset({"from", "to", "subject", "date", "cc", "reply-to"})
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x0b\x1b"))
_MAX_CONTROL_SHARE = 0.02


def sniff(head: bytes, file_name: str = "") -> FileKind | None:
    """The kind of a file by its first 64 KiB; None when it is no kind that can be read. Inflates nothing, never raises.

    Office files are archives: the answer is the likely kind, and what is inside decides.
    """
    head = head[:HEAD_BYTES]
    named = _ENDINGS.get(file_name[-12:].rpartition(".")[2].strip().lower())
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office(head, named)
    if head.startswith(_SCAN_MARKS):
        return FileKind.PICTURE
    if _PDF_LINE.search(head[:_PDF_MARK_WITHIN]) or (named is FileKind.PDF and _PDF_MARK in head):
        return FileKind.PDF
    text = _text(head)
    if text is None:
        return FileKind.PDF if _PDF_MARK in head[:_PDF_MARK_WITHIN] else None
    return _text_kind(text, named)


def sniff_attached(head: bytes, file_name: str = "") -> FileKind | DescribedKind | None:
    """Like `sniff`; images and archives that are no office files are known as well."""
    if is_image(head):
        return DescribedKind.IMAGE
    found = sniff(head, file_name)
    if found is None and head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return DescribedKind.ZIP
    return found


def is_image(head: bytes) -> bool:
    """Whether a file begins as PNG, JPEG, GIF and WebP do."""
    return head.startswith(_IMAGE_MARKS) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def wide_encoding(sample: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, told by where the zero bytes stand; empty when it is neither."""
    size = len(sample) // 4 * 4
    if size < 4 or 0 not in sample:
        return ""
    zeros = [sample[at:size:4].count(0) * 4 / size for at in range(4)]
    if min(zeros[2:]) > 0.9 and zeros[0] < 0.5:
        return "utf-32-le"
    if min(zeros[:2]) > 0.9 and zeros[3] < 0.5:
        return "utf-32-be"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    if odd > 0.15 and even < odd / 8:
        return "utf-16-le"
    return "utf-16-be" if even > 0.15 and odd < even / 8 else ""


def _office(head: bytes, named: FileKind | None) -> FileKind | None:
    found = [kind for kind, folder in _OFFICE.items() if folder in head]
    if len(found) == 1:
        return found[0]
    return named if named in _OFFICE else None


def _text(head: bytes) -> str | None:
    """The head as text for looking at its ASCII; None when it is no text."""
    if name := _wide(head):
        return head.decode(name, "replace")
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return None if controls > len(head) * _MAX_CONTROL_SHARE else head.decode("utf-8-sig", "replace")


def _wide(head: bytes) -> str:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else wide_encoding(head)


def _text_kind(text: str, named: FileKind | None) -> FileKind | None:
    text = text.lstrip("\ufeff")
    if _HTML.match(text):
        return FileKind.HTML
    if _is_mail(text, named is FileKind.EML):
        return FileKind.EML
    if _OTHER_MARKUP.match(text) and named is not FileKind.HTML:
        return None
    return named if named in _TEXT_KINDS else FileKind.TEXT


def _is_mail(text: str, is_named_so: bool) -> bool:
    """Whether the first lines are the header of a message."""
    if text.startswith("From "):
        text = text.partition("\n")[2]
    names: set[str] = set()
    at = 0
    while field := _MAIL_FIELD.match(text, at):
        names.add(field[1].lower())
        at = field.end() + (2 if text.startswith("\r\n", field.end()) else 1)
    return len(names) > 1 and not names.isdisjoint(_MAIL_USUAL if is_named_so else _MAIL_ONLY)
