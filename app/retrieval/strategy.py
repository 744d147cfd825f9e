"""How a search is done: which way the vectors are read, and which of the question's words chunks are found by.

The figures were measured (docs/decisions/0013-search-at-size.md); only their ratios matter, and they travel.
"""

import math
from collections.abc import Sequence
from itertools import combinations

from app.retrieval.text import Term, TermStatistics
from app.storage.search.statements import MATCHES_RANKED, VectorLeg

_EXACT_US_A_CHUNK = 0.9
"""Comparing one more visible chunk."""
_WALK_US, _WALKED_CHUNK_US = 1_500.0, 11.0
"""Entering an index, and looking at one of its chunks, visible or not."""
_WORD_MATCHES = 500
"""Chunks whose words are worth ranking: more cost more and change nothing among the first."""
_PAIRED_WORDS = 8
"""The heaviest words, of which any two together find a chunk where single ones stand in too many."""

Clause = tuple[str, ...]
"""Words that must stand in a chunk together."""


def vector_leg(visible: int, indexed_chunks: int | None, candidates: int) -> VectorLeg:
    """The cheaper way to the nearest `candidates` of `visible` chunks; always the exact one where there is no index.

    A caller who may see few of the many chunks an index holds would walk past all the others.
    """
    if indexed_chunks is None or not visible:
        return "exact"
    walked = candidates * max(1.0, indexed_chunks / visible)
    walking = _WALK_US + _WALKED_CHUNK_US * walked
    return "ann" if walking < _EXACT_US_A_CHUNK * visible else "exact"


def telling_clauses(terms: Sequence[tuple[Term, float]], statistics: TermStatistics, visible: int) -> list[Clause]:
    """What to find chunks by: any word of `terms`, where they stand in about five hundred of `visible` chunks at most.

    Where they stand in more, the heaviest words and pairs of words, as far as that; a chunk with none of them would
    come behind those that have one. There is always one clause, unless there is no word.
    """
    words = [(term.words[0], weight) for term, weight in terms if len(term.words) == 1]
    expected = {word: statistics.share(word) * visible for word, _ in words}
    if visible <= MATCHES_RANKED or sum(expected.values()) <= _WORD_MATCHES:
        return [(word,) for word, _ in words]
    pairs = combinations(words[:_PAIRED_WORDS], 2)
    by_weight: list[tuple[float, Clause]] = [(weight, (word,)) for word, weight in words]
    by_weight += [(one[1] + other[1], (one[0], other[0])) for one, other in pairs]
    chosen: list[Clause] = []
    matches = 0.0
    for _, clause in sorted(by_weight, key=lambda pair: -pair[0]):
        matches += visible * math.prod(expected[word] / visible for word in clause)
        if chosen and matches > _WORD_MATCHES:
            break
        chosen.append(clause)
    return chosen
