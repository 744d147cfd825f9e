"""`make mutate-guards`: take one guard away at a time, in a copy of the checkout, and expect its test to fail.

Exit code 1 when a guard can go without its test failing (it *survives*), or when its test did not run at all.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutation import ROOT, TABLE, Guard, guards

_PATIENCE_SECONDS = 600
_TIMEOUT = ("--timeout", "500")
"""Of a test with its fixtures, which on a crowded machine take minutes to stand."""
_FAILED = re.compile(r"\b\d+ failed\b")
_NODE = re.compile(r"^FAILED (\S+)", re.MULTILINE)


def copy_checkout(folder: Path) -> None:
    """Copy what git knows, or would take in, and link the environment."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(ROOT / ".venv")


def try_without(guard: Guard, folder: Path) -> tuple[str, str]:
    """(``caught``, ``survived`` or ``broken``, the test that failed or the end of the output). The copy is put back in
    order. ``broken``: nothing failed, but the test could not be run, as where its fixtures fail."""
    path = folder / guard.file
    source = path.read_text("utf-8")
    path.write_text(guard.taken_from(source), "utf-8")
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        *_TIMEOUT,
        guard.test,
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "caught", "it did not end"
    finally:
        path.write_text(source, "utf-8")
    told = done.stdout.strip()
    if done.returncode == 1 and _FAILED.search(told.rsplit("\n", 1)[-1]):
        found = _NODE.search(told)
        return "caught", found[1] if found else ""
    return ("survived" if done.returncode == 0 else "broken"), told[-300:]


def main() -> int:
    """Try the guards that are asked for; prints a line for each as it ends, and the survivors last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="guards whose name or file has this in it")
    parser.add_argument("-j", type=int, default=1, dest="jobs", help="copies that are tried at a time")
    parser.add_argument("--table", type=Path, default=TABLE)
    asked = parser.parse_args()
    wanted = [one for one in guards(asked.table) if asked.only in f"{one.name} {one.file}"]
    began, bad = time.monotonic(), list[str]()
    with tempfile.TemporaryDirectory(prefix="conclave-guards-") as folder, ThreadPoolExecutor(asked.jobs) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(asked.jobs):
            (Path(folder) / str(number)).mkdir()
            copy_checkout(Path(folder) / str(number))
            free.put(Path(folder) / str(number))

        def attempt(guard: Guard) -> None:
            place, started = free.get(), time.monotonic()
            try:
                state, told = try_without(guard, place)
            except ValueError as error:
                state, told = "broken", str(error)
            finally:
                free.put(place)
            if state != "caught":
                bad.append(guard.name)
            sys.stdout.write(f"{state:9} {time.monotonic() - started:5.0f} s  {guard.name}  [{guard.file}]  {told}\n")
            sys.stdout.flush()

        list(pool.map(attempt, wanted))
    took = time.monotonic() - began
    sys.stdout.write(f"{len(wanted) - len(bad)} of {len(wanted)} guards are caught, in {took / 60:.0f} min\n")
    sys.stdout.writelines(f"NOT CAUGHT: {name}\n" for name in bad)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
