"""Files attached to questions: read once at upload, in a process that can be killed; only what was read is kept.

The bytes are not stored: nobody needs them again, and what is not there cannot be handed out, nor has to be erased.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import PurePosixPath
from uuid import UUID, uuid4

from app.domain.attachments import (
    AttachedFile,
    AttachedSection,
    AttachedTable,
    Attachment,
    AttachmentLimits,
    FileContent,
    ListedEntry,
)
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.ingestion.chunk import chunk
from app.ingestion.intake import file_name_of
from app.ingestion.parsing import DescribedFile, ParsedFile, ParseFailed, ParseLimits, Parser
from app.ingestion.planted import clean, note
from app.ingestion.sections import read_sections, read_tables
from app.storage import attachments
from app.storage.database import Database
from app.text.language import estimated_tokens, guess_language

READING = ParseLimits(cpu_seconds=15, wall_seconds=25.0, output_chars=3_000_000, table_cells=200_000)
"""What reading one attached file may cost: somebody waits for it."""
_MOST_NAME_CHARS = 150
_MOST_TEXT_TABLES = 200
"""Of a file whose tables stand in its text."""
_LANGUAGE_CHARS = 4_000
_RULE = "|:- \t"


class Attachments:
    """Files of the caller; every method does I/O and knows only the caller's own. Close it after use."""

    def __init__(
        self,
        database: Database,
        limits: AttachmentLimits,
        *,
        parser: Parser | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ):
        """A parser of its own, so that nobody waits behind the documents of an administrator."""
        self._database, self.limits, self._clock = database, limits, clock
        self._parser = parser or Parser(READING, processes=2)

    async def aclose(self) -> None:
        """End the reading processes."""
        await self._parser.aclose()

    async def bring_in(self, principal: Principal, content: bytes, file_name: str) -> Attachment:
        """Read a file and keep what it says. The same bytes under the same name again live longer, nothing else.

        Raises `AppError`: DOCUMENT_REJECTED with advice for what cannot be read, PAYLOAD_TOO_LARGE, RATE_LIMITED when
        the caller has too much attached already.
        """
        name = file_name_of(file_name, _MOST_NAME_CHARS) or "file"
        self._check_size(content)
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        now = self._clock()
        expires_at = now + timedelta(days=self.limits.days)
        async with self._database.principal_scope(principal) as tx:
            await attachments.sweep(tx)
            if known := await attachments.renew(tx, sha256, name, expires_at):
                return known
            self._check_room(await attachments.one_at_a_time(tx), len(content))
        try:
            parsed = await self._parser.parse_attached(content, name)
        except ParseFailed as failure:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, f"file: {failure}", status=422) from failure
        if isinstance(parsed, ParsedFile):
            text, pages, planted = await clean(parsed.text, parsed.pages)
            warnings = (*parsed.warnings, note(planted)) if planted else parsed.warnings
            parsed = parsed.model_copy(update={"text": text, "pages": pages, "warnings": warnings})
        read = await asyncio.to_thread(content_of, parsed, name)
        attachment = Attachment(
            file_id=uuid4(), name=name, kind=parsed.kind.value, byte_count=len(content),
            pages=(isinstance(parsed, ParsedFile) and len(parsed.pages)) or None, tables=len(read.tables),
            warnings=parsed.warnings if isinstance(parsed, ParsedFile) else (), created_at=now, expires_at=expires_at,
        )  # fmt: skip
        async with self._database.principal_scope(principal) as tx:
            self._check_room(await attachments.one_at_a_time(tx), len(content))
            await attachments.add(tx, AttachedFile(attachment=attachment, content=read), sha256)
        return attachment

    async def listing(self, principal: Principal) -> list[Attachment]:
        """The caller's files, newest first."""
        async with self._database.principal_scope(principal) as tx:
            return await attachments.listing(tx)

    async def find(self, principal: Principal, file_id: UUID) -> Attachment:
        """What is known of a file. Raises `AppError` (404) for unknown, foreign and expired ids alike."""
        async with self._database.principal_scope(principal) as tx:
            found = next((one for one in await attachments.listing(tx) if one.file_id == file_id), None)
        if found is None:
            raise _not_found()
        return found

    async def delete(self, principal: Principal, file_id: UUID) -> None:
        """Remove a file with all it says. Raises `AppError` (404)."""
        async with self._database.principal_scope(principal) as tx:
            if not await attachments.delete(tx, file_id):
                raise _not_found()

    async def check(self, principal: Principal, file_ids: Sequence[UUID]) -> None:
        """Raise `AppError` (404) unless all of these are the caller's."""
        async with self._database.principal_scope(principal) as tx:
            if not {one.file_id for one in await attachments.listing(tx)}.issuperset(file_ids):
                raise _not_found()

    async def read(self, principal: Principal, file_id: UUID) -> AttachedFile | None:
        """A file with its content; None for unknown, foreign and expired ids alike."""
        async with self._database.principal_scope(principal) as tx:
            found = await attachments.read(tx, file_id)
        if found is None:
            return None
        content = await asyncio.to_thread(FileContent.model_validate_json, found[1])
        return AttachedFile(attachment=found[0], content=content)

    def _check_size(self, content: bytes) -> None:
        if not content:
            raise AppError(ErrorCode.DOCUMENT_REJECTED, "file: the file is empty.", status=422)
        if len(content) > self.limits.max_bytes:
            detail = f"file: has more than {self.limits.max_bytes} bytes. Attach a smaller one."
            raise AppError(ErrorCode.PAYLOAD_TOO_LARGE, detail, status=413)

    def _check_room(self, use: attachments.Use, size: int) -> None:
        if use.files >= self.limits.max_files:
            detail = f"You have {use.files} files attached, the most there may be. Delete one first."
            raise AppError(ErrorCode.RATE_LIMITED, detail, status=429)
        if use.byte_count + size > self.limits.max_total_bytes:
            detail = f"Your attached files would have more than {self.limits.max_total_bytes} bytes. Delete some first."
            raise AppError(ErrorCode.RATE_LIMITED, detail, status=429)


def content_of(parsed: ParsedFile | DescribedFile, name: str) -> FileContent:
    """What is kept of a file that was read; CPU-bound."""
    if isinstance(parsed, DescribedFile):
        entries = tuple(ListedEntry(name=entry, byte_count=size) for entry, size in parsed.entries)
        return FileContent(facts=parsed.facts, entries=entries)
    title = parsed.title or PurePosixPath(name).stem
    pieces = chunk(parsed.text, title, count_tokens=lambda texts: [*map(estimated_tokens, texts)], pages=parsed.pages)
    return FileContent(
        title=title,
        language=guess_language(parsed.text[:_LANGUAGE_CHARS]),
        sections=tuple(
            AttachedSection(position=one.position, heading=one.section, text=one.text, page=one.page) for one in pieces
        ),
        tables=parsed.tables or tuple(islice(_tables_of_text(parsed, title), _MOST_TEXT_TABLES)),
    )


def _tables_of_text(parsed: ParsedFile, title: str) -> Iterator[AttachedTable]:
    """Tables that stand in the text as Markdown; all their cells are texts."""
    left = READING.table_cells
    for section in read_sections(parsed.text, title):
        for table in read_tables(parsed.text, section.start, section.end):
            lines = parsed.text[table.start : table.end].split("\n")
            header, *rows = [_cells(line) for line in lines if line.strip(_RULE)]
            room = left // max(len(header), 1)
            if not rows or not room:
                continue
            left -= min(len(rows), room) * len(header)
            yield AttachedTable(
                name=section.path[-1].name if section.path else parsed.title,
                page=sum(begin <= table.start for begin in parsed.pages) or None,
                header=tuple(header),
                rows=tuple(tuple((row + [""] * len(header))[: len(header)]) for row in rows[:room]),
                is_cut=len(rows) > room,
            )


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|").replace("\\|", "\0")
    return [cell.strip().replace("\0", "|") for cell in inner.split("|")]


def _not_found() -> AppError:
    return AppError(ErrorCode.NOT_FOUND, "There is no such file.", status=404)
