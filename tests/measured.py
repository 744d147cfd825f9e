"""Numbers that tests measured, for `make trust`: a line of JSON each in the file CONCLAVE_TRUST_REPORT names."""

import json
import os
from pathlib import Path

VARIABLE = "CONCLAVE_TRUST_REPORT"


def measured(goal: int, **numbers: float) -> None:
    """Write down what was measured for a goal (1 to 23); nothing where nobody asks for a report.

    Counts of several tests are added up (`bench.trust`), so each test tells only its own.
    """
    if name := os.environ.get(VARIABLE):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"goal": goal, "numbers": numbers}) + "\n")
