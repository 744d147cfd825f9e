"""Boosted trees as numpy reads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.reasoning.local.features import Numbers

_LEAF = -1


@dataclass(frozen=True)
class Trees:
    """Boosted trees laid end to end; of each node its column, its limit, where to go, and what a leaf adds."""

    roots: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    """The column a node looks at; -1 for a leaf."""
    limits: Numbers
    below: npt.NDArray[np.intp]
    """The next node for a figure up to the limit."""
    above: npt.NDArray[np.intp]
    missing_below: npt.NDArray[np.bool_]
    """Whether a figure that is not there counts as one up to the limit."""
    values: Numbers

    @classmethod
    def read(cls, arrays: Mapping[str, Any]) -> "Trees":
        """From arrays under the names of the fields, as a weight file holds them."""
        kinds = {"limits": np.float64, "values": np.float64, "missing_below": np.bool_}
        return cls(**{name: arrays[name].astype(kinds.get(name, np.intp)) for name in cls.__dataclass_fields__})

    def score(self, rows: Numbers) -> Numbers:
        """The sum of the leaves that each row ends in (log odds); figures may be missing (nan)."""
        at = np.tile(self.roots, (len(rows), 1))
        row = np.arange(len(rows))[:, None]
        while (inner := self.columns[at] != _LEAF).any():
            figures = rows[row, np.where(inner, self.columns[at], 0)]
            goes_below = np.where(np.isnan(figures), self.missing_below[at], figures <= self.limits[at])
            at = np.where(inner, np.where(goes_below, self.below[at], self.above[at]), at)
        return np.asarray(self.values[at].sum(axis=1))
