"""Markdown and plain text, as they are; in Markdown, what a rendered page does not show stays out."""

import re
from collections.abc import Iterator

from app.ingestion.parsing.draft import Draft
from app.ingestion.parsing.encoding import decode
from app.ingestion.parsing.outcome import ParseFailed, ParseFailure, WarningCode

_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:[^\n]{0,2000}\n){0,100}?)---[ \t]*(?:\n|$)")
_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.M | re.I)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)$", re.M)
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")
_OPENS = re.compile(
    r"<!--|<(script|style|template)\b[^<>]{0,1000}>"
    r"|<(\w{1,20})\s(?=[^<>]{0,500}(?:\bhidden\b|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0))[^<>]{0,1000}>"
    r"|^\[[^\]\n]{1,200}\]:[ \t]*(?:#|<>)[ \t]*[(\"']",
    re.I | re.M,
)
"""Where something begins that is not shown: comments, scripts, hidden elements, and link definitions that lead nowhere
and are used as comments."""


def read_plain(content: bytes, draft: Draft) -> None:
    """Fill the draft from a text file."""
    draft.verbatim(_decoded(content, draft))


def read_markdown(content: bytes, draft: Draft) -> None:
    """Fill the draft from a Markdown file; front matter gives the title and stays as plain lines."""
    text = _decoded(content, draft).replace("\r\n", "\n")
    if front := _FRONT_MATTER.match(text):
        title = _TITLE.search(front[1])
        draft.title = title[1].strip().strip("\"'") if title else ""
        draft.paragraph(front[1])
        text = text[front.end() :]
    seen = []
    for is_code, piece in _fenced(text):
        shown, dropped = (piece, 0) if is_code else _without_unseen(piece)
        draft.warn(WarningCode.HIDDEN_TEXT_DROPPED, dropped)
        if not draft.title and not is_code and (heading := _HEADING.search(shown)):
            draft.title = heading[1].strip(" \t#")
        seen.append(shown)
    draft.verbatim("".join(seen))


def _fenced(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each inside a code fence or not: what is inside is shown as it is, comments too."""
    fence = ""
    piece: list[str] = []
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        is_mark = mark is not None and mark[1] == (fence or mark[1])
        if is_mark and not fence:
            yield False, "".join(piece)
            piece = []
        piece.append(line)
        if is_mark and fence:
            yield True, "".join(piece)
            piece = []
        if is_mark and mark is not None:
            fence = "" if fence else mark[1]
    yield bool(fence), "".join(piece)


def _without_unseen(text: str) -> tuple[str, int]:
    """Text outside of code without what is not shown, and how many pieces that were."""
    kept: list[str] = []
    folded = text.lower()
    at = dropped = 0
    while found := _OPENS.search(text, at):
        kept.append(text[at : found.start()])
        dropped += 1
        tag = found[1] or found[2]
        close = "-->" if found[0] == "<!--" else f"</{tag.lower()}" if tag else "\n"
        end = folded.find(close, found.end())
        # What never ends hides all that follows.
        at = len(text) if end < 0 else end if close == "\n" else end + len(close)
        if tag and end >= 0:
            at = text.find(">", at) + 1 or len(text)
    return "".join([*kept, text[at:]]), dropped


def _decoded(content: bytes, draft: Draft) -> str:
    # A character takes at most four bytes.
    if len(content) > draft.limits.output_chars * 4:
        raise ParseFailed(ParseFailure.TOO_MUCH_TEXT)
    decoded = decode(content)
    draft.warn(WarningCode.ENCODING_GUESSED, int(decoded.is_guessed))
    return decoded.text
