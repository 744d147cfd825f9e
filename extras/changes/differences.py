"""Two versions of a text laid side by side: what each states that the other does not, in pairs where one took the
other's place."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import Literal

from app.claims.record import Claim, dice_of, opposes, subject_words
from app.claims.sentences import Said, read_sentences
from app.domain.knowledge import Language
from app.text.language import words

_HEADING_LINE = re.compile(r"(?P<level>#{1,6})\s+(?P<text>.+?)\s*#*$")
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
        if heading := _HEADING_LINE.fullmatch(line):
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


Kind = Literal["value", "wording", "added", "removed"]
_LEAST_LIKE, _LEAST_LIKE_BELOW_ONE = 0.42, 0.3
"""Least likeness of two statements that are one matter put anew: anywhere, and below one heading."""
_ONE_HEADING = 0.5
_ROW_AND_PROSE = 0.6
"""And of a row of a table and a sentence."""
_HEADING, _UNIT, _NEAR = 0.3, 0.15, 0.1
"""What the same heading, a value of the same kind and the same place in the text add to likeness among candidates."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A statement that was put differently, came or went."""

    old: Statement | None
    new: Statement | None
    kind: Kind
    """``value``: an amount, day, place or permission changed, not only the words."""
    likeness: float = 0.0
    """How far the two sides name the same, 0–1; 0 where there is one."""

    @property
    def place(self) -> int:
        """Where it stands, by the newer text."""
        side = self.new or self.old
        return side.place if side else 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts after they were laid side by side."""

    differences: tuple[Difference, ...]
    """In the order of the newer text; what left it comes last."""
    kept: tuple[Statement, ...]
    """What both state, as the newer one does."""


def compared(old: str, new: str, language: Language | None = None) -> Comparison:
    """What two texts state differently, and what both state. CPU only; some tenths of a second for long ones."""
    before, now = statements_of(old, language), statements_of(new, language)
    known_before, known_now = {s.key for s in before}, {s.key for s in now}
    gone = [statement for statement in before if statement.key not in known_now]
    come = [statement for statement in now if statement.key not in known_before]
    pairs = _pairs(gone, come, _rarity([*before, *now]), max(len(before), len(now), 1))
    told = [Difference(one, other, _kind(one, other), like) for one, other, like in pairs]
    paired_old, paired_new = {one.place for one, _, _ in pairs}, {other.place for _, other, _ in pairs}
    told += [Difference(None, statement, "added") for statement in come if statement.place not in paired_new]
    told.sort(key=lambda difference: difference.place)
    told += [Difference(statement, None, "removed") for statement in gone if statement.place not in paired_old]
    return Comparison(tuple(told), tuple(statement for statement in now if statement.key in known_before))


def _rarity(statements: Sequence[Statement]) -> dict[str, float]:
    """What a word tells of a statement of these texts: one that stands in many tells little."""
    counts = Counter(word for statement in statements for word in statement.said.subject)
    return {word: 1 / math.sqrt(count) for word, count in counts.items()}


def _pairs(
    gone: Sequence[Statement], come: Sequence[Statement], weights: Mapping[str, float], length: int
) -> list[tuple[Statement, Statement, float]]:
    """Each statement with the one that took its place, and how like they are: the likest first, each side once."""
    scored = [
        (_rank(one, other, like, length), like, one, other)
        for one, other in product(gone, come)
        if one.said.subject & other.said.subject and (like := _like(one, other, weights)) >= _least_like(one, other)
    ]
    pairs: list[tuple[Statement, Statement, float]] = []
    taken: set[tuple[str, int]] = set()
    for _, like, one, other in sorted(scored, key=lambda found: (-found[0], found[2].place, found[3].place)):
        if taken.isdisjoint(places := {("old", one.place), ("new", other.place)}):
            taken |= places
            pairs.append((one, other, like))
    return pairs


def _like(one: Statement, other: Statement, weights: Mapping[str, float]) -> float:
    """The share of weight two statements have in common."""
    mine, theirs = one.said.subject, other.said.subject
    return 2 * sum(weights[word] for word in mine & theirs) / sum(weights[word] for word in (*mine, *theirs))


def _least_like(one: Statement, other: Statement) -> float:
    """How like two statements must be to be one matter."""
    if one.is_row != other.is_row:
        return _ROW_AND_PROSE
    return _LEAST_LIKE_BELOW_ONE if dice_of(one.about, other.about) >= _ONE_HEADING else _LEAST_LIKE


def _rank(one: Statement, other: Statement, like: float, length: int) -> float:
    """What candidates are ranked by."""
    units = bool({claim.unit for claim in one.said.claims} & {claim.unit for claim in other.said.claims})
    near = 1 - abs(one.place - other.place) / length
    return like + _HEADING * dice_of(one.about, other.about) + (_UNIT if units else 0.0) + _NEAR * near


def _kind(one: Statement, other: Statement) -> Literal["value", "wording"]:
    """Whether some kind of value both give has other values, or only the words differ."""
    mine, theirs = _values(one.said.claims), _values(other.said.claims)
    differ = any(mine[unit] != theirs[unit] for unit in mine.keys() & theirs.keys())
    return "value" if differ or opposes(one.said.polarity, other.said.polarity) else "wording"


def _values(claims: Sequence[Claim]) -> dict[str, set[object]]:
    values: dict[str, set[object]] = defaultdict(set)
    for claim in claims:
        values[claim.unit].update(claim.values)
    return values
