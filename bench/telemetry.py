"""What traces cost: processor time of one question with the extra left out, there but off, and on, side by side.

One process asks the seed's question through queue, flow and database, in blocks by turns: every block opens the service
anew, because what is traced is decided when it opens. On means every span is made, cut down to what may leave the
process, encoded, and sent by HTTP to a collector in another process that throws it away. Time is that of the
processor, of all threads of this process: others on the machine do not count. Off differs from left out by one look
into the environment at the start and by nothing else, so its figure says how exact the other one is.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from rich.console import Console
from rich.table import Table

from app import telemetry
from app.api.runs import start_run
from app.api.schemas import ChatBody
from app.events import FinalReport
from app.main import Services
from app.main import services as composition
from app.plugins import entries_of
from app.settings import Settings
from bench.flow import ASKER, QUESTION
from extras.telemetry.tracing import follow, provider_to

LEFT_OUT, OFF, ON = MODES = ("left out", "off", "on")
MOST_ON, MOST_OFF = 1.03, 1.005
_MOST_WARM_UPS = 3
_COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def collector() -> Iterator[str]:
    """The address of a collector in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", _COLLECTOR], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1/traces"
    finally:
        process.kill()
        process.communicate()


class Counting(SpanProcessor):
    """Counts the spans that ended."""

    spans = 0

    def on_end(self, span: ReadableSpan) -> None:
        """See `SpanProcessor`."""
        self.spans += 1


def warm_ups(questions: int) -> int:
    """How many questions go before those of a block that are counted."""
    return min(_MOST_WARM_UPS, questions - 1)


async def ask(services: Services, provider: TracerProvider | None) -> None:
    """Ask the question and follow it to its end, as a request that is traced does."""
    principal = (await services.claims_of(ASKER)).principal()
    with ExitStack() as stack:
        if provider is not None:
            stack.enter_context(provider.get_tracer("bench").start_as_current_span("POST /api/v1/chat"))
        run = await start_run(services.rooms, principal, ChatBody(query=QUESTION), None)
        async for entry in services.rooms.journal.follow(principal, run.task_id):
            last = entry.event
    assert isinstance(last, FinalReport), last


async def block(mode: str, settings: Settings, provider: TracerProvider, questions: int) -> float:
    """Open the service in this mode and ask; the processor's milliseconds of a question."""
    vars(composition)["entries_of"] = (lambda _: []) if mode == LEFT_OUT else entries_of
    with follow(provider) if mode == ON else ExitStack():
        services = await Services.open(settings)
        try:
            traced = provider if mode == ON else None
            for _ in range(warm_ups(questions)):
                await ask(services, traced)
            provider.force_flush()
            clock = time.process_time()
            for _ in range(questions):
                await ask(services, traced)
            provider.force_flush()
            return (time.process_time() - clock) * 1000 / questions
        finally:
            await services.aclose()


async def measure(modes: Sequence[str], rounds: int, questions: int, settings: Settings, out: Console) -> bool:
    """Measure these modes and print; whether the medians keep the limits."""
    spent: dict[str, list[float]] = defaultdict(list)
    counting = Counting()
    with collector() as address:
        provider = provider_to([OTLPSpanExporter(endpoint=address)])
        provider.add_span_processor(counting)
        for turn in range(rounds):
            for mode in modes if turn % 2 else reversed(modes):
                spent[mode].append(await block(mode, settings, provider, questions))
        provider.shutdown()
    return report(spent, counting.spans / (rounds * (questions + warm_ups(questions))), out)


def report(spent: dict[str, list[float]], spans: float, out: Console) -> bool:
    """Print a table with the ratios of each round's blocks; whether the medians keep the limits."""
    table = Table(title=f"{len(spent[ON])} rounds · {spans:.0f} spans a question", title_justify="left")
    for heading in ("traces", "processor ms a question", "to", "ratio", "lowest – highest", "wanted"):
        table.add_column(heading, justify="right")
    first, good = min(spent, key=MODES.index), True
    table.add_row(first, f"{statistics.median(spent[first]):.1f}", "", "", "", "")
    for mode, other, most in ((OFF, LEFT_OUT, MOST_OFF), (ON, OFF, MOST_ON)):
        if mode == first:
            continue
        ratios = [mine / theirs for mine, theirs in zip(spent[mode], spent[other], strict=True)]
        ratio = statistics.median(ratios)
        good = good and ratio <= most
        span = f"{min(ratios):.3f} – {max(ratios):.3f}"
        table.add_row(mode, f"{statistics.median(spent[mode]):.1f}", other, f"{ratio:.3f}", span, f"≤ {most}")
    out.print(table)
    return good


def main() -> int:
    """Parse arguments and run; 1 when a limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--questions", type=int, default=20, help="of a block")
    parser.add_argument("--left-out", action=argparse.BooleanOptionalAction, default=True, help="compare with that too")
    parser.add_argument("--data-dir", type=Path, help="keep the database here; default: a temporary folder")
    parser.add_argument("--seed", type=Path, default=Path("seed_data"))
    arguments = parser.parse_args()
    telemetry.configure("CRITICAL")
    with tempfile.TemporaryDirectory(prefix="conclave-bench-") as folder:
        place = arguments.data_dir or Path(folder)
        settings = Settings(data_dir=place, seed_dir=arguments.seed, enable_caching=False)
        modes = MODES if arguments.left_out else (OFF, ON)
        return int(not asyncio.run(measure(modes, arguments.rounds, arguments.questions, settings, Console())))


if __name__ == "__main__":
    sys.exit(main())
