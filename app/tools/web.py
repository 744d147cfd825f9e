"""`web_tool`: read a page whose address stands in the question, and answer from it."""

import json
from datetime import UTC, datetime

from pydantic import Field

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed
from app.domain.knowledge import Language
from app.domain.plan import WEB_TOOL
from app.domain.record import Record
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Reasoner
from app.text.language import clean
from app.tools.base import ToolCall, ToolResult
from app.tools.dialling import Fetched, Fetcher, FetchRefused
from app.tools.pieces import pieces_of
from app.tools.reading import Reading, Source, Text
from app.tools.stated import asked_of, stated_address
from app.tools.typed import TypedTool
from app.tools.web_access import as_tool_error, fetched_for, require_installed, text_of, trace_of

_HTML = frozenset(("text/html", "application/xhtml+xml"))
_PAGES = _HTML | {"text/plain"}
_MAX_TITLE_CHARS = 200
_UNREADABLE: dict[Language, str] = {
    "vi": "Không lấy được nội dung đọc được từ trang {host}.",
    "en": "No readable text could be taken from the page of {host}.",
}


class WebArguments(Record):
    """What page, and what to look for."""

    url: str = Field(description="Address of the page, exactly as it stands in the question", max_length=2_048)
    question: str = Field("", description="What the page shall answer, without the address", max_length=4_000)


class WebTool(TypedTool[WebArguments]):
    """Reads a web page whose address stands in the question, and answers from its text with exact quotes."""

    name = WEB_TOOL
    arguments = WebArguments

    def __init__(self, reasoner: Reasoner, fetcher: Fetcher, reading: Reading, extractor: Isolated | None = None):
        """`extractor`: runs `page.read_page`; unset = one of its own."""
        super().__init__(reasoner)
        self._fetcher = fetcher
        self._reading = reading
        self._extractor = extractor or Isolated("app.tools.web_access:read_page")

    async def run(self, call: ToolCall, index: int, query: str, arguments: WebArguments) -> ToolResult:
        """The page's answer to one query; nothing found where the page does not hold one.

        Raises `ToolFailed` for addresses that are not read and pages without text, `ToolRetry` when the site is away.
        """
        require_installed("trafilatura", call.language)
        try:
            address = stated_address(arguments.url, call, query)
        except FetchRefused as refused:
            raise as_tool_error(refused, call.language) from refused
        fetched = await fetched_for(call, self._fetcher, str(address), _PAGES)
        read = await self._read(call, fetched)
        finding = await self._reading.answer(call, index, query, asked_of(arguments.question or query), read)
        created = read.source.created_at
        return ToolResult(
            text=finding.answer,
            findings=(finding,),
            value={
                "url": read.source.url,
                "title": read.source.title,
                "date": created.date().isoformat() if created else None,
            },
            trace=(trace_of(fetched), f"{len(read.pieces)} pieces of text"),
        )

    async def aclose(self) -> None:
        """End the extracting process."""
        await self._extractor.aclose()

    async def _read(self, call: ToolCall, fetched: Fetched) -> Text:
        url, host = str(fetched.address), fetched.address.host
        text = text_of(fetched)
        told = {"title": "", "date": "", "text": text}
        if fetched.media_type in _HTML:
            told = await self._extracted(call, text, host)
        pieces = pieces_of(told["text"])
        if not pieces:
            raise ToolFailed(_UNREADABLE[call.language].format(host=host))
        title = " ".join(clean(told["title"]).split())[:_MAX_TITLE_CHARS] or host
        return Text(Source(url, title, _day(told["date"], call.now)), pieces)

    async def _extracted(self, call: ToolCall, html: str, host: str) -> dict[str, str]:
        """Title, date and text of a page. What the process says is as untrusted as the page."""
        try:
            answer = json.loads(await self._extractor(html.encode("utf-8", "replace")))
            return {name: str(answer[name]) for name in ("title", "date", "text")}
        except IsolationFailed as failed:
            error = ToolRetry if failed.end is IsolationEnd.UNAVAILABLE else ToolFailed
            raise error(_UNREADABLE[call.language].format(host=host)) from failed
        except (ValueError, TypeError, KeyError) as odd:
            raise ToolFailed(_UNREADABLE[call.language].format(host=host)) from odd


def _day(text: str, now: datetime) -> datetime | None:
    """The day a page says it was written; a day that is still to come is none."""
    try:
        day = datetime.strptime(text[:10], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day <= now else None
