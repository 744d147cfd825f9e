"""Fetch pages for the web tools, within the time a call has left, and read what came back as text."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed
from app.domain.knowledge import Language
from app.errors import ToolFailed, ToolRetry
from app.tools.base import Sentences, ToolCall
from extras.web.safe_http import Fetched, Fetcher, FetchRefused

sentence = Sentences(Path(__file__).with_name("sentences.toml"))

PASSING = frozenset((408, 425, 429, 500, 502, 503, 504))
"""Statuses after which another try may help."""
_CHARSETS = re.compile(
    r"utf-?(?:8|16|16[bl]e)|(?:us-)?ascii|latin-?1|(?:iso-?8859-|windows-|cp)\d{1,4}|gb2312|gbk|gb18030|big5|shift_jis"
    r"|euc-(?:jp|kr)|koi8-[ru]",
    re.IGNORECASE,
)
"""Encodings of text; the library has others that unpack or compute."""
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_HEAD_BYTES = 2_048
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


async def fetched_for(
    call: ToolCall, fetcher: Fetcher, url: str, media_types: frozenset[str], *, language: str = ""
) -> Fetched:
    """What `url` gives, within the time the call has left.

    Raises `FetchRefused`, and for another status than success `ToolRetry` where another try may help, `ToolFailed`
    where not.
    """
    fetched = await fetcher.fetch(
        url, media_types=media_types, seconds=call.seconds_left, language=language or call.language
    )
    if 200 <= fetched.status < 300:
        return fetched
    name, error = ("busy", ToolRetry) if fetched.status in PASSING else ("gone", ToolFailed)
    raise error(sentence("web", name, call.language, host=fetched.address.host, status=fetched.status))


def refusal_sentence(refused: FetchRefused, language: Language) -> str:
    """Say to the asker why nothing was fetched."""
    where = "".join(sign for sign in refused.where if sign.isprintable()) or "?"
    return sentence("fetch", refused.reason, language, where=where)


def trace_of(fetched: Fetched) -> str:
    """What was fetched, for the record: hosts, status and size; paths may say what was asked."""
    way = " → ".join(hop.authority for hop in fetched.hops)
    return f"fetched {way}: {fetched.status} {fetched.media_type}, {len(fetched.content)} bytes"


def text_of(fetched: Fetched) -> str:
    """The body as text: by its mark, its header, its own word, else as UTF-8; what cannot be read becomes U+FFFD."""
    content = fetched.content
    for mark, name in _MARKS:
        if content.startswith(mark):
            return content.decode(name, "replace")
    declared = _DECLARED.search(content[:_HEAD_BYTES])
    charset = fetched.charset or (declared[1].decode("ascii") if declared else "utf-8")
    try:
        return content.decode(charset if _CHARSETS.fullmatch(charset) else "utf-8", "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


async def run_confined(function: Isolated, content: bytes, failed: ToolFailed) -> dict[str, Any]:
    """The JSON object a confined process makes of what was fetched; it is as untrusted as that.

    Raises `failed` where there is none, `ToolRetry` with the same sentence where no process could be started.
    """
    try:
        found = json.loads(await function(content))
    except IsolationFailed as ended:
        raise (ToolRetry(str(failed)) if ended.end is IsolationEnd.UNAVAILABLE else failed) from ended
    except ValueError as odd:
        raise failed from odd
    if not isinstance(found, dict):
        raise failed
    return found


def require_installed(package: str, language: Language) -> None:
    """Raises `ToolFailed` with what to install where an optional library is missing. Imports nothing."""
    if find_spec(package) is None:
        raise ToolFailed(sentence("web", "not_installed", language))
