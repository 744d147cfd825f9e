"""Pages that a site map lists, of hosts the operator named; fetched as the web tools fetch."""

import ssl
from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from lxml import etree
from pydantic import Field

from app.connectors.source import MOST_ITEMS, Item, ItemRefused, Reach, SourceKind, SourceLost
from app.domain.record import Record
from extras.connectors.reaching import hosts_of
from extras.web.safe_http import AllowedHosts, Fetched, Fetcher, FetchRefused, SystemResolver, WebAddress, read_address
from extras.web.safe_http.fetcher import FetchLimits

_MAP_BYTES, _MOST_MAPS = 50 * 2**20, 500
_MAP_TYPES = frozenset(("application/xml", "text/xml", "application/rss+xml", "text/plain"))
_ENDINGS = {
    "text/html": ".html", "application/xhtml+xml": ".html", "application/pdf": ".pdf", "text/plain": ".txt",
    "text/markdown": ".md", "text/csv": ".csv",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}  # fmt: skip
_GONE = frozenset((401, 403, 404, 410, 451))


class Options(Record):
    """A site."""

    url: Annotated[str, Field(pattern=r"^https?://[^\s#]+$", max_length=1_000)]
    """Of its site map, or of an index of site maps."""


class SitemapSource:
    """Reads the map and the maps it names, then page by page."""

    def __init__(self, options: Options, hosts: AllowedHosts, resolver: SystemResolver):
        self._url, self._hosts, self._resolver = options.url, hosts, resolver
        self._tls = ssl.create_default_context()
        self._fetchers: dict[int, Fetcher] = {}

    async def changes(self) -> str:
        """Nothing: a map says of pages when they changed, not of itself."""
        return ""

    async def list(self) -> AsyncIterator[Item]:
        """Every page of an allowed host."""
        waiting, seen = [self._url], {self._url}
        while waiting:
            kind, found = await self._map(waiting.pop())
            for url, changed in found:
                if kind == "sitemapindex":
                    if url not in seen:
                        seen.add(url)
                        waiting.append(url)
                    if len(seen) > _MOST_MAPS:
                        raise SourceLost(f"It names more than {_MOST_MAPS} site maps.")
                elif (address := self._allowed(url)) is not None:
                    yield Item(_name_of(address), changed, url=str(address), file_name=_file_name_of(address))

    async def access(self, item: Item) -> frozenset[str]:
        """Nothing: a map names no readers."""
        return frozenset()

    async def fetch(self, item: Item, most_bytes: int) -> bytes:
        """The page."""
        fetched = await self._get(item.url, frozenset(_ENDINGS), most_bytes)
        if fetched.status in _GONE:
            raise ItemRefused(f"the server answers {fetched.status}")
        if fetched.status != 200:
            raise SourceLost(f"The server answers {fetched.status} for a page it has listed.")
        return fetched.content

    async def aclose(self) -> None:
        """Let go of the resolver's threads."""
        self._resolver.close()

    def _allowed(self, url: str) -> WebAddress | None:
        try:
            address = read_address(url)
        except FetchRefused:
            return None
        return address if self._hosts.allows(address) else None

    async def _get(self, url: str, types: frozenset[str], most: int) -> Fetched:
        if (fetcher := self._fetchers.get(most)) is None:
            limits = FetchLimits(total_seconds=60.0, wire_bytes=most, content_bytes=most)
            fetcher = self._fetchers[most] = Fetcher(self._hosts, self._resolver, limits, tls=self._tls)
        try:
            return await fetcher.fetch(url, media_types=types)
        except FetchRefused as refused:
            if refused.may_pass:
                raise SourceLost(f"{refused.where}: no whole answer came ({refused.reason}).") from refused
            raise ItemRefused(str(refused.reason)) from refused

    async def _map(self, url: str) -> tuple[str, Sequence[tuple[str, str]]]:
        """(``urlset`` or ``sitemapindex``, addresses with when they changed). Raises `SourceLost`."""
        try:
            fetched = await self._get(url, _MAP_TYPES, _MAP_BYTES)
        except ItemRefused as refused:
            raise SourceLost(f"A site map cannot be read: {refused}.") from refused
        if fetched.status != 200:
            raise SourceLost(f"The server answers {fetched.status} where a site map was asked for.")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
        try:
            root = etree.fromstring(fetched.content, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise SourceLost("A site map is not XML, or breaks off.") from error
        kind = etree.QName(root).localname
        if kind not in ("urlset", "sitemapindex") or root.getroottree().docinfo.doctype:  # type: ignore[union-attr]
            raise SourceLost("This is no site map.")
        found = [
            ((one.findtext("{*}loc") or "").strip(), (one.findtext("{*}lastmod") or "").strip())
            for one in root.iterchildren("{*}url", "{*}sitemap")
        ]
        if len(found) > MOST_ITEMS:
            raise SourceLost(f"A site map lists more than {MOST_ITEMS:,} pages.")
        return kind, found


def _name_of(address: WebAddress) -> str:
    name = f"{address.authority}{address.target}"
    return f"{name}index" if name.endswith("/") else name


def _file_name_of(address: WebAddress) -> str:
    """What the page is read as: by the ending of its path, else a web page."""
    last = address.target.partition("?")[0].rpartition("/")[2].lower()
    return last if last.endswith(tuple(_ENDINGS.values())) else f"{last or 'index'}.html"


def open_sitemap(options: Options, reach: Reach) -> SitemapSource:
    """A site on a host the operator named. Raises `AppError`."""
    return SitemapSource(options, hosts_of(reach, options.url), SystemResolver())


SITEMAP = SourceKind(Options, open_sitemap)
