"""Fetching for a tool: what the guard refuses and what servers answer, told as tools tell it."""

import re
from importlib.util import find_spec

from app.domain.knowledge import Language
from app.errors import ToolFailed, ToolRetry
from app.tools.base import ToolCall
from app.tools.dialling import Fetched, Fetcher, FetchRefused, told

_GONE: dict[Language, str] = {
    "vi": "{host} không có trang này (mã {status}).",
    "en": "{host} has no such page (status {status}).",
}
_BUSY: dict[Language, str] = {
    "vi": "{host} hiện không trả lời được (mã {status}).",
    "en": "{host} cannot answer at the moment (status {status}).",
}
_NOT_INSTALLED: dict[Language, str] = {
    "vi": "Chưa cài phần đọc web. Quản trị viên có thể cài bằng: pip install 'conclave[web]'.",
    "en": "Reading the web is not installed. An administrator can add it: pip install 'conclave[web]'.",
}
_PASSING = frozenset((408, 425, 429, 500, 502, 503, 504))
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

    Raises `ToolRetry` where another try may help, `ToolFailed` with a sentence for the asker where not.
    """
    try:
        fetched = await fetcher.fetch(
            url, media_types=media_types, seconds=call.seconds_left, language=language or call.language
        )
    except FetchRefused as refused:
        raise as_tool_error(refused, call.language) from refused
    if 200 <= fetched.status < 300:
        return fetched
    sentence, error = (_BUSY, ToolRetry) if fetched.status in _PASSING else (_GONE, ToolFailed)
    raise error(sentence[call.language].format(host=fetched.address.host, status=fetched.status))


def as_tool_error(refused: FetchRefused, language: Language) -> ToolRetry | ToolFailed:
    """A refusal of the guard, as a tool raises it."""
    return (ToolRetry if refused.may_pass else ToolFailed)(told(refused, language))


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


def require_installed(package: str, language: Language) -> None:
    """Raises `ToolFailed` with what to install where an optional library is missing. Imports nothing."""
    if find_spec(package) is None:
        raise ToolFailed(_NOT_INSTALLED[language])
