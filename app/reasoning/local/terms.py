"""What a question is about, and how much of it a piece of text mentions."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from app.reasoning.local.cues import word_list
from app.reasoning.local.glossary import glossary, stem, stemmed
from app.text.language import content_words, fold, is_unaccented_vietnamese, normalise

_PARTIAL = 0.6
"""What a phrase is worth when only its words are there, scattered."""
_UNKNOWN_WEIGHT = 1.0
_NAME = 1.5
"""How much more a name or figure tells than another word."""
_TOKEN = re.compile(r"[^\W_]+")
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
    is_name: bool = False
    """Written with a capital or a digit: a name, a code, a figure."""

    def found_in(self, bag: Bag) -> float:
        """1 when the phrase or a synonym is there, less when only some of its words are, 0 when nothing is."""
        if self.concepts & bag.concepts or (len(self.stems) == 1 and self.stems[0] in bag.stems):
            return 1.0
        if len(self.stems) == 1:
            return 0.0
        share = sum(word in bag.stems for word in self.stems) / len(self.stems)
        pairs = sum(pair in bag.pairs for pair in zip(self.stems, self.stems[1:], strict=False))
        return share * (1.0 if pairs == len(self.stems) - 1 else _PARTIAL)


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
    names = _names_in(question, folded)
    telling = {stem(fold(word) if folded else word) for word in content_words(question)} - ASKING_WORDS | names
    found: list[Term] = []
    at = 0
    for match in glossary().matches(stems, folded=folded):
        found += _words(stems[at : match.start], telling)
        found.append(Term(stems[match.start : match.end], match.concepts, glossary().weight(match.concepts)))
        at = match.end
    found += _words(stems[at:], telling)
    return tuple(_as_name(term, names) for term in {term.stems: term for term in found}.values())


def _names_in(question: str, folded: bool) -> frozenset[str]:
    """Stems of words written with a capital or a digit after the first word: names, places, codes, figures."""
    tokens = _TOKEN.findall(fold(normalise(question)) if folded else normalise(question))
    accented = any(not token.isascii() for token in tokens)
    marked = [
        token
        for at, token in enumerate(tokens)
        if (at and token[0].isupper() and token != "I")
        or any(map(str.isdigit, token))
        or (accented and _is_loan(token))
    ]
    # A question typed in capitals throughout has no names to offer.
    return frozenset(stem(token.lower()) for token in marked) if len(marked) * 2 < len(tokens) + 2 else frozenset()


def _is_loan(token: str) -> bool:
    """Whether a word among Vietnamese ones is not Vietnamese itself: gym, sabbatical, laptop."""
    return token.isascii() and len(token) > 2 and not is_unaccented_vietnamese(token)


def _as_name(term: Term, names: frozenset[str]) -> Term:
    if not names & set(term.stems):
        return term
    return replace(term, weight=max(term.weight, 0.6) * _NAME, is_name=True)


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
