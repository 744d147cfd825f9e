"""Where a Markdown or plain text may be cut: its headings and its tables, as places in the text.

Paragraphs, lists and sentences are left to the splitter. Only a short line can be a heading, so a line of any
length costs no more than its length.
"""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

WINDOW = 20_000
"""Characters looked at in one call: splitters take quadratic time on a long line, and nothing may hold the interpreter
for long."""
LETTER = re.compile(r"[^\W_]")
"""A text without any says nothing."""

_LONGEST_LINE = 200
"""Characters; a longer line is text, however it is marked."""


class Heading(NamedTuple):
    """A heading and where its line begins."""

    name: str
    start: int


class Section(NamedTuple):
    """What stands directly under one heading: ``text[start:end]``."""

    path: tuple[Heading, ...]
    """From the outermost heading to this one; empty before the first."""
    start: int
    end: int


class Table(NamedTuple):
    """A table: its header row and the rule below are ``text[start:rows]``, the other rows ``text[rows:end]``."""

    start: int
    rows: int
    end: int


class _Line(NamedTuple):
    start: int
    end: int
    text: str


class _Found(NamedTuple):
    level: int
    name: str
    start: int
    end: int
    """Where the text under the heading begins."""


_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s*(?:\*\*|__)(.{1,100}?)(?:\*\*|__)\s*:?\s*$")
_LEGAL_HEADING = re.compile(
    r"^\s*(?:(phần|chương|part|chapter)|(mục|section)|(điều|article))\s+(?:\d+|[IVXLC]+)\b[^\n]{0,100}$", re.IGNORECASE
)
_UNDERLINE = re.compile(r"^ {0,3}(={2,}|-{2,})\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•–]|\d{1,3}[.)]|[a-zđ][.)])\s+\S", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(```|~~~)")
_LONG_RUN = re.compile(r"(?<![^\s。！？])[^\s。！？]{1000}")
"""Not written by a person: counting its tokens again at every place it might be cut would take long."""
_RULE_SIGNS = "|:- \t"


def read_sections(text: str, title: str = "") -> Iterator[Section]:
    """The sections of a document in order. A first-level heading that repeats `title` opens no section of its own.

    A heading with neither text nor headings under it is the text of a section under the heading above it.
    """
    path: list[tuple[int, Heading]] = []
    heading, start = None, 0
    for found in chain(_headings(text), [_Found(1, "", len(text), len(text))]):
        names = tuple(name for _, name in path)
        if any(LETTER.search(text[first:after]) for first, after in windows(text, start, found.start)):
            yield Section(names, start, found.start)
        elif heading and found.level <= path[-1][0]:
            yield Section(names[:-1], heading.start, found.start)
        path = [outer for outer in path if outer[0] < found.level]
        heading, start = None, found.end
        if found.level > 1 or found.name.casefold() != title.strip().casefold():
            heading = Heading(found.name, found.start)
            path.append((found.level, heading))


def read_tables(text: str, start: int, end: int) -> Iterator[Table]:
    """The tables of ``text[start:end]`` in order."""
    table: Table | None = None
    header: int | None = None
    for line in _lines(text, start, end):
        is_row = "|" in line.text
        if table and is_row:
            table = table._replace(end=line.end)
        elif table:
            yield table
            table = None
        elif header is not None and is_row and "-" in line.text and not line.text.strip(_RULE_SIGNS):
            table = Table(header, min(line.end + 1, end), line.end)
        header = line.start if is_row else None
    if table:
        yield table


def windows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `WINDOW` characters, ended by an empty line, else a line, else a word, else anywhere."""
    while start < end:
        window = text[start : min(end, start + WINDOW)]
        after = start + len(window)
        if run := _LONG_RUN.search(window):
            after = start + run.end()
        elif after < end:
            places = (window.rfind(mark, WINDOW // 2) for mark in ("\n\n", "\n", " "))
            after = start + next((place + 1 for place in places if place >= 0), WINDOW)
        yield start, after
        start = after


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    while start < end:
        found = text.find("\n", start, end)
        stop = end if found < 0 else found
        yield _Line(start, stop, text[start:stop])
        start = stop + 1


def _headings(text: str) -> Iterator[_Found]:
    opens, fence, after = True, "", 0
    for line, following in pairwise(chain(_lines(text, 0, len(text)), [_Line(len(text), len(text), "")])):
        if line.start < after:
            continue
        if not line.text.strip():
            opens = True
            continue
        mark = _FENCE.match(line.text[:_LONGEST_LINE])
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        found = None if fence or len(line.text) > _LONGEST_LINE else _heading(line, following, opens=opens)
        if found and LETTER.search(found.name):
            yield found
            after = found.end
        opens = bool(found)


def _heading(line: _Line, following: _Line, *, opens: bool) -> _Found | None:
    """The heading a line is. `opens` = it begins a paragraph."""
    if match := _HEADING.match(line.text):
        return _Found(len(match[1]), _plain(match[2]), line.start, following.start)
    if not opens or "|" in line.text or _ITEM.match(line.text):
        return None
    underline = _UNDERLINE.match(following.text) if len(following.text) <= _LONGEST_LINE else None
    if underline:
        return _Found(1 if underline[1][0] == "=" else 2, _plain(line.text), line.start, following.end)
    if bold := _BOLD_LINE.match(line.text):
        return _Found(6, _plain(bold[1]), line.start, following.start)
    legal = _LEGAL_HEADING.match(line.text)
    if legal and not following.text.strip() and not line.text.rstrip().endswith((".", ";", ",")):
        level = 2 + next(at for at in range(3) if legal[at + 1])
        return _Found(level, _plain(line.text), line.start, following.start)
    return None


def _plain(heading: str) -> str:
    return " ".join(heading.strip(" #*_").split())
