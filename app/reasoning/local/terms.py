"""What a question is about, and how much of it a piece of text mentions."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from app.reasoning.local.cues import word_list
from app.reasoning.local.glossary import glossary, stem, stemmed
from app.text.language import content_words, fold

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
