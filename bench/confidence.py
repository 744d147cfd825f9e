"""Fits the weights of `app.reasoning.local.confidence`, half against half.

The chance that the answer is right is a logistic function of the signals. Every set of questions, and in it the
answerable and the unanswerable ones, weighs what `_MASS` says, however many there are. A weight whose sign makes no
sense (shared words that speak against an answer) is set to 0 and the rest is fitted again, so that confidence rises
with every signal that speaks for an answer.
"""

import zlib
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from app.embedding import Embedder
from app.reasoning.local.answer import best_pieces
from app.reasoning.local.confidence import FOUND, STEEPNESS, Signals, signals_of
from app.reasoning.local.rendering import render
from app.reasoning.local.scoring import is_foreign
from app.reasoning.local.selection import select
from bench.cases import Case, shows

Numbers = npt.NDArray[np.float64]
_MASS = {
    "vi same": 1.0, "en same": 1.0, "vi unaccented": 0.6, "vi cross": 0.15, "en cross": 0.15, "seed": 0.7,
    "seed vi cross": 0.2, "seed en cross": 0.2, "seed vi unaccented": 0.2,
}  # fmt: skip
"""What each set weighs, by the longest name that begins its kind."""
_LESS_SURELY_UNANSWERABLE = 0.3
"""Another policy may answer when the expected one is hidden: such a question weighs less than one nobody answers."""
_AGAINST = frozenset({"misfits", "names_missing", "rival", "subject_missing"})
_CAUTION = 0.7
"""Taken off the constant across languages: most answers stand in the asker's own one."""
_RIDGE = 0.02
_EXTENT = 100.0
"""What all cases weigh together against the ridge."""


class Row(NamedTuple):
    """A case as the fit sees it."""

    case: Case
    foreign: bool
    """The best piece is in the other language."""
    signals: Signals
    right: bool


class Fitted(NamedTuple):
    """Weights of the signals in order, then the constant."""

    own: Numbers
    across: Numbers


async def fit_report(cases: Sequence[Case], embedder: Embedder, out: Console) -> None:
    """Print the weights from all cases, and what weights from one half do on the other."""
    rows = [
        row
        for case in track(cases, "reading", console=out, transient=True)
        if (row := await _row(case, embedder)) is not None
    ]
    whole = fit(rows)
    out.print("best piece in the question's language:", _named(whole.own))
    out.print("best piece in the other language:", _named(whole.across))
    one, other = ([row for row in rows if zlib.crc32(row.case.group.encode()) % 2 == half] for half in (0, 1))
    judged = [*_judged(one, fit(other)), *_judged(other, fit(one))]
    out.print("fitted on one half of the articles and companies, judged on the other:")
    for kind in sorted({row.case.kind for row in rows}):
        out.print(f"{kind:24}", _judgement([one for one in judged if one[0].case.kind == kind]))


def _named(weights: Numbers) -> dict[str, float]:
    return dict(zip((*Signals._fields, "constant"), (round(float(weight), 2) for weight in weights), strict=True))


async def _row(case: Case, embedder: Embedder) -> Row | None:
    question, ranked = await best_pieces(case.request(), embedder)
    if not ranked:
        return None
    return Row(
        case,
        is_foreign(question, ranked[0]),
        signals_of(question, ranked),
        shows(render(select(question, ranked)), case.gold),
    )


def fit(rows: Sequence[Row]) -> Fitted:
    """Both sets of weights. The own ones are fitted on all rows, with one more signal that takes up what the other
    language alone makes; the others only where the best piece is in the other language, both outcomes alike."""
    foreign = [row for row in rows if row.foreign]
    right = np.array([row.right for row in foreign])
    shares = _weights(foreign)
    even = np.where(right, shares / shares[right].sum(), shares / shares[~right].sum())
    inputs = np.array([[*row.signals, float(row.foreign)] for row in rows])
    own = _signed(inputs, np.array([row.right for row in rows], float), _weights(rows))
    across = _signed(np.array([row.signals for row in foreign], float), right.astype(float), even)
    across[-1] -= _CAUTION
    return Fitted(np.delete(own, -2), across)


def _signed(inputs: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Weights of the inputs in order, 0 where the sign makes no sense, then the constant."""
    kept = list(range(inputs.shape[1]))
    while True:
        found = _logistic(inputs[:, kept], labels, weights)
        wrong = [at for at, weight in zip(kept, found[:-1], strict=True) if _has_wrong_sign(at, weight)]
        if not wrong:
            whole = np.zeros(inputs.shape[1] + 1)
            whole[[*kept, -1]] = found
            return whole
        kept = [at for at in kept if at not in wrong]


def _has_wrong_sign(at: int, weight: float) -> bool:
    if at >= len(Signals._fields):
        return False
    return weight > 0 if Signals._fields[at] in _AGAINST else weight < 0


def _weights(rows: Sequence[Row]) -> Numbers:
    sizes: dict[tuple[str, bool], float] = defaultdict(float)
    own = [_LESS_SURELY_UNANSWERABLE if _may_be_answered(row.case) else 1.0 for row in rows]
    for row, weight in zip(rows, own, strict=True):
        sizes[row.case.kind, row.case.answerable] += weight
    return np.array([
        weight * _mass(row.case.kind) / sizes[row.case.kind, row.case.answerable]
        for row, weight in zip(rows, own, strict=True)
    ])  # fmt: skip


def _may_be_answered(case: Case) -> bool:
    return case.why == "hidden" and case.kind.startswith("seed")


def _mass(kind: str) -> float:
    return next(mass for name, mass in sorted(_MASS.items(), key=lambda pair: -len(pair[0])) if kind.startswith(name))


def _logistic(rows: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Weighted logistic regression by Newton's method with a ridge on everything but the constant."""
    inputs = np.column_stack([rows, np.ones(len(rows))])
    heavy = weights / weights.sum() * _EXTENT
    ridge = np.diag([*[_RIDGE] * rows.shape[1], 1e-9])
    slope = np.zeros(inputs.shape[1])
    for _ in range(40):
        chance = _chance(inputs @ slope)
        gradient = inputs.T @ (heavy * (chance - labels)) + ridge @ slope
        bend = (inputs.T * (heavy * chance * (1 - chance))) @ inputs + ridge
        slope -= np.linalg.solve(bend, gradient)
    return slope


def _chance(odds: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def _judged(rows: Sequence[Row], fitted: Fitted) -> list[tuple[Row, float]]:
    def odds(row: Row) -> float:
        return float(np.dot(fitted.across if row.foreign else fitted.own, [*row.signals, 1.0]))

    return [(row, float(_chance(np.array(STEEPNESS * odds(row))))) for row in rows]


def _judgement(judged: Sequence[tuple[Row, float]]) -> str:
    """What these weights do with one kind: answered, right, answered in vain, and how F1 goes with the threshold."""
    known = [one for one in judged if one[0].case.answerable]
    unknown = [one for one in judged if not one[0].case.answerable]
    right = np.mean([chance >= FOUND and row.right for row, chance in known]) if known else 0.0
    figures = [f"answered {_above(known, FOUND):.2f}, right {right:.2f}, in vain {_above(unknown, FOUND):.2f}"]
    if known and unknown:
        figures += [f"F1 at {least:.2f}: {_f1(known, unknown, least):.3f}" for least in (0.3, 0.35, 0.4, 0.45, 0.5)]
    return "; ".join(figures)


def _above(judged: Sequence[tuple[Row, float]], least: float) -> float:
    return float(np.mean([chance >= least for _, chance in judged])) if judged else 0.0


def _f1(known: Sequence[tuple[Row, float]], unknown: Sequence[tuple[Row, float]], least: float) -> float:
    refused, kept = 1 - _above(known, least), 1 - _above(unknown, least)
    return 2 * kept / max(1 + refused + kept, 1e-9)
