"""A text as single statements: sentences, items and rows, each with what it stands under and as it stands there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from app.claims.record import subject_words
from app.claims.sentences import Said, read_sentences
from app.domain.knowledge import Language
from app.text.language import words

_HEADING = re.compile(r"(?P<level>#{1,6})\s+(?P<text>.+?)\s*#*$")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_MARK = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")
_NUMBERING = re.compile(
    r"^(?:điều|chương|mục|section|article|part)\s+[\dIVXLC]+[.:]?\s*|^[\d.]+[.)]?\s+", re.IGNORECASE
)
_OF_THE_DOCUMENT = re.compile(
    r"ban hành|(?:có|hết) hiệu lực|thay thế (?:chính sách|quy định|bản|thông báo)|áp dụng (?:từ ngày|cho)"
    r"|\bsupersedes\b|\breplaces\b|\b(?:takes? effect|effective from|in force|issued|applies to)\b",
    re.IGNORECASE,
)
"""What an introduction says of the document itself; the days are told beside its title."""
_EXAMPLE = re.compile(r"\bví dụ\b|\bfor example\b|\bexample:|\bworked examples?\b|\be\.g\.", re.IGNORECASE)
"""What follows on the line holds for that case only."""
_LEAST_WORDS = 3
_MOST = 400
"""Statements of a text; more stand only in books, which are compared by their beginning."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a text."""

    place: int
    """0-based order in the text."""
    text: str
    """As people read it: a row as ``Dưới 3 năm: 14 ngày``."""
    literal: str
    """As it stands in the text."""
    heading: str
    """The headings above it without their numbers, ``Số ngày phép › Nhân viên mới``."""
    said: Said
    about: frozenset[str]
    """Folded content words of its headings."""

    @property
    def key(self) -> tuple[str, ...]:
        """Its words: equal for the same statement in another layout."""
        return self.said.key

    @property
    def is_row(self) -> bool:
        """Whether it is a row of a table."""
        return self.literal.startswith("|")


def statements_of(text: str, language: Language | None = None) -> list[Statement]:
    """The statements of a Markdown or plain text, in order; worked examples and what the document says of itself in
    front of its first heading apart."""
    found: list[Statement] = []
    for heading, literal, read in _pieces(text):
        if len(found) >= _MOST:
            break
        if _EXAMPLE.search(heading):
            continue
        sentences = read_sentences(read, heading, language)
        if sentences and len(words(literal)) >= _LEAST_WORDS and not literal.endswith(":"):
            said = sentences[0]
            found.append(Statement(len(found), said.text, literal, heading, said, subject_words(heading)))
    return found


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """(headings, literal statement, how it is read: a row with its table's head)."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    path: dict[int, str] = {}
    head = ""
    for line, following in zip_longest(lines, lines[1:], fillvalue=""):
        if heading := _HEADING.fullmatch(line):
            level = len(heading["level"])
            path = {depth: name for depth, name in path.items() if depth < level}
            path[level] = _NUMBERING.sub("", heading["text"])
            head = ""
        elif line.startswith("|"):
            if _RULE.fullmatch(following) and not _RULE.fullmatch(line):
                head = line
            elif not _RULE.fullmatch(line):
                yield _path(path), line, f"{head}\n|---|\n{line}" if head else line
        else:
            head = ""
            is_introduction = max(path, default=0) <= 1
            for piece in _sentences(line):
                if _EXAMPLE.search(piece):
                    break
                if not (is_introduction and _OF_THE_DOCUMENT.search(piece)):
                    yield _path(path), piece, piece


def _sentences(line: str) -> list[str]:
    mark = _MARK.match(line)
    return _SENTENCE_END.split(line[mark.end() :] if mark else line)


def _path(path: dict[int, str]) -> str:
    """The headings below the title."""
    return " › ".join(name for level, name in sorted(path.items()) if level > 1)
