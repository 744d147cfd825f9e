"""`search_tool`: ask the operator's search engine (SearXNG's JSON) where something may stand outside.

Only the engine is reached, no page that it names. What it says is somebody else's text: titles and snippets are data
that is quoted, and an address is kept only where it is written as one that may be read.
"""

import asyncio
import html
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

from pydantic import JsonValue, ValidationError

from app.domain.knowledge import Evidence, Finding, Language, Passage, Quote
from app.domain.plan import SEARCH_TOOL
from app.domain.record import Record
from app.errors import ToolFailed, ToolRetry
from app.text.language import clean, content_words, guess_language, words
from app.tools.base import ToolCall, ToolResult, side_by_side
from app.tools.typed import joined
from extras.web.fetching import PASSING, sentence
from extras.web.reading import AUTHORITY
from extras.web.safe_http import AllowedHosts, Fetched, Fetcher, FetchRefused, WebAddress, read_address
from extras.web.search_engine import SearchEngine

_JSON = frozenset(("application/json",))
_MOST_HITS, _MOST_READ, _MOST_TOLD = 10, 50, 3
"""Results kept, looked at, and told where no deep run asks, which reads on by itself."""
_MAX_QUERY_CHARS, _MAX_TITLE_CHARS, _MAX_SNIPPET_CHARS, _MAX_RAW_CHARS = 300, 200, 500, 4_000
_LEAST_SURE, _MOST_SURE = 0.7, 0.9
"""Of a snippet that has none, and all, of the words that were asked for."""
_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,2000}>")
_HIT = "search:"
"""Stands before the address of a result in `Passage.external_id`; no page is called so."""


class _Reply(Record, extra="ignore"):
    results: tuple[JsonValue, ...]


class _Said(Record, extra="ignore"):
    url: str
    title: str | None = None
    content: str | None = None


class Hit(NamedTuple):
    """One result, clean."""

    address: WebAddress
    title: str
    snippet: str


class SearchTool:
    """Searches the web outside the company and tells what was found where: titles, addresses, snippets."""

    name = SEARCH_TOOL
    alternative: str | None = None

    def __init__(self, engine: SearchEngine, fetcher: Fetcher, readable: AllowedHosts):
        """`fetcher` reaches the engine and nothing else; `readable`: hosts whose results are kept, none = all."""
        self._engine, self._fetcher, self._readable = engine, fetcher, readable

    async def __call__(self, call: ToolCall) -> ToolResult:
        """Search for every query of the call. Raises `ToolRetry` where the engine is away, `ToolFailed`.

        The query goes out as it was planned: no mind fills it in from what was read.
        """
        queries = call.queries or ((1, call.refined_query),)
        results = await side_by_side([self._answer(call, index, query) for index, query in queries])
        return results[0] if len(results) == 1 else joined(results)

    async def _answer(self, call: ToolCall, index: int, query: str) -> ToolResult:
        sought = " ".join(clean(query).split())[:_MAX_QUERY_CHARS].strip()
        if not sought:
            raise ToolFailed(sentence("search", "nothing_asked", call.language))
        fetched = await self._fetched(call, sought)
        most = _MOST_HITS if call.asked else _MOST_TOLD
        hits = (await asyncio.to_thread(read_hits, fetched.content, self._readable, call.language))[:most]
        findings = tuple(_finding(call, index, query, hit) for hit in hits) or (_nothing(call, index, query),)
        trace = f"searched: {fetched.status}, {len(fetched.content)} bytes, {len(hits)} results"
        value: list[JsonValue] = [{"url": str(hit.address), "title": hit.title} for hit in hits]
        return ToolResult(text="\n\n".join(_lines(hits)), findings=findings, value=value, trace=(trace,))

    async def _fetched(self, call: ToolCall, sought: str) -> Fetched:
        """What the engine says; whoever asks never reads where it stands."""
        asked = {"q": sought, "format": "json", "language": call.language}
        address = self._engine.address._replace(target=f"{self._engine.address.target}?{urlencode(asked)}")
        try:
            fetched = await self._fetcher.fetch(
                address, media_types=_JSON, seconds=call.seconds_left, language=call.language
            )
        except FetchRefused as refused:
            error, said = (ToolRetry, "away") if refused.may_pass else (ToolFailed, "nonsense")
            raise error(sentence("search", said, call.language)) from refused
        if 200 <= fetched.status < 300:
            return fetched
        failure, said = (ToolRetry, "away") if fetched.status in PASSING else (ToolFailed, "refused")
        raise failure(sentence("search", said, call.language))


def read_hits(content: bytes, readable: AllowedHosts, language: Language) -> list[Hit]:
    """The usable results in the engine's order, each address once. Raises `ToolFailed` for what is no such JSON."""
    try:
        said = _Reply.model_validate_json(content).results
    except (ValidationError, RecursionError) as odd:
        raise ToolFailed(sentence("search", "nonsense", language)) from odd
    found: dict[WebAddress, Hit] = {}
    for hit in _usable(said[:_MOST_READ], readable):
        found.setdefault(hit.address, hit)
    return list(found.values())[:_MOST_HITS]


def searched_addresses(findings: Sequence[Finding]) -> Iterator[WebAddress]:
    """The addresses that a search of this run gave, as `_finding` marked them."""
    for finding in findings:
        for passage in (quote.passage for quote in finding.quotes):
            if passage.authority == AUTHORITY and passage.external_id.startswith(_HIT):
                yield read_address(passage.url)


def _usable(said: Sequence[JsonValue], readable: AllowedHosts) -> Iterator[Hit]:
    for one in said:
        try:
            told = _Said.model_validate(one)
            address = read_address(told.url.strip())
        except (ValidationError, FetchRefused):
            continue
        title, snippet = _plain(told.title, _MAX_TITLE_CHARS), _plain(told.content, _MAX_SNIPPET_CHARS)
        is_kept = readable.allows(address) if readable else "." in address.host
        if is_kept and (title or snippet):
            yield Hit(address, title or address.host, snippet)


def _plain(text: str | None, most: int) -> str:
    """One line without markup and invisible signs."""
    return " ".join(clean(_TAG.sub(" ", html.unescape((text or "")[:_MAX_RAW_CHARS]))).split())[:most]


def _lines(hits: Sequence[Hit]) -> Iterator[str]:
    for number, hit in enumerate(hits, 1):
        yield f"{number}. {hit.title}\n{hit.address}\n{hit.snippet}".strip()


def _finding(call: ToolCall, index: int, query: str, hit: Hit) -> Finding:
    text, url = hit.snippet or hit.title, str(hit.address)
    asked = set(content_words(query))
    share = len(asked & set(words(f"{hit.title} {text}"))) / len(asked) if asked else 0.0
    sure = round(_LEAST_SURE + (_MOST_SURE - _LEAST_SURE) * share, 3)
    passage = Passage(
        chunk_id=uuid5(NAMESPACE_URL, f"{url}\n{text}"), document_id=uuid5(NAMESPACE_URL, url),
        external_id=f"{_HIT}{url}", title=hit.title, section="", text=text, url=url, department=AUTHORITY,
        scope="public", language=guess_language(text), created_at=call.now, effective_from=None, effective_to=None,
        authority=AUTHORITY, similarity=0.0, text_rank=0.0, relevance_score=sure, fused_score=0.0,
    )  # fmt: skip
    cited = Evidence(url=url, created_at=call.now, source_type="web", scope="public", relevance_score=sure)
    return Finding(
        agent=call.agent, index=index, query=query, context=hit.title, answer=text, found=True, confidence=sure,
        quotes=(Quote(passage=passage, text=text, score=sure),), evidence=(cited,),
    )  # fmt: skip


def _nothing(call: ToolCall, index: int, query: str) -> Finding:
    return Finding(agent=call.agent, index=index, query=query, context="", answer="", found=False, confidence=0.0)
