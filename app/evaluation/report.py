"""The report of a run as it is kept: one JSON object, whose shape has a version, so that runs can be compared."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from app.domain.record import Record
from app.errors import AppError, ErrorCode
from app.evaluation.calibration import Bin
from app.evaluation.grading import Grade
from app.evaluation.judging import Fault, Leak
from app.evaluation.observed import Observation
from app.evaluation.question import Question
from app.evaluation.rates import Pair

SHAPE: Literal[1] = 1


class Score(Record):
    """A rate with its bootstrap interval."""

    value: float
    low: float
    high: float
    questions: int
    """Those that had a say in it."""


class OutcomeScore(Record):
    """How well one outcome is told; None where it was never due or never said."""

    outcome: str
    due: int
    said: int
    both: int
    precision: float | None
    recall: float | None
    f1: float | None


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

    kind: Literal["language", "department", "tag", "dataset"]
    name: str
    questions: int
    scores: dict[str, Score]
    """By metric; those a group tells nothing of are left out."""
    seconds: Score | None = None
    """Median wait."""


class Asked(Record):
    """One question with its answer and how it fared."""

    dataset: str
    question: Question
    language: str
    asker: str
    observation: Observation
    right: bool
    is_true: bool | None
    grade: Grade | None = None
    extra: tuple[str, ...] = ()
    """Sentences that do not belong into the answer."""
    faults: tuple[Fault, ...]
    leaks: tuple[Leak, ...]
    measures: dict[str, Pair]

    @property
    def key(self) -> str:
        """The same question of another run has the same one."""
        return f"{self.dataset}/{self.question.id}"


class DatasetTold(Record):
    """A dataset that was asked."""

    name: str
    questions: int
    fingerprint: str


class CorpusTold(Record):
    """The documents of one tenant when the run began."""

    tenant: str
    documents: int
    fingerprint: str


class Circumstances(Record):
    """What figures depend on besides the questions: two runs are comparable where these are alike."""

    version: str
    code: str
    """Fingerprint of the program's own files."""
    mind: str
    """Who answers: the rules of a release, or models with their prompts."""
    space: str
    """Model and centring of the vectors."""
    settings: dict[str, Any]
    corpora: tuple[CorpusTold, ...] = ()
    concurrency: int
    today: str


class GateResult(Record):
    """One threshold, held against the run."""

    metric: str
    where: str = ""
    """The group it is about; empty = everything."""
    demand: str
    """``≥ 0.80``."""
    value: float | None
    """None = nothing was asked that tells."""
    holds: bool


class Report(Record):
    """A whole run."""

    shape: Literal[1] = SHAPE
    made_at: datetime
    seed: int
    """Of the intervals."""
    circumstances: Circumstances
    datasets: tuple[DatasetTold, ...]
    questions: int
    """Those that count."""
    to_review: int
    leak_count: int
    scores: dict[str, Score]
    outcomes: tuple[OutcomeScore, ...]
    calibration: Calibration | None
    spent: Spent
    groups: tuple[Group, ...]
    gates: tuple[GateResult, ...] = ()
    asked: tuple[Asked, ...]

    @property
    def holds(self) -> bool:
        """Whether no gate is broken."""
        return all(gate.holds for gate in self.gates)


def read_report(path: Path) -> Report:
    """A report that was kept. Raises `AppError` (PAYLOAD_INVALID) for anything else."""
    try:
        return Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise _refused(path, f"cannot be read ({error.strerror or type(error).__name__})") from error
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"]))
        raise _refused(path, f"is no report of shape {SHAPE} ({place}: {fault['msg']})") from error


def _refused(path: Path, reason: str) -> AppError:
    return AppError(ErrorCode.PAYLOAD_INVALID, f"{path}: {reason}.", status=422)
