"""Cutting a document into chunks: along its headings, sized in tokens of the model that embeds them.

What is too long under one heading is cut by semantic-text-splitter: between paragraphs where possible, else between
lines, sentences, words. A chunk is one literal span of the document; a piece of a cut table has the table's header in
front.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import ceil
from typing import NamedTuple

from semantic_text_splitter import TextSplitter

from app.domain.knowledge import ChunkDraft
from app.ingestion.sections import LETTER, WINDOW, Heading, Section, Table, read_sections, read_tables, windows
from app.text.language import clean

TokenCounter = Callable[[Sequence[str]], list[int]]
"""Length of each text in the embedding model's tokens, without special ones."""

PATH_SEPARATOR = " › "

_MODEL_TOKENS = 500
"""What the model reads of a passage (512) less its prefix and special tokens."""
_LEAST_ROOM = 64
"""Tokens a chunk may have however long its title and headings are."""
_WIDEST_GAP = 1000
"""Characters of headings and empty lines between two sections that may become one chunk."""
_WRAPPED = 60
"""Characters of a line that may have been ended by the width of the page."""

_LINE_END = re.compile(r"(?<![\n:;|])\n(?!\s|[-*+•–|#>`~]|\w{1,3}[.)]\s)")
"""Between two lines of which neither is empty, a list item, a table row or the like."""
_ANNOUNCED = re.compile(r":\n\n")


class Sizing(NamedTuple):
    """Sizes in tokens. The defaults did best of those that were measured."""

    most: int = 256
    """No chunk is larger."""
    small: int = 56
    """A smaller section is put together with its neighbour under the same parent heading."""
    tiny: int = 28
    """A smaller section is put together with its neighbour even if they have no heading in common."""
    together: int = 200
    """Sections grow together up to this."""
    overlap: int = 76
    """What a piece of a cut section may repeat of the piece before it: whole sentences, short lines and paragraphs."""


SIZING = Sizing()


def chunk(
    text: str, title: str = "", *, count_tokens: TokenCounter, pages: Sequence[int] = (), sizing: Sizing = SIZING
) -> tuple[ChunkDraft, ...]:
    """The chunks of a Markdown or plain text in order; none for a text without words. Same text, same chunks.

    `pages` are the places in `text` where page 1, 2, … begin; such a text must have been cleaned before. Takes CPU
    time in proportion to the text, whatever the text.
    """
    whole = text if pages else "".join(clean(text[start:end]) for start, end in windows(text, 0, len(text)))
    cutter = _Cutter(whole, title, _Words(count_tokens), sizing)
    parts = [part for section in read_sections(whole, title) for part in cutter.cut(section)]
    return tuple(
        ChunkDraft(
            position=position,
            section=PATH_SEPARATOR.join(heading.name for heading in part.path),
            text=cutter.text_of(part),
            page=max(1, bisect_right(pages, part.start)) if pages else None,
        )
        for position, part in enumerate(cutter.put_together(parts))
    )


class _Words(dict[str, int]):
    """Tokens of each word of a text, counted once: no token of the model spans two words."""

    def __init__(self, count_tokens: TokenCounter):
        self._count_tokens = count_tokens

    def __missing__(self, word: str) -> int:
        [self[word]] = self._count_tokens([word])
        return self[word]

    def tokens(self, text: str) -> int:
        """Count the tokens of a text; the splitter asks for four or so overlapping spans of every piece it cuts."""
        return sum([self[word] for word in text.split()])


class _Part(NamedTuple):
    """A span of the document on its way to be a chunk."""

    path: tuple[Heading, ...]
    start: int
    end: int
    tokens: int
    header: slice | None = None
    """The header of the table whose rows it has."""


@dataclass(frozen=True)
class _Cutter:
    text: str
    title: str
    words: _Words
    sizing: Sizing

    def text_of(self, part: _Part) -> str:
        """What the chunk says."""
        own = self.text[part.start : part.end]
        return f"{self.text[part.header].strip()}\n{own}" if part.header else own

    def cut(self, section: Section) -> Iterator[_Part]:
        """The section as one part if it fits; else in pieces, tables that do not fit apart."""
        path, start, end = section
        limit, tokens = self._room(path), self._tokens(start, end)
        if end - start <= WINDOW and tokens <= limit:
            yield from self._part(path, start, end, tokens)
            return
        for table in read_tables(self.text, start, end):
            if self._tokens(table.start, table.end) > limit:
                yield from self._pieces(path, start, table.start, limit)
                yield from self._rows(path, table, limit)
                start = table.end
        yield from self._pieces(path, start, end, limit)

    def put_together(self, parts: Sequence[_Part]) -> list[_Part]:
        """Join small parts to their neighbours."""
        joined: list[_Part] = []
        for part in parts:
            taken_until = joined[-2].end if len(joined) > 1 else 0
            both = self._join(joined[-1], part, taken_until) if joined else None
            if both:
                joined[-1] = both
            else:
                joined.append(part)
        return joined

    def _tokens(self, start: int, end: int) -> int:
        return sum(self.words.tokens(self.text[first:after]) for first, after in windows(self.text, start, end))

    def _room(self, path: tuple[Heading, ...]) -> int:
        """Tokens left for the text: title and headings are embedded with it."""
        names = [self.title, *(heading.name for heading in path)]
        return min(self.sizing.most, max(_LEAST_ROOM, _MODEL_TOKENS - sum(map(self.words.tokens, names))))

    def _part(self, path: tuple[Heading, ...], start: int, end: int, tokens: int) -> Iterator[_Part]:
        """The span without the white space around it; nothing if there is no word in it."""
        own = self.text[start:end]
        if LETTER.search(own):
            start += len(own) - len(own.lstrip())
            yield _Part(path, start, start + len(own.strip()), tokens)

    def _pieces(
        self, path: tuple[Heading, ...], start: int, end: int, limit: int, overlap: int | None = None
    ) -> Iterator[_Part]:
        """Parts of about equal size of at most `limit` tokens."""
        shared = min(self.sizing.overlap if overlap is None else overlap, limit // 2)
        for first, after in windows(self.text, start, end):
            window = self.text[first:after]
            tokens = max(1, self.words.tokens(window))
            parts = max(1, ceil((tokens - shared) / (limit - shared)))
            aim = ceil((tokens + (parts - 1) * shared) / parts)
            splitter = TextSplitter.from_callback(self.words.tokens, (aim, limit), min(shared, aim - 1))
            for offset, piece in splitter.chunk_indices(_as_blocks(window)):
                begin = first + offset
                yield from self._part(path, begin, begin + len(piece), self.words.tokens(piece))

    def _rows(self, path: tuple[Heading, ...], table: Table, limit: int) -> Iterator[_Part]:
        """A table cut between rows, its header in front of every piece; a header of half the size is text as any."""
        header = self._tokens(table.start, table.rows)
        rows = list(self._pieces(path, table.rows, table.end, limit - header, 0)) if header * 2 <= limit else []
        if not rows:
            yield from self._pieces(path, table.start, table.end, limit, 0)
        for part in rows:
            yield part._replace(header=slice(table.start, table.rows), tokens=part.tokens + header)

    def _join(self, first: _Part, second: _Part, taken_until: int) -> _Part | None:
        """One part under the headings both share, with the headings below in its text; None if they stay apart.

        The headings of `first` can be had only if they stand directly above it, after `taken_until`.
        """
        pairs = zip(first.path, second.path, strict=False)
        shared = tuple(heading for heading, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        small = self.sizing.small if shared else self.sizing.tiny
        if min(first.tokens, second.tokens) >= small or first.tokens + second.tokens > self.sizing.together:
            return None
        if second.header or len(shared) < max(len(first.path), len(second.path)) - 1:
            return None
        start = first.path[len(shared)].start if len(first.path) > len(shared) else first.start
        if start < taken_until or second.start - first.end > _WIDEST_GAP or second.end - start > WINDOW:
            return None
        beside = self.text[start : first.start], self.text[first.end : second.start]
        tokens = first.tokens + second.tokens + sum(map(self.words.tokens, beside))
        return _Part(shared, start, second.end, tokens, first.header) if tokens <= self.sizing.most else None


def _as_blocks(text: str) -> str:
    """The text, character for character, as the splitter should see it: line ends only between lines that stand alone,
    and no empty line between “the following cases:” and what follows."""

    def end(match: re.Match[str]) -> str:
        at = match.start()
        is_full = at >= _WRAPPED and "\n" not in text[at - _WRAPPED : at]
        return " " if is_full or text[at + 1 : at + 2].islower() else "\n"

    return _ANNOUNCED.sub(": \n", _LINE_END.sub(end, text))
