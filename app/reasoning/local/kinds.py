"""Tells the kind of an utterance by what its exemplars have in common: ridge regression, fitted when first needed.

Nothing is stored but the exemplars themselves, so that another embedding model or other exemplars need no training
step of their own.
"""

from collections.abc import Sequence

import numpy as np

from app.embedding import Vectors
from app.reasoning.local.manner import Numbers
from app.reasoning.local.views import Look, Utterances, Views, Weights

WEIGHTS = Weights(meaning=1.0, spelling=2.0, manner=0.11)
STIFFNESS = 1.0
"""How little a single exemplar may bend the verdict."""


class KindModel:
    """One regression a kind, over the same views."""

    def __init__(self, views: Views, slopes: Numbers):
        """Use `fit`."""
        self.views, self.slopes = views, slopes

    @classmethod
    def fit(
        cls,
        known: Utterances,
        targets: Numbers,
        groups: Sequence[str],
        *,
        weights: Weights = WEIGHTS,
        stiffness: float = STIFFNESS,
        look: Look | None = None,
    ) -> "KindModel":
        """Fit on exemplars; about 0.3 s of CPU for 1,300 of them.

        Args:
            known: The exemplars.
            targets: Shape (exemplars, kinds), 1 where an exemplar is of the kind and -1 where not.
            groups: Exemplars of one group share the weight of a group, however many they are.
            weights: What the likenesses weigh; `bench.intent --cross-validate` shows what others would do.
            stiffness: The ridge.
            look: Of the exemplars, where it was taken before.
        """
        views, learnt = Views.learn(known, weights, look=look)
        rows = learnt.astype(np.float64)
        sizes = {group: groups.count(group) for group in set(groups)}
        slack = np.array([sizes[group] * len(sizes) / len(groups) for group in groups])
        shares = np.linalg.solve(rows @ rows.T + stiffness * np.diag(slack), targets)
        return cls(views, (rows.T @ shares).astype(np.float32))

    def scores(self, text: str, vector: Vectors | None) -> Numbers:
        """About -1 to 1 for each kind; above 0 the utterance is rather of the kind than not."""
        own = vector[None, :] if vector is not None else None
        scores: Numbers = (self.views.of(Utterances((text,), own)) @ self.slopes)[0]
        return scores
