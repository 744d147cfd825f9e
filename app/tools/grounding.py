"""Hold a summary against its sources: every number and every "not" of it stands so there, with what limits it.

Each statement of a summary is compared with the sentence of the sources it tells. One that states another number, or is
negated otherwise, gives way to that sentence as it stands; so does one whose sentence is followed by a "however",
together with that. The figures of the surest findings are put back where they were lost.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from app.claims.record import Polarity, makes_exception, polarity_of
from app.text.language import content_words, estimated_tokens, fold, normalise, words
from app.text.numbers import all_readings, read_number

_END = re.compile(r"(?<=[^\s\d][.!?…])\s+(?=[^\s\w]*[A-ZĐÀ-Ỹ\d])|\n+")
_BULLET = re.compile(r"^\s*(?:[-*•+–]|\d{1,2}[.)]|[a-zđ]\))\s+")
_FIGURE = re.compile(
    r"\d+(?:[.,]\d+)*(?:\s?(?:nghìn|ngàn|triệu|tỷ|tỉ|thousand|million|billion)\b)?(?:\s?%)?", re.IGNORECASE
)
_TURNS = re.compile(
    r"^(?:tuy nhiên|tuy vậy|nhưng|song|ngoại trừ|trừ|riêng|mặt khác|ngược lại|điều này không|quy định này không"
    r"|however|but|except|unless|this does not|these do not|it does not|that does not|nevertheless|only)\b",
    re.IGNORECASE,
)
"""How a sentence begins that limits the one before it."""
_CLAUSE_END = re.compile(r"[,;:]\s|\s(?:và|hoặc|nhưng|and|or|but)\s")
_SAYS_YES = frozenset({"stated", "allowed", "required"})
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


class Grounded(NamedTuple):
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
    source: int
    text: str
    words: frozenset[str]
    together: frozenset[int]
    """Numbers of the sentences that go out with it: itself, what limits it, the line a list stands under."""


def grounded(
    summary: str, sources: Sequence[Sequence[str]], *, key_sources: Sequence[int] = (), max_tokens: int = 400
) -> Grounded:
    """Return the summary as far as its sources hold it.

    Args:
        summary: Sentences or lines, in any words.
        sources: The texts of each source.
        key_sources: Positions of the sources whose first figures must not be lost, the most important first.
        max_tokens: Of the text, estimated; what does not fit whole is left out.
    """
    known = _read(sources)
    own = list(sentences_of(summary))
    checked = list(filter(None, (_checked(text, known) for text in own)))
    restored = list(_lost_figures(checked, known, key_sources))
    told: list[Statement] = []
    for one in (*checked, *restored):
        if not any(one.sentences <= other.sentences for other in (*told, *restored) if other is not one):
            told.append(one)
    kept = _within(told, restored, max_tokens)
    text = summary.strip()
    is_as_it_was = [one.text for one in kept] == own and estimated_tokens(text) <= max_tokens
    replaced = sum(one.text not in own for one in checked)
    return Grounded(text if is_as_it_was else _text(kept), tuple(kept), replaced, len(restored))


def sentences_of(text: str) -> Iterator[str]:
    """Cut a text into sentences and lines, without their bullets."""
    for piece in _END.split(text):
        bare = _BULLET.sub("", piece or "").strip()
        if any(map(str.isalnum, bare)):
            yield bare


def polarity(text: str) -> tuple[tuple[Polarity, ...], bool]:
    """Tell whether a text allows, requires, denies, …, how often it says no, and whether it makes an exception."""
    spelt = normalise(text)
    clauses = map(polarity_of, _CLAUSE_END.split(spelt))
    return (polarity_of(spelt), *sorted(one for one in clauses if one not in _SAYS_YES)), makes_exception(spelt)


def _read(sources: Sequence[Sequence[str]]) -> list[_Sentence]:
    found: list[_Sentence] = []
    seen: set[tuple[int, str]] = set()
    for source, texts in enumerate(sources):
        for text in texts:
            before, lead = -1, -1
            for line in filter(str.strip, text.split("\n")):
                is_item = _BULLET.match(line) is not None
                lead = lead if is_item else -1
                for sentence in sentences_of(line):
                    if (source, _key(sentence)) in seen or len(found) >= _MOST_SENTENCES:
                        before = -1
                        continue
                    seen.add((source, _key(sentence)))
                    found.append(_sentence(found, source, sentence, lead, before))
                    before = len(found) - 1
                    if sentence.rstrip("* ").endswith(":") and not is_item:
                        lead = before
    return found


def _sentence(found: list[_Sentence], source: int, text: str, lead: int, before: int) -> _Sentence:
    """The next sentence; one that limits the sentence `before` it goes out with that from now on, and that with it."""
    together = frozenset({len(found)})
    if lead >= 0 and polarity(found[lead].text) != (("stated",), False):
        together |= found[lead].together
    if before >= 0 and _TURNS.match(text):
        together |= found[before].together
        for number in found[before].together:
            found[number] = replace(found[number], together=found[number].together | together)
    return _Sentence(source, text, frozenset(map(fold, words(text))), together)


def _whole(number: int, known: Sequence[_Sentence]) -> Statement:
    """A sentence with all that goes out with it, as they stand."""
    text = " ".join(known[one].text for one in sorted(known[number].together))
    return Statement(text, (known[number].source,), known[number].together)


def _checked(text: str, known: Sequence[_Sentence]) -> Statement | None:
    """What goes out for a statement: itself, or the sentence it tells with all that limits it; None where no source
    holds anything like it."""
    key, telling = _key(text), _words(text)
    if not known:
        return None
    same = next((at for at, one in enumerate(known) if _key(one.text) == key), None)
    best = same if same is not None else max(range(len(known)), key=lambda at: _share(telling, known[at].words))
    if same is None and _share(telling, known[best].words) < _LIKE:
        return None
    if len(known[best].together) > 1 or not (same is not None or _tells(text, telling, known[best])):
        return _whole(best, known)
    return Statement(text, (known[best].source,), frozenset({best}))


def _tells(text: str, telling: frozenset[str], sentence: _Sentence) -> bool:
    is_alike = _share(telling, sentence.words) >= _TELLS and polarity(text) == polarity(sentence.text)
    known = all_readings(sentence.text)
    return is_alike and all(_readings(found[0]) & known for found in _FIGURE.finditer(normalise(text)))


def _readings(figure: str) -> frozenset[Decimal]:
    return frozenset(value for value in (read_number(figure, "vi"), read_number(figure, "en")) if value is not None)


def _lost_figures(
    statements: Sequence[Statement], known: Sequence[_Sentence], key_sources: Sequence[int]
) -> Iterator[Statement]:
    told = all_readings("\n".join(one.text for one in statements))
    for source in key_sources:
        stated = ((at, all_readings(one.text)) for at, one in enumerate(known) if one.source == source)
        first, figures = next(((at, figures) for at, figures in stated if figures), (-1, frozenset[Decimal]()))
        if figures and not figures & told:
            whole = _whole(first, known)
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
