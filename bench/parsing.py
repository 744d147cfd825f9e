"""What it costs to read a file in a process of its own, by format: ``python -m bench.parsing``.

Three ways in one run, interleaved, medians: in this process, without any protection; in a process forked for the file
by one that has the libraries loaded, which is what the service does; and in a fresh Python for each file.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.ingestion.parsing import FileKind, ParseFailed, ParseLimits, Parser, sniff
from app.ingestion.parsing.reading import read_file

_FRESH = (
    "import sys; from pathlib import Path; from app.ingestion.parsing.outcome import FileKind, ParseLimits;"
    "from app.ingestion.parsing.reading import read_file;"
    "read_file(Path(sys.argv[1]).read_bytes(), FileKind(sys.argv[2]), ParseLimits())"
)


def files_in(folder: Path) -> list[tuple[Path, bytes, FileKind]]:
    """The files that can be read, with their kinds."""
    found = []
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        kind = sniff(content, path.name)
        try:
            if kind is not None:
                read_file(content, kind, ParseLimits())
                found.append((path, content, kind))
        except ParseFailed:
            continue
    return found


async def measure(folder: Path, rounds: int) -> dict[FileKind, dict[str, list[float]]]:
    """Milliseconds by kind and way."""
    taken: dict[FileKind, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    files = files_in(folder)
    parser = Parser()
    await parser.parse(b"so that everything is loaded", "warm.txt")
    for _ in range(rounds):
        for path, content, kind in files:
            started = time.perf_counter()
            read_file(content, kind, ParseLimits())
            here = time.perf_counter()
            await parser.parse(content, path.name)
            forked = time.perf_counter()
            subprocess.run([sys.executable, "-c", _FRESH, str(path), kind], check=True)  # noqa: ASYNC221
            fresh = time.perf_counter()
            ways = {"here": here - started, "forked": forked - here, "fresh": fresh - forked}
            for way, seconds in ways.items():
                taken[kind][way].append(seconds * 1000)
    await parser.aclose()
    return taken


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=Path, default=Path("../shared/eval/files"))
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    taken = asyncio.run(measure(given.files, given.rounds))
    table = Table("kind", "here, ms", "forked, ms", "fresh, ms", "forked costs", "fresh / forked")
    for kind, ways in taken.items():
        here, forked, fresh = (statistics.median(ways[way]) for way in ("here", "forked", "fresh"))
        table.add_row(
            kind, f"{here:.1f}", f"{forked:.1f}", f"{fresh:.0f}", f"+{forked - here:.1f}", f"{fresh / forked:.0f} ×"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
