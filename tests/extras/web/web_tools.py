"""The web tools over the loopback site, as the composition root would build them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import NamedTuple

from app.confinement.processes import Isolated
from app.embedding import Embedder
from app.reasoning import Reasoner
from app.tools.base import Tool
from extras.web.reading import Reading
from extras.web.safe_http import AllowedHosts, Fetcher, FetchLimits
from extras.web.transcript import TranscriptTool
from extras.web.web import WebTool
from extras.web.wikipedia import WikipediaTool
from tests.extras.web.web_pages import SITE
from tests.fakes.web_server import SITE_ADDRESS, Answer, Names, Reply, Site, Wire, trusting_tls, web_site

_NAMES = (SITE, "vi.wikipedia.org", "en.wikipedia.org", "www.youtube.com")
HOSTS = frozenset({SITE, ".wikipedia.org", "www.youtube.com"})
PAGES, CAPTIONS = "extras.web.page:read_page", "extras.web.captions:read_captions"
LIMITS = FetchLimits(total_seconds=3.0, connect_seconds=1.0)


class WebTools(NamedTuple):
    site: Site
    wire: Wire
    fetcher: Fetcher
    web: WebTool
    wikipedia: WikipediaTool
    transcript: TranscriptTool

    @property
    def all(self) -> tuple[Tool, ...]:
        return (self.web, self.wikipedia, self.transcript)


class Lasting(Isolated):
    """Serves the tools of all tests: its first call costs a process that has imported every library of the web."""

    async def aclose(self) -> None:
        """Goes on: other tools follow."""

    async def end(self) -> None:
        await super().aclose()


@cache
def lasting(function: str) -> Lasting:
    """The one that runs `function`; the folder's fixture ends it."""
    return Lasting(function)


async def end_lasting() -> None:
    for function in (PAGES, CAPTIONS):
        await lasting(function).end()


@asynccontextmanager
async def web_tools(
    answers: dict[str, Answer | Reply],
    reasoner: Reasoner,
    embedder: Embedder | None = None,
    hosts: frozenset[str] = HOSTS,
) -> AsyncIterator[WebTools]:
    async with web_site(answers, tls_names=_NAMES) as site:
        wire = Wire(site)
        names = Names(dict.fromkeys(_NAMES, SITE_ADDRESS))
        fetcher = Fetcher(AllowedHosts(hosts), names, LIMITS, connect=wire, tls=trusting_tls())
        reading = Reading(reasoner, embedder, 0.7)
        made = WebTools(
            site, wire, fetcher, WebTool(reasoner, fetcher, reading, lasting(PAGES)),
            WikipediaTool(reasoner, fetcher, reading), TranscriptTool(reasoner, fetcher, reading, lasting(CAPTIONS)),
        )  # fmt: skip
        try:
            yield made
        finally:
            await made.web.aclose()
            await made.transcript.aclose()
