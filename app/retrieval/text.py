"""Words as they are indexed and asked for: one spelling on both sides, and the terms a question is searched with."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from app.domain.knowledge import Language
from app.text.language import content_words, fold, guess_language, is_unaccented_vietnamese, words

_MAX_TERMS = 24
"""The heaviest terms of a long question; the rest costs time and decides nothing."""
_MAX_LETTERS = 64
"""Longer runs of letters are no words; PostgreSQL refuses them beyond 2 kB."""
_MAX_PLACES, _LAST_PLACE = 255, 16_383
"""PostgreSQL's limits: places kept of one word, and the last place it can count."""
_PAIR_WEIGHT = 0.3
"""What two words side by side (``nghỉ phép``) add, beside the words themselves."""
_FREQUENT_SHARE, _FREQUENT_COUNT = 0.25, 50
"""A word in more than a quarter of the chunks finds nothing and makes the search slow."""


class Term(NamedTuple):
    """A word, or two words side by side, as PostgreSQL's full-text search is asked for it."""

    query: str
    """``tsquery`` text; always bound as a parameter."""
    words: tuple[str, ...]


class Question(NamedTuple):
    """What can be seen in a question without looking anything up."""

    language: Language
    is_unaccented: bool
    """Vietnamese typed without diacritics: only folded text can find it."""
    terms: tuple[Term, ...]


class TermStatistics(NamedTuple):
    """In how many of `chunks` sampled chunks each word stands."""

    chunks: int
    counts: Mapping[str, int]

    def weight(self, term: Term) -> float:
        """Inverse document frequency: above 0, larger for rarer words. A pair counts as its rarer word, damped."""
        rarest = max(map(self._word_weight, term.words))
        return rarest if len(term.words) == 1 else _PAIR_WEIGHT * rarest

    def is_frequent(self, term: Term) -> bool:
        """Whether the term says nothing in this corpus."""
        fewest = min(self.counts.get(word, 0) for word in term.words)
        return fewest > max(_FREQUENT_COUNT, _FREQUENT_SHARE * self.chunks)

    def share(self, word: str) -> float:
        """Share of the chunks a word stands in (0–1); one that was not seen is taken for half a chunk."""
        return max(self.counts.get(word, 0), 0.5) / max(self.chunks, 1)

    def _word_weight(self, word: str) -> float:
        count = self.counts.get(word, 0)
        return math.log(1 + (self.chunks - count + 0.5) / (count + 0.5))


def index_text(text: str, *, folded: bool = False) -> str:
    """The words of `text` with their places, as a ``tsvector``'s text: made here, so that question and passage
    agree."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(map(_indexed, words(fold(text) if folded else text)), 1):
        places.setdefault(word, []).append(min(place, _LAST_PLACE))
    return " ".join(f"'{word}':{','.join(map(str, at[:_MAX_PLACES]))}" for word, at in places.items())


def read_question(query: str) -> Question:
    """Language, spelling and terms of a question. Function words are not asked for, unless there is nothing else."""
    unaccented = is_unaccented_vietnamese(query)
    asked = words(query)
    content = set(content_words(query)) or set(asked)
    kept = [_indexed(fold(word) if unaccented else word) if word in content else "" for word in asked]
    singles = [(word,) for word in kept if word]
    pairs = [(one, two) for one, two in pairwise(kept) if one and two]
    terms = tuple(Term(" <-> ".join(f"'{word}'" for word in term), term) for term in dict.fromkeys([*singles, *pairs]))
    return Question(guess_language(query), unaccented, terms)


def weigh(question: Question, statistics: TermStatistics) -> list[tuple[Term, float]]:
    """The terms worth asking for with their weights, heaviest first; frequent ones only if all are frequent."""
    telling = [term for term in question.terms if not statistics.is_frequent(term)] or question.terms
    weighed = [(term, statistics.weight(term)) for term in telling]
    return sorted(weighed, key=lambda pair: -pair[1])[:_MAX_TERMS]


def _indexed(word: str) -> str:
    return _singular(word[:_MAX_LETTERS])


def _singular(word: str) -> str:
    """An English plural's singular; Vietnamese syllables never end in s."""
    if len(word) < 4 or not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes", "zes")) else word[:-1]
