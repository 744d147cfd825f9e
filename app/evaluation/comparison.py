"""Thresholds a run must keep, and two runs side by side: what moved by more than chance, and which questions did it."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.evaluation.dataset import faults_of, refusal
from app.evaluation.figures import BY_NAME, METRICS, difference_interval, rate
from app.evaluation.report import Asked, GateResult, Report, pairs_of

DEFAULT_GATES = Path(__file__).parent / "gates.toml"
FIGURES = ("leaks", "calibration_error", "median_seconds", "p95_seconds", "tokens_per_question")
"""What can be demanded besides the rates."""


class Gate(Record):
    """One demand on a figure."""

    metric: str
    """A rate of `figures`, or ``leaks calibration_error median_seconds p95_seconds tokens_per_question``."""
    min: float | None = None
    max: float | None = None
    max_drop: float | None = Field(None, ge=0)
    """How far it may fall below an earlier run; only held against two runs."""
    max_rise: float | None = Field(None, ge=0)
    dataset: str = ""
    language: str = ""
    department: str = ""
    tag: str = ""
    """At most one of the four: the group that is meant; none = the whole run."""
    required: bool = False
    """Whether a run that tells nothing of it breaks the gate."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.metric not in BY_NAME and self.metric not in FIGURES:
            raise ValueError(f"there is no metric {self.metric!r}; metrics are {', '.join((*BY_NAME, *FIGURES))}")
        if all(limit is None for limit in (self.min, self.max, self.max_drop, self.max_rise)):
            raise ValueError(f"{self.metric}: say min, max, max_drop or max_rise")
        if len(self._groups) > 1:
            raise ValueError(f"{self.metric}: names more than one group")
        if self._groups and self.metric not in BY_NAME:
            raise ValueError(f"{self.metric}: is told of the whole run only")
        return self

    @property
    def _groups(self) -> list[tuple[str, str]]:
        named = {"dataset": self.dataset, "language": self.language, "department": self.department, "tag": self.tag}
        return [(kind, name) for kind, name in named.items() if name]

    @property
    def where(self) -> str:
        """The group, for people."""
        return ", ".join(f"{kind} {name}" for kind, name in self._groups)

    def value_in(self, report: Report) -> float | None:
        """The figure it is about; None where the run tells nothing of it."""
        scores = report.scores
        for named in self._groups:
            scores = next((one.scores for one in report.groups if (one.kind, one.name) == named), {})
        if score := scores.get(self.metric):
            return score.value
        spent, calibration = report.spent, report.calibration
        figures = {
            "leaks": float(report.leak_count), "calibration_error": calibration.error if calibration else None,
            "median_seconds": spent.median_seconds, "p95_seconds": spent.p95_seconds,
            "tokens_per_question": spent.tokens_per_question,
        }  # fmt: skip
        return figures.get(self.metric)


class _File(Record):
    gate: tuple[Gate, ...] = Field(min_length=1)


def read_gates(path: Path) -> tuple[Gate, ...]:
    """The gates of a file. Raises `AppError` that names what is wrong."""
    try:
        return _File.model_validate(tomllib.loads(path.read_text("utf-8"))).gate
    except OSError as error:
        raise refusal([f"{path}: cannot be read ({error.strerror or type(error).__name__})"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise refusal([f"{path}: is no TOML ({error})"]) from error
    except ValidationError as error:
        raise refusal([f"{path}: {fault}" for fault in faults_of(error)]) from error


def held(gates: Sequence[Gate], report: Report, before: Report | None = None) -> tuple[GateResult, ...]:
    """Every demand of the gates against the run, and against an earlier one where there is one."""
    return tuple(
        GateResult(
            metric=gate.metric, where=gate.where, demand=demand, value=value,
            holds=not gate.required if value is None else holds,
        )
        for gate in gates
        for value in (gate.value_in(report),)
        for demand, holds in _demands(gate, value or 0.0, gate.value_in(before) if before else None)
    )  # fmt: skip


def _demands(gate: Gate, value: float, was: float | None) -> Iterator[tuple[str, bool]]:
    """Each limit of a gate for people, and whether `value` keeps it; the last two only where there was a value."""
    if gate.min is not None:
        yield f"≥ {gate.min:g}", value >= gate.min
    if gate.max is not None:
        yield f"≤ {gate.max:g}", value <= gate.max
    if was is None:
        return
    change = round(value - was, 6)  # figures are kept to six places: what lies beyond must not decide
    if gate.max_drop is not None:
        yield f"≥ {was - gate.max_drop:.3g} ({was:.3g} before)", change >= -gate.max_drop
    if gate.max_rise is not None:
        yield f"≤ {was + gate.max_rise:.3g} ({was:.3g} before)", change <= gate.max_rise


class Change(Record):
    """A rate in both runs, over the questions both asked."""

    metric: str
    before: float
    after: float
    low: float
    """Of the 95 % interval of the difference."""
    high: float
    questions: int
    verdict: str
    """``better``, ``worse``, or ``even`` where the interval holds zero."""


class Moved(Record):
    """A question whose verdict changed."""

    key: str
    question: str
    before: tuple[str, ...]
    """What was wrong; empty = right."""
    after: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key} {self.question} ({'; '.join(self.after or self.before)})"


class Comparison(Record):
    """What changed from one run to the next."""

    questions: int
    """Those both runs asked."""
    only_before: int
    only_after: int
    unlike: tuple[str, ...]
    """Circumstances that differ: the mind, the documents, a setting."""
    changes: tuple[Change, ...]
    median_seconds: tuple[float, float]
    p95_seconds: tuple[float, float]
    leaks: tuple[int, int]
    better: tuple[Moved, ...]
    worse: tuple[Moved, ...]
    gates: tuple[GateResult, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no gate is broken."""
        return all(gate.holds for gate in self.gates)

    @property
    def summary(self) -> str:
        """What changed besides the rates, for people."""
        waited = " → ".join(f"{seconds * 1000:.0f} ms" for seconds in self.median_seconds)
        leaks = f"leaks {self.leaks[0]} → {self.leaks[1]}"
        unlike = f" Not alike: {'; '.join(self.unlike)}." if self.unlike else ""
        return f"{self.questions} questions in both runs; {leaks}; median wait {waited}.{unlike}"

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Write every rate as texts: title, before, after, change with its interval, verdict."""
        for one in self.changes:
            change = f"{one.after - one.before:+.3f} ({one.low:+.3f} … {one.high:+.3f})"
            yield BY_NAME[one.metric].title, f"{one.before:.3f}", f"{one.after:.3f}", change, one.verdict


def compare(before: Report, after: Report) -> Comparison:
    """Compare two runs over the questions they share. Raises `AppError` when they share none."""
    known = {one.key: one for one in before.asked if not one.question.to_review}
    new = {one.key: one for one in after.asked if not one.question.to_review}
    shared = [key for key in known if key in new]
    if not shared:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The two runs share no question.", status=422)
    was, now = [known[key] for key in shared], [new[key] for key in shared]
    return Comparison(
        questions=len(shared),
        only_before=len(known) - len(shared),
        only_after=len(new) - len(shared),
        unlike=tuple(unlike(before, after)),
        changes=tuple(changes_of(was, now, seed=after.seed)),
        median_seconds=(before.spent.median_seconds, after.spent.median_seconds),
        p95_seconds=(before.spent.p95_seconds, after.spent.p95_seconds),
        leaks=(before.leak_count, after.leak_count),
        better=tuple(_moved(one, other) for one, other in zip(was, now, strict=True) if other.right and not one.right),
        worse=tuple(_moved(one, other) for one, other in zip(was, now, strict=True) if one.right and not other.right),
    )


def unlike(before: Report, after: Report) -> list[str]:
    """What should be alike for two runs to be compared, and is not; the program itself is meant to differ."""
    one, other = before.circumstances, after.circumstances
    told = [
        f"{name}: {was} → {now}"
        for name, was, now in (
            ("mind", one.mind, other.mind), ("vectors", one.space, other.space), ("day", one.today, other.today),
            ("concurrency", one.concurrency, other.concurrency),
        )
        if was != now
    ]  # fmt: skip
    known, new = ({corpus.tenant: corpus for corpus in run.corpora} for run in (one, other))
    told += [f"documents of {name}" for name in sorted(known.keys() & new.keys()) if known[name] != new[name]]
    settings = sorted(one.settings.keys() | other.settings.keys())
    told += [f"setting {name}" for name in settings if one.settings.get(name) != other.settings.get(name)]
    sets, sets_now = ({told.name: told.fingerprint for told in run.datasets} for run in (before, after))
    told += [f"dataset {name}" for name in sorted(sets.keys() & sets_now.keys()) if sets[name] != sets_now[name]]
    return told


def changes_of(before: Sequence[Asked], after: Sequence[Asked], *, seed: int) -> list[Change]:
    """Every rate both runs tell something of; the n-th questions are the same."""
    changes = []
    for metric in METRICS:
        was, now = pairs_of(before, metric.name), pairs_of(after, metric.name)
        old, new, ends = rate(was), rate(now), difference_interval(was, now, seed=seed)
        if old is None or new is None or ends is None:
            continue
        rises, falls = ends.low > 0, ends.high < 0
        better, worse = (rises, falls) if metric.better == "higher" else (falls, rises)
        changes.append(
            Change(
                metric=metric.name, before=round(old, 6), after=round(new, 6), low=round(ends.low, 6),
                high=round(ends.high, 6), questions=sum(1 for pair in now if pair.whole),
                verdict="better" if better else "worse" if worse else "even",
            )
        )  # fmt: skip
    return changes


def _moved(before: Asked, after: Asked) -> Moved:
    return Moved(
        key=after.key, question=after.question.question, before=tuple(fault.detail for fault in before.faults),
        after=tuple(fault.detail for fault in after.faults),
    )  # fmt: skip
