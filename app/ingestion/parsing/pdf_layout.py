"""From lines to paragraphs, headings and list items; from pages to one text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple

from app.ingestion.parsing.pdf_page import HYPHEN, Line, Table

LEGAL = re.compile(
    r"\s*(?:(?:điều|article)\s+\d+\s*[.:]|(?:phần|chương|mục|part|chapter|section)\s+(?:\d+|[IVXLC]+)\b(?!\s+[a-zà-ỹđ]))",
    re.I,
)
ITEM = re.compile(r"([-–•▪◦●○*‣■□➢✓]|\d{1,3}[.)]|[a-zđ][.)])\s+(?=\S)", re.I)
_BULLETS = "–•▪◦●○*‣■□➢✓"
_SENTENCE_END = re.compile(r"[.!?:;…][\"”’»)\]]*$")
_LEADERS = re.compile(r"\.{5,}\s*\d+\s*$")
_PAGE_NUMBER = re.compile(r"[-–|\s]*(?:page|trang|p\.)?\s*#\s*(?:(?:/|of|trên|tổng số)\s*#)?[-–|\s]*", re.I)
_LARGER, _SHORT, _FULL, _WIDE_GAP = 1.12, 0.7, 0.93, 1.6
_WINDOW = 15
_SPARSE, _NOT_SPARSE_CHARS = 0.6, 15
"""Width of a character in heights of its line: 0.3–0.5 in running text, 0.57 in that of a typewriter."""
_MAX_HEADING_CHARS, _MAX_HEADING_LINES = 200, 3
_MIN_PAGES_TO_REPEAT = 4
_SAME_HEIGHT = 6.0


class Block(NamedTuple):
    """A piece of a page."""

    kind: Literal["heading", "paragraph", "item", "table"]
    text: str = ""
    level: int = 0
    mark: str = ""
    table: Table | None = None
    is_open: bool = False
    """Whether the paragraph may go on on the next page."""


class Sizes(NamedTuple):
    """How the running text of a document is set, and its headings."""

    body: float
    headings: tuple[float, ...]
    """Sizes of headings from the largest down."""
    has_bold_headings: bool

    def level(self, line: Line) -> int:
        """Level of a heading by its size; 0 for running text."""
        if line.size < self.body * _LARGER or len(line.text) > _MAX_HEADING_CHARS or not _has_words(line.text):
            return 0
        return next((at for at, size in enumerate(self.headings, 1) if line.size >= size * 0.97), 0)


def sizes_of(pages: Iterable[Sequence[Line]]) -> Sizes:
    """Measure all lines of a document: the size most characters have is that of running text."""
    weights: Counter[float] = Counter()
    bold = total = 0
    for line in (line for page in pages for line in page):
        weights[round(line.size * 2) / 2] += len(line.text)
        total += 1
        bold += line.is_bold
    body = max(weights, key=lambda size: weights[size], default=0.0)
    larger = sorted((size for size in weights if size >= body * _LARGER), reverse=True)
    headings: list[float] = []
    for size in larger:
        if not headings or size < headings[-1] * 0.94:
            headings.append(size)
    return Sizes(body, tuple(headings[:4]), 0 < bold * 4 < total)


def without_repeated(pages: list[list[Line]]) -> list[list[Line]]:
    """Running headers and footers only where they stand first, page numbers nowhere."""
    seen: Counter[tuple[str, int]] = Counter()
    edges = [_edge_lines(page) for page in pages]
    for page in edges:
        seen.update({_place(line) for line in page})
    often = max(_MIN_PAGES_TO_REPEAT, len(pages) * 0.6)
    kept_once: set[tuple[str, int]] = set()
    kept = []
    for page, edge in zip(pages, edges, strict=True):
        dropped = {line.first for line in edge if _is_dropped(line, seen, often, len(pages), kept_once)}
        kept.append([line for line in page if line.first not in dropped])
    return kept


def blocks_of(
    lines: Sequence[Line], tables: Sequence[Table], sizes: Sizes, outline: Mapping[str, int]
) -> Iterator[Block]:
    """The blocks of one page in reading order; a table stands where its first line stood."""
    written: set[int] = set()
    group: list[Line] = []
    setting = _Setting(lines, sizes, outline)
    for line in lines:
        at = next((at for at, table in enumerate(tables) if _inside(line, table)), None)
        if at is None and group and not setting.parts(group[-1], line):
            group.append(line)
            continue
        yield from _block(group, sizes, outline)
        group = [line] if at is None else []
        if at is not None and at not in written:
            written.add(at)
            yield Block("table", table=tables[at])
    yield from _block(group, sizes, outline)


def key(text: str) -> str:
    """A heading as it is compared with the outline."""
    return "".join(filter(str.isalnum, text)).casefold()


def join_lines(texts: Sequence[str]) -> str:
    """Lines as one text. A word broken at a line's end is whole again; compounds keep their hyphen."""
    text = " ".join(texts)
    if HYPHEN not in text:
        return text
    plain = text.replace(HYPHEN, "")

    def mend(match: re.Match[str]) -> str:
        left, right = match[1], match[2]
        is_compound = f"{left}-{right}" in plain or not right[:1].islower() or left[-1:].isdigit()
        return f"{left}-{right}" if is_compound else left + right

    return re.sub(f"(\\w*){HYPHEN}\\s*(\\w*)", mend, text)


def _block(group: list[Line], sizes: Sizes, outline: Mapping[str, int]) -> Iterator[Block]:
    if not group:
        return
    text = join_lines([line.text for line in group])
    level = _level(group, text, sizes, outline)
    item = ITEM.match(text)
    if level:
        yield Block("heading", text, level)
    elif item:
        mark = "-" if item[1] in _BULLETS else item[1]
        yield Block("item", text[item.end() :], mark=mark, is_open=not _SENTENCE_END.search(text))
    else:
        yield Block("paragraph", text, is_open=not _SENTENCE_END.search(text) and not LEGAL.match(text))


def _level(group: list[Line], text: str, sizes: Sizes, outline: Mapping[str, int]) -> int:
    """Level of the heading that a group of lines is; 0 when it is none."""
    if len(group) > _MAX_HEADING_LINES or len(text) > _MAX_HEADING_CHARS:
        return 0
    if found := outline.get(key(text)):
        return found
    if level := sizes.level(group[0]):
        return level
    is_set_apart = sizes.has_bold_headings and not outline and all(line.is_bold for line in group)
    if not is_set_apart or LEGAL.match(text) or not _has_words(text) or text.endswith((".", ",", ";", ":")):
        return 0
    return min(len(sizes.headings) + 1, 5)


class _Setting:
    """How the lines of one page are set: where its paragraphs break."""

    def __init__(self, lines: Sequence[Line], sizes: Sizes, outline: Mapping[str, int]):
        self._sizes = sizes
        self._outline = outline
        self._gap = _usual_gap(lines)
        self._short = {line.first for at, line in enumerate(lines) if _is_short(line, _around(lines, at))}

    def parts(self, last: Line, line: Line) -> bool:
        """Whether `line` begins something new after `last`."""
        if LEGAL.match(line.text) or ITEM.match(line.text) or _LEADERS.search(last.text):
            return True
        if LEGAL.match(last.text) and _starts(line):
            return True
        if self._is_in_outline(last) != self._is_in_outline(line) or _is_sparse(last) or _is_sparse(line):
            return True
        if line.is_bold != last.is_bold or abs(line.size - last.size) > last.size * 0.1:
            is_heading = self._sizes.level(last) != self._sizes.level(line)
            return is_heading or _starts(line) or last.first in self._short
        if line.box.bottom > last.box.top:  # the top of the next column
            return last.first in self._short
        if last.box.bottom - line.box.top > max(self._gap, 0) * _WIDE_GAP + last.size * 0.25:
            return True
        return last.first in self._short or _is_indented(line, last)

    def _is_in_outline(self, line: Line) -> bool:
        return key(line.text) in self._outline


def _around(lines: Sequence[Line], at: int) -> list[Line]:
    """Lines nearby that begin about where this one does: its column."""
    here = lines[at]
    near = lines[max(0, at - _WINDOW) : at + _WINDOW]
    return [one for one in near if abs(one.box.left - here.box.left) <= 3 * here.size]


def _is_short(line: Line, column: Sequence[Line]) -> bool:
    """Whether a line stops well before the margin of its column."""
    left, right = min(one.box.left for one in column), max(one.box.right for one in column)
    filled = (line.box.right - left) / max(right - left, 1)
    return filled < (_FULL if _SENTENCE_END.search(line.text) else _SHORT)


def _is_sparse(line: Line) -> bool:
    """Whether there are wide gaps in the line, as between the columns of a table without lines."""
    wide = (line.box.right - line.box.left) / max(line.size, 1)
    return len(line.text) > _NOT_SPARSE_CHARS and wide > _SPARSE * len(line.text)


def _is_indented(line: Line, last: Line) -> bool:
    indent = line.box.left - last.box.left
    return line.size * 0.8 < indent < line.size * 5 and bool(_SENTENCE_END.search(last.text)) and _starts(line)


def _starts(line: Line) -> bool:
    first = next(filter(str.isalnum, line.text), "")
    return first.isupper() or first.isdigit()


def _usual_gap(lines: Sequence[Line]) -> float:
    """Points between two lines of a paragraph."""
    gaps = [above.box.bottom - below.box.top for above, below in pairwise(lines) if above.box.bottom > below.box.bottom]
    near = [gap for gap in gaps if gap < 2 * lines[0].size] if lines else []
    return median(near) if near else 0.0


def _inside(line: Line, table: Table) -> bool:
    return table.box.holds(
        (line.box.left + min(line.box.right, table.box.right)) / 2, (line.box.bottom + line.box.top) / 2
    )


def _has_words(text: str) -> bool:
    return sum(map(str.isalpha, text)) * 2 >= len(text.replace(" ", "")) and any(map(str.isalpha, text))


def _edge_lines(page: list[Line]) -> list[Line]:
    by_height = sorted(page, key=lambda line: -line.box.top)
    return by_height[:2] + by_height[2:][-2:]


def _place(line: Line) -> tuple[str, int]:
    """What a line says, numbers aside, and where on the page."""
    return re.sub(r"\d+", "#", line.text).casefold(), round(line.box.top / _SAME_HEIGHT)


def _is_dropped(
    line: Line, seen: Counter[tuple[str, int]], often: float, pages: int, kept_once: set[tuple[str, int]]
) -> bool:
    place = _place(line)
    if pages > 1 and _PAGE_NUMBER.fullmatch(place[0]):
        return True
    if seen[place] < often:
        return False
    was_kept = place in kept_once
    kept_once.add(place)
    return was_kept
