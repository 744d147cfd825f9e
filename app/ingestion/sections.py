"""Where a Markdown or plain text may be cut: its headings and its tables, as places in the text.

Paragraphs, lists and sentences are left to the splitter. Only a short line can be a heading, so a line of any
length costs no more than its length.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, chain, pairwise
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
_TABLE = re.compile(
    r"^(?P<head>[^\n|]*+\|[^\n]*+\n(?=[^\n]*-)(?=[^\n]*\|)[|:\- \t]++(?:\n|\Z))(?:[^\n|]*+\|[^\n]*+(?:\n|\Z))*+",
    re.MULTILINE,
)
"""A row, the rule below it, and the rows below that."""


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
    for found in _TABLE.finditer(text, start, end):
        yield Table(found.start(), found.end("head"), found.end() - found[0].endswith("\n"))


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


def _headings(text: str) -> Iterator[_Found]:
    opens, fence, after = True, "", 0
    lines = text.split("\n")
    starts = accumulate((len(line) + 1 for line in lines), initial=0)
    for (start, line), (behind, following) in pairwise([*zip(starts, lines, strict=False), (len(text), "")]):
        if start < after:
            continue
        if not line.strip():
            opens = True
            continue
        mark = _FENCE.match(line[:_LONGEST_LINE])
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        found = None if fence or len(line) > _LONGEST_LINE else _heading(line, following, opens=opens)
        if found and LETTER.search(found[1]):
            level, name, is_underlined = found
            after = min(behind + (len(following) if is_underlined else 0), len(text))
            yield _Found(level, name, start, after)
        opens = bool(found)


def _heading(line: str, following: str, *, opens: bool) -> tuple[int, str, bool] | None:
    """Level and name of the heading a line is, and whether the line below underlines it. `opens`: it begins a
    paragraph."""
    if match := _HEADING.match(line):
        return len(match[1]), _plain(match[2]), False
    if not opens or "|" in line or _ITEM.match(line):
        return None
    if underline := _UNDERLINE.match(following[: _LONGEST_LINE + 1]):
        return 1 if underline[1][0] == "=" else 2, _plain(line), True
    if bold := _BOLD_LINE.match(line):
        return 6, _plain(bold[1]), False
    legal = _LEGAL_HEADING.match(line)
    if legal and not following.strip() and not line.rstrip().endswith((".", ";", ",")):
        return 2 + next(at for at in range(3) if legal[at + 1]), _plain(line), False
    return None


def _plain(heading: str) -> str:
    return " ".join(heading.strip(" #*_").split())
