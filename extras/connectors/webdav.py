"""A WebDAV folder: Nextcloud, ownCloud, and other servers. Nextcloud also says with whom a thing is shared."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from lxml import etree
from pydantic import Field

from app.connectors.source import Item, ItemRefused, Reach, SourceKind, SourceLost
from app.domain.record import Record
from extras.connectors.reaching import Speaker, basic, hosts_of

_LISTING_BYTES = 32 * 2**20
_DAV, _NEXTCLOUD = "{DAV:}", "{http://nextcloud.org/ns}"
_WANTED = b"""<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:nc="http://nextcloud.org/ns"><d:prop>
<d:resourcetype/><d:getetag/><d:getcontentlength/><nc:sharees/></d:prop></d:propfind>"""
_SHARED_WITH = {"0": "user", "1": "group", "3": "link", "4": "mail", "6": "remote", "7": "circle"}
"""Types of shares, as Nextcloud numbers them."""


class Options(Record):
    """A folder."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s?#]+$", max_length=1_000)]
    """Of the folder, as WebDAV programs open it."""
    user: Annotated[str, Field(max_length=200)] = ""


class _Entry(NamedTuple):
    path: str
    """As the server writes it, decoded."""
    is_folder: bool
    tag: str
    size: int | None
    lists: frozenset[str]
    status: int
    """Of the thing itself; 200 where nothing else is said."""


class WebdavSource:
    """Walks the folder level by level: many servers refuse to list a whole tree at once."""

    def __init__(self, options: Options, speaker: Speaker):
        self._url = options.url.rstrip("/") + "/"
        self._base = unquote(urlsplit(self._url).path)
        self._speaker = speaker
        self._lists: dict[str, frozenset[str]] = {}

    async def changes(self) -> str:
        """Nothing: tags of folders change with what is below them on some servers only, and never with a share."""
        return ""

    async def list(self) -> AsyncIterator[Item]:
        """Everything below the folder. A share of a folder holds for what is in it."""
        waiting: list[tuple[str, frozenset[str]]] = [("", frozenset())]
        while waiting:
            folder, inherited = waiting.pop()
            entries = await self._folder(folder)
            if entries is None:
                yield Item(folder.rstrip("/"), is_readable=False)
                continue
            inherited |= next((one.lists for one in entries if one.path == self._base + folder), frozenset())
            for one in entries:
                if one.path == self._base + folder:
                    continue
                name = one.path.removeprefix(self._base).rstrip("/")
                child = name.removeprefix(folder)
                if not one.path.startswith(self._base + folder) or "/" in child or child in ("", ".", ".."):
                    yield Item(one.path)  # the runner refuses what leads elsewhere
                elif one.status >= 400:
                    yield Item(name, is_readable=False)
                elif one.is_folder:
                    if not child.startswith("."):
                        waiting.append((f"{name}/", inherited | one.lists))
                else:
                    self._lists[name] = inherited | one.lists
                    yield Item(name, one.tag, one.size, self._address(name))

    async def access(self, item: Item) -> frozenset[str]:
        """``group:…``, ``user:…`` and so on, as they came with the listing."""
        return self._lists.get(item.source_id, frozenset())

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The file."""
        answer = await self._speaker.ask("GET", self._address(item.source_id), most_bytes=most_bytes)
        if answer.status == 200:
            return answer.content
        if answer.status in (403, 404, 410, 423):
            raise ItemRefused(f"the server answers {answer.status}")
        raise SourceLost(f"The server answers {answer.status} for a file it has listed.")

    async def aclose(self) -> None:
        """Let go of the resolver's threads."""
        self._speaker.close()

    def _address(self, name: str) -> str:
        return self._url + quote(name)

    async def _folder(self, folder: str) -> Sequence[_Entry] | None:
        """The folder and what is in it; None = nobody may look into it now. Raises `SourceLost`."""
        headers = {"Depth": "1", "Content-Type": "application/xml"}
        try:
            answer = await self._speaker.ask(
                "PROPFIND", self._address(folder), most_bytes=_LISTING_BYTES, headers=headers, body=_WANTED
            )
        except ItemRefused as refused:
            if folder:
                return None
            raise SourceLost(f"The listing: {refused}.") from refused
        if answer.status in (403, 404, 423) and folder:
            return None
        if answer.status != 207:
            raise SourceLost(f"The server answers {answer.status} where a listing was asked for.")
        entries = await asyncio.to_thread(list, _entries(answer.content))
        if not any(one.path == self._base + folder and one.status < 400 for one in entries):
            raise SourceLost("A listing does not name its own folder, or breaks off.")
        return entries


def _entries(content: bytes) -> Iterator[_Entry]:
    """The entries of a multi-status answer. Raises `SourceLost` for what is none."""
    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        root = etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise SourceLost("A listing is not XML, or breaks off.") from error
    if root.tag != f"{_DAV}multistatus" or root.getroottree().docinfo.doctype:  # type: ignore[union-attr]
        raise SourceLost("A listing is no answer of WebDAV.")
    for one in root.iterchildren(f"{_DAV}response"):
        href = urlsplit((one.findtext(f"{_DAV}href") or "").strip())
        path = unquote(href.path)
        is_folder = one.find(f".//{_DAV}resourcetype/{_DAV}collection") is not None
        size = one.findtext(f".//{_DAV}getcontentlength") or ""
        yield _Entry(
            path if not is_folder or path.endswith("/") else f"{path}/",
            is_folder,
            one.findtext(f".//{_DAV}getetag") or "",
            int(size) if size.isascii() and size.isdecimal() and len(size) < 19 else None,
            frozenset(_shares(one)),
            _status(one.findtext(f"{_DAV}status") or ""),
        )


def _shares(entry: "etree._Element") -> Iterator[str]:
    for sharee in entry.iterfind(f".//{_NEXTCLOUD}sharees/{_NEXTCLOUD}sharee"):
        kind = _SHARED_WITH.get((sharee.findtext(f"{_NEXTCLOUD}type") or "").strip(), "other")
        name = (sharee.findtext(f"{_NEXTCLOUD}id") or "").strip()
        yield f"{kind}:{name}" if name else kind


def _status(line: str) -> int:
    number = line.split()[1:2]
    return int(number[0]) if number and number[0].isdecimal() else 200


def open_webdav(options: Options, reach: Reach) -> WebdavSource:
    """A folder of a server the operator named. Raises `AppError`."""
    return WebdavSource(options, Speaker(hosts_of(reach, options.url), basic(options.user, reach.secret)))


WEBDAV = SourceKind(Options, open_webdav, has_lists=True)
