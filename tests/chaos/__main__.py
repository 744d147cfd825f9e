"""``python -m tests.chaos``: a storm with a line that tells where it is and a table at its end.

``CONCLAVE_CHAOS_SEED`` repeats a storm; ``--short`` is the one that the tests play. Here everything must have ended in
time; the tests, which share the machine, look at events and their order alone.
"""

import argparse
import asyncio
import os
import random
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.chaos.faults import LONG, SHORT, Storm
from tests.chaos.house import STORMY, House, Shape, open_house
from tests.chaos.storm import Tempest
from tests.chaos.verdict import Verdict, judge
from tests.nursery import open_nursery


async def play(house: House, storm: Storm, seed: int, bar: Progress, *, in_time: bool) -> Verdict:
    """One storm over a house; `in_time`: see `judge`."""
    line = bar.add_task("the storm begins", total=len(storm.kinds))
    tempest = Tempest(house, storm, seed, lambda text: bar.update(line, advance=1, description=text))
    await tempest.rage()
    bar.update(line, description="what is left is looked at")
    return await judge(house, tempest, in_time=in_time)


async def _play_alone(storm: Storm, seed: int, out: Console) -> Verdict:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True) as bar:
        shape = Shape(lease_seconds=3, environment=STORMY)
        async with open_nursery() as nursery, open_house(nursery, shape) as house:
            return await play(house, storm, seed, bar, in_time=True)


def show(verdict: Verdict, seed: int, seconds: float, out: Console) -> None:
    """The figures, and what is wrong."""
    table = Table(title=f"chaos · CONCLAVE_CHAOS_SEED={seed} · {seconds:.0f} s", title_justify="left")
    table.add_column("")
    table.add_column("found")
    for name, value in verdict.figures.items():
        told = ", ".join(f"{key} {count}" for key, count in value.items()) if isinstance(value, dict) else str(value)
        table.add_row(name, told)
    table.add_row("wrong", str(len(verdict.wrong)), style="bold red" if verdict.wrong else "bold green")
    out.print(table)
    for text in verdict.wrong[:40]:
        out.print(f"[red]{text}[/]", highlight=False)


def main() -> None:
    """Parse arguments and play."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    arguments = parser.parse_args()
    seed = int(os.environ.get("CONCLAVE_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 10**9)
    out, began = Console(), time.monotonic()
    out.print(f"CONCLAVE_CHAOS_SEED={seed}", highlight=False)
    verdict = asyncio.run(_play_alone(SHORT if arguments.short else LONG, seed, out))
    show(verdict, seed, time.monotonic() - began, out)
    sys.exit(1 if verdict.wrong else 0)


if __name__ == "__main__":
    main()
