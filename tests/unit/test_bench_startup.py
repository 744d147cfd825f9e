"""The measurement of start-up runs, and says what is over its limit."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from bench.startup import LIMITS, Figure, environment_of, report, timed


def test_a_command_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    environment = {**environment_of(tmp_path, tmp_path), "PYTHONPATH": str(Path.cwd())}
    seconds, megabytes = timed(environment, "--help")
    assert 0 < seconds < 60 and megabytes > 5
    with pytest.raises(RuntimeError, match="ended with 2"):
        timed(environment, "nothing")


def test_what_is_over_its_limit_is_told() -> None:
    assert not Figure("token", 1.6, 1.5, 90, 150).is_within and not Figure("token", 1.4, 1.5, 160, 150).is_within
    assert Figure("serve, first start", 100, None, 900, None).is_within
    out = io.StringIO()
    figures = [Figure(name, 0.4, limits.seconds, 90, limits.megabytes) for name, limits in LIMITS.items()]
    Console(file=out, width=120).print(report(figures))
    assert "load" in out.getvalue() and all(name in out.getvalue() for name in LIMITS)
