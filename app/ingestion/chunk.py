"""Cutting a document into chunks: along its headings, never inside a sentence, a list item or a table row."""

from collections.abc import Iterator
from itertools import takewhile
from math import ceil
from typing import NamedTuple

from app.domain.knowledge import ChunkDraft
from app.domain.language import clean
from app.ingestion.blocks import Block, Section, read_sections

MIN_WORDS, MAX_WORDS = 40, 180
"""A smaller section is put together with its neighbour; a larger one is cut. One sentence may exceed the limit.

Measured on the demonstration documents: larger chunks lose the first place to others more often, smaller ones are torn
from what they speak about.
"""
_JOINED_WORDS, _TINY_WORDS = 140, 20
"""Small sections grow together up to the first; those with no heading in common only if one is below the second."""
PATH_SEPARATOR = " › "


class _Part(NamedTuple):
    path: tuple[str, ...]
    text: str

    @property
    def words(self) -> int:
        return len(self.text.split())


def chunk(text: str, title: str = "") -> tuple[ChunkDraft, ...]:
    """The chunks of a Markdown or plain text in order; none for a text without words. Same text, same chunks."""
    parts = [part for section in read_sections(clean(text), title) for part in _cut(section)]
    return tuple(
        ChunkDraft(position=position, section=PATH_SEPARATOR.join(part.path), text=part.text)
        for position, part in enumerate(_put_together(parts))
    )


def _cut(section: Section) -> Iterator[_Part]:
    """Parts of at most `MAX_WORDS`, cut between blocks where possible, else between their pieces."""
    texts = [text for block in section.blocks for text in _split(block)]
    for group in _pack(texts, "\n\n"):
        yield _Part(section.path, group)


def _split(block: Block) -> list[str]:
    if _words(block.text) <= MAX_WORDS:
        return [block.text]
    room = MAX_WORDS - _words(block.lead)
    return [block.join(tuple(group)) for group in _groups(block.pieces, max(room, MIN_WORDS))]


def _pack(texts: list[str], glue: str) -> list[str]:
    return [glue.join(group) for group in _groups(texts, MAX_WORDS)]


def _groups(texts: list[str] | tuple[str, ...], limit: int) -> Iterator[list[str]]:
    """Neighbours together up to `limit` words, in groups of about equal size."""
    total = sum(map(_words, texts))
    aim = total / max(1, ceil(total / limit))
    group: list[str] = []
    filled = 0
    for text in texts:
        size = _words(text)
        if group and (filled + size > limit or filled >= aim):
            yield group
            group, filled = [], 0
        group.append(text)
        filled += size
    if group:
        yield group


def _put_together(parts: list[_Part]) -> list[_Part]:
    """Join a small part to its neighbour under the same parent heading."""
    joined: list[_Part] = []
    for part in parts:
        if joined and _belong(joined[-1], part):
            joined[-1] = _join(joined[-1], part)
        else:
            joined.append(part)
    return joined


def _belong(first: _Part, second: _Part) -> bool:
    shared = _shared(first, second)
    small = MIN_WORDS if shared else _TINY_WORDS
    is_small = min(first.words, second.words) < small and first.words + second.words <= _JOINED_WORDS
    return is_small and len(shared) >= max(len(first.path), len(second.path)) - 1


def _join(first: _Part, second: _Part) -> _Part:
    """One part under the shared heading; the headings below it become lines of the text."""
    shared = len(_shared(first, second))
    texts = [*first.path[shared:], first.text, *second.path[shared:], second.text]
    return _Part(first.path[:shared], "\n\n".join(texts))


def _shared(first: _Part, second: _Part) -> tuple[str, ...]:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first.path, second.path, strict=False))
    return tuple(heading for heading, _ in same)


def _words(text: str) -> int:
    return len(text.split())
