"""The report of a run over GAIA questions: totals with intervals, and every answer with its trace."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from statistics import NormalDist
from typing import Literal

from app.domain.knowledge import Language
from app.domain.record import Record
from app.evaluation.figures import LEVEL, Interval, percentile
from app.evaluation.report import Circumstances, DatasetTold, Score, Spent

GroupKind = Literal["level", "kind", "language", "tag"]


class GaiaAnswer(Record):
    """One question as it was answered."""

    task_id: str
    level: int
    question: str
    expected: str
    file_name: str
    asker: str
    language: Language
    tags: tuple[str, ...]
    mode: str
    """Of the flow that was asked."""
    answer: str
    right: bool | None
    """None where the right answer is not published."""
    outcome: str
    error: str = ""
    """Why there is no answer; empty when there is one."""
    steps: int
    """Node visits of the flow."""
    tool_calls: int
    seconds: float
    tokens: int
    reasoning: str = ""
    """The reasoning trace, as it is told."""
    trace: tuple[str, ...] = ()
    """The visits of `flow_action`, a line each."""


class GaiaGroup(Record):
    """The answers of one level, kind, language or tag."""

    kind: GroupKind
    name: str
    right: int
    score: Score
    median_steps: float
    median_seconds: float


class GaiaReport(Record):
    """A whole run."""

    shape: Literal["gaia-1"] = "gaia-1"
    made_at: datetime
    circumstances: Circumstances
    dataset: DatasetTold
    mode: str
    score: Score | None
    """Right ÷ scored; None when no right answer is known."""
    right: int
    groups: tuple[GaiaGroup, ...]
    spent: Spent
    median_steps: float
    median_tool_calls: float
    answers: tuple[GaiaAnswer, ...]


def summarise(
    answers: Sequence[GaiaAnswer],
    circumstances: Circumstances,
    dataset: DatasetTold,
    *,
    mode: str,
    made_at: datetime,
    total_seconds: float,
) -> GaiaReport:
    """The figures of `answers`, of which there is at least one."""
    scored = [one for one in answers if one.right is not None]
    return GaiaReport(
        made_at=made_at, circumstances=circumstances, dataset=dataset, mode=mode,
        score=_score(scored) if scored else None,
        right=sum(1 for one in scored if one.right),
        groups=tuple(_groups(scored)),
        spent=_spent(answers, total_seconds),
        median_steps=statistics.median(one.steps for one in answers),
        median_tool_calls=statistics.median(one.tool_calls for one in answers),
        answers=tuple(answers),
    )  # fmt: skip


def _groups(scored: Sequence[GaiaAnswer]) -> Iterator[GaiaGroup]:
    kinds: tuple[GroupKind, ...] = ("level", "kind", "language", "tag")
    for kind in kinds:
        for name in sorted({name for one in scored for name in _names(one, kind)}):
            members = [one for one in scored if name in _names(one, kind)]
            yield GaiaGroup(
                kind=kind, name=name, score=_score(members),
                right=sum(1 for one in members if one.right),
                median_steps=statistics.median(one.steps for one in members),
                median_seconds=statistics.median(one.seconds for one in members),
            )  # fmt: skip


def _names(one: GaiaAnswer, kind: GroupKind) -> Iterable[str]:
    match kind:
        case "level":
            return (str(one.level),)
        case "kind":
            return one.tags[:1]
        case "language":
            return (one.language,)
        case "tag":
            return one.tags[1:]


def _score(scored: Sequence[GaiaAnswer]) -> Score:
    right = sum(1 for one in scored if one.right)
    ends = share_interval(right, len(scored))
    return Score(value=right / len(scored), low=ends.low, high=ends.high, questions=len(scored))


def _spent(answers: Sequence[GaiaAnswer], total_seconds: float) -> Spent:
    seconds, tokens = [one.seconds for one in answers], sum(one.tokens for one in answers)
    return Spent(
        median_seconds=statistics.median(seconds), p95_seconds=percentile(seconds, 0.95) or 0.0,
        total_seconds=total_seconds, tokens=tokens, tokens_per_question=tokens / len(answers),
    )  # fmt: skip


def share_interval(right: int, asked: int) -> Interval:
    """Wilson's score interval of `right` ÷ `asked`, `asked` ≥ 1: holds for few questions too, also where none or all
    are right, of which drawing again would tell nothing."""
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share, slack = right / asked, z * z / asked
    middle, half = (share + slack / 2) / (1 + slack), z * math.sqrt(share * (1 - share) / asked + slack / (4 * asked))
    return Interval(max(0.0, middle - half / (1 + slack)), min(1.0, middle + half / (1 + slack)))
