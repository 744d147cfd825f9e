from collections.abc import AsyncIterator

import pytest

from app.embedding.cached import CachedEmbedder
from app.errors import ToolFailed, ToolRetry
from app.reasoning import Arguments
from app.reasoning.local import LocalReasoner
from tests.extras.web.web_pages import wikipedia
from tests.extras.web.web_tools import WebTools, web_tools
from tests.fakes.web_server import Answer, Reply
from tests.unit.tools.recording import RecordingReasoner, call


@pytest.fixture(scope="module")
async def tools(reasoner: LocalReasoner, embedder: CachedEmbedder) -> AsyncIterator[WebTools]:
    async with web_tools({"/w/api.php": wikipedia}, reasoner, embedder) as made:
        yield made


class TestWikipediaTool:
    async def test_answers_from_the_article_and_cites_its_revision(self, tools: WebTools) -> None:
        result = await tools.wikipedia(call("Theo Wikipedia, Hà Nội có diện tích bao nhiêu?"))
        assert "3.359,82 km²" in result.text
        (evidence,) = result.evidence
        assert evidence.url == "https://vi.wikipedia.org/w/index.php?title=H%C3%A0_N%E1%BB%99i&oldid=7001"
        assert (evidence.source_type, evidence.created_at.date().isoformat()) == ("web", "2026-05-04")
        assert result.findings[0].quotes[0].passage.section == "Địa lý"

    async def test_asks_the_wikipedia_of_the_askers_language(self, tools: WebTools) -> None:
        result = await tools.wikipedia(call("What was Ada Lovelace, according to Wikipedia?", language="en"))
        assert "English mathematician" in result.text
        assert tools.site.asked[-1].host == "en.wikipedia.org"

    async def test_and_then_the_other_one(self, tools: WebTools) -> None:
        result = await tools.wikipedia(call("Ada Lovelace là ai? Tra Wikipedia."))
        assert result.text.startswith("Ada Lovelace was an English mathematician")

    async def test_passes_over_lists_of_meanings(self, tools: WebTools) -> None:
        before = len(tools.site.asked)
        await tools.wikipedia(call("Wikipedia: Hà Nội"))
        titles = [asked.query.get("titles") for asked in tools.site.asked[before:]]
        assert titles == [None, "Hà Nội (định hướng)", "Hà Nội"]

    async def test_finds_nothing_on_what_nobody_wrote_about(self, tools: WebTools) -> None:
        result = await tools.wikipedia(call("Wikipedia: quy trình xin vé gửi xe của Sao Mai?"))
        assert (result.text, result.value, result.findings[0].found) == ("", None, False)

    @pytest.mark.parametrize(
        ("said", "error"),
        [
            (Reply(b"not json", "application/json"), ToolFailed),
            (Reply(b"[" * 100_000, "application/json"), ToolFailed),
            (Reply(b'{"error": {"code": "maxlag"}}', "application/json"), ToolFailed),
            (Reply(b'{"query": {"search": [{"title": 7}]}}', "application/json"), ToolFailed),
            (Reply(b"<html>", "text/html"), ToolFailed),
            (Reply(b"", "application/json", 429), ToolRetry),
            (Reply(b"", "application/json", 403), ToolFailed),
        ],
    )
    async def test_says_what_went_wrong(self, said: Answer | Reply, error: type[Exception]) -> None:
        mind = RecordingReasoner(arguments=Arguments(values={"topic": "Hà Nội"}))
        async with web_tools({"/": said}, mind) as made:
            with pytest.raises(error):
                await made.wikipedia(call("Hà Nội?"))

    async def test_another_encyclopedia_may_be_asked(self) -> None:
        """One address for both languages is asked once, and only where its host is listed."""
        mind = RecordingReasoner(arguments=Arguments(values={"topic": "Hà Nội"}))
        async with web_tools({"/w/api.php": wikipedia}, mind, hosts=frozenset({"en.wikipedia.org"})) as made:
            with pytest.raises(ToolFailed, match=r"vi\.wikipedia\.org không có trong danh sách"):
                await made.wikipedia(call("Hà Nội?"))
            assert made.wire.dialled == []
