"""A folder of a mailbox over IMAP: each mail is a document, and each file attached to it one of its own.

A mail is known by its Message-ID, so that it stays the same when it is moved away and back or the server numbers all
anew; UIDVALIDITY and UID say whether it has to be fetched. Keywords of a mail (flags people set) are its lists. Who
sent it is none: a sender is whoever says so.
"""

import asyncio
import imaplib
import json
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from app.confinement.processes import Isolated, IsolationFailed, ProcessLimits
from app.connectors.source import MOST_ITEMS, Item, ItemRefused, Reach, SourceKind, SourceLost
from app.domain.record import Record
from extras.connectors.reaching import CONNECT_SECONDS, checked_addresses, hosts_of
from extras.web.safe_http import AllowedHosts, SystemResolver

_Result = TypeVar("_Result")
_MOST_MAIL_BYTES = 50 * 2**20
"""A larger mail is listed without what is attached to it."""
_ANSWER_SECONDS = 120.0
_PORTS = {"imaps": 993, "imap": 143}
_ROW = re.compile(rb"\((?=.*\bUID (\d+))(?=.*\bRFC822\.SIZE (\d+))(?=.*\bFLAGS \(([^)]*)\))", re.S)
_ODD = re.compile(r"[^\w.@+=$-]+")
_MOST_ID_CHARS = 120
_LISTED = "(UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID CONTENT-TYPE)])"
_PARTS = ProcessLimits(wall_seconds=20.0, cpu_seconds=10, memory_bytes=512 * 2**20, output_bytes=80 * 2**20)


class Options(Record):
    """A folder of a mailbox."""

    url: Annotated[str, Field(pattern=r"^imaps?://[^\s/?#@]+$", max_length=500)]
    """``imaps://mail.example.com``, with a port where it is not 993; ``imap`` is for servers in your own network."""
    user: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\r\n\x00]*$")]
    folder: Annotated[str, Field(min_length=1, max_length=300, pattern=r'^[^\r\n\x00"\\]*$')] = "INBOX"


class _Row(NamedTuple):
    """A mail as the server lists it."""

    uid: int
    size: int
    lists: frozenset[str]
    message_id: str
    is_one_text: bool
    """Whether nothing can be attached to it."""


class _Mail(NamedTuple):
    uid: int
    size: int
    name: str
    """Made of its Message-ID; of its UID where there is none or another mail has the same."""
    lists: frozenset[str]
    is_one_text: bool


class _Connection(imaplib.IMAP4):
    """One that dials an address that was checked, and reads no more than it was told to."""

    def __init__(self, address: str, host: str, port: int, tls: ssl.SSLContext | None):
        self._address, self._tls, self.most_bytes = address, tls, MOST_ITEMS * 1_000
        super().__init__(host, port, timeout=CONNECT_SECONDS)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        dialled = socket.create_connection((self._address, self.port), timeout)
        dialled.settimeout(_ANSWER_SECONDS)
        return dialled if self._tls is None else self._tls.wrap_socket(dialled, server_hostname=self.host)

    def read(self, size: int) -> bytes:
        """A literal. Raises `IMAP4.abort` for one that is larger than what was asked for can be."""
        if size > self.most_bytes:
            raise self.abort("a literal that is too large")
        return super().read(size)


class MailboxSource:
    """Reads one folder, without changing a flag in it; the library waits in threads."""

    def __init__(self, options: Options, reach: Reach, hosts: AllowedHosts):
        self._options, self._secret, self._hosts = options, reach.secret, hosts
        self._kept = reach.cache_dir / "attachments.json"
        self._connection: _Connection | None = None
        self._turn = asyncio.Lock()
        self._parts = Isolated("extras.connectors.mail_parts:attached_to", _PARTS, processes=1)
        self._mails: dict[str, _Mail] = {}
        self._opened_mail: tuple[str, Sequence[tuple[str, bytes]]] = "", ()
        """The tag of the mail that was taken apart last, and what is attached to it: its files are fetched in turn."""
        self._validity = ""

    async def changes(self) -> str:
        """Nothing: keywords change without a mark that every server has."""
        return ""

    async def list(self) -> AsyncIterator[Item]:
        """Every mail, each followed by what is attached to it. Only mails that are new are fetched for that."""
        rows = await self._call(self._listing)
        known = _read_kept(self._kept, self._validity)
        seen: dict[str, Sequence[Sequence[Any]]] = {}
        for mail in _named(rows):
            self._mails[mail.name] = mail
            tag = self._tag(mail)
            yield Item(mail.name, tag, mail.size)
            attached = known.get(str(mail.uid))
            if attached is None:
                attached = [[name, len(content)] for name, content in await self._attached(mail)]
            seen[str(mail.uid)] = attached
            for name, size in attached:
                yield Item(_below(mail, name), tag, size)
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        self._kept.write_text(json.dumps({"validity": self._validity, "mails": seen}), "utf-8")

    async def access(self, item: Item) -> frozenset[str]:
        """``keyword:…`` for each keyword of the mail; of an attachment those of its mail."""
        mail, _ = self._mail_of(item)
        return mail.lists

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The mail as it came, or one file attached to it."""
        mail, attached = self._mail_of(item)
        if not attached:
            return await self._content(mail, most_bytes)
        for name, content in await self._attached(mail):
            if name == attached:
                if len(content) > most_bytes:
                    raise ItemRefused(f"larger than {most_bytes:,} bytes")
                return content
        raise ItemRefused("it is not attached any more")

    async def aclose(self) -> None:
        """Leave the server and end the process that takes mails apart."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                await asyncio.to_thread(connection.shutdown)
        await self._parts.aclose()

    def _mail_of(self, item: Item) -> tuple[_Mail, str]:
        """The mail an item is or belongs to, and the name of the attachment. Raises `ItemRefused`."""
        name, _, attached = item.source_id.partition("/")
        mail = self._mails.get(f"{name}.eml" if attached else name)
        if mail is None:
            raise ItemRefused("it was not listed")
        return mail, attached

    def _tag(self, mail: _Mail) -> str:
        return f"{self._validity}.{mail.uid}"

    async def _attached(self, mail: _Mail) -> Sequence[tuple[str, bytes]]:
        """(name, content) of what is attached. A mail that cannot be taken apart has nothing attached."""
        if mail.is_one_text or mail.size > _MOST_MAIL_BYTES:
            return []
        if self._tag(mail) == self._opened_mail[0]:
            return self._opened_mail[1]
        try:
            answer = await self._parts(await self._content(mail, _MOST_MAIL_BYTES))
            head, _, contents = answer.partition(b"\n")
            found, at = [], 0
            for name, size in json.loads(head):
                found.append((str(name), contents[at : at + int(size)]))
                at += int(size)
        except (ItemRefused, IsolationFailed, ValueError):
            return []
        self._opened_mail = self._tag(mail), found
        return found

    async def _content(self, mail: _Mail, most_bytes: int) -> bytes:
        if mail.size > most_bytes:
            raise ItemRefused(f"larger than {most_bytes:,} bytes")

        def ask(connection: _Connection) -> bytes:
            connection.most_bytes = most_bytes
            _, found = connection.uid("FETCH", str(mail.uid), "(BODY.PEEK[])")
            return next((bytes(one[1]) for one in found if isinstance(one, tuple)), b"")

        if not (content := await self._call(ask)):
            raise ItemRefused("it is not in the folder any more")
        return content

    def _listing(self, connection: _Connection) -> Sequence[_Row]:
        """Every mail. Raises `SourceLost` for what is not all there is."""
        status, count = connection.select(f'"{_encoded(self._options.folder)}"', readonly=True)
        if status != "OK":
            raise SourceLost(f"The folder {self._options.folder!r} cannot be opened.")
        _, validity = connection.response("UIDVALIDITY")
        self._validity = (validity[0] or b"").decode("ascii", "replace") if validity else ""
        there = int(count[0] or b"0")
        if there > MOST_ITEMS:
            raise SourceLost(f"The folder holds more than {MOST_ITEMS:,} mails.")
        rows = [*_rows(connection.fetch("1:*", _LISTED)[1])] if there else []
        if not self._validity or len({row.uid for row in rows}) != there:
            raise SourceLost("The listing of the folder is not whole.")
        return rows

    async def _call(self, ask: Callable[[_Connection], _Result]) -> _Result:
        """Ask the server, on the connection there is or a new one. Raises `SourceLost`."""
        try:
            async with self._turn:  # one connection says one thing at a time
                if self._connection is None:
                    self._connection = await self._opened()
                return await asyncio.to_thread(ask, self._connection)
        except (imaplib.IMAP4.error, OSError, ValueError, EOFError) as error:
            connection, self._connection = self._connection, None
            if connection is not None:
                with suppress(Exception):
                    connection.shutdown()
            raise SourceLost(f"The mail server gives no whole answer ({type(error).__name__}).") from error

    async def _opened(self) -> _Connection:
        scheme, host, port = _place(self._options.url)
        resolver = SystemResolver()
        try:
            (address, *_) = await checked_addresses(self._hosts, _as_http(self._options.url), resolver)
        finally:
            resolver.close()
        tls = await asyncio.to_thread(ssl.create_default_context) if scheme == "imaps" else None
        connection = await asyncio.to_thread(_Connection, address, host, port, tls)
        try:
            await asyncio.to_thread(connection.login, self._options.user, self._secret)
        except (imaplib.IMAP4.error, OSError) as error:
            connection.shutdown()
            if isinstance(error, (imaplib.IMAP4.abort, OSError)):
                raise
            raise SourceLost(f"The mail server does not let {self._options.user!r} in.") from error
        return connection


def _rows(found: list[Any]) -> Iterator[_Row]:
    for at, one in enumerate(found):
        if isinstance(one, tuple):
            # Some servers write a part of the row behind the header.
            rest = found[at + 1] if at + 1 < len(found) and isinstance(found[at + 1], bytes) else b""
            row = _ROW.search(b"(" + one[0] + rest)
            if row is not None:
                flags = row[3].decode("utf-8", "replace").split()
                head = BytesHeaderParser().parsebytes(one[1])
                lists = frozenset(f"keyword:{flag}" for flag in flags if not flag.startswith("\\"))
                told, is_text = str(head.get("Message-ID", "")), head.get_content_maintype() == "text"
                yield _Row(int(row[1]), int(row[2]), lists, told, is_text)


def _named(rows: Sequence[_Row]) -> Iterator[_Mail]:
    """Mails by age; one that says the Message-ID of an older one does not take its place."""
    taken: set[str] = set()
    for uid, size, lists, told, is_text in sorted(rows, key=lambda row: row.uid):
        name = _ODD.sub("_", told.strip().strip("<>"))[:_MOST_ID_CHARS].strip("._") or f"mail-{uid}"
        name = name if name not in taken else f"{name}-{uid}"
        taken.add(name)
        yield _Mail(uid, size, f"{name}.eml", lists, is_text)


def _below(mail: _Mail, name: str) -> str:
    return f"{mail.name.removesuffix('.eml')}/{name}"


def _read_kept(path: Path, validity: str) -> dict[str, list[list[Any]]]:
    """What was attached to the mails that were seen before, by UID; nothing when the server has numbered all anew."""
    try:
        kept = json.loads(path.read_text("utf-8"))
        return dict(kept["mails"]) if kept["validity"] == validity else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _encoded(folder: str) -> str:
    """The name of a folder as IMAP writes it (RFC 3501, 5.1.3)."""

    def shifted(piece: re.Match[str]) -> str:
        told = b64encode(piece[0].encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
        return f"&{told}-"

    return re.sub(r"[^\x20-\x7e]+", shifted, folder.replace("&", "&-"))


def _place(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


def _as_http(url: str) -> str:
    """The address as the operator's hosts are checked: host and port."""
    scheme, host, port = _place(url)
    return f"http{'s' if scheme == 'imaps' else ''}://{host}:{port}"


def open_mailbox(options: Options, reach: Reach) -> MailboxSource:
    """A folder on a server the operator named, with its port. Raises `AppError`."""
    return MailboxSource(options, reach, hosts_of(reach, _as_http(options.url)))


MAILBOX = SourceKind(Options, open_mailbox, has_lists=True)
