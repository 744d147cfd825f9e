"""How reading a file ends: as a `ParsedFile`, or as `ParseFailed` with one code of a closed set. Nothing in between."""

import json
import tomllib
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Self

from app.domain.attachments import AttachedTable
from app.domain.documents import ParseNote
from app.domain.record import Record

MEBIBYTE = 1024 * 1024


class FileKind(StrEnum):
    """The formats that can be read."""

    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    CSV = "csv"
    HTML = "html"
    MARKDOWN = "markdown"
    TEXT = "text"
    EML = "eml"
    PICTURE = "picture"
    """PNG, JPEG or TIFF with text on it."""


class DescribedKind(StrEnum):
    """Formats that are described, not read: attached to a question, never brought in as documents."""

    IMAGE = "image"
    ZIP = "zip"


class ParseFailure(StrEnum):
    """Why a file gave no text at all."""

    UNSUPPORTED = "UNSUPPORTED"
    WRONG_TYPE = "WRONG_TYPE"
    """Two formats in one file: readers would disagree on what it says."""
    ENCRYPTED = "ENCRYPTED"
    NO_TEXT = "NO_TEXT"
    NO_RECOGNITION = "NO_RECOGNITION"
    DAMAGED = "DAMAGED"
    DTD_FORBIDDEN = "DTD_FORBIDDEN"
    ARCHIVE_BOMB = "ARCHIVE_BOMB"
    ARCHIVE_UNSAFE = "ARCHIVE_UNSAFE"
    TOO_MANY_PAGES = "TOO_MANY_PAGES"
    TOO_MUCH_TEXT = "TOO_MUCH_TEXT"
    TIME_LIMIT = "TIME_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    CRASHED = "CRASHED"


class WarningCode(StrEnum):
    """What a reader of the answer should know about how the text was won."""

    HIDDEN_TEXT_DROPPED = "HIDDEN_TEXT_DROPPED"
    REVIEW_MARKS_DROPPED = "REVIEW_MARKS_DROPPED"
    TEXT_UNDER_IMAGE = "TEXT_UNDER_IMAGE"
    """A scan with an invisible layer of recognised text, which was taken."""
    PAGES_WITHOUT_TEXT = "PAGES_WITHOUT_TEXT"
    PAGES_RECOGNISED = "PAGES_RECOGNISED"
    PAGES_UNCLEAR = "PAGES_UNCLEAR"
    PAGES_UNREADABLE = "PAGES_UNREADABLE"
    TRUNCATED_PAGES = "TRUNCATED_PAGES"
    TRUNCATED_SHEETS = "TRUNCATED_SHEETS"
    UNREADABLE_CHARACTERS = "UNREADABLE_CHARACTERS"
    ENCODING_GUESSED = "ENCODING_GUESSED"
    ATTACHMENTS_NOT_READ = "ATTACHMENTS_NOT_READ"
    PLANTED_INSTRUCTIONS = "PLANTED_INSTRUCTIONS"
    """Sentences that give orders to whatever answers, which were taken out."""
    SAYS_WHEN_IT_HOLDS = "SAYS_WHEN_IT_HOLDS"


PARTIAL = frozenset(
    {
        WarningCode.PAGES_WITHOUT_TEXT,
        WarningCode.PAGES_UNCLEAR,
        WarningCode.PAGES_UNREADABLE,
        WarningCode.TRUNCATED_PAGES,
        WarningCode.TRUNCATED_SHEETS,
        WarningCode.UNREADABLE_CHARACTERS,
    }
)
"""With one of these, something that a person sees in the file is missing in the text."""


class DescribedFile(Record):
    """What can be said of a file without reading it."""

    kind: DescribedKind
    facts: dict[str, str]
    entries: tuple[tuple[str, int], ...] = ()
    """(name, bytes as declared) of what an archive holds."""


class ParsedFile(Record):
    """What a file says, as Markdown."""

    kind: FileKind
    title: str
    """From the metadata or the first heading; empty when there is neither."""
    text: str
    """Headings as ``#``, tables with their header row, lists; NFC, nothing invisible, lines up to 20,000 long."""
    pages: tuple[int, ...] = ()
    """Where in `text` page, slide or sheet 1, 2, … begins; never falling; empty for formats without pages."""
    warnings: tuple[ParseNote, ...] = ()
    is_partial: bool = False
    """Whether something visible is missing: unreadable or scanned pages, a limit that was reached."""
    tables: tuple[AttachedTable, ...] = ()
    """Of CSV and XLSX files that were read with their tables."""


@dataclass(frozen=True)
class ParseLimits:
    """What one file may cost. Beyond any of these it ends with the code of that limit."""

    cpu_seconds: int = 20
    wall_seconds: float = 30.0
    memory_bytes: int = 512 * MEBIBYTE
    """Resident memory of the reading process, about 70 MiB of it for the libraries."""
    output_chars: int = 5_000_000
    pages: int = 2_000
    archive_entries: int = 10_000
    inflated_bytes: int = 200 * 1_000_000
    """All parts of an archive that are unpacked, together."""
    sheet_rows: int = 50_000
    sheet_columns: int = 256
    """A longer or wider sheet is cut, and the file is partial."""
    table_cells: int = 0
    """Cells kept beside the text, all tables together; 0 = none are."""

    def for_scans(self) -> Self:
        """The same limits with time and memory for recognising letters in pictures: a page costs seconds."""
        return replace(self, cpu_seconds=600, wall_seconds=900.0, memory_bytes=768 * MEBIBYTE)

    def as_request(self, kind: FileKind | DescribedKind) -> bytes:
        """What stands in front of the bytes of a file on its way to the process that reads it: one line."""
        return json.dumps([kind, asdict(self)]).encode() + b"\n"


_ADVICE: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))


class ParseFailed(Exception):
    """A file gave no text. `code` is for programs, `advice` for the person who brought it."""

    def __init__(self, code: ParseFailure, detail: str = ""):
        """`detail` is for the log: what the reader stumbled on; never text of the file."""
        self.code, self.detail, self.advice = code, detail, _ADVICE["failures"][code]
        super().__init__(f"{code}: {self.advice}")


def warning(code: WarningCode, count: int) -> ParseNote:
    """The remark with its advice: what happened and what can be done."""
    return ParseNote(code=code, count=count, advice=_ADVICE["warnings"][code].format(count=count))
