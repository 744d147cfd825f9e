"""Documents as they arrive, go through their stages and stand in the catalogue."""

from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from pydantic import Field

from app.domain.principal import Scope
from app.domain.record import Address, Moment, Record


class DocumentStatus(StrEnum):
    """received → parsing → chunking → embedding → ready | partial | failed."""

    RECEIVED = "received"
    PARSING = "parsing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    READY = "ready"
    PARTIAL = "partial"
    """Published, but some of its text could not be read; the warnings say what."""
    FAILED = "failed"
    """Nothing of this version was published; an earlier version goes on being found."""

    @property
    def is_final(self) -> bool:
        """Whether nobody is at work on it any more."""
        return self in (DocumentStatus.READY, DocumentStatus.PARTIAL, DocumentStatus.FAILED)


class DocumentFields(Record):
    """What the bringer says of a document. What is unset stays as it was, or is read from the file."""

    external_id: str | None = Field(default=None, min_length=1, max_length=500)
    """Unique per tenant; the same one again makes a new version. Unset = the address, or department and file name."""
    title: str | None = Field(default=None, max_length=500)
    url: Address | None = None
    department: str | None = Field(default=None, min_length=1, max_length=64)
    scope: Scope | None = None
    created_at: Moment | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    supersedes: str | None = Field(default=None, max_length=500)
    authority: str | None = Field(default=None, min_length=1, max_length=64)
    lang: str | None = Field(default=None, max_length=16)


class Upload(Record):
    """A document on its way in: the bytes of a file, or text."""

    fields: DocumentFields
    content: bytes | None = None
    """The file as it came; None when `text` says everything."""
    file_name: str = ""
    """A hint only: the content decides what the file is."""
    text: str = ""


class ParseNote(Record):
    """Something an administrator should know about how a file was read."""

    code: str
    advice: str
    count: int = 1
    sentences: tuple[str, ...] = ()
    """What it is about, as written; only for administrators who may read the document."""
    proposes: dict[str, tuple[str, str]] = {}
    """Of fields the text speaks of and the document lacks the value and the sentence; for administrators only."""


class DocumentHead(Record):
    """What is told of a document wherever one is shown."""

    document_id: UUID
    title: str
    url: str
    department: str
    scope: Scope
    created_at: datetime
    effective_from: date | None
    effective_to: date | None
    kind: str
    """Format it was read from: ``pdf``, ``docx``, ``markdown`` …"""


class DocumentView(DocumentHead):
    """A document of the catalogue; its `kind` is that of the newest version."""

    external_id: str
    lang: str
    authority: str
    supersedes: str | None
    status: DocumentStatus
    """Of the newest version; `current_version` goes on being found meanwhile."""
    status_code: str
    """Why it failed or is partial; empty otherwise."""
    status_detail: str
    """What to do about it."""
    current_version: int
    """What is found; 0 = nothing yet."""
    latest_version: int
    file_name: str
    byte_count: int
    warnings: tuple[ParseNote, ...]
    chunks_total: int
    chunks_embedded: int
    heartbeat_at: datetime | None
    """When the newest version last made progress."""
    task_id: UUID | None
    updated_at: datetime


class TextChange(Record):
    """A run of lines that differs between two versions."""

    removed: tuple[str, ...]
    added: tuple[str, ...]


class VersionView(Record):
    """One version of a document and how it differs from the one before."""

    version: int
    status: DocumentStatus
    status_code: str
    status_detail: str
    title: str
    effective_from: date | None
    effective_to: date | None
    file_name: str
    kind: str
    byte_count: int
    created_at: datetime
    published_at: datetime | None
    is_current: bool
    changed_fields: dict[str, tuple[Any, Any]] = {}
    """(before, now) of what the bringer said differently."""
    changes: tuple[TextChange, ...] = ()
    """Against the version before, in order; empty for the first one."""
    is_cut: bool = False
    """Whether further changes were left out."""


class DocumentText(DocumentHead):
    """A document as it is read by whoever follows a citation to it."""

    text: str
    """Of the version that is found, as it was read; Markdown where the format had headings."""
    is_cut: bool
    """Whether the end was left out."""


class DocumentTitle(Record):
    """What the document behind an address is called."""

    url: str
    title: str
    created_at: datetime
    """Tells versions apart that are kept as documents of their own."""


class Progress(Record):
    """How far one version is."""

    stage: DocumentStatus
    chunks_total: int = 0
    chunks_embedded: int = 0

    @property
    def percentage(self) -> int:
        """0–100; embedding is what takes the time."""
        if self.stage is DocumentStatus.EMBEDDING:
            return 20 + round(75 * self.chunks_embedded / max(self.chunks_total, 1))
        before = {DocumentStatus.RECEIVED: 0, DocumentStatus.PARSING: 5, DocumentStatus.CHUNKING: 15}
        return before.get(self.stage, 100)
