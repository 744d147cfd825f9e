import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.embedding.cached import CachedEmbedder
from app.errors import ToolFailed
from app.reasoning import Arguments
from app.reasoning.local import LocalReasoner
from extras.web.safe_http import FetchRefused, read_address
from extras.web.transcript import video_of
from tests.extras.web.web_pages import VIDEO, tube
from tests.extras.web.web_tools import WebTools, web_tools
from tests.fakes.web_server import Answer, Reply, moved, page
from tests.limits import limit
from tests.unit.tools.lag import LoopLag
from tests.unit.tools.recording import RecordingReasoner, call

pytestmark = pytest.mark.usefixtures("settled_heap")

URL = f"https://www.youtube.com/watch?v={VIDEO}"
MIND = RecordingReasoner(arguments=Arguments(values={"url": URL}))


@pytest.fixture(scope="module")
async def tools(reasoner: LocalReasoner, embedder: CachedEmbedder) -> AsyncIterator[WebTools]:
    async with web_tools(tube(en="", vi="asr", de=""), reasoner, embedder) as made:
        yield made


class TestTranscriptTool:
    async def test_cites_the_second_at_which_it_is_said(self, tools: WebTools) -> None:
        result = await tools.transcript(call(f"Where is the fire assembly point in {URL}?", language="en"))
        assert "car park behind building C" in result.text
        assert result.evidence[0].url == f"https://youtu.be/{VIDEO}?t=75"
        assert result.evidence[0].source_type == "web"
        assert result.findings[0].quotes[0].passage.section == "1:15"
        assert result.value == {"url": f"https://youtu.be/{VIDEO}", "title": "Safety at work"}

    @pytest.mark.parametrize(("language", "asked_for"), [("en", "lang=en"), ("vi", "lang=vi")])
    async def test_prefers_the_language_of_the_asker(self, tools: WebTools, language: str, asked_for: str) -> None:
        await tools.transcript(call(f"{URL} nói gì?", language=language))  # type: ignore[arg-type]
        assert asked_for in tools.site.asked[-1].target

    async def test_takes_any_other_rather_than_none(self) -> None:
        async with web_tools(tube(de="asr"), MIND) as made:
            assert (await made.transcript(call(f"{URL} nói gì?"))).text.startswith("welcome to the safety briefing")

    async def test_makes_three_requests_and_no_other(self, tools: WebTools) -> None:
        before = len(tools.site.asked)
        await tools.transcript(call(f"{URL} nói gì?"))
        assert [(asked.method, asked.path) for asked in tools.site.asked[before:]] == [
            ("GET", "/watch"), ("POST", "/youtubei/v1/player"), ("GET", "/api/timedtext"),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"/youtubei": Reply(b'{"playabilityStatus": {"status": "OK"}}', "application/json")}, "không có phụ đề"),
            (
                {"/youtubei": Reply(json.dumps({"playabilityStatus": {"status": "ERROR", "reason": "x"}}).encode(),
                                    "application/json")},
                "công khai",
            ),
            ({"/watch": page("<html>nothing here</html>")}, "không đưa phụ đề"),
            ({"/watch": page('<form action="https://consent.youtube.com/s">')}, "không đưa phụ đề"),
            ({"/watch": moved("https://evil.example/")}, "không có trong danh sách"),
            ({"/watch": Reply(b"", "text/html", 429)}, "không đưa phụ đề"),
            ({"/api/timedtext": Reply(b"<transcript>", "text/xml")}, "không đọc được"),
        ],
    )  # fmt: skip
    async def test_says_why_there_is_nothing_to_read(self, changes: dict[str, Answer | Reply], says: str) -> None:
        answers = tube(en="")
        for path, said in changes.items():
            answers = {known: answer for known, answer in answers.items() if not known.startswith(path)} | {path: said}
        async with web_tools(answers, MIND) as made:
            with pytest.raises(ToolFailed, match=says):
                await made.transcript(call(f"{URL} nói gì?"))

    @pytest.mark.parametrize(
        "base",
        ["https://evil.example/x", "http://www.youtube.com/x", "https://vi.wikipedia.org/w/api.php", "file:///x"],
    )
    async def test_subtitles_elsewhere_are_not_fetched(self, base: str) -> None:
        """Also not from another host of the list: the video's page says where they are, and it is a stranger's."""
        track = {"baseUrl": base, "name": {"runs": [{"text": "x"}]}, "languageCode": "en"}
        told = {"captions": {"playerCaptionsTracklistRenderer": {"captionTracks": [track]}}, "playabilityStatus": {}}
        answers = tube(en="") | {"/youtubei/v1/player": Reply(json.dumps(told).encode(), "application/json")}
        async with web_tools(answers, MIND) as made:
            with pytest.raises(ToolFailed):
                await made.transcript(call(f"{URL} nói gì?"))
            assert [asked.path for asked in made.site.asked] == ["/watch", "/youtubei/v1/player"]

    @pytest.mark.parametrize(
        "subtitles",
        [
            '<!DOCTYPE x [<!ENTITY a "'
            + "a" * 1_000
            + '"><!ENTITY b "'
            + "&a;" * 1_000
            + '">]><transcript>&b;</transcript>',
            '<transcript><text start="0">' + "&lt;" * 400_000 + "</text></transcript>",
            '<transcript><text start="nan">x</text></transcript>',
            '<transcript><text start="1e999">x</text></transcript>',
            "<transcript>" + '<text start="1">x</text>' * 60_000 + "</transcript>",
        ],
        ids=["entities", "regex", "nan", "infinite", "many"],
    )
    async def test_hostile_subtitles_end_without_holding_up_the_loop(self, subtitles: str) -> None:
        answers = tube(en="") | {"/api/timedtext": Reply(subtitles.encode(), "text/xml")}
        async with web_tools(answers, MIND) as made:
            await made.transcript._reader.warm()
            with suppress(ToolFailed):
                async with LoopLag() as lag:
                    await made.transcript(call(f"{URL} nói gì?"))
            assert lag.longest_seconds < limit(0.1)


class TestVideoOf:
    def test_reads_the_ways_a_video_is_named(self) -> None:
        rows: list[str] = [
            f"https://www.youtube.com/watch?v={VIDEO}", f"https://youtu.be/{VIDEO}", f"https://youtu.be/{VIDEO}?t=3",
            f"https://m.youtube.com/watch?t=3&v={VIDEO}&list=x", f"https://www.youtube.com/shorts/{VIDEO}",
            f"https://youtube.com/embed/{VIDEO}", f"https://www.youtube.com/live/{VIDEO}?feature=share",
        ]  # fmt: skip
        for url in rows:
            assert video_of(read_address(url)) == VIDEO

    def test_and_nothing_else(self) -> None:
        rows: list[str] = [
            f"https://evil.example/watch?v={VIDEO}", f"https://youtube.com.evil.example/watch?v={VIDEO}",
            "https://www.youtube.com/watch?v=short", f"https://www.youtube.com/watch?v={VIDEO}x",
            f"https://www.youtube.com/watch?v={VIDEO}&v=aaaaaaaaaaa", f"https://www.youtube.com/?v={VIDEO}",
            f"https://youtu.be/{VIDEO}/x", "https://www.youtube.com/@channel", "https://youtu.be/../../etc/pw",
        ]  # fmt: skip
        for url in rows:
            assert video_of(read_address(url)) == ""

    @given(st.text(max_size=30))
    def test_gives_an_id_or_nothing(self, text: str) -> None:
        try:
            address = read_address(f"https://www.youtube.com/watch?v={text}")
        except FetchRefused:
            return
        video = video_of(address)
        assert not video or (len(video) == 11 and video.isascii())
