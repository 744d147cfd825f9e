"""The door for documents: what is refused at once, what has not changed, and what becomes a new version."""

import hashlib
import re
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from app.domain.documents import DocumentFields, Upload
from app.domain.knowledge import DocumentDraft
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.effect import is_notice
from app.ingestion.parsing import FileKind, ParseFailure, sniff
from app.storage.arrivals import KnownDocument, known_documents, take_up
from app.storage.database import Transaction
from app.storage.documents import note
from app.storage.publishing import changes_one_at_a_time
from app.text.language import clean

REVISION = 4
"""Raise it when the same text would be cut or indexed differently: every document is then published anew."""
_DEPARTMENT = re.compile(r"[a-z][a-z0-9_-]{0,63}")
UNREADABLE = frozenset(ParseFailure) - {ParseFailure.TIME_LIMIT, ParseFailure.MEMORY_LIMIT, ParseFailure.CRASHED}
"""Failures that lie in the file itself; the others may pass."""
SAID = ("title", "url", "department", "scope", "lang", "authority", "effective_from", "effective_to", "supersedes")
_KEPT = tuple(name for name in SAID if name != "lang")
"""Stay as they are when a new version does not speak of them; its language is that of its own text."""


class Arrival(NamedTuple):
    """What became of an upload at the door."""

    document_id: UUID
    version: int | None
    """None = the same is there already, nothing is to be done."""


class Intake:
    """Takes uploads up for a tenant; the principals are its administrators."""

    def __init__(self, space: str):
        """`space` names the vectors a document must have to count as unchanged."""
        self._space = space

    def check(self, principal: Principal, upload: Upload) -> None:
        """Refuse what can be refused by looking: rights, kind of file, fields. Fast, no I/O. Raises `AppError`."""
        demand_admin(principal, "brings documents in")
        if upload.content is None:
            if not any(map(str.isalnum, upload.text)):
                raise _rejected(f"text: the document {upload.fields.external_id or ''!r} has no text.")
        elif not upload.content:
            raise _rejected("file: the file is empty.")
        elif kind_of(upload) is None:
            detail = f"file: this is none of the formats {', '.join(FileKind)}. Convert it."
            raise AppError(ErrorCode.DOCUMENT_REJECTED, detail, status=415)
        if upload.fields.department is not None:
            check_department(upload.fields.department)

    async def take_in(self, tx: Transaction, upload: Upload, task_id: UUID) -> Arrival:
        """Store a checked upload as a new version, or find that nothing changed; in the caller's transaction.

        Raises `AppError` when a new document does not say its department or scope.
        """
        await changes_one_at_a_time(tx)
        name = external_id_of(upload)
        known = (await known_documents(tx, [name], self._space)).get(name)
        document_id = document_id_of(tx.principal, name)
        draft = self._draft(upload, name, document_id, known)
        digest = content_hash(upload, draft)
        if _is_settled(known, digest):
            return Arrival(document_id, None)
        kind = kind_of(upload)
        version = await take_up(
            tx, document_id, draft, content_hash=digest, kind=kind.value if kind else FileKind.MARKDOWN.value,
            file_name=file_name_of(upload.file_name), original=upload.content, task_id=task_id,
        )  # fmt: skip
        # The audit says who brought which version in, and for whom to read.
        details = {"version": version, "department": draft.department, "scope": draft.scope}
        await note(tx, "document_brought_in", str(document_id), details)
        return Arrival(document_id, version)

    def _draft(self, upload: Upload, name: str, document_id: UUID, known: KnownDocument | None) -> DocumentDraft:
        said = upload.fields
        values: dict[str, Any] = {key: known.fields[key] for key in _KEPT} if known else {}
        if upload.content is not None:
            values.pop("title", None)  # the new file says its own
        values |= {key: getattr(said, key) for key in SAID if key in said.model_fields_set}
        for needed in ("department", "scope"):
            if not values.get(needed):
                raise _rejected(f"{needed}: say it for a document that is not there yet.")
        values = {key: value for key, value in values.items() if value is not None and (value or key != "url")}
        # Evidence is told apart, and opened, by its address: nobody's may be empty.
        own = f"/api/v1/documents/{document_id}{'/original' if upload.content is not None else ''}"
        fallback = {"title": "" if upload.content is not None else name, "url": own}
        draft = {
            **fallback,
            **values,
            "external_id": name,
            "created_at": aware(said.created_at or datetime.now(UTC)),
            "text": "" if upload.content is not None else clean(upload.text),
        }
        if "authority" not in draft and is_notice(draft["title"], draft["url"], name, upload.file_name):
            draft["authority"] = "notice"
        read = tidy(DocumentDraft.model_validate(draft))
        if read.effective_from and read.effective_to and read.effective_to < read.effective_from:
            raise _rejected("effective_to: must not be before effective_from.")
        return read


def _is_settled(known: KnownDocument | None, digest: str) -> bool:
    """Whether an upload would end as the same one did before: published where it is searched, or not to be read."""
    if known is None or known.content_hash != digest:
        return False
    return known.failed_with in UNREADABLE if known.failed_with else known.has_vectors


def tidy(draft: DocumentDraft) -> DocumentDraft:
    """The draft with a title on one line, and nothing invisible."""
    return draft.model_copy(update={"title": " ".join(clean(draft.title).split())})


def document_id_of(principal: Principal, external_id: str) -> UUID:
    """The id a document of this external id has, also before it exists."""
    return uuid5(principal.tenant_id, f"document:{external_id}")


def demand_admin(principal: Principal, act: str) -> None:
    """Raise `AppError` (403) for who is no administrator; `act` says what only one does."""
    if not principal.is_admin:
        raise AppError(ErrorCode.PERMISSION_DENIED, f"Only an administrator {act}.", status=403)


def check_department(name: str) -> None:
    """Raise `AppError` (422) for what cannot be the name of a department."""
    if not _DEPARTMENT.fullmatch(name):
        raise _rejected("department: lower-case letters, digits, - and _ only.")


def kind_of(upload: Upload) -> FileKind | None:
    """What the bytes look like; None for what cannot be read, and for text that is no file."""
    return None if upload.content is None else sniff(upload.content, file_name_of(upload.file_name))


def file_name_of(name: str, most: int = 200) -> str:
    """The last part of the name the sender gave, harmless and short; "" when nothing is left of it."""
    name = PureWindowsPath(PurePosixPath(clean(name)).name).name
    return " ".join(name.split())[-most:].strip(". ")


def external_id_of(upload: Upload) -> str:
    """What tells a document from the others of its tenant: as said, else its address, else department and file name."""
    said = upload.fields
    name = clean(said.external_id or said.url or "").strip()
    if name:
        return name
    file_name = file_name_of(upload.file_name)
    if not file_name:
        raise _rejected("external_id: say how this document is called.")
    return f"{said.department}/{file_name}" if said.department else file_name


def content_hash(upload: Upload, draft: DocumentDraft) -> str:
    """Equal for uploads that would be published alike; the time of arrival does not count unless it was named."""
    described = draft.model_dump_json(exclude=None if upload.fields.created_at else {"created_at"})
    digest = hashlib.sha256(f"{REVISION} {described}".encode())
    digest.update(hashlib.sha256(upload.content).digest() if upload.content is not None else b"")
    return digest.hexdigest()


def as_upload(draft: DocumentDraft) -> Upload:
    """A complete draft as an upload that leaves nothing as it was."""
    return Upload(fields=DocumentFields.model_validate(draft.model_dump(exclude={"text"})), text=draft.text)


def aware(moment: datetime) -> datetime:
    """A moment without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _rejected(detail: str) -> AppError:
    return AppError(ErrorCode.DOCUMENT_REJECTED, detail, status=422)
