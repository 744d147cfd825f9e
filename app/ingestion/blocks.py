"""Markdown or plain text, read as headings and blocks: what may be cut where.

Only structure matters here (headings, paragraphs, lists, tables, code); emphasis and links stay as they are written.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple


class Block(NamedTuple):
    """A run of text under one heading, as pieces that are never cut themselves."""

    pieces: tuple[str, ...]
    """Sentences of a paragraph, items of a list, rows of a table, lines of code."""
    glue: str
    """What stands between two pieces: a space for sentences, a line end for the rest."""
    lead: str = ""
    """Repeated in front when the block has to be split: a table's header row, a list's introducing line."""

    @property
    def text(self) -> str:
        """The whole block."""
        return self.join(self.pieces)

    def join(self, pieces: tuple[str, ...]) -> str:
        """Some of the pieces as text, with the lead."""
        body = self.glue.join(pieces)
        return f"{self.lead}\n{body}" if self.lead else body


class Section(NamedTuple):
    """The blocks directly under one heading."""

    path: tuple[str, ...]
    """Headings from the outermost to this one; empty before the first."""
    blocks: tuple[Block, ...]


_HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BOLD_LINE = re.compile(r"^\s*(?:\*\*|__)(.{1,100}?)(?:\*\*|__)\s*:?\s*$")
_LEGAL_HEADING = re.compile(
    r"^\s*(?:(phần|chương|part|chapter)|(mục|section)|(điều|article))\s+(?:\d+|[IVXLC]+)\b[^\n]{0,100}$", re.IGNORECASE
)
_UNDERLINE = re.compile(r"^ {0,3}(={2,}|-{2,})\s*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+•–]|\d{1,3}[.)]|[a-zđ][.)])\s+\S", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(```|~~~)")
_RULE = re.compile(r"^ {0,3}([-*_])(?:\s*\1){2,}\s*$")
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*$")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’»)\]*_]*\s+(?=[\"“‘«(\[*_]*[^\W\d_a-zà-ỹđ]|\d|[-–•])")
_NOT_AN_END = re.compile(
    r"(?:^|[\s(])(?:[A-ZĐ]|TP|Tp|TS|ThS|PGS|GS|BS|KS|Mr|Mrs|Ms|Dr|Prof|St|No|Nr|vs|e\.g|i\.e|cf|approx|tr|đ|"
    r"Điều|Khoản|Mục|Art|Sec|(?:^|\s)\d{1,2})\.$"
)


def read_sections(text: str, title: str = "") -> tuple[Section, ...]:
    """The sections of a document in order. A first-level heading that repeats `title` opens no section of its own."""
    path: list[tuple[int, str]] = []
    sections: list[Section] = []
    parts = list(_by_heading(text.split("\n")))
    for (heading, body), (following, _) in zip(parts, [*parts[1:], (None, [])], strict=True):
        level, name = heading or (0, "")
        path = [outer for outer in path if outer[0] < level]
        if name and (level > 1 or name.casefold() != title.strip().casefold()):
            path.append((level, name))
        names = tuple(outer for _, outer in path)
        if blocks := tuple(_blocks(body)):
            sections.append(Section(names, blocks))
        elif names and (following is None or following[0] <= level):
            # A heading with nothing under it is all there is of its section.
            sections.append(Section(names[:-1], (Block(names[-1:], " "),)))
    return tuple(sections)


def sentences(paragraph: str) -> tuple[str, ...]:
    """The sentences of one paragraph, in order; abbreviations and initials do not end one."""
    found: list[str] = []
    for part in _SENTENCE_END.split(" ".join(paragraph.split())):
        if found and _NOT_AN_END.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part:
            found.append(part)
    return tuple(found)


def _by_heading(lines: list[str]) -> Iterator[tuple[tuple[int, str] | None, list[str]]]:
    heading: tuple[int, str] | None = None
    body: list[str] = []
    fence = ""
    skip = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if skip:
            skip = False
            continue
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        found = None if fence else _heading(line, following, body)
        if found:
            yield heading, body
            heading, body = (found[0], found[1]), []
            skip = found[2]
        else:
            body.append(line)
    yield heading, body


def _heading(line: str, following: str, before: list[str]) -> tuple[int, str, bool] | None:
    """(level, text, whether the next line belongs to it) when `line` is a heading."""
    if match := _HEADING.match(line):
        return len(match[1]), _plain(match[2]), False
    opens = not before or not before[-1].strip()
    if not opens or not line.strip() or "|" in line or _ITEM.match(line):
        return None
    if underline := _UNDERLINE.match(following):
        return 1 if underline[1][0] == "=" else 2, _plain(line), True
    if bold := _BOLD_LINE.match(line):
        return 6, _plain(bold[1]), False
    legal = _LEGAL_HEADING.match(line)
    if legal and not following.strip() and not line.rstrip().endswith((".", ";", ",")):
        return 2 + next(at for at in range(3) if legal[at + 1]), _plain(line), False
    return None


def _plain(heading: str) -> str:
    return " ".join(heading.strip(" #*_").split())


def _blocks(lines: list[str]) -> Iterator[Block]:
    at = 0
    lead = ""
    while at < len(lines):
        if not lines[at].strip() or _RULE.match(lines[at]):
            at += 1
            continue
        taken, block = _next_block(lines, at)
        at += taken
        # "The following cases:" belongs to the list or table after it, in every piece of it.
        if lead:
            block = block._replace(lead=f"{lead}\n{block.lead}".strip()) if block.glue == "\n" else block
            if block.glue == " ":
                yield Block((lead,), " ")
            lead = ""
        if block.glue == " " and block.pieces[-1].endswith(":") and any(line.strip() for line in lines[at:]):
            lead, rest = block.pieces[-1], block.pieces[:-1]
            if rest:
                yield block._replace(pieces=rest)
        else:
            yield block
    if lead:
        yield Block((lead,), " ")


def _next_block(lines: list[str], at: int) -> tuple[int, Block]:
    """(lines taken, block) starting at the non-empty line `at`."""
    if fence := _FENCE.match(lines[at]):
        inside = list(takewhile(lambda line: not line.strip().startswith(fence[1]), lines[at + 1 :]))
        code = [lines[at], *inside, *lines[at + 1 + len(inside) : at + 2 + len(inside)]]
        return len(code), Block(tuple(code), "\n")
    if _is_table(lines, at):
        rows = [line.strip() for line in takewhile(lambda line: "|" in line, lines[at:])]
        return len(rows), Block(tuple(rows[2:]), "\n", "\n".join(rows[:2]))
    if _ITEM.match(lines[at]):
        return _list(lines, at)
    paragraph = [lines[at]]
    for offset, line in enumerate(lines[at + 1 :], at + 1):
        if not line.strip() or _ITEM.match(line) or _FENCE.match(line) or _is_table(lines, offset):
            break
        paragraph.append(line)
    return len(paragraph), Block(sentences(" ".join(paragraph)), " ")


def _is_table(lines: list[str], at: int) -> bool:
    has_rows = at + 2 < len(lines) and "|" in lines[at] and "|" in lines[at + 2]
    return has_rows and "-" in lines[at + 1] and bool(_TABLE_RULE.match(lines[at + 1]))


def _list(lines: list[str], at: int) -> tuple[int, Block]:
    """Items of the outermost level; what is indented under an item belongs to it."""
    first = _ITEM.match(lines[at])
    indent = len(first[1]) if first else 0
    items: list[list[str]] = []
    taken = 0
    for line, following in zip(lines[at:], [*lines[at + 1 :], ""], strict=True):
        item = _ITEM.match(line)
        if item and len(item[1]) <= indent:
            items.append([line.strip()])
        elif item or (line.strip() and not _is_table(lines, at + taken)):
            items[-1].append(line.rstrip())
        elif line.strip() or not (_ITEM.match(following) or following.startswith("  ")):
            break
        taken += 1
    return taken, Block(tuple("\n".join(item) for item in items), "\n")
