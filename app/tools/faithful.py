"""What a summary may say: every number and every "not" of it stands so in its sources, and what limits a statement
goes with it.

A summary is taken apart into statements, each held against the sentence of the sources it tells. One that states
another number, or is negated otherwise, is replaced by that sentence as it stands; so is one whose sentence has a
"however" or "except" behind it, together with that. The figures of the surest findings are put back where they were
lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

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


@dataclass(frozen=True)
class Statement:
    """One statement of a summary and where it comes from."""

    text: str
    sources: tuple[int, ...]
    """Positions of the sources that hold it."""
    sentences: frozenset[int] = frozenset()
    """Sentences of the sources it tells, by their numbers."""


class Faithful(NamedTuple):
    """A summary that was held against its sources."""

    text: str
    statements: tuple[Statement, ...]
    replaced: int
    """Statements that gave way to the sentences of their sources."""
    restored: int
    """Sentences whose lost figures were put back."""

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

    def whole(self, number: int) -> Statement:
        """A sentence with all that must go with it, as it stands."""
        numbers = self.closure(number)
        text = " ".join(self.sentences[one].text for one in numbers)
        return Statement(text, (self.sentences[number].source,), frozenset(numbers))


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
    own = list(sentences_of(summary))
    checked = list(filter(None, (_checked(text, held) for text in own)))
    restored = list(_lost_figures(checked, held, key_sources))
    told: list[Statement] = []
    for one in (*checked, *restored):
        if not any(one.sentences <= other.sentences for other in (*told, *restored) if other is not one):
            told.append(one)
    kept = _within(told, restored, max_tokens)
    text = summary.strip()
    is_as_it_was = [one.text for one in kept] == own and estimated_tokens(text) <= max_tokens
    replaced = sum(one.text not in own for one in checked)
    return Faithful(text if is_as_it_was else _text(kept), tuple(kept), replaced, len(restored))


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


def figures_hold(text: str, known: frozenset[Decimal]) -> bool:
    """Whether every number of a text is among `known`, as it stands or with its scale."""
    return all(_readings(found[0]) & known for found in _FIGURE.finditer(normalise(text)))


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


def _checked(text: str, held: _Sources) -> Statement | None:
    """What goes out for a statement: itself, or the sentence it tells with all that limits it; None where no source
    holds anything like it."""
    key, telling = _key(text), _words(text)
    same = next((one for one in held.sentences if one.key == key), None)
    best = same or max(held.sentences, key=lambda one: _share(telling, one.words), default=None)
    if best is None or (best is not same and _share(telling, best.words) < _LIKE):
        return None
    if len(held.closure(best.number)) > 1 or not (best is same or _tells(text, telling, best)):
        return held.whole(best.number)
    return Statement(text, (best.source,), frozenset({best.number}))


def _tells(text: str, telling: frozenset[str], sentence: _Sentence) -> bool:
    is_alike = _share(telling, sentence.words) >= _TELLS and polarity(text) == sentence.polarity
    return is_alike and figures_hold(text, sentence.numbers)


def _lost_figures(statements: Sequence[Statement], held: _Sources, key_sources: Sequence[int]) -> Iterator[Statement]:
    told = all_readings("\n".join(one.text for one in statements))
    for source in key_sources:
        first = next((one for one in held.sentences if one.source == source and one.numbers), None)
        if first is not None and not first.numbers & told:
            whole = held.whole(first.number)
            told |= all_readings(whole.text)
            yield whole


def _within(statements: list[Statement], first: Sequence[Statement], max_tokens: int) -> list[Statement]:
    """The statements there is room for, those of `first` before others."""
    chosen: list[Statement] = []
    for one in sorted(statements, key=lambda statement: statement not in first):
        if estimated_tokens(_text([*chosen, one])) <= max_tokens:
            chosen.append(one)
    return [one for one in statements if one in chosen]


def _text(statements: Sequence[Statement]) -> str:
    mark = "- " if len(statements) > 1 else ""
    return "\n".join(f"{mark}{one.text}" for one in statements)


def _key(text: str) -> str:
    return normalise(text).casefold().strip(" .;:!?*_")


def _words(text: str) -> frozenset[str]:
    """The telling words of a text; all of them where hardly any tells."""
    telling = content_words(text)
    return frozenset(map(fold, telling if len(telling) >= _FEW_WORDS else words(text)))


def _share(telling: frozenset[str], others: frozenset[str]) -> float:
    return len(telling & others) / len(telling) if telling else 0.0
