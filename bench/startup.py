"""`make bench`: how long the commands people type take, and how much memory, against their limits on a quiet machine.

Real processes over a data directory of their own, made at first; the warm ones are run `--runs` times, the median
counts. The load of the machine is printed with them: beside other work every figure is too high.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

QUESTION = "How many characters does a password need?"
_COMMAND = (sys.executable, "-m", "app.cli")
_START_SECONDS = 600


class Figure(NamedTuple):
    """What one command took."""

    name: str
    seconds: float
    limit_seconds: float | None
    megabytes: float
    limit_megabytes: float | None

    @property
    def is_within(self) -> bool:
        """Whether both limits are held."""
        return self.seconds <= (self.limit_seconds or float("inf")) and self.megabytes <= (
            self.limit_megabytes or float("inf")
        )


class Limits(NamedTuple):
    """What a command may take on a quiet machine."""

    seconds: float | None = None
    megabytes: float | None = None


LIMITS = {
    "serve, first start": Limits(),
    "serve, warm": Limits(5.0, 600.0),
    "--help": Limits(0.5),
    "token": Limits(1.5, 150.0),
    "ask beside a server": Limits(1.0),
    "ask without a server": Limits(5.0),
}


def measure(environment: dict[str, str], port: int, runs: int) -> Iterator[Figure]:
    """Every figure, one after the other; the data directory of `environment` is filled by the first one."""
    with serving(environment, port) as (seconds, megabytes):
        yield _figure("serve, first start", [(seconds, megabytes())])
    starts = []
    for run in range(runs):
        with serving(environment, port) as (seconds, megabytes):
            if run == runs - 1:
                beside = [timed(environment, "ask", QUESTION) for _ in range(runs + 1)]
                token = [timed(environment, "token") for _ in range(runs)]
            starts.append((seconds, megabytes()))
    yield _figure("serve, warm", starts)
    yield _figure("--help", [timed(environment, "--help") for _ in range(runs)])
    yield _figure("token", token)
    yield _figure("ask beside a server", beside[1:])
    yield _figure("ask without a server", [timed(environment, "ask", QUESTION) for _ in range(runs)])


def _figure(name: str, measured: Sequence[tuple[float, float]]) -> Figure:
    seconds, megabytes = (statistics.median(values) for values in zip(*measured, strict=True))
    return Figure(name, seconds, LIMITS[name].seconds, megabytes, LIMITS[name].megabytes)


def timed(environment: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Seconds and most megabytes of a command that has to end with 0."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*_COMMAND, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process.stderr as stream:
        told = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"conclave {' '.join(arguments)} ended with {process.returncode}: {told}")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


@contextmanager
def serving(environment: dict[str, str], port: int) -> Iterator[tuple[float, Callable[[], float]]]:
    """A server; gives the seconds until `/ready` and a way to ask for the megabytes it holds."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [*_COMMAND, "serve", "--port", str(port)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        while not _is_ready(port):
            if process.poll() is not None or time.perf_counter() - began > _START_SECONDS:
                raise RuntimeError(f"the server does not come up (exit code {process.returncode})")
            time.sleep(0.02)
        yield time.perf_counter() - began, lambda: _resident_megabytes(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def report(figures: Sequence[Figure]) -> Table:
    """The figures beside their limits."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    table = Table("", "seconds", "at most", "MB", "at most", title=f"load {load} on {os.cpu_count()} cores")
    for one in figures:
        limits = [f"{limit:g}" if limit else "–" for limit in (one.limit_seconds, one.limit_megabytes)]
        style = "" if one.is_within else "red"
        table.add_row(one.name, f"{one.seconds:.2f}", limits[0], f"{one.megabytes:.0f}", limits[1], style=style)
    return table


def environment_of(data_dir: Path, seed_dir: Path) -> dict[str, str]:
    """What the commands are run with: no setting of the caller's but these."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    return {**own, "CONCLAVE_DATA_DIR": str(data_dir), "CONCLAVE_SEED_DIR": str(seed_dir), "COLUMNS": "160"}


def main() -> None:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        environment = environment_of(Path(folder) / "data", asked.seed.resolve())
        figures = list(measure(environment, asked.port, asked.runs))
    if asked.json:
        for one in figures:
            sys.stdout.write(json.dumps({**one._asdict(), "load": os.getloadavg()[0]}) + "\n")
    else:
        Console().print(report(figures))


if __name__ == "__main__":
    main()
