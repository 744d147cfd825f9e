"""Offer the web tools to agents, each where the hosts it needs are named."""

from collections.abc import Callable

from app.reasoning import Reasoner
from app.tools.base import Tool
from app.tools.catalogue import ToolPlugin, ToolPorts
from app.tools.safe_http import Fetcher, FetchRefused, read_address
from extras.web.reading import Reading
from extras.web.transcript import HOST, TranscriptTool
from extras.web.web import WebTool
from extras.web.wikipedia import WikipediaTool

LANGUAGES = ("vi", "en")


def _web_tool(ports: ToolPorts) -> Tool | None:
    return _made(ports, WebTool, ()) if ports.web and ports.web.fetcher.hosts else None


def _wikipedia_tool(ports: ToolPorts) -> Tool | None:
    if ports.web is None:
        return None
    base_url = ports.web.wikipedia_base_url

    def make(reasoner: Reasoner, fetcher: Fetcher, reading: Reading) -> Tool:
        return WikipediaTool(reasoner, fetcher, reading, base_url)

    return _made(ports, make, tuple(base_url.replace("{lang}", language) for language in LANGUAGES))


def _transcript_tool(ports: ToolPorts) -> Tool | None:
    return _made(ports, TranscriptTool, (f"https://{HOST}/",))


def _made(
    ports: ToolPorts, make: Callable[[Reasoner, Fetcher, Reading], Tool], addresses: tuple[str, ...]
) -> Tool | None:
    """The tool, or None unless one of `addresses` may be fetched; no address = every host will do."""
    if ports.web is None or (addresses and not any(_allows(ports.web.fetcher, one) for one in addresses)):
        return None
    reading = Reading(ports.reasoner, ports.web.embedder, ports.min_relevance_score)
    return make(ports.reasoner, ports.web.fetcher, reading)


def _allows(fetcher: Fetcher, url: str) -> bool:
    try:
        return fetcher.hosts.allows(read_address(url))
    except FetchRefused:
        return False


WEB = ToolPlugin(WebTool, _web_tool)
WIKIPEDIA = ToolPlugin(WikipediaTool, _wikipedia_tool)
TRANSCRIPT = ToolPlugin(TranscriptTool, _transcript_tool)
