"""Reading files of strangers from a process that must go on: each in a process of its own that can be killed."""

import asyncio
import json
from contextlib import suppress

from pydantic import ValidationError

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed, ProcessLimits
from app.ingestion.parsing.outcome import (
    PARTIAL,
    DescribedFile,
    DescribedKind,
    FileKind,
    ParsedFile,
    ParseFailed,
    ParseFailure,
    ParseLimits,
    WarningCode,
    warning,
)
from app.ingestion.parsing.sniff import HEAD_BYTES, sniff, sniff_attached
from app.plugins import SCANS, entries_of

_READER = "app.ingestion.parsing.reading:read_request"
_HIDDEN_MODULES = ("numpy",)
"""Some libraries load it where they find it. It is not needed, and its threads must not be forked."""
_ENVIRONMENT = {"OPENPYXL_DEFUSEDXML": "False", "OMP_THREAD_LIMIT": "1"}
"""What openpyxl would look for was refused before, and looking is three times slower. No thread can be started."""
_PICTURED = (WarningCode.PAGES_WITHOUT_TEXT, WarningCode.PAGES_UNREADABLE)
_LIBRARY_BYTES = 70 * 1024 * 1024
"""Of the memory a file may cost; what the process takes before it gets the file."""
_BYTES_A_CHARACTER, _SPARE_BYTES = 6, 1_000_000
_BIG_ANSWER_BYTES = 200_000
_MOST_FACTS = 20
_OFFICE_IN_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_ENDS = {
    IsolationEnd.TIME_LIMIT: ParseFailure.TIME_LIMIT,
    IsolationEnd.MEMORY_LIMIT: ParseFailure.MEMORY_LIMIT,
    IsolationEnd.OUTPUT_LIMIT: ParseFailure.TOO_MUCH_TEXT,
}
"""How a reading process ends without an answer; every other way is a crash."""


class Parser:
    """Reads files in killable processes, at most `processes` at a time. Nothing is started before the first file.

    Belongs to one event loop. `aclose` ends what was started; so does the end of this process.
    """

    def __init__(self, limits: ParseLimits | None = None, processes: int = 2, reader: str = _READER):
        """`limits`: what one file may cost; unset = the defaults. `reader` runs in the process."""
        self.limits = limits or ParseLimits()
        copies = 2 if self.limits.table_cells else 1
        allowed = ProcessLimits(
            wall_seconds=self.limits.wall_seconds,
            cpu_seconds=self.limits.cpu_seconds,
            memory_bytes=self.limits.memory_bytes - _LIBRARY_BYTES,
            output_bytes=self.limits.output_chars * _BYTES_A_CHARACTER * copies + _SPARE_BYTES,
        )
        self._read = Isolated(
            reader, allowed, processes=processes, hidden_modules=_HIDDEN_MODULES, environment=_ENVIRONMENT
        )
        scans = entries_of(SCANS) if reader == _READER else []
        self._scans = Parser(self.limits.for_scans(), 1, scans[0].value) if scans else self
        """Reads what is in pictures, where that is installed."""

    async def parse(self, content: bytes, file_name: str) -> ParsedFile:
        """Read a file as Markdown. Raises `ParseFailed`. The name is a hint only.

        The reading process is killed at its limits and when this call is cancelled.
        """
        kind = sniff(content, file_name)
        try:
            parsed = await (self._scans if kind is FileKind.PICTURE else self)._parse(content, kind)
        except ParseFailed as failure:
            if kind is not FileKind.PDF or failure.code is not ParseFailure.NO_TEXT:
                raise
            parsed = await self._scans._parse(content, kind)
        else:
            if isinstance(parsed, ParsedFile) and any(one.code in _PICTURED for one in parsed.warnings):
                with suppress(ParseFailed):
                    parsed = await self._scans._parse(content, kind)
        if not isinstance(parsed, ParsedFile):
            raise ParseFailed(ParseFailure.CRASHED, "the answer is of another kind")
        return parsed

    async def parse_attached(self, content: bytes, file_name: str) -> ParsedFile | DescribedFile:
        """Like `parse`; images and archives are described instead of refused."""
        return await self._parse(content, sniff_attached(content, file_name))

    async def aclose(self) -> None:
        """End everything that was started; files being read fail."""
        await self._read.aclose()
        if self._scans is not self:
            await self._scans.aclose()

    async def _parse(self, content: bytes, kind: FileKind | DescribedKind | None) -> ParsedFile | DescribedFile:
        if kind is None:
            raise _refusal(content)
        try:
            answer = await self._read(self.limits.as_request(kind) + content)
        except IsolationFailed as failed:
            code = _ENDS.get(failed.end, ParseFailure.CRASHED)
            raise ParseFailed(code, f"{failed.end} {failed.detail}".strip()) from failed
        if len(answer) < _BIG_ANSWER_BYTES:
            return parsed_answer(answer, self.limits)
        return await asyncio.to_thread(parsed_answer, answer, self.limits)


def parsed_answer(answer: bytes, limits: ParseLimits) -> ParsedFile | DescribedFile:
    """Check what a reader said, which is as untrusted as the file. Raises `ParseFailed`."""
    try:
        fields = json.loads(answer)
        if "failure" in fields:
            raise ParseFailed(ParseFailure(fields["failure"]), str(fields.get("detail", ""))[:200])
        if "described" in fields:
            return _plausible(DescribedFile.model_validate(fields["described"]), limits)
        warnings = {WarningCode(code): int(count) for code, count in fields.pop("warnings").items()}
        parsed = ParsedFile(
            **fields,
            warnings=tuple(warning(code, count) for code, count in warnings.items()),
            is_partial=not PARTIAL.isdisjoint(warnings),
        )
        _check(parsed, limits)
    except (ValueError, TypeError, KeyError, AttributeError, ValidationError) as error:
        raise ParseFailed(ParseFailure.CRASHED, "the answer makes no sense") from error
    return parsed


def _check(parsed: ParsedFile, limits: ParseLimits) -> None:
    """Raises `ValueError` for what could not have been read."""
    size = len(parsed.text)
    # What cannot be encoded or holds a NUL could not be stored.
    said = parsed.title.encode() + parsed.text.encode()
    if size > limits.output_chars * 2 or b"\x00" in said or any(not 0 <= at <= size for at in parsed.pages):
        raise ValueError


def _plausible(described: DescribedFile, limits: ParseLimits) -> DescribedFile:
    """Raises `ValueError` for what could not have been found."""
    said = [*described.facts, *described.facts.values(), *(name for name, _ in described.entries)]
    is_longer = len(described.entries) > limits.archive_entries or len(described.facts) > _MOST_FACTS
    if is_longer or any("\x00" in text or not text.isprintable() for text in said):
        raise ValueError
    return described


def _refusal(content: bytes) -> ParseFailed:
    """Name why no reader is tried: an office file under a password hides in an older format."""
    if content.startswith(_OFFICE_IN_OLE) and _ENCRYPTED_STREAM in content:
        return ParseFailed(ParseFailure.ENCRYPTED)
    head = content[:HEAD_BYTES].replace(b"\x00", b"").upper()
    if head.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<") and (b"<!ENTITY" in head or b"<!DOCTYPE" in head):
        return ParseFailed(ParseFailure.DTD_FORBIDDEN)
    return ParseFailed(ParseFailure.UNSUPPORTED)
