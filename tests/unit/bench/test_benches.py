"""Every bench runs to its end over a few rows: what nobody starts for months does not rot."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.factories import with_demo_people
from tests.samples import drawn
from tests.unit.bench.one_process import Outcome, prepare, run
from tests.warm import warm

ROOT = Path(__file__).parents[3]
SHARED = ROOT.parent / "shared" / "eval"
DOCUMENTS = ("hr/punctuality-2026.md", "hr/handbook-punctuality-2023.md", "general/core-values.md")
PASSAGES = frozenset({"vi-001", "en-001", "vi-002", "en-002"})
FILES = frozenset({"vi_table.csv", "md_movie-theater-booking-2024.pdf"})
VALUES = {
    "id": "values", "question": "Công ty có những giá trị cốt lõi nào?", "asker": "acme/lan",
    "expected": {"outcome": "answered", "facts": ["Chính trực"]},
}  # fmt: skip
ROWS = 3
"""Of each file of JSON lines."""
OWN: dict[str, tuple[str, str]] = {
    "bench.clauses": ("--ask --companies {companies} {companies}/bank/clauses.jsonl", "answered at all"),
    "bench.hops": ("--rounds 2", "call"),
    "bench.ingest": ("--documents 2 --rounds 1 --no-fsync --seed {seed} --models {models}", "of both (at most 15%)"),
    "bench.logs": ("--lines 1000 --rounds 1", "Execution Time"),
    "bench.outage": ("1", "back to a new task"),
    "bench.quality": ("--data-dir {data} --seed {seed}", "| all |"),
    "bench.support": ("bench/support/seen.jsonl --every 12 --models {models}", "wrong"),
    "bench.ceiling": ("demo --folder {blind} --data-dir {data} --seed {seed}", "right of those"),
    "bench.scans": ("--documents {companies} --pages 1", "errors in 1,000"),
    "bench.size": ("--sizes 3000 --rounds 1 --seconds 0.05 --questions 2 --recall 1 --pairs 2", "recall@10"),
    "bench.telemetry": ("--rounds 1 --questions 1 --no-left-out --data-dir {data} --seed {seed}", "spans a question"),
    "bench.verdicts": ("--rows 200 --rounds 3", "an answer"),
    "bench.flow": ("--rounds 1 --data-dir {data} --seed {seed}", "total / floor"),
}
"""Arguments of those that need nothing but what is in the checkout, and what their report says. The flow is last: it
watches the process's connections from then on."""
OVER_SHARED: dict[str, tuple[str, str]] = {
    "bench.answers": ("--eval {eval} --seed {seed} --models {models} --cache {data}/bench", "answers,"),
    "bench.arithmetic": ("--eval {eval} --models {models}", "declined"),
    "bench.calibrate": ("--eval {eval} --seed {seed} --models {models}", '"assumed_coverage"'),
    "bench.conflicts": ("--eval {eval} --models {models} --cache {data}/bench --every 60", "winner accuracy"),
    "bench.health": ("--eval {eval} --seed {seed} --models {models}", "recall"),
    "bench.intent": ("--eval {eval} --seed {seed} --models {models} --every 40", "Follow-up"),
    "bench.parsing": ("--files {eval}/files --rounds 1", "forked"),
    "bench.retrieval": ("--eval {eval} --seed {seed} --models {models}", "R@1"),
}
"""The same of those that measure on data outside the repository."""
MISSES_LIMITS = frozenset({"bench.arithmetic", "bench.retrieval", "bench.scans", "bench.telemetry", "bench.verdicts"})
"""They end with 1 when a limit is missed, which over so few rows some are, and where no Tesseract is."""
_SECONDS = 120
"""Each takes one to four on a quiet machine."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(_SECONDS + 20)]


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
    (seed / "questions.jsonl").write_text("\n".join(rows[:ROWS]) + "\n", "utf-8")
    companies = _one_pair(folder / "companies")
    shared = folder / "eval"
    for path in SHARED.rglob("*") if SHARED.is_dir() else ():
        if path.is_file() and (path.parent.name != "files" or path.name in FILES):
            _copy_some(path, shared / path.relative_to(SHARED))
    data = warm(folder / "data")
    warm(data / "companies" / "bank")
    (folder / "blind" / "demo").mkdir(parents=True)
    (folder / "blind" / "demo" / "blind.jsonl").write_text(json.dumps(VALUES) + "\n", "utf-8")
    return {
        "blind": str(folder / "blind"),
        "companies": str(companies),
        "data": str(data),
        "models": str(data / "models"),
        "seed": str(with_demo_people(seed.parent)),
        "eval": str(shared),
    }


def _one_pair(folder: Path) -> Path:
    """A company with one pair of statements, asked for once, and the two documents they stand in."""
    source, made = ROOT / "bench" / "companies" / "bank", folder / "bank"
    pair = json.loads((source / "clauses.jsonl").read_text("utf-8").splitlines()[0])
    for name in ("demo.toml", *(f"bank/{pair[side]['document']}.md" for side in "ab")):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, made / name)
    (made / "clauses.jsonl").write_text(json.dumps({**pair, "questions": pair["questions"][:1]}), "utf-8")
    return folder


def _wanted(line: str) -> list[str]:
    row = json.loads(line)
    return list(row["expect_documents"]) or ["nothing"]


def _copy_some(path: Path, target: Path) -> None:
    """The first rows of JSON lines, of XQuAD two passages in both languages with few questions; others whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".jsonl":
        shutil.copy(path, target)
        return
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    if path.parent.name == "xquad":
        taken = Counter[str]()
        kept = []
        for row in rows:
            passage = row.get("passage_id", row["id"])
            taken[passage] += 1
            if passage in PASSAGES and taken[passage] <= ROWS:
                kept.append(row)
    else:
        kept = rows[:ROWS]
    target.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept), "utf-8")


class Runner:
    """One process for all benches, apart from that of the tests: a bench may watch and replace what it measures. One
    that hangs is killed with its process, and the next has a new one."""

    def __init__(self, data_dir: str) -> None:
        self._data_dir = data_dir
        self._pool: ProcessPoolExecutor | None = None

    def run(self, module: str, arguments: list[str]) -> Outcome:
        self._pool = self._pool or ProcessPoolExecutor(
            1, mp_context=get_context("spawn"), initializer=prepare, initargs=(self._data_dir,)
        )
        try:
            return self._pool.submit(run, module, arguments).result(_SECONDS)
        except (TimeoutError, BrokenProcessPool):
            for child in (self._pool._processes or {}).values():
                child.kill()
            self.close()
            raise

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
        self._pool = None


@pytest.fixture(scope="module")
def runner(places: dict[str, str]) -> Iterator[Runner]:
    kept = Runner(places["data"])
    yield kept
    kept.close()


def check(module: str, arguments: str, expected: str, places: dict[str, str], runner: Runner) -> None:
    outcome = runner.run(module, arguments.format(**places).split())
    assert not outcome.error, outcome.error
    assert outcome.code in ((0, 1) if module in MISSES_LIMITS else (0,)), outcome.printed
    assert expected in outcome.printed


@pytest.mark.parametrize("module", OWN)
def test_runs(module: str, places: dict[str, str], runner: Runner) -> None:
    check(module, *OWN[module], places, runner)


@pytest.mark.parametrize("module", drawn(OVER_SHARED, 3))
@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared development data is not on this machine")
def test_runs_over_shared_data(module: str, places: dict[str, str], runner: Runner) -> None:
    check(module, *OVER_SHARED[module], places, runner)
