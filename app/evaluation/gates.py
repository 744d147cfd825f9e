"""Gates: thresholds a run must keep, read from a small TOML file."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from app.domain.record import Record
from app.evaluation.dataset import refusal
from app.evaluation.measures import BY_NAME
from app.evaluation.report import GateResult, Group, Report

DEFAULT_GATES = Path(__file__).parent / "gates.toml"
FIGURES = ("leaks", "calibration_error", "median_seconds", "p95_seconds", "tokens_per_question")
"""What can be demanded besides the rates."""


class Gate(Record):
    """One demand on a figure."""

    metric: str
    """A rate of `measures`, or ``leaks calibration_error median_seconds p95_seconds tokens_per_question``."""
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
        if self._groups:
            return _of_group(report.groups, *self._groups[0], self.metric)
        if score := report.scores.get(self.metric):
            return score.value
        calibration = report.calibration
        figures = {
            "leaks": float(report.leak_count),
            "calibration_error": calibration.error if calibration else None,
            "median_seconds": report.spent.median_seconds,
            "p95_seconds": report.spent.p95_seconds,
            "tokens_per_question": report.spent.tokens_per_question,
        }
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
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        said = [f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}" for one in faults]
        raise refusal([f"{path}: {one}" for one in said]) from error


def held(gates: Sequence[Gate], report: Report, before: Report | None = None) -> tuple[GateResult, ...]:
    """Every demand of the gates against the run, and against an earlier one where there is one."""
    return tuple(result for gate in gates for result in _results(gate, report, before))


def _results(gate: Gate, report: Report, before: Report | None) -> Iterator[GateResult]:
    value = gate.value_in(report)
    if gate.min is not None:
        yield _result(gate, f"≥ {gate.min:g}", value, value is not None and value >= gate.min)
    if gate.max is not None:
        yield _result(gate, f"≤ {gate.max:g}", value, value is not None and value <= gate.max)
    was = gate.value_in(before) if before else None
    if was is None:
        return
    # Figures are kept to six places: what lies beyond must not decide.
    change = None if value is None else round(value - was, 6)
    if gate.max_drop is not None:
        demand = f"≥ {was - gate.max_drop:.3g} ({was:.3g} before)"
        yield _result(gate, demand, value, change is not None and change >= -gate.max_drop)
    if gate.max_rise is not None:
        demand = f"≤ {was + gate.max_rise:.3g} ({was:.3g} before)"
        yield _result(gate, demand, value, change is not None and change <= gate.max_rise)


def _result(gate: Gate, demand: str, value: float | None, holds: bool) -> GateResult:
    is_silent = value is None and not gate.required
    return GateResult(metric=gate.metric, where=gate.where, demand=demand, value=value, holds=holds or is_silent)


def _of_group(groups: Sequence[Group], kind: str, name: str, metric: str) -> float | None:
    found = next((group for group in groups if (group.kind, group.name) == (kind, name)), None)
    score = found.scores.get(metric) if found else None
    return score.value if score else None
