"""The web tools over the loopback site, as the composition root would build them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from app.embedding import Embedder
from app.reasoning import Reasoner
from app.tools.base import Tool
from app.tools.dialling import Fetcher, FetchLimits
from app.tools.reading import Reading
from app.tools.transcript import TranscriptTool
from app.tools.web import WebTool
from app.tools.web_access import WebAccess
from app.tools.wikipedia import WikipediaTool
from tests.fakes.web_server import SITE_ADDRESS, Answer, Names, Reply, Site, Wire, trusting_tls, web_site
from tests.unit.tools.web_pages import SITE

_NAMES = (SITE, "vi.wikipedia.org", "en.wikipedia.org", "www.youtube.com")
ACCESS = WebAccess(
    allowed_hosts=frozenset({SITE, ".wikipedia.org", "www.youtube.com"}),
    limits=FetchLimits(total_seconds=3.0, connect_seconds=1.0),
)


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


@asynccontextmanager
async def web_tools(
    answers: dict[str, Answer | Reply], reasoner: Reasoner, embedder: Embedder | None = None, access: WebAccess = ACCESS
) -> AsyncIterator[WebTools]:
    async with web_site(answers, tls_names=_NAMES) as site:
        wire = Wire(site)
        fetcher = access.fetcher(Names(dict.fromkeys(_NAMES, SITE_ADDRESS)), connect=wire, tls=trusting_tls())
        reading = Reading(reasoner, embedder, 0.7)
        made = WebTools(
            site, wire, fetcher, WebTool(reasoner, fetcher, reading), WikipediaTool(reasoner, fetcher, reading),
            TranscriptTool(reasoner, fetcher, reading),
        )  # fmt: skip
        try:
            yield made
        finally:
            await made.web.aclose()
            await made.transcript.aclose()
