"""`make bench`: runs a second with 1, 2 and 4 worker processes beside one API process, ratios in one run.

Two loads: ``model`` = a language model that takes its time (the scripted one; the workers mostly wait), ``rules`` = no
model (the workers mostly compute, so more processes than processors gain nothing). The number of processors is told.
"""

import argparse
import asyncio
import os
import statistics
import time

import httpx
from rich.console import Console
from rich.table import Table

from tests.chaos.house import House, Shape, open_house
from tests.nursery import open_nursery

PROCESSES = (1, 2, 4)
ROUNDS = 3
_QUESTION = "mật khẩu dài bao nhiêu ký tự?"
_LOADS = {
    "model": {"CONCLAVE_WORKER_MAX_CONCURRENT_RUNS": "10", "CONCLAVE_REMOTE_AGENTS": "[]"},
    "rules": {"CONCLAVE_LLM_BASE_URL": "", "CONCLAVE_LLM_MODEL": "", "CONCLAVE_REMOTE_AGENTS": "[]"},
}
_MODEL_SECONDS = 1.0


async def ask_all(house: House, http: httpx.AsyncClient, questions: int, tail: str) -> float:
    """Runs a second, from the first question to the last answer."""
    asked = (http.post("/chat", json={"query": f"{_QUESTION} {tail} {number}"}) for number in range(questions))
    began = time.perf_counter()
    answers = await asyncio.gather(*asked)
    seconds = time.perf_counter() - began
    assert {answer.status_code for answer in answers} == {200}, [answer.text for answer in answers][:1]
    return questions / seconds


async def measure(load: str, questions: int, out: Console) -> dict[int, float]:
    """Runs a second by number of processes; each is started beside those before it."""
    medians: dict[int, float] = {}
    with out.status(f"{load}: the house goes up") as status:
        shape = Shape(apis=1, workers=("",), lease_seconds=30, environment=_LOADS[load])
        async with (
            open_nursery() as nursery,
            open_house(nursery, shape) as house,
            house.client(house.apis[0], seconds=300) as http,
        ):
            tail = f"[slow {_MODEL_SECONDS}]" if load == "model" else ""
            for processes in PROCESSES:
                status.update(f"{load}: {processes} workers")
                for worker in [house.add_worker() for _ in range(processes - len(house.workers))]:
                    await worker.restart()
                await ask_all(house, http, questions // 4, tail)
                rates = [await ask_all(house, http, questions, tail) for _ in range(ROUNDS)]
                medians[processes] = statistics.median(rates)
    return medians


def report(load: str, medians: dict[int, float], questions: int, out: Console) -> None:
    """Runs a second, and how many times those of one worker."""
    title = f"{load} · {questions} questions at once · {os.cpu_count()} processors · medians of {ROUNDS}"
    table = Table(title=title, title_justify="left")
    for heading in ("workers", "runs / s", "times one worker"):
        table.add_column(heading, justify="right")
    for processes, rate in medians.items():
        table.add_row(str(processes), f"{rate:.1f}", f"{rate / medians[1]:.2f}")
    out.print(table)


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--load", choices=tuple(_LOADS), action="append")
    arguments = parser.parse_args()
    out = Console()
    for load in arguments.load or _LOADS:
        medians = asyncio.run(measure(load, arguments.questions, out))
        report(load, medians, arguments.questions, out)


if __name__ == "__main__":
    main()
