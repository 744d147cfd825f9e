"""From judged answers to the figures of a report."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal

from app.evaluation.calibration import calibration_error, reliability
from app.evaluation.dataset import Dataset
from app.evaluation.intervals import interval, median_interval, percentile
from app.evaluation.measures import BY_NAME
from app.evaluation.rates import Pair, counts, rate
from app.evaluation.report import (
    Asked,
    Calibration,
    Circumstances,
    DatasetTold,
    Group,
    OutcomeScore,
    Report,
    Score,
    Spent,
)

SEED = 20_261_121
"""Of the intervals, unless another is given."""
_Kind = Literal["language", "department", "tag", "dataset"]


def summarise(
    asked: Sequence[Asked],
    datasets: Sequence[Dataset],
    circumstances: Circumstances,
    *,
    made_at: datetime,
    total_seconds: float,
    seed: int = SEED,
    kinds_only: bool = False,
) -> Report:
    """The report, before any gate was held against it.

    With `kinds_only` only the first tag of a question makes a group.
    """
    counted = [one for one in asked if not one.question.to_review]
    return Report(
        made_at=made_at,
        seed=seed,
        circumstances=circumstances,
        datasets=tuple(
            DatasetTold(name=one.name, questions=len(one.cases), fingerprint=one.fingerprint) for one in datasets
        ),
        questions=len(counted),
        to_review=len(asked) - len(counted),
        leak_count=sum(len(one.leaks) for one in asked),
        scores=scores_of(counted, tuple(BY_NAME), seed=seed),
        outcomes=tuple(outcomes_of(counted)),
        calibration=calibration_of(counted),
        spent=spent_on(asked, total_seconds),
        groups=tuple(groups_of(counted, seed=seed, kinds_only=kinds_only)),
        asked=tuple(asked),
    )


def pairs_of(asked: Sequence[Asked], metric: str) -> list[Pair]:
    """What each question adds to a metric, in order; (0, 0) where it was not asked of one."""
    return [one.measures.get(metric, Pair(0.0, 0.0)) for one in asked]


def scores_of(asked: Sequence[Asked], metrics: Sequence[str], *, seed: int) -> dict[str, Score]:
    """The rates that something was asked for, by metric."""
    scores = {}
    for metric in metrics:
        pairs = pairs_of(asked, metric)
        value, ends = rate(pairs), interval(pairs, seed=seed)
        if value is not None and ends is not None:
            told = sum(1 for pair in pairs if pair.whole)
            low, high = round(ends.low, 6), round(ends.high, 6)
            scores[metric] = Score(value=round(value, 6), low=low, high=high, questions=told)
    return scores


def outcomes_of(asked: Sequence[Asked]) -> Iterator[OutcomeScore]:
    """Precision, recall and F1 of every outcome that was due or said, against the first one of each question."""
    pairs = [
        (one.question.expected.outcome[0], one.observation.outcome) for one in asked if one.question.expected.outcome
    ]
    for name in sorted({name for pair in pairs for name in pair}):
        found = counts(name, pairs)
        yield OutcomeScore(
            outcome=name, due=found.due, said=found.said, both=found.both, precision=found.precision,
            recall=found.recall, f1=found.f1,
        )  # fmt: skip


def calibration_of(asked: Sequence[Asked]) -> Calibration | None:
    """Reliability of the answers of which is known whether they are true."""
    points = [(one.observation.confidence, one.is_true) for one in asked if one.is_true is not None]
    bins = reliability(points)
    error = calibration_error(bins)
    return None if error is None else Calibration(error=round(error, 6), answers=len(points), bins=bins)


def spent_on(asked: Sequence[Asked], total_seconds: float) -> Spent:
    """Time and tokens; the median and the 95th percentile of what an asker waits, by nearest rank."""
    seconds = [one.observation.seconds for one in asked]
    tokens = sum(one.observation.tokens for one in asked)
    return Spent(
        median_seconds=round(percentile(seconds, 0.5) or 0.0, 4),
        p95_seconds=round(percentile(seconds, 0.95) or 0.0, 4),
        total_seconds=round(total_seconds, 3),
        tokens=tokens,
        tokens_per_question=round(tokens / max(len(asked), 1), 1),
    )


def groups_of(asked: Sequence[Asked], *, seed: int, kinds_only: bool = False) -> Iterator[Group]:
    """The rates per dataset, language, department and tag, the largest groups first."""
    members: dict[tuple[_Kind, str], list[Asked]] = defaultdict(list)
    for one in asked:
        for key in _groups(one, kinds_only):
            members[key].append(one)
    order = ("dataset", "language", "department", "tag")
    for (kind, name), group in sorted(
        members.items(), key=lambda item: (order.index(item[0][0]), -len(item[1]), item[0][1])
    ):
        yield Group(
            kind=kind, name=name, questions=len(group), seconds=median_wait(group, seed=seed),
            scores=scores_of(group, tuple(BY_NAME), seed=seed),
        )  # fmt: skip


def median_wait(asked: Sequence[Asked], *, seed: int) -> Score | None:
    """The median time an asker waits, with its interval; None where nothing was asked."""
    seconds = [one.observation.seconds for one in asked]
    value, ends = percentile(seconds, 0.5), median_interval(seconds, seed=seed)
    if value is None or ends is None:
        return None
    return Score(value=round(value, 4), low=round(ends.low, 4), high=round(ends.high, 4), questions=len(seconds))


def _groups(one: Asked, kinds_only: bool) -> Iterator[tuple[_Kind, str]]:
    yield "dataset", one.dataset
    yield "language", one.language
    if one.question.department:
        yield "department", one.question.department
    for tag in dict.fromkeys(one.question.tags[:1] if kinds_only else one.question.tags):
        yield "tag", tag
