"""What a question is about, and how much of it a piece of text mentions; which phrases of both languages mean the same.

The office vocabulary lives in ``glossary.jsonl``, one group a line: Vietnamese, English, and how much the concept tells
(1 = names a subject; 0.15 = stands in every policy). Looking up is plain dictionary work, so it costs no embedding.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise

from app.reasoning.local.wording import asks, named_lines, word_list
from app.text.language import content_words, fold, guess_language, is_unaccented_vietnamese, words

_SELF_CONTAINED = 1.4
"""Weight of terms (a named subject has 1) that lets a part of a question stand alone."""
_WORTH_OF_PHRASE, _WORTH_OF_SYLLABLE = 1.3, 0.5
_LONGEST = 5
"""Words of a phrase that are looked up together."""
_IRREGULAR = dict(named_lines("glossary.irregular"))
"""Forms no ending can be cut from; to the stem of their word."""
_KEEPS_ITS_S = ("ss", "us", "is", "os")
Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase found in a row of stems."""

    start: int
    end: int
    """Position after the last word."""
    concepts: frozenset[int]


@dataclass(frozen=True)
class Glossary:
    """Phrases by their stems, exact and without diacritics."""

    exact: dict[Phrase, frozenset[int]]
    folded: dict[Phrase, frozenset[int]]
    weights: tuple[float, ...]
    """By concept, 0–1."""

    def matches(self, stems: Sequence[str], *, folded: bool) -> Iterator[Match]:
        """Longest phrases first come, left to right, without overlap. `stems` are folded when `folded`."""
        phrases = self.folded if folded else self.exact
        at = 0
        while at < len(stems):
            begun = (tuple(stems[at:end]) for end in range(min(at + _LONGEST, len(stems)), at, -1))
            longest = next((phrase for phrase in begun if phrase in phrases), ())
            if longest:
                yield Match(at, at + len(longest), phrases[longest])
            at += len(longest) or 1

    def mentioned(self, stems: Sequence[str], *, folded: bool) -> frozenset[int]:
        """Every concept named anywhere, also inside a longer phrase."""
        phrases = self.folded if folded else self.exact
        rows = (tuple(stems[at : at + size]) for at in range(len(stems)) for size in range(1, _LONGEST + 1))
        return frozenset(concept for row in rows for concept in phrases.get(row, ()))

    def weight(self, concepts: frozenset[int]) -> float:
        """The most telling concept counts."""
        return max((self.weights[concept] for concept in concepts), default=1.0)


@cache
def glossary() -> Glossary:
    """The glossary of the package, read once per process."""
    exact: dict[Phrase, set[int]] = {}
    folded: dict[Phrase, set[int]] = {}
    weights: list[float] = []
    for line in files(__package__).joinpath("glossary.jsonl").read_text("utf-8").splitlines():
        group = json.loads(line)
        concept = len(weights)
        weights.append(float(group["weight"]))
        for phrase in (*group["vi"], *group["en"]):
            stems = stemmed(phrase)
            exact.setdefault(stems, set()).add(concept)
            bare = stemmed(fold(phrase))
            # A single bare syllable means too many things: "muon" is late, to want and to borrow.
            if len(bare) > 1 or stems == bare:
                folded.setdefault(bare, set()).add(concept)
    return Glossary(
        {phrase: frozenset(ids) for phrase, ids in exact.items()},
        {phrase: frozenset(ids) for phrase, ids in folded.items()},
        tuple(weights),
    )


def stemmed(text: str) -> Phrase:
    """The words of `text` in order, English endings cut off (policies, policy → polici)."""
    return tuple(stem(word) for word in words(text))


@cache
def stem(word: str) -> str:
    """A light English stem; Vietnamese syllables and numbers stay as they are."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    bare = _without_ending(_singular(word))
    # Four letters may be a Vietnamese syllable: thay is not thai.
    return re.sub(r"y$", "i", bare.removesuffix("e")) if len(bare) > 4 else bare


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(_KEEPS_ITS_S) else word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ied", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and any(vowel in root for vowel in "aeiouy"):
            doubled = root[-1] == root[-2] and root[-1] not in "lsz"
            return root + "y" if ending == "ied" else root[:-1] if doubled else root
    return word


_PARTIAL = 0.6
"""What a phrase is worth when only its words are there, scattered."""
_UNKNOWN_WEIGHT = 1.0
_GENERIC_WEIGHT = 0.2
_CAPITAL = r"[A-ZĐ][^\W\d_]+(?:['’]s)?"
_NAME_OF_WORDS = re.compile(rf"\b{_CAPITAL}(?: {_CAPITAL}){{2,4}}\b")


@dataclass(frozen=True, slots=True)
class Bag:
    """The words, neighbouring words and concepts of a text, without order."""

    stems: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    concepts: frozenset[int]

    def __or__(self, other: "Bag") -> "Bag":
        return Bag(self.stems | other.stems, self.pairs | other.pairs, self.concepts | other.concepts)


EMPTY = Bag(frozenset(), frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a question names: a phrase of the glossary, or a word."""

    stems: tuple[str, ...]
    concepts: frozenset[int]
    weight: float
    """How much it tells before looking at any passage, 0–1."""

    def found_in(self, bag: Bag) -> float:
        """1 when the phrase or a synonym is there, less when only some of its words are, 0 when nothing is."""
        if self.concepts & bag.concepts or (len(self.stems) == 1 and self.stems[0] in bag.stems):
            return 1.0
        return _PARTIAL * sum(word in bag.stems for word in self.stems) / len(self.stems)


@lru_cache(maxsize=16384)
def bag_of(text: str, folded: bool = False) -> Bag:
    """The bag of a text; without diacritics when `folded`."""
    stems = stemmed(fold(text) if folded else text)
    concepts = glossary().mentioned(stems, folded=folded)
    return Bag(frozenset(stems) | _initials_in(text), frozenset(pairwise(stems)), concepts)


def _initials_in(text: str) -> frozenset[str]:
    """“ICO” is told by “Information Commissioner's Office”: initials of names of three words and more."""
    return frozenset("".join(re.findall(r"(?<![\w’'])\w", name)).lower() for name in _NAME_OF_WORDS.findall(text))


@lru_cache(maxsize=1024)
def terms_of(question: str, folded: bool = False) -> tuple[Term, ...]:
    """The terms of a question in order, function words left out; without diacritics when `folded`."""
    stems = stemmed(fold(question) if folded else question)
    telling = {stem(fold(word) if folded else word) for word in content_words(question)} - ASKING_WORDS
    found: list[Term] = []
    at = 0
    for match in glossary().matches(stems, folded=folded):
        found += _words(stems[at : match.start], telling)
        found.append(Term(stems[match.start : match.end], match.concepts, glossary().weight(match.concepts)))
        at = match.end
    found += _words(stems[at:], telling)
    return tuple({term.stems: term for term in found}.values())


def _words(stems: Sequence[str], telling: Set[str]) -> list[Term]:
    """Words outside the glossary, each by itself."""
    return [
        Term((word,), frozenset(), _GENERIC_WEIGHT if word in GENERIC_WORDS else _UNKNOWN_WEIGHT)
        for word in stems
        if word in telling
    ]


def coverage(terms: Iterable[Term], weights: Sequence[float], bag: Bag) -> float:
    """Share of the question's weight that `bag` mentions, 0–1."""
    total = sum(weights)
    if not total:
        return 0.0
    return sum(weight * term.found_in(bag) for term, weight in zip(terms, weights, strict=True)) / total


def share_in(question: str, bag: Bag, folded: bool = False) -> float:
    """Share of a question's weight that a text mentions, 0–1; `folded` as the text's bag is."""
    terms = terms_of(question, folded)
    return coverage(terms, [term.weight for term in terms], bag)


ASKING_WORDS = word_list("terms.asking")
"""Words that ask rather than name; stems, with and without diacritics."""
GENERIC_WORDS = word_list("terms.generic")
"""Words so common in policies that missing them means little; stems."""


_TELLING = 0.5
"""Least weight of a concept; lighter ones (company, rule, document) stand in every policy."""


def concepts_in(text: str) -> frozenset[str]:
    """Names of the telling concepts of `text`, equal for a phrase and its translation."""
    weights = glossary().weights
    return frozenset(str(concept) for concept in bag_of(text).concepts if weights[concept] >= _TELLING)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an utterance between two separators."""

    text: str
    asks: bool
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, text: str) -> "Part":
        """Read a piece; a question mark alone does not make it a question."""
        bare = text.rstrip(" ?!.")
        return cls(text, asks(bare), terms_of(bare, is_unaccented_vietnamese(bare)))

    @property
    def weight(self) -> float:
        """How much it names, the asking words aside: 1 for a subject; a lone Vietnamese syllable is half a word."""
        is_vietnamese = guess_language(self.text) == "vi"
        return sum(_worth(term, is_vietnamese) for term in self.terms)

    @property
    def stands_alone(self) -> bool:
        """Whether it names enough to be searched for by itself."""
        return self.weight >= _SELF_CONTAINED


def _worth(term: Term, is_vietnamese: bool) -> float:
    weight = min(term.weight, 1.0)
    if term.concepts:
        return weight * (_WORTH_OF_PHRASE if len(term.stems) > 1 else 1.0)
    return weight * (_WORTH_OF_SYLLABLE if is_vietnamese else 1.0)
