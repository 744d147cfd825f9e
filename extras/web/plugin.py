"""Offer the web tools to agents, each where the hosts it needs are named."""

from collections.abc import Callable
from functools import lru_cache

from app.errors import AppError, ErrorCode
from app.reasoning import Reasoner
from app.tools.base import Tool
from app.tools.catalogue import ToolPlugin, ToolPorts, WebPorts
from extras.web.reading import Reading
from extras.web.safe_http import AllowedHosts, Fetcher, FetchRefused, SystemResolver, read_address
from extras.web.search import SearchTool
from extras.web.search_engine import LIMITS, SearchEngine
from extras.web.transcript import HOST, TranscriptTool
from extras.web.web import WebTool
from extras.web.wikipedia import WikipediaTool

LANGUAGES = ("vi", "en")


def _web_tool(ports: ToolPorts) -> Tool | None:
    return _made(ports, WebTool, ())


def _wikipedia_tool(ports: ToolPorts) -> Tool | None:
    if ports.web is None:
        return None
    base_url = ports.web.wikipedia_base_url

    def make(reasoner: Reasoner, fetcher: Fetcher, reading: Reading) -> Tool:
        return WikipediaTool(reasoner, fetcher, reading, base_url)

    return _made(ports, make, tuple(base_url.replace("{lang}", language) for language in LANGUAGES))


def _transcript_tool(ports: ToolPorts) -> Tool | None:
    return _made(ports, TranscriptTool, (f"https://{HOST}/",))


def _search_tool(ports: ToolPorts) -> Tool | None:
    """The search, where its engine is named. Raises `AppError` for an address that is none."""
    if ports.web is None or not ports.web.search_url:
        return None
    try:
        engine = SearchEngine(ports.web.search_url)
    except ValueError as wrong:
        detail = f"CONCLAVE_SEARCH_URL cannot be used: {wrong}"
        raise AppError(ErrorCode.VALIDATION_FAILED, detail) from wrong
    return SearchTool(engine, Fetcher(engine, SystemResolver(), LIMITS), _fetcher_of(ports.web).hosts)


def _made(
    ports: ToolPorts, make: Callable[[Reasoner, Fetcher, Reading], Tool], addresses: tuple[str, ...]
) -> Tool | None:
    """The tool, or None unless one of `addresses` may be fetched; no address = every host will do."""
    if ports.web is None:
        return None
    fetcher = _fetcher_of(ports.web)
    if not fetcher.hosts:
        return None
    if addresses and not any(_allows(fetcher, one) for one in addresses):
        return None
    return make(ports.reasoner, fetcher, Reading(ports.reasoner, ports.web.embedder, ports.min_relevance_score))


@lru_cache(maxsize=1)
def _fetcher_of(web: WebPorts) -> Fetcher:
    """Build what fetches from the operator's hosts, one for all tools. Raises `AppError` for hosts that are none."""
    try:
        return Fetcher(AllowedHosts(web.hosts, web.private_hosts), SystemResolver())
    except ValueError as wrong:
        detail = f"CONCLAVE_WEB_ALLOWED_HOSTS or CONCLAVE_WEB_PRIVATE_HOSTS cannot be used: {wrong}"
        raise AppError(ErrorCode.VALIDATION_FAILED, detail) from wrong


def _allows(fetcher: Fetcher, url: str) -> bool:
    try:
        return fetcher.hosts.allows(read_address(url))
    except FetchRefused:
        return False


WEB = ToolPlugin(WebTool, _web_tool)
WIKIPEDIA = ToolPlugin(WikipediaTool, _wikipedia_tool)
TRANSCRIPT = ToolPlugin(TranscriptTool, _transcript_tool)
SEARCH = ToolPlugin(SearchTool, _search_tool)
