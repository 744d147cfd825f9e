"""Every bench runs to its end over a few rows: what nobody starts for months does not rot."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.factories import with_demo_people
from tests.warm import warm

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "eval"
DOCUMENTS = ("hr/punctuality-2026.md", "hr/handbook-punctuality-2023.md", "general/core-values.md")
ARTICLES = frozenset({"vi-001", "en-001", "vi-002", "en-002"})
OWN: dict[str, str] = {
    "bench.flow": "--rounds 1 --data-dir {data} --seed {seed}",
    "bench.hops": "--rounds 2",
    "bench.ingest": "--documents 4 --rounds 1 --no-fsync",
    "bench.logs": "--lines 2000 --rounds 1",
    "bench.outage": "1",
    "bench.quality": "--data-dir {data} --seed {seed}",
    "bench.size": "--sizes 3000 --rounds 1 --seconds 0.2 --questions 3 --recall 2 --pairs 4",
}
"""Arguments of those that need nothing but what is in the checkout."""
OVER_SHARED: dict[str, str] = {
    "bench.answers": "--eval {eval} --seed {seed} --models {models} --cache {data}/bench",
    "bench.arithmetic": "--eval {eval} --models {models}",
    "bench.calibrate": "--eval {eval} --seed {seed} --models {models}",
    "bench.chunking": "--eval {eval} --seed {seed} --only ours",
    "bench.conflicts": "--eval {eval} --models {models} --cache {data}/bench",
    "bench.health": "--eval {eval} --seed {seed} --models {models}",
    "bench.intent": "--eval {eval} --seed {seed} --models {models}",
    "bench.parsing": "--files {eval}/files --rounds 1",
    "bench.retrieval": "--eval {eval} --seed {seed} --models {models}",
}
"""Arguments of those that measure on data outside the repository."""
_SECONDS = 300
"""Each takes five to twenty on a quiet machine."""
pytestmark = pytest.mark.timeout(_SECONDS + 20)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A small company, a few rows of the shared data, and the model that other tests opened."""
    folder = tmp_path_factory.mktemp("bench")
    seed = folder / "seed" / "acme"
    for name in DOCUMENTS:
        (seed / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "seed_data" / "acme" / name, seed / name)
    known = {Path(name).stem for name in DOCUMENTS}
    paths = sorted((ROOT / "seed_data" / "acme").glob("questions*.jsonl"))
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    rows = [line for line in lines if all(any(one in name for one in known) for name in _wanted(line))]
    (seed / "questions.jsonl").write_text("\n".join(rows[:4]) + "\n", "utf-8")
    shared = folder / "eval"
    if SHARED.is_dir():
        for path in SHARED.rglob("*"):
            target = shared / path.relative_to(SHARED)
            if path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                _copy_some(path, target)
    data = warm(folder / "data")
    return {
        "data": str(data),
        "models": str(data / "models"),
        "seed": str(with_demo_people(seed.parent)),
        "eval": str(shared),
    }


def _wanted(line: str) -> list[str]:
    row = json.loads(line)
    return list(row["expect_documents"]) or ["nothing"]


def _copy_some(path: Path, target: Path) -> None:
    """The first rows of JSON lines, of XQuAD two passages in both languages; other files as they are."""
    if path.suffix != ".jsonl" or path.parent.name == "files":
        shutil.copy(path, target)
        return
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if path.parent.name == "xquad":
        kept = [row for row in rows if row.get("passage_id", row["id"]) in ARTICLES]
    else:
        kept = rows[:12]
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")


def run(module: str, arguments: str, places: dict[str, str]) -> str:
    command = [sys.executable, "-m", module, *arguments.format(**places).split()]
    environment = {**os.environ, "COLUMNS": "160", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    # 1 = measured, and a limit that nobody can keep over so few rows is broken.
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("module", OWN)
def test_runs(module: str, places: dict[str, str]) -> None:
    assert run(module, OWN[module], places).strip()


@pytest.mark.parametrize("module", OVER_SHARED)
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared development data is not on this machine")
def test_runs_over_shared_data(module: str, places: dict[str, str]) -> None:
    assert run(module, OVER_SHARED[module], places).strip()
