"""Evaluations that were kept, as administrators see them."""

import re
from datetime import datetime

from app.domain.record import Record

RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
"""When the run was made, and six digits by chance."""


class KeptRate(Record):
    """A rate with its bootstrap interval."""

    value: float
    low: float
    high: float


class KeptGate(Record):
    """A threshold, held against the run."""

    metric: str
    where: str
    demand: str
    value: float | None
    holds: bool


class RunFigures(Record):
    """The main figures of one evaluation; nothing anybody asked or was told."""

    run_id: str
    made_at: datetime
    version: str
    """Of the program."""
    mind: str
    """Who answered: the rules of a release, or models with their prompts."""
    datasets: tuple[str, ...]
    questions: int
    leak_count: int
    rates: dict[str, KeptRate]
    """``right facts recall …``, as `docs/evaluation.md` names them."""
    calibration_error: float | None
    median_seconds: float
    p95_seconds: float
    tokens_per_question: float
    gates: tuple[KeptGate, ...]
    holds: bool
    """Whether no gate is broken."""


class KeptRun(RunFigures):
    """A run as it is kept."""

    tenants: tuple[str, ...]
    """Names of those whose documents were asked about, besides the datasets' own documents: nobody else's to know."""
