"""Reading files of strangers from a process that must go on: each in a process of its own that can be killed."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from typing import Any

from pydantic import ValidationError

from app.ingestion.parsing.advice import ParseFailed, warning
from app.ingestion.parsing.job import OUT_OF_MEMORY, Job, Verdict
from app.ingestion.parsing.outcome import (
    PARTIAL,
    DescribedFile,
    DescribedKind,
    FileKind,
    ParsedFile,
    ParseFailure,
    ParseLimits,
    WarningCode,
)
from app.ingestion.parsing.sniff import HEAD_BYTES, sniff, sniff_attached

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); sys.modules['numpy'] = None;"
    "from app.ingestion.parsing.zygote import main; main(int(sys.argv[1]))"
)
"""Some libraries load numpy where they find it. It is not needed, and its threads must not be forked."""
_KEPT_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""All else stays behind: keys and passwords are in the environment."""
_OWN_ENVIRONMENT = {"OPENPYXL_DEFUSEDXML": "False"}
"""What it would look for was refused before, and looking makes it three times slower."""
_START_SECONDS, _GRACE_SECONDS = 60.0, 2.0
_READ_BYTES, _VERDICT_BYTES = 256 * 1024, 4096
_BYTES_A_CHARACTER, _SPARE_BYTES = 6, 1_000_000
_BIG_ANSWER_BYTES = 200_000
_NEAR_THE_LIMIT = 0.8
_MOST_FACTS = 20
_OFFICE_IN_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")


class _ZygoteLost(Exception):
    """The process that forks readers ended; another may be started."""


class Parser:
    """Reads files in killable processes, at most `processes` at a time. Nothing is started before the first file.

    Belongs to one event loop. `aclose` ends what was started; so does the end of this process.
    """

    def __init__(self, limits: ParseLimits | None = None, processes: int = 2):
        """`limits`: what one file may cost; unset = the defaults."""
        self.limits = limits or ParseLimits()
        self._slots = asyncio.Semaphore(processes)
        self._starting = asyncio.Lock()
        self._zygote: _Zygote | None = None
        self._is_closed = False

    async def parse(self, content: bytes, file_name: str) -> ParsedFile:
        """What the file says. Raises `ParseFailed`. The name is a hint only.

        The reading process is killed at its limits and when this call is cancelled.
        """
        parsed = await self._through(content, sniff(content[:HEAD_BYTES], file_name))
        if not isinstance(parsed, ParsedFile):
            raise ParseFailed(ParseFailure.CRASHED, "the answer is of another kind")
        return parsed

    async def parse_attached(self, content: bytes, file_name: str) -> ParsedFile | DescribedFile:
        """Like `parse`; images and archives are described instead of refused."""
        return await self._through(content, sniff_attached(content[:HEAD_BYTES], file_name))

    async def _through(self, content: bytes, kind: FileKind | DescribedKind | None) -> ParsedFile | DescribedFile:
        if kind is None:
            raise _unreadable(content)
        async with self._slots:
            try:
                return await self._read(content, kind)
            except _ZygoteLost:
                # It may have ended by itself a moment ago, for want of work.
                pass
            try:
                return await self._read(content, kind)
            except _ZygoteLost as lost:
                raise ParseFailed(ParseFailure.CRASHED, "the reading process could not be started") from lost

    async def aclose(self) -> None:
        """End everything that was started; files being read fail."""
        self._is_closed = True
        async with self._starting:
            zygote, self._zygote = self._zygote, None
            if zygote is not None:
                await zygote.stop()

    async def _read(self, content: bytes, kind: FileKind | DescribedKind) -> ParsedFile | DescribedFile:
        zygote = await self._running()
        try:
            answer, verdict = await zygote.run(content, kind, self.limits)
        except _ZygoteLost:
            zygote.is_lost = True
            raise
        if len(answer) < _BIG_ANSWER_BYTES:
            return _outcome(answer, verdict, self.limits)
        return await asyncio.to_thread(_outcome, answer, verdict, self.limits)

    async def _running(self) -> "_Zygote":
        async with self._starting:
            if self._is_closed:
                raise _ZygoteLost
            if self._zygote is None or not self._zygote.is_alive:
                if self._zygote is not None:
                    await self._zygote.stop()
                self._zygote = _Zygote()
                await self._zygote.ready()
            return self._zygote


class _Zygote:
    """The forking process, seen from here."""

    def __init__(self) -> None:
        self.is_lost = False
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        arguments = [sys.executable, "-I", "-c", _PROGRAM, str(theirs.fileno()), json.dumps(sys.path)]
        with theirs:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(theirs.fileno(),),
                env=kept | _OWN_ENVIRONMENT,
            )  # fmt: skip

    @property
    def is_alive(self) -> bool:
        """Whether jobs can be given to it. What was killed a moment ago may still look alive to the system."""
        return not self.is_lost and self._process.poll() is None

    async def ready(self) -> None:
        """Wait until the libraries are loaded. Raises `_ZygoteLost`."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_START_SECONDS):
                greeting = await loop.sock_recv(self._control, 64)
        except (OSError, TimeoutError) as error:
            raise _ZygoteLost from error
        if not greeting:
            raise _ZygoteLost

    async def run(self, content: bytes, kind: FileKind | DescribedKind, limits: ParseLimits) -> tuple[bytes, Verdict]:
        """One file: its answer, and how the reader ended. Raises `_ZygoteLost`, `ParseFailed` (TIME_LIMIT)."""
        with contextlib.ExitStack() as ends:
            (data, their_data), (life, their_life) = socket.socketpair(), socket.socketpair()
            for one in (data, life):
                one.setblocking(False)
                ends.enter_context(one)
            with their_data, their_life:
                self._send(kind, len(content), limits, [their_data.fileno(), their_life.fileno()])
            try:
                async with asyncio.timeout(limits.wall_seconds + _GRACE_SECONDS):
                    answer = await _exchange(data, content, limits)
                    return answer, await _verdict(life)
            except TimeoutError as error:
                raise ParseFailed(ParseFailure.TIME_LIMIT) from error

    async def stop(self) -> None:
        """Kill it, and with it all readers."""
        self._control.close()
        if self._process.poll() is None:
            self._process.kill()
        await asyncio.to_thread(self._process.wait)

    def _send(self, kind: FileKind | DescribedKind, size: int, limits: ParseLimits, descriptors: list[int]) -> None:
        message = Job(kind, size, limits).to_message()
        try:
            if socket.send_fds(self._control, [message], descriptors) != len(message):
                raise _ZygoteLost
        except OSError as error:
            raise _ZygoteLost from error


async def _exchange(data: socket.socket, content: bytes, limits: ParseLimits) -> bytes:
    """Send the file, receive the answer; what was received when the reader ended early or said too much."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(ConnectionError):
        await loop.sock_sendall(data, content)
    copies = 2 if limits.table_cells else 1
    most = limits.output_chars * _BYTES_A_CHARACTER * copies + _SPARE_BYTES
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while len(received) <= most and (piece := await loop.sock_recv(data, _READ_BYTES)):
            received += piece
    if len(received) > most:
        raise ParseFailed(ParseFailure.TOO_MUCH_TEXT)
    return bytes(received)


async def _verdict(life: socket.socket) -> Verdict:
    try:
        told = await asyncio.get_running_loop().sock_recv(life, _VERDICT_BYTES)
    except ConnectionError as error:
        raise _ZygoteLost from error
    if not told:
        raise _ZygoteLost
    return Verdict.from_message(told)


def _outcome(answer: bytes, verdict: Verdict, limits: ParseLimits) -> ParsedFile | DescribedFile:
    """What the reader said, or why it said nothing. The answer is as untrusted as the file. Raises `ParseFailed`."""
    if verdict.signal or verdict.exit or not answer:
        raise ParseFailed(_failure(verdict, limits), f"signal {verdict.signal}, exit {verdict.exit}")
    try:
        told: dict[str, Any] = json.loads(answer)
        if "failure" in told:
            code = ParseFailure(told["failure"])
            # Libraries report what they could not allocate as a fault of the file.
            is_memory = code is ParseFailure.DAMAGED and _is_near(verdict, limits)
            raise ParseFailed(ParseFailure.MEMORY_LIMIT if is_memory else code, str(told.get("detail", ""))[:200])
        if "described" in told:
            return _plausible(DescribedFile.model_validate(told["described"]), limits)
        warnings = {WarningCode(code): int(count) for code, count in told.pop("warnings").items()}
        parsed = ParsedFile(
            **told,
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


def _failure(verdict: Verdict, limits: ParseLimits) -> ParseFailure:
    is_out_of_time = verdict.cpu_seconds >= limits.cpu_seconds * 0.95
    if verdict.signal in (signal.SIGXCPU, signal.SIGALRM) or (verdict.signal == signal.SIGKILL and is_out_of_time):
        return ParseFailure.TIME_LIMIT
    if verdict.exit == OUT_OF_MEMORY or _is_near(verdict, limits):
        return ParseFailure.MEMORY_LIMIT
    return ParseFailure.CRASHED


def _is_near(verdict: Verdict, limits: ParseLimits) -> bool:
    """Whether memory had almost run out."""
    return verdict.peak_bytes > limits.memory_bytes * _NEAR_THE_LIMIT


def _unreadable(content: bytes) -> ParseFailed:
    """Why no reader is tried: an office file under a password hides in an older format."""
    if content.startswith(_OFFICE_IN_OLE) and _ENCRYPTED_STREAM in content:
        return ParseFailed(ParseFailure.ENCRYPTED)
    head = content[:HEAD_BYTES].replace(b"\x00", b"").upper()
    if head.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<") and (b"<!ENTITY" in head or b"<!DOCTYPE" in head):
        return ParseFailed(ParseFailure.DTD_FORBIDDEN)
    return ParseFailed(ParseFailure.UNSUPPORTED)
