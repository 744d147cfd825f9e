"""`web_tool`: read a page whose address stands in the question, and answer from it."""

from datetime import UTC, datetime

from pydantic import Field

from app.confinement.processes import Isolated
from app.domain.plan import WEB_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.reasoning import Reasoner
from app.text.language import clean
from app.tools.base import ToolCall
from extras.web.addresses_in_question import asked_of, stated_address
from extras.web.fetching import fetched_for, require_installed, run_confined, sentence, text_of, trace_of
from extras.web.reading import Reading, ReadingTool, Source, Text, pieces_of
from extras.web.safe_http import Fetched, Fetcher

_HTML = frozenset(("text/html", "application/xhtml+xml"))
_PAGES = _HTML | {"text/plain"}
_MAX_TITLE_CHARS = 200


class WebArguments(Record):
    """What page, and what to look for."""

    url: str = Field(description="Address of the page, exactly as it stands in the question", max_length=2_048)
    question: str = Field("", description="What the page shall answer, without the address", max_length=4_000)


class WebTool(ReadingTool[WebArguments]):
    """Reads a web page whose address stands in the question, and answers from its text with exact quotes."""

    name = WEB_TOOL
    arguments = WebArguments

    def __init__(self, reasoner: Reasoner, fetcher: Fetcher, reading: Reading, extractor: Isolated | None = None):
        """`extractor`: runs `page.read_page`; unset = one of its own."""
        super().__init__(reasoner, fetcher, reading)
        self._extractor = extractor or Isolated("extras.web.page:read_page")

    async def fetch(self, call: ToolCall, query: str, arguments: WebArguments, trace: list[str]) -> tuple[Text, str]:
        """The page, and the question without its address."""
        require_installed("trafilatura", call.language)
        address = stated_address(arguments.url, call, query)
        fetched = await fetched_for(call, self._fetcher, str(address), _PAGES)
        read = await self._read(call, fetched)
        trace += (trace_of(fetched), f"{len(read.pieces)} pieces of text")
        return read, asked_of(arguments.question or query)

    async def aclose(self) -> None:
        """End the extracting process."""
        await self._extractor.aclose()

    async def _read(self, call: ToolCall, fetched: Fetched) -> Text:
        host, text = fetched.address.host, text_of(fetched)
        failed = ToolFailed(sentence("web", "no_text", call.language, host=host))
        found = {"title": "", "date": "", "text": text}
        if fetched.media_type in _HTML:
            found = await run_confined(self._extractor, text.encode("utf-8", "replace"), failed)
        pieces = pieces_of(str(found.get("text", "")))
        if not pieces:
            raise failed
        title = " ".join(clean(str(found.get("title", ""))).split())[:_MAX_TITLE_CHARS] or host
        return Text(Source(str(fetched.address), title, _day(str(found.get("date", "")), call.now)), pieces)


def _day(text: str, now: datetime) -> datetime | None:
    """The day a page says it was written; a day that is still to come is none."""
    try:
        day = datetime.strptime(text[:10], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None
    return day if day <= now else None
