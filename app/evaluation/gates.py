"""Thresholds a run must keep."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from app.domain.record import Record
from app.evaluation.dataset import faults_of, refusal
from app.evaluation.figures import METRICS
from app.evaluation.report import GateResult, Report

DEFAULT_GATES = Path(__file__).parent / "gates.toml"
FIGURES = ("leaks", "calibration_error", "median_seconds", "p95_seconds", "tokens_per_question")
"""What can be demanded besides the rates."""


class Gate(Record):
    """One demand on a figure."""

    metric: str
    """A rate of `figures`, or ``leaks calibration_error median_seconds p95_seconds tokens_per_question``."""
    min: float | None = None
    max: float | None = None
    dataset: str = ""
    language: str = ""
    department: str = ""
    tag: str = ""
    """At most one of the four: the group that is meant; none = the whole run."""
    required: bool = False
    """Whether a run that tells nothing of it breaks the gate."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.metric not in METRICS and self.metric not in FIGURES:
            raise ValueError(f"there is no metric {self.metric!r}; metrics are {', '.join((*METRICS, *FIGURES))}")
        if self.min is None and self.max is None:
            raise ValueError(f"{self.metric}: say min or max")
        if len(self._groups) > 1:
            raise ValueError(f"{self.metric}: names more than one group")
        if self._groups and self.metric not in METRICS:
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


def check_gates(gates: Sequence[Gate], report: Report) -> tuple[GateResult, ...]:
    """Hold every limit of the gates against the run."""
    return tuple(
        GateResult(
            metric=gate.metric, where=gate.where, demand=f"{sign} {limit:g}", value=value,
            holds=not gate.required if value is None else value >= limit if sign == "≥" else value <= limit,
        )
        for gate in gates
        for value in (gate.value_in(report),)
        for sign, limit in (("≥", gate.min), ("≤", gate.max))
        if limit is not None
    )  # fmt: skip
