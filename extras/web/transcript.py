"""`transcript_tool`: answer from what is said in a YouTube video whose address stands in the question."""

import json
import math
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from app.confinement.processes import Isolated
from app.domain.knowledge import Language
from app.domain.plan import TRANSCRIPT_TOOL
from app.domain.record import Record
from app.errors import ToolFailed
from app.reasoning import Reasoner
from app.text.language import clean
from app.tools.base import ToolCall
from extras.web.addresses_in_question import asked_of, stated_address
from extras.web.fetching import require_installed, run_confined, sentence, text_of, trace_of
from extras.web.reading import Piece, Reading, ReadingTool, Source, Text
from extras.web.safe_http import Fetched, Fetcher, FetchRefused, Refusal, WebAddress, read_address

HOST = "www.youtube.com"
"""The only host that is ever asked, whatever the library or a page would like."""
_PLAYER = f"https://{HOST}/youtubei/v1/player"
_SHORT_HOST = "youtu.be"
_HOSTS = frozenset((HOST, "youtube.com", "m.youtube.com", "music.youtube.com"))
_VIDEO = re.compile(r"[A-Za-z0-9_-]{11}")
_PATHS = re.compile(r"/(?:shorts|embed|live|v)/(?P<video>[A-Za-z0-9_-]{11})/?")
_KINDS = frozenset(("text/html", "application/json", "text/xml", "application/xml", "text/plain"))
_MOST_REQUESTS, _MAX_BODY_CHARS = 5, 4_000
_PIECE_CHARS, _PIECE_SECONDS = 400, 60.0
_MAX_TITLE_CHARS, _MAX_SNIPPET_CHARS = 200, 1_000
_ABSENT = frozenset(("TranscriptsDisabled", "NoTranscriptFound"))
_CLOSED = frozenset(("VideoUnavailable", "VideoUnplayable", "AgeRestricted", "InvalidVideoId"))


class TranscriptArguments(Record):
    """Which video, and what to look for."""

    url: str = Field(description="Address of the video, exactly as it stands in the question", max_length=2_048)
    question: str = Field("", description="What the video shall answer, without the address", max_length=4_000)


class TranscriptTool(ReadingTool[TranscriptArguments]):
    """Reads the subtitles of a YouTube video whose address stands in the question, and answers from them."""

    name = TRANSCRIPT_TOOL
    arguments = TranscriptArguments

    def __init__(self, reasoner: Reasoner, fetcher: Fetcher, reading: Reading, reader: Isolated | None = None):
        """`reader`: runs `captions.read_captions`; unset = one of its own."""
        super().__init__(reasoner, fetcher, reading)
        self._reader = reader or Isolated("extras.web.captions:read_captions")

    async def fetch(
        self, call: ToolCall, query: str, arguments: TranscriptArguments, trace: list[str]
    ) -> tuple[Text, str]:
        """What the video says, each piece with the second it begins at, and the question without the address."""
        require_installed("youtube_transcript_api", call.language)
        video = video_of(stated_address(arguments.url, call, query))
        if not video:
            raise _failed("no_video", call.language)
        read = _text(video, await self._captions(call, video, trace), call.language)
        return read, asked_of(arguments.question or query)

    async def aclose(self) -> None:
        """End the reading process."""
        await self._reader.aclose()

    async def _captions(self, call: ToolCall, video: str, trace: list[str]) -> dict[str, Any]:
        """What the library makes of the answers it asked for, one after the other."""
        languages = list(dict.fromkeys((call.language, "vi", "en")))
        answers: list[dict[str, object]] = []
        for _ in range(_MOST_REQUESTS):
            told = await self._asked({"video": video, "languages": languages, "answers": answers}, call.language)
            if "wants" not in told:
                return told
            fetched = await self._fetched(call, told["wants"])
            trace.append(trace_of(fetched))
            answers.append({"status": fetched.status, "text": text_of(fetched)})
        raise _failed("refused", call.language)

    async def _asked(self, order: dict[str, object], language: Language) -> dict[str, Any]:
        told = await run_confined(self._reader, json.dumps(order).encode(), _failed("away", language))
        failure = str(told.get("failure", ""))
        if failure:
            closed = "closed" if failure in _CLOSED else "refused"
            raise _failed("absent" if failure in _ABSENT else closed, language)
        return told

    async def _fetched(self, call: ToolCall, wants: dict[str, str]) -> Fetched:
        """The request the process would make, if it is one of the three that reading subtitles takes."""
        try:
            is_post = wants["method"] == "POST"
            if not _is_expected(wants):
                raise FetchRefused(Refusal.HOST_NOT_ALLOWED, read_address(wants["url"]).host)
            return await self._fetcher.fetch(
                wants["url"], media_types=_KINDS, seconds=call.seconds_left,
                body=wants["body"].encode() if is_post else None,
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError) as odd:
            raise _failed("refused", call.language) from odd


def video_of(address: WebAddress) -> str:
    """The id of the video an address shows; empty for every other address."""
    parts = urlsplit(address.target)
    if address.host == _SHORT_HOST:
        found = [parts.path.strip("/")]
    elif address.host in _HOSTS and parts.path == "/watch":
        found = parse_qs(parts.query).get("v", [])
    elif address.host in _HOSTS and (match := _PATHS.fullmatch(parts.path)):
        found = [match["video"]]
    else:
        found = []
    return found[0] if len(found) == 1 and _VIDEO.fullmatch(found[0]) else ""


def _is_expected(wants: dict[str, str]) -> bool:
    address = read_address(wants["url"])
    if address.scheme != "https" or address.host != HOST or not address.has_usual_port:
        return False
    if wants["method"] == "POST":
        return wants["url"].startswith(f"{_PLAYER}?") and len(wants["body"]) <= _MAX_BODY_CHARS
    return wants["method"] == "GET"


def _text(video: str, told: dict[str, Any], language: Language) -> Text:
    """Subtitles put together to pieces of up to a minute. Raises `ToolFailed`."""
    pieces: list[Piece] = []
    starts: list[float] = []
    try:
        for start, text in told["snippets"]:
            said, at = " ".join(clean(str(text))[:_MAX_SNIPPET_CHARS].split()), float(start)
            if not said or not math.isfinite(at) or at < 0:
                continue
            if pieces and len(pieces[-1].text) + len(said) < _PIECE_CHARS and at - starts[-1] < _PIECE_SECONDS:
                pieces[-1] = pieces[-1]._replace(text=f"{pieces[-1].text} {said}")
            else:
                pieces.append(Piece(said, _clock(at)))
                starts.append(at)
        title = " ".join(clean(str(told["title"])).split())[:_MAX_TITLE_CHARS]
    except (KeyError, TypeError, ValueError) as odd:
        raise _failed("refused", language) from odd
    url = f"https://{_SHORT_HOST}/{video}"
    return Text(Source(url, title or f"YouTube {video}", None), pieces, [f"{url}?t={int(at)}" for at in starts])


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _failed(which: str, language: Language) -> ToolFailed:
    return ToolFailed(sentence("video", which, language))
