"""Fetching for the web tools, and what an operator says about the web: only hosts that are named are read."""

import json
import re
import ssl
from importlib.util import find_spec
from typing import Any

from app.confinement.processes import Isolated, IsolationEnd, IsolationFailed
from app.domain.knowledge import Language
from app.domain.plan import TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.domain.record import Record
from app.errors import ToolFailed, ToolRetry
from app.tools.base import ToolCall
from app.tools.dialling import (
    AllowedHosts,
    Connect,
    Fetched,
    Fetcher,
    FetchLimits,
    FetchRefused,
    Resolve,
    SystemResolver,
    dial,
    read_address,
)
from app.tools.sentences import sentence

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

    Raises `FetchRefused`, and for another status than success `ToolRetry` where another try may help, `ToolFailed`
    where not.
    """
    fetched = await fetcher.fetch(
        url, media_types=media_types, seconds=call.seconds_left, language=language or call.language
    )
    if 200 <= fetched.status < 300:
        return fetched
    name, error = ("busy", ToolRetry) if fetched.status in _PASSING else ("gone", ToolFailed)
    raise error(sentence("web", name, call.language, host=fetched.address.host, status=fetched.status))


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


_YOUTUBE = "https://www.youtube.com/"


class WebAccess(Record):
    """The operator's choice."""

    allowed_hosts: frozenset[str] = frozenset()
    """``docs.example.com``, ``.example.com`` for every host below it, with ``:8443`` where another port is meant.
    None = no web tool."""
    private_hosts: frozenset[str] = frozenset()
    """Those of them, by their exact names, that lie in the operator's own network."""
    wikipedia_base_url: str = "https://{lang}.wikipedia.org/w/api.php"
    limits: FetchLimits = FetchLimits()

    def fetcher(
        self, resolve: Resolve | None = None, *, connect: Connect = dial, tls: ssl.SSLContext | None = None
    ) -> Fetcher:
        """The one that fetches for all web tools. Raises `ValueError` for entries that name no host."""
        hosts = AllowedHosts(self.allowed_hosts, self.private_hosts)
        return Fetcher(hosts, resolve or SystemResolver(), self.limits, connect=connect, tls=tls)


def available_web_tools(access: WebAccess) -> tuple[str, ...]:
    """Names of the tools the named hosts are enough for. A tool whose library is missing says so when it is called.

    Raises `ValueError` for entries that name no host.
    """
    hosts = AllowedHosts(access.allowed_hosts, access.private_hosts)
    if not hosts:
        return ()
    wikipedias = [access.wikipedia_base_url.replace("{lang}", language) for language in ("vi", "en")]
    named = [WEB_TOOL]
    if any(_allows(hosts, url) for url in wikipedias):
        named.append(WIKIPEDIA_TOOL)
    if _allows(hosts, _YOUTUBE):
        named.append(TRANSCRIPT_TOOL)
    return tuple(named)


def _allows(hosts: AllowedHosts, url: str) -> bool:
    try:
        return hosts.allows(read_address(url))
    except FetchRefused:
        return False
