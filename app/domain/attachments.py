"""Files attached to questions: what is known of one, and what it says."""

import re
from datetime import datetime
from uuid import UUID

from pydantic import Field

from app.domain.documents import ParseNote
from app.domain.record import Record

_NOT_PLAIN = re.compile(r"[^\w.\-–()+,]")
Cell = int | float | str
"""A number the file holds as a number, or a text as it is shown; dates are ISO texts, empty cells ``""``."""


class AttachedTable(Record):
    """A table of a file."""

    name: str
    """Sheet, or the heading above it; may be empty."""
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """As wide as the header."""
    units: tuple[str, ...] = ()
    """What the file says of the numbers of each column: ``%``, ``đ``, ``$`` … or nothing; empty = of none."""
    page: int | None = None
    is_cut: bool = False
    """Whether further rows or columns were left out."""


class AttachedSection(Record):
    """A piece of the text of a file, small enough to be quoted from."""

    position: int
    heading: str
    """Heading path; may be empty."""
    text: str
    page: int | None = None


class ListedEntry(Record):
    """A file inside an archive; it was not unpacked."""

    name: str
    byte_count: int
    """As the archive declares it."""


class FileContent(Record):
    """What a file says: stored as JSON, untrusted."""

    title: str = ""
    language: str = ""
    """``vi`` or ``en``; empty when there is no text."""
    sections: tuple[AttachedSection, ...] = ()
    tables: tuple[AttachedTable, ...] = ()
    entries: tuple[ListedEntry, ...] = ()
    facts: dict[str, str] = {}
    """Of an image: ``format``, ``width``, ``height``, ``taken_at``, ``camera``, ``latitude``, ``longitude``; of an
    archive: ``entries``, ``unpacked_bytes``."""


class Attachment(Record):
    """A file as its owner sees it listed."""

    file_id: UUID
    name: str
    kind: str
    """``pdf docx pptx xlsx csv html markdown text eml image zip``."""
    byte_count: int
    pages: int | None
    """Pages, slides or sheets; None for formats without any."""
    tables: int
    warnings: tuple[ParseNote, ...] = ()
    created_at: datetime
    expires_at: datetime


class AttachedFile(Record):
    """A file with its content."""

    attachment: Attachment
    content: FileContent

    @property
    def address(self) -> str:
        """How evidence names it: ``file:chi_phi.csv``."""
        return f"file:{escaped(self.attachment.name)}"


class AttachmentLimits(Record):
    """What one person may attach."""

    max_bytes: int = Field(10 * 2**20, ge=1)
    """Of one file."""
    max_files: int = Field(20, ge=1)
    max_total_bytes: int = Field(50 * 2**20, ge=1)
    """Of all files alive, as they were uploaded."""
    days: int = Field(7, ge=1)


def escaped(name: str) -> str:
    """A name as a part of an address: letters of every language stay, signs that mean something there do not."""
    return _NOT_PLAIN.sub(lambda sign: "".join(f"%{byte:02X}" for byte in sign[0].encode("utf-8", "replace")), name)
