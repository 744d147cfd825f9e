"""`python -m bench.models`: what a question costs of a language model, by kind of question and answer mode.

A scripted model that plans and writes as a good one would answers every call after a fixed time, over HTTP. Printed:
calls, those that waited for one another (round trips on the critical path), prompt and completion tokens (about three
bytes each), and the time the service itself took: the whole run less its round trips.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.main import Services
from app.reasoning.llm import ModelReasoner
from app.reasoning.llm.reasoner import AnswerMode
from app.settings import Settings
from tests.fakes.model_server import ModelServer, count_tokens, scripted_model_server
from tests.fakes.round_trips import WAIT_SECONDS, round_trips, slow_house_mind

MODES: tuple[AnswerMode, ...] = ("model", "strict")
QUESTIONS = {
    "small talk": ("acme/lan", "Xin chào, bạn khỏe không?"),
    "one department, English": ("globex/jane", "How many days of annual leave do I get?"),
    "one department, Vietnamese": ("acme/lan", "Mỗi năm được nghỉ bao nhiêu ngày phép?"),
    "two departments": ("acme/lan", "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"),
    "calculation": ("acme/lan", "Tính tiền lương 3 ngày nghỉ phép"),
}


async def asked(services: Services, server: ModelServer, user: str, query: str) -> tuple[list[int], float]:
    """Calls, round trips, prompt and completion tokens of one question; milliseconds of the service's own."""
    principal = (await services.claims_of(user)).principal()
    server.forget()
    clock = time.perf_counter()
    run = await start_run(services.rooms, principal, ChatBody(query=query), None)
    answer = [entry async for entry in services.rooms.journal.follow(principal, run.task_id)][-1].event.model_dump()
    seconds = time.perf_counter() - clock
    usage = answer["answer"]["execution_metadata"]["model_usage"]
    trips = round_trips(server.requests)
    figures = [len(server.requests), trips, usage["prompt_tokens"], usage["completion_tokens"]]
    return figures, (seconds - trips * WAIT_SECONDS) * 1000


async def measure(data_dir: Path, rounds: int, out: Console) -> None:
    """Open the service over the seed data with a scripted model, and ask."""
    async with scripted_model_server(slow_house_mind) as server:
        settings = Settings(
            data_dir=data_dir, enable_caching=False, llm_base_url=server.base_url, llm_model="scripted",
            task_token_budget=0,
        )  # fmt: skip
        with out.status("opening the service and its seed data (about a minute the first time)"):
            services = await Services.open(settings)
        mind = services.rooms.flow.ports.reasoner
        assert isinstance(mind, ModelReasoner)
        table = Table(title=f"model calls a question · {rounds} rounds · medians", title_justify="left")
        for heading in ("question", "mode", "calls", "round trips", "prompt tokens", "completion tokens", "own ms"):
            table.add_column(heading, justify="left" if heading in ("question", "mode") else "right")
        try:
            for kind, (user, query) in track(QUESTIONS.items(), "asking", console=out):
                for mode in MODES:
                    mind.answer_mode = mode
                    runs = [await asked(services, server, user, query) for _ in range(rounds)]
                    figures = [statistics.median(column) for column in zip(*(run[0] for run in runs), strict=True)]
                    own = statistics.median(run[1] for run in runs)
                    table.add_row(kind, mode, *(f"{figure:.0f}" for figure in figures), f"{own:.0f}")
        finally:
            await services.aclose()
        out.print(table)
        out.print(f"a token is counted as in count_tokens: {count_tokens('x' * 300)} for 300 letters")


def main() -> None:
    """Parse arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data-dir", type=Path, help="keep the database here; default: a temporary folder")
    arguments = parser.parse_args()
    out = Console()
    if arguments.data_dir is not None:
        asyncio.run(measure(arguments.data_dir, arguments.rounds, out))
        return
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        asyncio.run(measure(Path(folder), arguments.rounds, out))


if __name__ == "__main__":
    main()
