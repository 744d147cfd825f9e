"""Finding addresses in plain text: whatever a program could turn into a link, also without a scheme.

"intra.example.vn" is a host name, "Node.js", "TP.HCM", "v.v." and "1.000.000" are not. With a path, port or query
behind it nearly every dotted name is taken for one: that is where data leaves. A bare name must end in a domain that
people can register or that organisations use at home. Of the 1,400 domains that exist all countries are listed in
``top_domains.txt``, and those of the others that links are usually written with.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from app.links.markdown import INVISIBLE


def _words(listed: str) -> frozenset[str]:
    return frozenset(re.sub("#.*", "", listed).split())


_TOP = _words((Path(__file__).parent / "top_domains.txt").read_text(encoding="utf-8"))
_ESTABLISHED = _words("com net org info biz edu gov mil int arpa vn")
_SCRIPTS = frozenset({"md", "py", "sh"})
"""File endings that are countries as well: a bare ``handbook.md`` is the name of a file, and can carry nothing away."""
_FILES = _words(
    """
    docx doc docm xlsx xls xlsm csv tsv pptx ppt pdf txt rtf odt ods odp json jsonl yaml yml toml xml html htm css
    js ts log sql ini cfg conf env lock png jpg jpeg gif svg webp mp3 mp4 exe dll msi bat tar gz bak tmp
    """
)
"""File endings no domain ends in."""
_WEB = re.compile(r"(?:\A|\W)www\Z", re.IGNORECASE)
_NETWORK = re.compile(r"/\d{1,2}|/255(?:\.\d{1,3}){3}")
"""What stands behind an IP address and makes it a range: ``10.0.0.0/24``."""


def is_host(name: str, rest: str) -> bool:
    """Whether the dotted `name` is one that programs make links of. `rest`: the port, path or query behind it."""
    labels = name.split(".")
    top = labels[-1]
    low = top.lower()
    if any(map(_WEB.search, labels[:-1])) or any(label[:4].lower() == "xn--" for label in labels):
        return True
    if top.isdecimal() or low.startswith("0x"):
        return bool(rest) and _is_address(labels, rest)
    if len(top) < 2 or not top.isalpha() or not all(labels):
        return False
    return _leads_on(labels, top, rest) if rest else low in _TOP and not _is_prose(labels, top, low)


def _leads_on(labels: list[str], top: str, rest: str) -> bool:
    low = top.lower()
    if low in _SCRIPTS:
        return "/" in rest or "?" in rest or len(labels) > 2
    if low in _TOP or rest[0] in ":#":
        return low in _TOP
    return low not in _FILES and ((top.isascii() and top.islower()) or "?" in rest or "=" in rest)


def _is_prose(labels: list[str], top: str, low: str) -> bool:
    """A file, an abbreviation (TP.HN, ThS.BS), a numbered or a missing space (ngày.Do): one dot, nothing behind it."""
    if len(labels) != 2 or low in _ESTABLISHED:
        return ".".join(labels).lower() in ("asp.net", "ado.net", "vb.net")
    return low in _SCRIPTS or not top.islower() or labels[0].isdecimal()


def _is_address(labels: list[str], rest: str) -> bool:
    """An IP address; ``1.200.000/tháng`` is none."""
    if any(label[:2] in ("0x", "0X") for label in labels):
        return True
    if len(labels) != 4 or not all(label.isdecimal() and len(label) <= 4 for label in labels):
        return False
    octal = labels[0][0] == "0" and len(labels[0]) > 1
    decimal = all(int(label) < 256 and str(int(label)) == label for label in labels)
    return octal or (decimal and not _NETWORK.fullmatch(rest))


_RUN = r"[^\s<>\"'`()\[\]{}|*‹›“”«»]*+"
_LABEL = (
    r"[^\s\x00-#%-*,./:;<>?@\[\\\]`{-\xa0\xa1\xa7\xab\xb6\xb7\xbb\xbf\u037e\u0387\u0589\u060c\u061b\u061f\u06d4\u0964"
    r"\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3020\u3030\u30fb\ufe10-\ufe1f\ufe30-\ufe6b\uff01-\uff0f"
    r"\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
)
"""A sign of a host name. Letters are not all: ``😀.vn`` is one, and some programs let ``=`` and hidden signs pass.
White space and punctuation end it."""
_DOTTED = rf"{_LABEL}++(?:\.{_LABEL}++)++"
_MAIL = rf"(?<![\w.+%&=$-])[\w.+%&=$-]++@(?:{_DOTTED}|(?:\.{_LABEL}++)++)"
_HEAD = re.compile(
    r"(?P<absolute>(?<![\w+.-])(?P<scheme>[\w+.-]*+):[/\\]{2,}+)"
    r"|(?P<loose>\b(?:https?|ftps?|wss?):[/\\]*+(?=[^\W\d]|\[)"
    r"|\bfile:[/\\]|\b(?:java|vb|live)script:(?=\S)|\bdata:(?=[;,]|[a-z]++[/;])"
    r"|\b(?:blob|filesystem|view-source|jar):(?=\w)|\b(?:cid|magnet|intent):(?=[/#?]))"
    r"|(?P<contact>\b(?:mailto|xmpp|sips?|tel|callto|sms|smsto|skype):(?=\.*+[^\s,;]))"
    rf"|(?P<mail>{_MAIL})"
    r"|(?P<relative>(?<![^\W_])(?<![:/\\])/{2,}+(?=[^\s/]))"
    r"|(?P<ipv6>\[(?:[0-9a-f.]{0,15}:){2,8}[0-9a-f.]{0,15}(?:%\w{1,16})?\](?=:\d|[/?#]))"
    rf"|(?<!{_LABEL})(?P<name>{_DOTTED})(?!:[/\\]{{2}})(?P<port>:\d{{1,5}}+(?!\w))?+"
    r"|(?P<web>(?<![^\W_])www\.)",
    re.IGNORECASE,
)
"""How an address may begin. The order counts: what has a scheme is one, however its name looks."""
_TAIL = re.compile(rf"(?:\[[0-9a-f:.%]*+\])?+{_RUN}", re.IGNORECASE)
_LEADS_ON = re.compile(rf"\.?[/?#]{_RUN}")
_ASKS = re.compile(rf"\.?(?:\?|:[/\\]){_RUN}")
_CLINGING = re.compile(rf"[{INVISIBLE}&%#]")
"""Signs that some programs read as a part of the name they touch."""
_NOTHING = re.compile(r"[\"'`)\]}>.,;:!?*_”’»…]*+(?:\s|\Z)")
_WIRED = re.compile(rf"[^/\s]*?(?:{_LABEL}\.{_LABEL}|@|\[[0-9a-f.]*:|:\d|\d{{4}}|\b0x|\blocalhost)", re.IGNORECASE)
"""What makes ``//name`` an address and no comment of a program."""
_ENDS = ".,;:!?_~…"
"""Signs at the end of an address that belong to the sentence."""
_NAMED = re.compile(rf"{_MAIL}|(?<!{_LABEL}){_DOTTED}(?::\d{{1,5}}+(?!\w))?+")


class KnownNames:
    """Host names, e-mail addresses and other contacts that stand literally in a text."""

    def __init__(self, text: str) -> None:
        self._text = text.lower()
        self._names = frozenset(found[0].strip("_-.") for found in _NAMED.finditer(self._text))

    def has(self, name: str) -> bool:
        """Whether `name` stands in the text by itself, not as a part of a longer name."""
        return name.lower() in self._names

    def says(self, words: str) -> bool:
        """Whether `words` stand in the text anywhere."""
        return words.lower() in self._text


def addresses(text: str, known: KnownNames) -> Iterator[tuple[int, int]]:
    """Where the addresses of `text` begin and end, in order; those that may stand because they are known left out."""
    at = 0
    while found := _HEAD.search(text, at):
        end = _end(text, found, known)
        if end is not None:
            yield found.start(), end
        # The last label of a name that is none may be a scheme: v1.javascript:
        at = end or (text.rindex(".", at, found.end("name")) + 1 if found["name"] else found.end())


def _end(text: str, found: re.Match[str], known: KnownNames) -> int | None:
    """Where the address that begins with `found` ends; None when it is none, or may stand."""
    match found.lastgroup:
        case "name" | "port":
            return _end_of_name(text, found, known)
        case "mail":
            return _end_of_mail(text, found, known)
        case "relative" if not _WIRED.match(text, found.end()):
            return None
        case "absolute" if _is_bare_scheme(text, found):
            return None
    end = _run(text, found.end())
    contact = text[found.end() : end]
    if found["contact"] and "?" not in contact and (known.has(contact) or known.says(found[0] + contact)):
        return None
    return end


def _is_bare_scheme(text: str, found: re.Match[str]) -> bool:
    """``https://`` with nothing behind it, ``C:\\folder``."""
    scheme = found["scheme"]
    return len(scheme) == 1 or ("." not in scheme and bool(_NOTHING.match(text, found.end())))


def _end_of_mail(text: str, found: re.Match[str], known: KnownNames) -> int | None:
    asked = _ASKS.match(text, found.end())
    local, _, domain = found[0].partition("@")
    is_price = "." not in local and domain.count(".") < 3 and domain.replace(".", "").isdecimal()
    may_stand = is_price or (known.has(found[0].strip("_-.")) and _is_free(found))
    return None if may_stand and not asked else (asked or found).end()


def _end_of_name(text: str, found: re.Match[str], known: KnownNames) -> int | None:
    whole, port = found["name"], found["port"] or ""
    name = whole.strip("_." if "xn--" in whole.lower() else "_-.")
    beginning = name.partition("._")[0]  # for some programs an underscore ends the name: evil.vn._x
    name = next((shorter for shorter in (beginning, name) if "." in shorter), whole)
    end = _run(text, found.end(), _LEADS_ON)
    rest = port + text[found.end() : end].removeprefix(".")
    is_behind_at = text[found.start() - 1 : found.start()] == "@"
    if "." not in name or (not is_host(name, rest) and not (is_behind_at and is_host(name, "/"))):
        return None
    return None if rest == port and known.has(name + port) and _is_free(found) else end


def _is_free(found: re.Match[str]) -> bool:
    text, start, end = found.string, found.start(), found.end()
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not _CLINGING.search(around) and text[end : end + 1] != "@"


def _run(text: str, start: int, tail: re.Pattern[str] = _TAIL) -> int:
    """Where what goes on from `start` ends, without the signs of the sentence."""
    found = tail.match(text, start)
    return start + len(found[0].rstrip(_ENDS)) if found else start
