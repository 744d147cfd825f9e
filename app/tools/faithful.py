"""What a summary may say: every number and every "not" of it stands so in its sources, and what limits a statement
goes with it.

A summary is taken apart into statements, each held against the sentence of the sources it tells. One that states
another number, or is negated otherwise, is replaced by that sentence as it stands; so is one that leaves out the
"however" or "except" behind it. The figures of the surest findings are put back where they were lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from app.domain.record import Record
from app.domain.tokens import estimated_tokens
from app.text.language import content_words, fold, normalise, words
from app.text.numbers import all_readings, read_number

_END = re.compile(r"(?<=[^\s\d][.!?…])\s+(?=[^\s\w]*[A-ZĐÀ-Ỹ\d])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,2}[.)]|[a-zđ]\))\s+")
_FIGURE = re.compile(
    r"\d+(?:[.,]\d+)*(?:\s?(?:nghìn|ngàn|triệu|tỷ|tỉ|thousand|million|billion)\b)?(?:\s?%)?", re.IGNORECASE
)
_NEGATED = re.compile(
    r"\b(?:không(?!\s(?:gian|khí|quân|lưu))|khong|chưa|chẳng|chả|đừng|cấm|miễn|vô hiệu|từ chối|hết hạn"
    r"|not|no|never|none|nobody|nothing|neither|nor|cannot|without|prohibited|forbidden|banned|refused|denied)\b|n['’]t\b",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:ngoại trừ|trừ|ngoài|loại trừ|chỉ|except|excluding|unless|only|other than|apart from)\b", re.IGNORECASE
)
_TURNS = re.compile(
    r"^(?:tuy nhiên|tuy vậy|nhưng|song|ngoại trừ|trừ|riêng|mặt khác|ngược lại|điều này không|quy định này không"
    r"|however|but|except|unless|this does not|these do not|it does not|that does not|nevertheless|only)\b",
    re.IGNORECASE,
)
_TELLS, _LIKE = 0.6, 0.3
"""Share of a statement's words its sentence must hold to be what it tells, or at least to stand in for it."""
_FEW_WORDS = 2
_MOST_SENTENCES = 4_000


class Statement(Record):
    """One statement of a summary and where it comes from."""

    text: str
    sources: tuple[int, ...]
    """Positions of the sources that hold it."""


class Faithful(Record):
    """A summary that was held against its sources."""

    text: str
    statements: tuple[Statement, ...]
    replaced: int = 0
    """Statements that said something else than their sources."""
    restored: int = 0
    """Sentences put back: figures that were lost, and limits of what is said."""
    left_out: int = 0
    """Statements no source holds, or no room was left for."""

    @property
    def sources(self) -> tuple[int, ...]:
        """Positions of all sources it rests on, in order."""
        return tuple(sorted({source for one in self.statements for source in one.sources}))


@dataclass(frozen=True)
class _Sentence:
    number: int
    source: int
    text: str

    @cached_property
    def key(self) -> str:
        return _key(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(map(fold, words(self.text)))

    @cached_property
    def polarity(self) -> tuple[int, int]:
        return polarity(self.text)

    @cached_property
    def numbers(self) -> frozenset[Decimal]:
        return all_readings(self.text)


@dataclass
class _Piece:
    """Something that may go out: it stands for sentences, and must not go out without some."""

    text: str
    sentences: frozenset[int]
    sources: tuple[int, ...]
    needs: frozenset[int] = frozenset()
    is_key: bool = False


@dataclass
class _Sources:
    sentences: list[_Sentence] = field(default_factory=list)
    needs: dict[int, set[int]] = field(default_factory=dict)
    """Sentence to those that must go with it."""

    def closure(self, number: int) -> list[int]:
        """A sentence with all that must go with it, in order."""
        found, waiting = {number}, [number]
        while waiting:
            for other in self.needs.get(waiting.pop(), ()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return sorted(found)

    def whole(self, number: int, *, is_key: bool = False) -> _Piece:
        """A sentence with all that must go with it, as it stands."""
        numbers = self.closure(number)
        text = " ".join(self.sentences[one].text for one in numbers)
        return _Piece(text, frozenset(numbers), (self.sentences[number].source,), is_key=is_key)


def faithful(
    summary: str, sources: Sequence[Sequence[str]], *, key_sources: Sequence[int] = (), max_tokens: int = 400
) -> Faithful:
    """The summary as far as its sources hold it.

    Args:
        summary: Sentences or lines, in any words.
        sources: The texts of each source.
        key_sources: Positions of the sources whose first figures must not be lost, the most important first.
        max_tokens: Of the text, estimated; what does not fit whole is left out.
    """
    held = _read(sources)
    statements = list(sentences_of(summary))
    pieces: list[_Piece] = []
    replaced = left_out = 0
    for statement in statements:
        piece, is_own = _checked(statement, held)
        replaced += piece is not None and not is_own
        left_out += piece is None
        if piece is not None and not any(piece.sentences <= other.sentences for other in pieces):
            pieces.append(piece)
    pieces, limited = _with_limits(pieces, held)
    restored = list(_lost_figures(pieces, held, key_sources))
    pieces = [one for one in pieces if not any(one.sentences <= other.sentences for other in restored)]
    kept = _within([*pieces, *restored], max_tokens)
    left_out += len(pieces) + len(restored) - len(kept)
    is_as_it_was = not replaced and not limited and not restored and len(kept) == len(statements)
    return Faithful(
        text=summary.strip() if is_as_it_was and estimated_tokens(summary.strip()) <= max_tokens else _text(kept),
        statements=tuple(Statement(text=one.text, sources=one.sources) for one in kept),
        replaced=replaced,
        restored=len(restored) + limited,
        left_out=left_out,
    )


def sentences_of(text: str) -> Iterator[str]:
    """The sentences and lines of a text, without their bullets."""
    for piece in _END.split(text):
        bare = _BULLET.sub("", piece or "").strip()
        if any(map(str.isalnum, bare)):
            yield bare


def polarity(text: str) -> tuple[int, int]:
    """How often a text negates, and how often it makes an exception."""
    spelt = normalise(text)
    return len(_NEGATED.findall(spelt)), len(_LIMITED.findall(spelt))


def figures_hold(text: str, known: frozenset[Decimal], spelt: str = "") -> bool:
    """Whether every number of a text is among `known`, as it stands or with its scale, or stands so in `spelt`."""
    return all(_readings(found[0]) & known or found[0] in spelt for found in _FIGURE.finditer(normalise(text)))


def _readings(figure: str) -> frozenset[Decimal]:
    return frozenset(value for value in (read_number(figure, "vi"), read_number(figure, "en")) if value is not None)


def _read(sources: Sequence[Sequence[str]]) -> _Sources:
    held = _Sources()
    seen: set[tuple[int, str]] = set()
    for source, texts in enumerate(sources):
        for text in texts:
            before, lead = -1, -1
            for line in filter(str.strip, text.split("\n")):
                is_item = _BULLET.match(line) is not None
                lead = lead if is_item else -1
                for sentence in sentences_of(line):
                    if (source, _key(sentence)) in seen or len(held.sentences) >= _MOST_SENTENCES:
                        before = -1
                        continue
                    seen.add((source, _key(sentence)))
                    number = len(held.sentences)
                    held.sentences.append(_Sentence(number, source, sentence))
                    if before >= 0 and _TURNS.match(sentence):
                        held.needs.setdefault(before, set()).add(number)
                        held.needs.setdefault(number, set()).add(before)
                    if lead >= 0 and any(held.sentences[lead].polarity):
                        held.needs.setdefault(number, set()).add(lead)
                    before = number
                    if sentence.rstrip("* ").endswith(":") and not is_item:
                        lead = number
    return held


def _checked(statement: str, held: _Sources) -> tuple[_Piece | None, bool]:
    """What goes out for a statement, and whether it is the statement itself."""
    key = _key(statement)
    same = next((one for one in held.sentences if one.key == key), None)
    if same is not None:
        return _own(statement, same, held), True
    telling = _words(statement)
    best = max(held.sentences, key=lambda one: _share(telling, one.words), default=None)
    if best is None or _share(telling, best.words) < _LIKE:
        return None, False
    numbers = frozenset[Decimal]().union(*(held.sentences[one].numbers for one in held.closure(best.number)))
    tells = _share(telling, best.words) >= _TELLS and polarity(statement) == best.polarity
    if tells and figures_hold(statement, numbers):
        return _own(statement, best, held), True
    return held.whole(best.number), False


def _own(statement: str, sentence: _Sentence, held: _Sources) -> _Piece:
    needs = frozenset(held.closure(sentence.number)) - {sentence.number}
    return _Piece(statement, frozenset({sentence.number}), (sentence.source,), needs)


def _with_limits(pieces: list[_Piece], held: _Sources) -> tuple[list[_Piece], int]:
    """Statements whose limits nobody tells are told with them, as their source does."""
    told = frozenset[int]().union(*(piece.sentences for piece in pieces))
    found: list[_Piece] = []
    restored = 0
    for piece in pieces:
        is_told = piece.needs <= told
        restored += not is_told
        whole = piece if is_told else held.whole(min(piece.sentences))
        if not any(whole.sentences <= other.sentences for other in found):
            found.append(whole)
    return found, restored


def _lost_figures(pieces: Sequence[_Piece], held: _Sources, key_sources: Sequence[int]) -> Iterator[_Piece]:
    told = all_readings("\n".join(piece.text for piece in pieces))
    for source in key_sources:
        first = next((one for one in held.sentences if one.source == source and one.numbers), None)
        if first is not None and not first.numbers & told:
            piece = held.whole(first.number, is_key=True)
            told |= all_readings(piece.text)
            yield piece


def _within(pieces: list[_Piece], max_tokens: int) -> list[_Piece]:
    """The pieces there is room for, key figures first; none without what it needs."""
    chosen: list[_Piece] = []
    for piece in sorted(pieces, key=lambda one: not one.is_key):
        if estimated_tokens(_text([*chosen, piece])) <= max_tokens:
            chosen.append(piece)
    while True:
        told = frozenset[int]().union(*(piece.sentences for piece in chosen))
        standing = [piece for piece in chosen if piece.needs <= told]
        if len(standing) == len(chosen):
            return [piece for piece in pieces if piece in standing]
        chosen = standing


def _text(pieces: Sequence[_Piece]) -> str:
    return "\n".join(f"- {piece.text}" for piece in pieces) if len(pieces) > 1 else "".join(p.text for p in pieces)


def _key(text: str) -> str:
    return normalise(text).casefold().strip(" .;:!?*_")


def _words(text: str) -> frozenset[str]:
    """The telling words of a text; all of them where hardly any tells."""
    telling = content_words(text)
    return frozenset(map(fold, telling if len(telling) >= _FEW_WORDS else words(text)))


def _share(telling: frozenset[str], others: frozenset[str]) -> float:
    return len(telling & others) / len(telling) if telling else 0.0
