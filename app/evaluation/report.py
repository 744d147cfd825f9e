"""The report of a run as it is kept: one JSON object, whose shape has a version, so that runs can be compared."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from app.domain.oversight import KeptGate, KeptRate, KeptRun
from app.domain.record import Record
from app.evaluation.dataset import Dataset
from app.evaluation.figures import (
    METRICS,
    Bin,
    Pair,
    calibration_error,
    interval,
    percentile,
    rate,
    reliability,
)
from app.evaluation.judging import Verdict
from app.evaluation.observed import Observation
from app.evaluation.question import Question, Rights

Kind = Literal["dataset", "language", "department", "tag"]


class Score(KeptRate):
    """A figure with its bootstrap interval."""

    questions: int
    """Those that had a say in it."""


class Calibration(Record):
    """Whether the confidence of the answers given can be believed."""

    error: float
    """Expected calibration error, 0–1."""
    answers: int
    bins: tuple[Bin, ...]


class Spent(Record):
    """What the answers cost."""

    median_seconds: float
    p95_seconds: float
    total_seconds: float
    """Of the whole run, by the clock on the wall."""
    tokens: int
    tokens_per_question: float


class Group(Record):
    """The rates of the questions of one language, department, tag or dataset."""

    kind: Kind
    name: str
    questions: int
    scores: dict[str, Score]
    """By metric; those a group tells nothing of are left out."""
    seconds: float
    """Median wait."""


class Asked(Verdict):
    """One question with its answer and how it fared."""

    dataset: str
    question: Question
    language: str
    asker: str
    observation: Observation

    @property
    def key(self) -> str:
        """The same question of another run has the same one."""
        return f"{self.dataset}/{self.question.id}"

    @property
    def tenant(self) -> str:
        """Whose documents it was about; empty = the dataset's own."""
        asker = self.question.asker
        return asker.tenant if isinstance(asker, Rights) else asker.partition("/")[0]


class DatasetTold(Record):
    """A dataset that was asked."""

    name: str
    questions: int
    fingerprint: str


class Circumstances(Record):
    """What figures depend on besides the questions: two runs compare where these are alike."""

    version: str
    mind: str
    """Who answers: the rules of a release, or models with their prompts."""
    space: str
    """Model and centring of the vectors."""
    settings: dict[str, Any]
    concurrency: int
    today: str


class GateResult(KeptGate):
    """One threshold, held against the run."""

    def __str__(self) -> str:
        value = "not asked" if self.value is None else f"{self.value:.3f}"
        where = f" ({self.where})" if self.where else ""
        return f"{'✓' if self.holds else '✗'} {self.metric}{where} {value}, wanted {self.demand}"


class Report(Record):
    """A whole run."""

    shape: Literal[3] = 3
    made_at: datetime
    circumstances: Circumstances
    datasets: tuple[DatasetTold, ...]
    questions: int
    """Those that count."""
    to_review: int
    leak_count: int
    scores: dict[str, Score]
    calibration: Calibration | None
    spent: Spent
    groups: tuple[Group, ...]
    gates: tuple[GateResult, ...] = ()
    asked: tuple[Asked, ...]

    @property
    def holds(self) -> bool:
        """Whether no gate is broken."""
        return all(gate.holds for gate in self.gates)

    def figures(self, run_id: str) -> KeptRun:
        """The main figures, as administrators of the tenants that were asked about see them."""
        told = self.model_dump(include={"made_at", "questions", "leak_count", "gates", "holds"})
        told |= self.circumstances.model_dump(include={"version", "mind"})
        told |= self.spent.model_dump(include={"median_seconds", "p95_seconds", "tokens_per_question"})
        return KeptRun(
            **told, run_id=run_id, datasets=tuple(one.name for one in self.datasets), holds=self.holds,
            tenants=tuple(sorted({one.tenant for one in self.asked if one.tenant})),
            rates={name: KeptRate(value=one.value, low=one.low, high=one.high) for name, one in self.scores.items()},
            calibration_error=self.calibration.error if self.calibration else None,
        )  # fmt: skip


def summarise(
    asked: Sequence[Asked],
    datasets: Sequence[Dataset],
    circumstances: Circumstances,
    *,
    made_at: datetime,
    total_seconds: float,
    kinds_only: bool = False,
) -> Report:
    """Sum judged answers up, before any gate was held against them.

    With `kinds_only` only the first tag of a question makes a group.
    """
    counted = [one for one in asked if not one.question.to_review]
    return Report(
        made_at=made_at, circumstances=circumstances,
        datasets=tuple(
            DatasetTold(name=one.name, questions=len(one.cases), fingerprint=one.fingerprint) for one in datasets
        ),
        questions=len(counted), to_review=len(asked) - len(counted),
        leak_count=sum(len(one.leaks) for one in asked), scores=scores_of(counted),
        calibration=_calibration_of(counted), spent=_spent_on(asked, total_seconds),
        groups=tuple(_groups_of(counted, kinds_only)), asked=tuple(asked),
    )  # fmt: skip


def pairs_of(asked: Sequence[Asked], metric: str) -> list[Pair]:
    """List what each question adds to a metric, in order; (0, 0) where it was not asked of one."""
    return [one.measures.get(metric, Pair(0.0, 0.0)) for one in asked]


def scores_of(asked: Sequence[Asked]) -> dict[str, Score]:
    """Compute the rates that something was asked for, by metric."""
    scores = {}
    for metric in METRICS:
        pairs = pairs_of(asked, metric)
        value, ends = rate(pairs), interval(pairs)
        if value is not None and ends is not None:
            told = sum(1 for pair in pairs if pair.whole)
            low, high = round(ends.low, 6), round(ends.high, 6)
            scores[metric] = Score(value=round(value, 6), low=low, high=high, questions=told)
    return scores


def _calibration_of(asked: Sequence[Asked]) -> Calibration | None:
    """Reliability of the answers of which is known whether they are true."""
    points = [(one.observation.confidence, one.is_true) for one in asked if one.is_true is not None]
    bins = reliability(points)
    error = calibration_error(bins)
    return None if error is None else Calibration(error=round(error, 6), answers=len(points), bins=bins)


def _spent_on(asked: Sequence[Asked], total_seconds: float) -> Spent:
    """Time and tokens; the median and the 95th percentile of what an asker waits, by nearest rank."""
    tokens = sum(one.observation.tokens for one in asked)
    return Spent(
        median_seconds=_wait(asked, 0.5), total_seconds=round(total_seconds, 3),
        p95_seconds=_wait(asked, 0.95),
        tokens=tokens, tokens_per_question=round(tokens / max(len(asked), 1), 1),
    )  # fmt: skip


def _wait(asked: Sequence[Asked], q: float) -> float:
    return round(percentile([one.observation.seconds for one in asked], q) or 0.0, 4)


def _groups_of(asked: Sequence[Asked], kinds_only: bool) -> Iterator[Group]:
    """The rates per dataset, language, department and tag, the largest groups first."""
    members: dict[tuple[Kind, str], list[Asked]] = defaultdict(list)
    for one in asked:
        members["dataset", one.dataset].append(one)
        members["language", one.language].append(one)
        if one.question.department:
            members["department", one.question.department].append(one)
        for tag in dict.fromkeys(one.question.tags[: 1 if kinds_only else None]):
            members["tag", tag].append(one)
    order = ("dataset", "language", "department", "tag")
    for kind, name in sorted(members, key=lambda key: (order.index(key[0]), -len(members[key]), key[1])):
        group = members[kind, name]
        wait = _wait(group, 0.5)
        yield Group(kind=kind, name=name, questions=len(group), scores=scores_of(group), seconds=wait)
