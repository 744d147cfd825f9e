"""Judging what an asker is shown: which links, images and elements some program would make of it."""

import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib.util import find_spec
from typing import Any

from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

_READERS = [MarkdownIt("commonmark", {"html": True}), MarkdownIt("commonmark", {"html": False}).enable("table")]
if find_spec("linkify_it"):
    _READERS.append(MarkdownIt("gfm-like", {"html": True}))
_FORMATTING = frozenset(
    """
    html head body p em strong s code pre ul ol li blockquote br hr h1 h2 h3 h4 h5 h6 table thead tbody tr th td a
    """.split()  # noqa: SIM905
)
_ADDRESS = re.compile(
    r"[a-z][\w+.-]+://[^\s<>\]\"'`]*\w|(?<![\w.-])www\.\w[^\s<>]*"
    r"|\b(?:(?:javascript|vbscript):|mailto:[^\s()\[@]*@)[^\s()\[]*\w|\bdata:(?:[a-z]+/|[,;])\S*\w",
    re.IGNORECASE,
)
"""What chat programs and mail programs make links of in plain text."""
_LEAVES_OUT = frozenset({"url"})
"""Fields that hold the address of an evidence and nothing else; they are judged by themselves."""


def strings_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a JSON value with the name of its field; keys count as texts of their own."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield "key", str(key)
            yield from strings_in(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from strings_in(part, name)
    elif isinstance(value, str):
        yield name, value


def evidence_urls(value: Any) -> set[str]:
    """The addresses of the evidence in a JSON value."""
    return {text for name, text in strings_in(value) if name in _LEAVES_OUT}


def off_list(value: Any, allowed: frozenset[str], bare: frozenset[str], question: str = "") -> list[str]:
    """Targets and elements in the texts of `value` that may not be there, each with its field.

    `bare` are names of hosts that may stand by themselves, since a document that was read states them: such a name
    carries nothing, whatever a program makes of it. The echo of the `question` is the asker's own.
    """
    texts = {(name, _without(question, text)) for name, text in strings_in(value) if name not in _LEAVES_OUT}
    found = [(name, target) for name, text in texts for target in _targets(text, bare)]
    return [f"{name}: {t}" for name, t in found if t.split("#page=")[0] not in allowed and t not in question]


def _without(question: str, text: str) -> str:
    """`text` without the question, however its white space was tidied."""
    return re.sub(r"\s+".join(map(re.escape, question.split())), "", text) if question.strip() else text


@cache
def _targets(text: str, bare: frozenset[str]) -> tuple[str, ...]:
    text = _standing_alone(bare).sub("NAME", text) if bare else text
    found = [target for reader in _READERS for target in _linked(reader.render(text))]
    found += _linked(text)
    found += [address[0] for address in _ADDRESS.finditer(unescape(text))]
    return tuple(dict.fromkeys(found))


@cache
def _standing_alone(names: frozenset[str]) -> re.Pattern[str]:
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w./:@%-])(?:{either})(?![\w/?#:@%-]|\.\w)", re.IGNORECASE)


def _linked(html: str) -> Iterator[str]:
    for node in LexborHTMLParser(html).css("*"):
        if node.tag not in _FORMATTING:
            yield f"<{node.tag}>"
        for name, value in node.attributes.items():
            if name in ("href", "src", "srcset", "action", "data", "poster", "background") or name.startswith("on"):
                yield value or ""
