"""The goals of trust: what the service promises of isolation, faults and attacks, and which tests measure it.

`goals.toml` is the table; `make trust` runs what it names and holds the numbers against it.
"""

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("goals.toml")
State = Literal["pass", "part", "fail", "not measured"]
Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True)
class Goal:
    """One goal, and by what it is measured."""

    number: int
    title: str
    ci: str
    """What must hold in a run of CI size, in words."""
    nightly: str
    tests: tuple[str, ...] = ()
    """Files, classes or tests; all of them must pass."""
    long: tuple[str, ...] = ()
    """Played in a nightly run only."""
    least: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Numbers that must be reached, at CI size and in a nightly run."""
    most: Mapping[str, float] = field(default_factory=dict)
    """Numbers that must not be passed."""
    gap: str = ""
    """What of the goal nothing measures; such a goal is held in part at best."""
    guards: tuple[int, int] = (0, 0)
    """How many guards are taken away (`tests.mutation`), at CI size and in a nightly run."""

    def named(self, *, nightly: bool) -> tuple[str, ...]:
        """The tests of such a run."""
        return (*self.tests, *self.long) if nightly else self.tests


@dataclass(frozen=True)
class Verdict:
    """What a run found out about a goal."""

    goal: Goal
    state: State
    measured: str
    """Numbers, tests, and what is missing."""


def goals(table: Path = TABLE) -> list[Goal]:
    """Read the table."""
    return [Goal(**_read(one)) for one in tomllib.loads(table.read_text("utf-8"))["goal"]]


def _read(one: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in one.items()}


def belongs(node: str, named: str) -> bool:
    """Whether a test that ran is one a goal names: the very test, or one of its file, class or parameters."""
    return node == named or node.startswith((f"{named}::", f"{named}["))


def added(lines: Collection[Mapping[str, Any]], number: int) -> dict[str, float]:
    """The numbers that tests told of a goal: those of most tests are counts, and added up; ``seconds_…``, ``tenants``
    and ``kinds_…`` are not, and the largest counts."""
    found: Counter[str] = Counter()
    for name, value in (pair for line in lines if line["goal"] == number for pair in line["numbers"].items()):
        is_size = name.startswith(("seconds_", "tenants", "actor_kinds"))
        found[name] = max(found[name], value) if is_size else found[name] + value
    return dict(found)


def judged(goal: Goal, outcomes: Mapping[str, Outcome], numbers: Mapping[str, float], *, nightly: bool) -> Verdict:
    """Hold what ran against a goal. Nothing is passed that was not tried in full: fewer trials than the goal asks for,
    tests that were skipped and what nobody measures make it ``part``."""
    ran = [one for node, one in outcomes.items() if any(belongs(node, name) for name in goal.named(nightly=nightly))]
    over = [
        f"{name} {numbers[name]:g}, at most {most:g}" for name, most in goal.most.items() if numbers.get(name, 0) > most
    ]
    told = [f"{name.replace('_', ' ')} {value:,.6g}" for name, value in numbers.items()]
    passed, failed = ran.count("passed"), ran.count("failed")
    unrun = [name for name in goal.named(nightly=nightly) if not any(belongs(node, name) for node in outcomes)]
    if not passed and not failed and not numbers:
        return Verdict(goal, "not measured", goal.gap or "nothing measures it")
    missing = [f"{name} {numbers.get(name, 0):,.6g} of {sizes[nightly]:,.6g}" for name, sizes in goal.least.items()
               if numbers.get(name, 0) < sizes[nightly]]  # fmt: skip
    if passed or failed:
        told.append(f"{passed} of {passed + failed} tests passed")
    told += [f"FEWER: {one}" for one in missing] + [f"DID NOT RUN: {one}" for one in unrun]
    told += [f"{ran.count('skipped')} skipped"] if "skipped" in ran else []
    told += [f"not measured: {goal.gap}"] if goal.gap else []
    if failed or over:
        return Verdict(goal, "fail", "; ".join(over + told))
    whole = not (missing or unrun or goal.gap or "skipped" in ran)
    return Verdict(goal, "pass" if whole else "part", "; ".join(told))
