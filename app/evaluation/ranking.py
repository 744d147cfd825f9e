"""How good a ranked list of evidence is. Pure formulas.

What is wanted are `needs`: sets of documents of which one has to be found. A plain relevant document is a need with one
member. The list is ranked best first, without repetitions.
"""

import math
from collections.abc import Sequence

Needs = Sequence[frozenset[str]]


def recall_at(k: int, needs: Needs, ranked: Sequence[str]) -> float:
    """Needs that one of the first `k` documents meets ÷ needs. 0–1; 0 without needs."""
    found = set(ranked[:k])
    return sum(1 for need in needs if need & found) / len(needs) if needs else 0.0


def reciprocal_rank(needs: Needs, ranked: Sequence[str]) -> float:
    """1 ÷ rank of the first document that meets a need; 0 when none does. Its mean over questions is the MRR."""
    wanted = frozenset[str]().union(*needs)
    return next((1 / rank for rank, document in enumerate(ranked, 1) if document in wanted), 0.0)


def ndcg_at(k: int, needs: Needs, ranked: Sequence[str]) -> float:
    """DCG ÷ ideal DCG over the first `k`, with DCG = Σ gainᵢ ÷ log₂(i + 1).

    gainᵢ is the number of needs that the i-th document is the first to meet; the ideal list meets one need a place.
    0–1; 0 without needs.
    """
    if not needs:
        return 0.0
    open_needs, gained = list(needs), 0.0
    for rank, document in enumerate(ranked[:k], 1):
        met = [need for need in open_needs if document in need]
        open_needs = [need for need in open_needs if document not in need]
        gained += len(met) * _discount(rank)
    ideal = sum(_discount(rank) for rank in range(1, min(len(needs), k) + 1))
    return min(gained / ideal, 1.0)


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
