"""A plug-in of pytest (``-p bench.trust.outcomes``): writes down how every test ended, a line of JSON each."""

import json
import os
from pathlib import Path

import pytest

from tests.measured import VARIABLE


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take a test's call, or what kept it from being called."""
    if report.when == "call" or report.outcome != "passed":
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"node": report.nodeid, "outcome": report.outcome}) + "\n")
