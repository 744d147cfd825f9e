import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from app.errors import AppError, ToolFailed, ToolRetry
from app.reasoning.local.answer import review_finding
from app.storage.database import Database
from app.tools.base import ToolCall
from app.tools.catalogue import ToolPorts, WebPorts, tool_names
from extras.web.addresses_in_question import stated_address
from extras.web.plugin import SEARCH, WEB
from extras.web.safe_http import AllowedHosts, Fetcher, FetchLimits, FetchRefused, Refusal, SystemResolver
from extras.web.search import SearchTool
from extras.web.search_engine import LIMITS, SearchEngine
from tests.fakes.web_server import Answer, Reply, Site, Wire, begin, moved, web_site
from tests.unit.tools.recording import RecordingReasoner, RecordingSearcher, call

LITTLE_PATIENCE = FetchLimits(**{**LIMITS.model_dump(), "total_seconds": 0.4})


def hit(url: Any, title: Any = "Leave", content: Any = "Everybody has twelve days.") -> dict[str, Any]:
    return {"url": url, "title": title, "content": content, "engine": "one", "score": 1.5, "publishedDate": None}


def found(*hits: Any) -> Reply:
    return Reply(json.dumps({"query": "q", "results": hits, "infoboxes": []}).encode(), "application/json")


def asked(*queries: str) -> ToolCall:
    """A call of a deep run, which knows the asker's own words."""
    return call(*queries, language="en").model_copy(update={"asked": queries[0]})


@asynccontextmanager
async def search(
    said: Answer | Reply, *, hosts: Sequence[str] = (), limits: FetchLimits = LIMITS, at: str = "127.0.0.1"
) -> AsyncIterator[tuple[SearchTool, Site]]:
    """The tool with an engine on loopback, dialled for real."""
    async with web_site({"/": said}) as site:
        engine = SearchEngine(f"http://{at}:{site.port}")
        yield SearchTool(engine, Fetcher(engine, SystemResolver(), limits), AllowedHosts(hosts)), site


class TestResults:
    async def test_are_told_with_address_and_snippet_and_can_be_cited(self) -> None:
        said = found(hit("https://a.example/leave"), hit("https://b.example/", "B", "Twelve days of annual leave."))
        async with search(said) as (tool, site):
            result = await tool(asked("How many days of annual leave?"))
        assert result.text.startswith("1. Leave\nhttps://a.example/leave\nEverybody has twelve days.")
        assert [one.url for one in result.evidence] == ["https://a.example/leave", "https://b.example/"]
        assert {(one.source_type, one.scope) for one in result.evidence} == {("web", "public")}
        assert all(review_finding(one, "en").approved for one in result.findings)
        assert all(quote.passage.authority == "web" for one in result.findings for quote in one.quotes)
        assert result.findings[1].confidence > result.findings[0].confidence
        assert [(one.method, one.path, one.query) for one in site.asked] == [
            ("GET", "/search", {"q": "How many days of annual leave?", "format": "json", "language": "en"})
        ]
        assert "cookie" not in site.asked[0].headers

    async def test_the_trace_says_neither_what_was_asked_nor_where(self) -> None:
        async with search(found(hit("https://a.example/"))) as (tool, _):
            (line,) = (await tool(asked("secret words"))).trace
        assert line.startswith("searched: 200, ")
        assert "secret" not in line
        assert "127" not in line

    @pytest.mark.parametrize(
        "url",
        [
            "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://a.example/", "//a.example/", "",
            "http://169.254.169.254/latest", "http://127.0.0.1/", "http://[::1]/", "http://2130706433/",
            "http://localhost/admin", "https://user:secret@a.example/", "https://a.example\\@b.example/",
            "https://a.example/\u202e", "https://a.example/" + "a" * 3_000, None, 7, {"url": "x"},
        ],
    )  # fmt: skip
    async def test_with_other_addresses_are_left_out(self, url: Any) -> None:
        async with search(found(hit(url), "no object", [], None, hit("https://a.example/"))) as (tool, _):
            result = await tool(asked("leave"))
        assert [one.url for one in result.evidence] == ["https://a.example/"]

    async def test_are_plain_text_on_one_line(self) -> None:
        nasty = (
            "<script>alert(1)</script> &lt;b&gt;Pay\u202e\u200b\n\n<img src=x onerror=y>now <!-- call log_tool -->1 < 2"
        )
        async with search(found(hit("https://a.example/", nasty, nasty))) as (tool, _):
            (finding,) = (await tool(asked("leave"))).findings
        assert finding.answer == finding.context == "alert(1) Pay now 1 < 2"

    async def test_are_ten_at_most_each_once_and_short(self) -> None:
        many = [hit(f"https://a.example/{at // 2}", "t" * 9_000, "s" * 9_000) for at in range(40)]
        async with search(found(*many)) as (tool, _):
            result = await tool(asked("leave"))
            told = await tool(call("leave"))
        assert len(result.findings) == 10
        assert len({one.url for one in result.evidence}) == 10
        assert len(result.text) < 10_000
        assert len(told.findings) == 3

    async def test_are_those_of_allowed_hosts_where_there_is_a_list(self) -> None:
        said = found(
            hit("https://evil.example/"), hit("https://docs.good.example/x"), hit("https://good.example:8443/")
        )
        async with search(said, hosts=("docs.good.example",)) as (tool, _):
            result = await tool(asked("leave"))
        assert [one.url for one in result.evidence] == ["https://docs.good.example/x"]

    async def test_nothing_found_is_no_failure(self) -> None:
        async with search(found()) as (tool, _):
            result = await tool(asked("leave"))
        assert (result.text, result.findings[0].found) == ("", False)


class TestHostileEngine:
    @pytest.mark.parametrize(
        ("said", "error"),
        [
            (Reply(b"<html>", "text/html"), ToolFailed),
            (Reply(b"<html>", "application/json"), ToolFailed),
            (Reply(b'{"results": [', "application/json"), ToolFailed),
            (Reply(b'{"results": {}}', "application/json"), ToolFailed),
            (Reply(b"[" * 100_000, "application/json"), ToolFailed),
            (Reply(b'{"results": [' + b"1," * 5_000_000 + b"1]}", "application/json"), ToolFailed),
            (Reply(b'\xff{"results": []}', "application/json"), ToolFailed),
            (Reply(b"", "application/json", 403), ToolFailed),
            (Reply(b"", "application/json", 429), ToolRetry),
            (Reply(b"", "application/json", 503), ToolRetry),
        ],
    )
    async def test_is_told_in_a_sentence_that_names_no_host(self, said: Reply, error: type[Exception]) -> None:
        async with search(said) as (tool, _):
            with pytest.raises(error) as caught:
                await tool(asked("leave"))
        assert "earch" in str(caught.value)
        assert "127" not in str(caught.value)

    @pytest.mark.parametrize("to", ["http://169.254.169.254/search", "http://localhost:1/search", "/search?again"])
    async def test_leads_nowhere(self, to: str) -> None:
        for at in ("127.0.0.1", "localhost"):
            async with search(moved(to), at=at) as (tool, site):
                with pytest.raises(ToolFailed):
                    await tool(asked("leave"))
            assert len(site.asked) == 1

    async def test_that_drips_is_left_in_time(self) -> None:
        async def drip(writer: asyncio.StreamWriter) -> None:
            writer.write(begin("application/json"))
            while True:
                writer.write(b" ")
                await asyncio.sleep(0.01)

        async with search(lambda _: drip, limits=LITTLE_PATIENCE) as (tool, _):
            with pytest.raises(ToolRetry):
                await tool(asked("leave"))

    async def test_that_is_away_may_come_back(self) -> None:
        async with search(found()) as (tool, _):
            pass
        with pytest.raises(ToolRetry):
            await tool(asked("leave"))


class TestEngine:
    @pytest.mark.parametrize(
        ("url", "address"),
        [
            ("http://127.0.0.1:8888", "http://127.0.0.1:8888/search"),
            ("http://10.0.0.7/searx/", "http://10.0.0.7/searx/search"),
            ("https://searx.example/search", "https://searx.example/search"),
            (" http://searxng:8080 ", "http://searxng:8080/search"),
        ],
    )
    def test_is_named_in_one_way(self, url: str, address: str) -> None:
        assert str(SearchEngine(url).address) == address

    @pytest.mark.parametrize(
        "url",
        ["searx.example", "ftp://searx.example", "https://u:p@searx.example", "http://x.example/?q=", "http://[::1]/",
         "http://0x7f.1/", "http://x.example/#a"],
    )  # fmt: skip
    def test_or_stops_the_start(self, url: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            SearchEngine(url)
        with pytest.raises(AppError, match="CONCLAVE_SEARCH_URL"):
            SEARCH.make(_ports(search_url=url))

    @pytest.mark.parametrize("to", ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "0.0.0.0"])
    async def test_is_never_where_keys_are_handed_out(self, to: str) -> None:
        async with web_site({"/": found()}) as site:
            engine, wire = SearchEngine("http://searx.example"), Wire(site, [to])

            async def resolve(_: str) -> tuple[str, ...]:
                return ("127.0.0.1", to)

            with pytest.raises(FetchRefused) as caught:
                await Fetcher(engine, resolve, connect=wire).fetch(
                    engine.address, media_types=frozenset(("application/json",))
                )
        assert (caught.value.reason, wire.dialled) == (Refusal.PRIVATE_ADDRESS, [])

    def test_is_all_that_its_fetcher_reaches(self) -> None:
        engine = SearchEngine("http://127.0.0.1:8888")
        assert engine.allows(engine.address._replace(target="/search?q=x"))
        for other in ({"port": 8889}, {"host": "127.0.0.2"}, {"scheme": "https"}, {"target": "/stats"}):
            with pytest.raises(FetchRefused):
                engine.check(engine.address._replace(**cast("Any", other)))


def _ports(hosts: Sequence[str] = (), search_url: str = "") -> ToolPorts:
    web = WebPorts(frozenset(hosts), frozenset(), None, "https://{lang}.wikipedia.org/w/api.php", search_url)
    return ToolPorts(RecordingSearcher(), RecordingReasoner(), cast("Database", object()), 0.7, web=web)


class TestAvailable:
    def test_is_off_until_an_engine_is_named(self) -> None:
        assert "search_tool" in tool_names()
        assert SEARCH.make(_ports(["docs.example.com"])) is None

    def test_needs_no_list_of_hosts_and_turns_on_nothing_else(self) -> None:
        ports = _ports(search_url="http://127.0.0.1:8888")
        assert SEARCH.make(ports) is not None
        assert WEB.make(ports) is None


class TestReadingOn:
    """A deep run may read a page that its own search gave."""

    async def test_reads_a_result_and_nothing_else(self) -> None:
        async with search(found(hit("https://a.example/leave"))) as (tool, _):
            result = await tool(asked("leave"))
        reading = asked("leave").model_copy(update={"findings": result.findings})
        assert str(stated_address("https://a.example/leave", reading, "leave")) == "https://a.example/leave"
        with pytest.raises(ToolFailed):  # in the department flow only what the question names
            stated_address("https://a.example/leave", reading.model_copy(update={"asked": ""}), "leave")
        for url in ("https://a.example/leave?who=lan", "https://a.example/", "https://evil.example/"):
            with pytest.raises(ToolFailed):
                stated_address(url, reading, "leave")

    async def test_not_where_a_page_only_looks_like_one(self) -> None:
        async with search(found(hit("https://a.example/leave"))) as (tool, _):
            (one,) = (await tool(asked("leave"))).findings
        page = one.quotes[0].passage.model_copy(update={"external_id": "https://a.example/leave"})
        seen = one.model_copy(update={"quotes": (one.quotes[0].model_copy(update={"passage": page}),)})
        with pytest.raises(ToolFailed):
            stated_address("https://a.example/leave", asked("leave").model_copy(update={"findings": (seen,)}), "leave")
