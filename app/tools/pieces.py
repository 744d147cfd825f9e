"""Cutting a long text into pieces that can be found and quoted: along headings and paragraphs, none too long."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.text.language import clean

MAX_TEXT_CHARS = 200_000
"""Of one source; what is longer is read to here."""
_FULL, _LONGEST = 700, 1_200
"""Characters: paragraphs grow together up to the first; no piece is longer than the second."""
_HEADING = re.compile(r"(?P<marks>#{1,6})\s+(?P<title>.+)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n")
_RULE = re.compile(r"[|:\- ]+")


class Piece(NamedTuple):
    """A literal span of a text, and the headings above it."""

    text: str
    section: str = ""


def pieces_of(markdown: str) -> list[Piece]:
    """The text's pieces in their order; a piece of a cut table begins with the table's header."""
    found: list[Piece] = []
    headings: dict[int, str] = {}
    for paragraph in _PARAGRAPH_END.split(clean(markdown[:MAX_TEXT_CHARS])):
        lines = paragraph.strip("\n")
        while match := _HEADING.match(lines):
            level = len(match["marks"])
            headings = {depth: title for depth, title in headings.items() if depth < level} | {level: match["title"]}
            lines = lines[match.end() :].lstrip("\n")
        section = " › ".join(title.strip() for title in headings.values())
        for part in _parts(lines.strip()):
            _take(found, Piece(part, section))
    return found


def _take(found: list[Piece], piece: Piece) -> None:
    """Add a piece, to the last one where both are short and stand under the same heading."""
    last = found[-1] if found else None
    if last and last.section == piece.section and len(last.text) + len(piece.text) <= _FULL:
        found[-1] = last._replace(text=f"{last.text}\n\n{piece.text}")
    else:
        found.append(piece)


def _parts(paragraph: str) -> Iterator[str]:
    """A paragraph, or its parts where it is too long."""
    if len(paragraph) <= _LONGEST:
        if paragraph:
            yield paragraph
        return
    header = _table_header(paragraph)
    body = paragraph[len(header) :]
    for part in _filled(_SENTENCE_END.split(body) if not header else body.split("\n"), "\n" if header else " "):
        yield f"{header}{part}"


def _filled(bits: list[str], joint: str) -> Iterator[str]:
    """Sentences or rows put together up to the length of a piece; one that is longer by itself is cut."""
    held = ""
    for bit in (cut for whole in bits for cut in _cut(whole.strip())):
        if held and len(held) + len(bit) > _FULL:
            yield held
            held = ""
        held = f"{held}{joint}{bit}" if held else bit
    if held:
        yield held


def _cut(bit: str) -> Iterator[str]:
    for at in range(0, len(bit), _LONGEST):
        yield bit[at : at + _LONGEST]


def _table_header(paragraph: str) -> str:
    """The first two lines of a Markdown table; empty for other text."""
    lines = paragraph.split("\n", 2)
    is_table = len(lines) > 2 and lines[0].startswith("|") and "-" in lines[1] and bool(_RULE.fullmatch(lines[1]))
    header = f"{lines[0]}\n{lines[1]}\n" if is_table else ""
    return header if len(header) < _FULL else ""
