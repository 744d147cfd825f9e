"""`make trust`: measure the goals of trust and print them: limit, measured, pass, part, fail or not measured.

A goal nobody measures is told so, and one that was tried with less than it asks for is held in part; neither is passed.
Exit code 1 when a goal fails. Writes `trust.json` and `trust.md`.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.trust import ROOT, Goal, Outcome, State, Verdict, added, goals, judged
from tests.measured import VARIABLE
from tests.mutation import guards
from tests.mutation.__main__ import copy_checkout, try_without

_COLOURS: dict[State, str] = {"pass": "green", "part": "yellow", "fail": "red", "not measured": "dim"}


def run_tests(named: Sequence[str], report: Path, *, nightly: bool) -> None:
    """Run tests in a process of their own, which writes its numbers and outcomes into `report`."""
    environment = {**os.environ, VARIABLE: str(report)} | ({"CONCLAVE_WHOLE": "1"} if nightly else {})
    command = (sys.executable, "-m", "pytest", "-q", "-p", "bench.trust.outcomes", "-p", "no:cacheprovider")
    # Limits that count are in the tests; on a crowded machine it takes minutes until their services stand.
    longest = "3600" if nightly else "900"
    subprocess.run((*command, "--timeout", longest, *named), cwd=ROOT, env=environment, check=False)


def take_guards_away(number: int, seed: int) -> dict[str, float]:
    """Take some guards away in a copy of the checkout; how many, and how many no test missed."""
    table = guards()
    survived = 0
    chosen = random.Random(seed).sample(table, min(number, len(table)))
    with tempfile.TemporaryDirectory(prefix="conclave-guards-") as folder:
        copy_checkout(Path(folder))
        for guard in chosen:
            state, told = try_without(guard, Path(folder))
            survived += state != "caught"
            sys.stdout.write(f"{state:9} {guard.name}  {told}\n")
    return {"guards_taken_away": len(chosen), "guards_nobody_missed": survived}


def lines_of(report: Path) -> list[dict[str, Any]]:
    """What was written into a report."""
    return [json.loads(line) for line in report.read_text("utf-8").splitlines()] if report.exists() else []


def outcomes_in(lines: Iterable[Mapping[str, Any]]) -> dict[str, Outcome]:
    """How each test ended; one failure (also of what comes after it) makes it failed."""
    found: dict[str, Outcome] = {}
    for line in (one for one in lines if "node" in one):
        if found.get(line["node"]) != "failed":
            found[line["node"]] = line["outcome"]
    return found


def measure(wanted: Sequence[Goal], *, nightly: bool, seed: int) -> list[Verdict]:
    """Run the tests of the goals, folder by folder, and judge each goal."""
    named = dict.fromkeys(name for goal in wanted for name in goal.named(nightly=nightly))
    with tempfile.TemporaryDirectory(prefix="conclave-trust-") as folder:
        report = Path(folder) / "report"
        for room in dict.fromkeys(name.split("/")[1] for name in named):
            run_tests([name for name in named if name.split("/")[1] == room], report, nightly=nightly)
        lines = lines_of(report)
    outcomes, numbers = outcomes_in(lines), [line for line in lines if "goal" in line]
    numbers += [
        {"goal": goal.number, "numbers": take_guards_away(goal.guards[nightly], seed)}
        for goal in wanted
        if goal.guards[nightly]
    ]
    return [judged(goal, outcomes, added(numbers, goal.number), nightly=nightly) for goal in wanted]


def written(verdicts: Sequence[Verdict], folder: Path, *, nightly: bool, seed: int) -> None:
    """Write the table as JSON and as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    size = "nightly" if nightly else "CI"
    head = {"size": size, "seed": seed, "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    told = {**head, "goals": [{**asdict(one.goal), "state": one.state, "measured": one.measured} for one in verdicts]}
    (folder / "trust.json").write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", "utf-8")
    lines = [
        f"# Trust, measured ({size} size, seed {seed})",
        "",
        "| | goal | limit | measured | |",
        "|---|---|---|---|---|",
    ]
    for one in verdicts:
        cells = (str(one.goal.number), one.goal.title, limit_of(one.goal, nightly=nightly), one.measured, one.state)
        lines.append(f"| {' | '.join(cells)} |")
    (folder / "trust.md").write_text("\n".join(lines) + "\n", "utf-8")


def limit_of(goal: Goal, *, nightly: bool) -> str:
    """The limit in words."""
    return goal.nightly if nightly and goal.nightly != "the same" else goal.ci


def printed(verdicts: Sequence[Verdict], out: Console, *, nightly: bool) -> None:
    """Print the table and the sums."""
    table = Table("", "goal", "limit", "measured", "", "where", show_lines=True)
    for one in verdicts:
        where = "\n".join(one.goal.named(nightly=nightly))
        state = f"[{_COLOURS[one.state]}]{one.state}[/]"
        table.add_row(
            str(one.goal.number), one.goal.title, limit_of(one.goal, nightly=nightly), one.measured, state, where
        )
    out.print(table, markup=True)
    count = Counter(one.state for one in verdicts)
    out.print(", ".join(f"{count[state]} {state}" for state in _COLOURS))


def main() -> int:
    """Parse arguments and measure; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nightly", action="store_true", help="all there is to try; takes hours")
    parser.add_argument(
        "--goals", default="", help="numbers of the goals to measure, with commas between; default: all"
    )
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "trust", help="where trust.json and trust.md go")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the guards that are taken away")
    asked = parser.parse_args()
    numbers = {int(one) for one in asked.goals.split(",") if one}
    wanted = [goal for goal in goals() if not numbers or goal.number in numbers]
    sys.stdout.write(f"seed {asked.seed}\n")
    verdicts = measure(wanted, nightly=asked.nightly, seed=asked.seed)
    printed(verdicts, Console(), nightly=asked.nightly)
    written(verdicts, asked.to, nightly=asked.nightly, seed=asked.seed)
    return 1 if any(one.state == "fail" for one in verdicts) else 0


if __name__ == "__main__":
    raise SystemExit(main())
