"""A video's subtitles, by youtube-transcript-api. Runs in a confined process that has no network.

Whatever the library wants to request is told instead of sent; the caller fetches it through the guard and runs this
again with the answers so far. Never imported by the service itself; `transcript` names it for `isolation`.
"""

import json
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter
from youtube_transcript_api import FetchedTranscript, Transcript, YouTubeTranscriptApi, YouTubeTranscriptApiException

_MAX_SNIPPETS = 20_000
_SAMPLE_TRACKS = (
    '{"playabilityStatus": {"status": "OK"}, "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": '
    '[{"baseUrl": "https://www.youtube.com/api/timedtext?v=x", "name": {"runs": [{"text": "English"}]}, '
    '"languageCode": "en"}]}}}'
)
_SAMPLE_ANSWERS = [
    {"status": 200, "text": '<html><script>{"INNERTUBE_API_KEY": "k"}</script></html>'},
    {"status": 200, "text": _SAMPLE_TRACKS},
    {"status": 200, "text": '<transcript><text start="0" dur="1">Hello</text></transcript>'},
]
SAMPLE = json.dumps({"video": "abcdefghijk", "languages": ["en"], "answers": _SAMPLE_ANSWERS}).encode()
"""What the function is tried on before it is confined."""


class _Wanted(Exception):
    def __init__(self, request: PreparedRequest):
        super().__init__()
        body = request.body or b""
        self.request = {
            "method": request.method or "GET",
            "url": request.url or "",
            "body": body.decode("utf-8", "replace") if isinstance(body, bytes) else body,
        }


class _Replay(BaseAdapter):
    """Answers requests with what was fetched for them before, in their order."""

    def __init__(self, answers: list[dict[str, Any]]):
        super().__init__()
        self._left = list(answers)

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        if not self._left:
            raise _Wanted(request)
        answer = self._left.pop(0)
        response = Response()
        response.status_code = answer["status"]
        response._content = answer["text"].encode("utf-8", "replace")
        response.encoding = "utf-8"
        response.url = request.url or ""
        response.request = request
        return response

    def close(self) -> None:
        """Nothing is open."""


def read_captions(content: bytes) -> bytes:
    """From JSON with ``video``, ``languages`` (best first) and ``answers``: JSON with either ``wants`` (the request to
    make next), ``failure`` (the library's name for it), or ``title``, ``language``, ``generated`` and ``snippets``
    ([[start in seconds, text], …])."""
    order = json.loads(content)
    session = Session()
    session.trust_env = False
    for scheme in ("https://", "http://"):
        session.mount(scheme, _Replay(order["answers"]) if scheme == "https://" else _Replay([]))
    found: dict[str, Any]
    try:
        chosen = _chosen(list(YouTubeTranscriptApi(http_client=session).list(order["video"])), order["languages"])
        found = _subtitles(chosen.fetch(), _title(order["answers"]))
    except _Wanted as wanted:
        found = {"wants": wanted.request}
    except YouTubeTranscriptApiException as failure:
        found = {"failure": type(failure).__name__}
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")


def _chosen(found: list[Transcript], languages: list[str]) -> Transcript:
    """In the best language there is; written by a person before made by a machine."""

    def place(transcript: Transcript) -> tuple[int, bool]:
        language = transcript.language_code.partition("-")[0]
        return (languages.index(language) if language in languages else len(languages), transcript.is_generated)

    return min(found, key=place)


def _subtitles(fetched: FetchedTranscript, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "language": fetched.language_code,
        "generated": fetched.is_generated,
        "snippets": [[snippet.start, snippet.text] for snippet in fetched.snippets[:_MAX_SNIPPETS]],
    }


def _title(answers: list[dict[str, Any]]) -> str:
    """The video's title, which stands beside the list of its subtitles."""
    for answer in answers:
        try:
            return str(json.loads(answer["text"])["videoDetails"]["title"])
        except (ValueError, KeyError, TypeError):
            continue
    return ""
