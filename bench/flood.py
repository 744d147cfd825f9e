"""`python -m bench.flood`: how long others wait while one person floods the service, beside how long they wait alone.

One person sends many questions at once and again whenever one is refused; four others, of two companies, ask one after
the other. Server and database are processes of their own on the loopback; the lag of the server's event loop is read
from `/metrics`. It stops by itself when the others have asked their questions.
"""

import argparse
import asyncio
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx
from rich.console import Console
from rich.table import Table

FLOODER, OTHERS = "acme/lan", ("acme/minh", "acme/an", "globex/jane", "globex/tom")
MOST_RATIO, MOST_RATIO_WORST, MOST_LAG_SECONDS = 1.5, 2.0, 0.1
_QUESTIONS = (
    "How many characters does a password need?", "Đi muộn ba lần trong tháng thì sao?", "Where may guests park?",
    "How is the VPN set up at home?",
)  # fmt: skip
_WORST_CHARS = 4_000
_START_SECONDS, _ASK_SECONDS = 300, 120
_PAUSE_SECONDS = 0.25
"""Of the flooder after a refusal: far less than it is told."""
_LAG = re.compile(r'conclave_event_loop_lag_seconds_bucket\{le="([^"]+)"\} (\d+)')
_numbers = count(1)


class Waits(NamedTuple):
    """What the others saw, and how late the server's event loop was meanwhile."""

    seconds: tuple[float, ...]
    lag_seconds: float
    """Upper bound of 99 of 100 looks at the event loop."""
    sent: int
    """Questions of the flooder that were sent, refused ones among them."""
    refused: int

    @property
    def p50(self) -> float:
        """Half of the answers came within."""
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """19 of 20 answers came within."""
        return sorted(self.seconds)[min(int(len(self.seconds) * 0.95), len(self.seconds) - 1)]


def ordinary() -> str:
    """A question nobody asked before, so that no cache answers it."""
    number = next(_numbers)
    return f"{_QUESTIONS[number % len(_QUESTIONS)]} (#{number})"


def worst() -> str:
    """As many short sentences and numbers as a question may hold, never the same."""
    start = next(_numbers) * 1_000
    return "".join(f"Mu{number} ai gì. {number}? " for number in range(start, start + 400))[:_WORST_CHARS]


async def measure(url: str, tokens: dict[str, str], each: int, flood: int, *, is_worst: bool = False) -> Waits:
    """The others' waits while `flood` questions of the flooder are open or being sent; 0 = they are alone."""
    async with _clients(url, tokens) as clients:
        before, done = await _lag_counts(url), asyncio.Event()
        told = [0, 0]
        hands = [asyncio.create_task(_flood(url, tokens[FLOODER], done, told, is_worst)) for _ in range(flood)]
        try:
            if hands:
                await asyncio.sleep(_PAUSE_SECONDS)
            waits = await asyncio.gather(*(_ask_in_turn(clients[who], each) for who in OTHERS if who in clients))
        finally:
            done.set()
            for hand in hands:
                hand.cancel()
            await asyncio.gather(*hands, return_exceptions=True)
        lag = _lag_within(before, await _lag_counts(url), 0.99)
    return Waits(tuple(one for seen in waits for one in seen), lag, *told)


async def _ask_in_turn(http: httpx.AsyncClient, questions: int) -> list[float]:
    waits = []
    for _ in range(questions):
        began = time.perf_counter()
        answer = await http.post("/chat", json={"query": ordinary()})
        answer.raise_for_status()
        waits.append(time.perf_counter() - began)
    return waits


async def _flood(url: str, token: str, done: asyncio.Event, told: list[int], is_worst: bool) -> None:
    """One hand of the flooder, over a bare line: what its client costs must not be taken for what the service costs."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"POST /api/v1/chat HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {token}\r\n"
    try:
        while not done.is_set():
            told[0] += 1
            body = json.dumps({"query": worst() if is_worst else ordinary()}).encode()
            writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            answered = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            await reader.readexactly(int(answered.partition("\r\ncontent-length: ")[2].partition("\r\n")[0]))
            if answered.split(" ", 2)[1] in ("429", "503"):
                told[1] += 1
                await asyncio.sleep(_PAUSE_SECONDS)
    finally:
        writer.close()


@asynccontextmanager
async def _clients(url: str, tokens: dict[str, str]) -> AsyncIterator[dict[str, httpx.AsyncClient]]:
    limits = httpx.Limits(max_connections=None)
    made = {
        who: httpx.AsyncClient(
            base_url=f"{url}/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=_ASK_SECONDS, limits=limits
        )
        for who, token in tokens.items()
    }
    try:
        yield made
    finally:
        await asyncio.gather(*(one.aclose() for one in made.values()))


async def _lag_counts(url: str) -> dict[float, int]:
    async with httpx.AsyncClient() as http:
        text = (await http.get(f"{url}/metrics")).text
    return {float(bound.replace("+Inf", "inf")): int(number) for bound, number in _LAG.findall(text)}


def _lag_within(before: dict[float, int], after: dict[float, int], share: float) -> float:
    """The least bound below which so large a share of the looks between two readings lies."""
    grown = {bound: number - before.get(bound, 0) for bound, number in after.items()}
    looks = max(grown.values(), default=0)
    return min((bound for bound, number in grown.items() if number >= share * looks), default=0.0)


@contextmanager
def served(folder: Path, port: int, out: Console) -> Iterator[str]:
    """A server with the demonstration's documents, in a process of its own; its address."""
    environment = {**os.environ, "CONCLAVE_DATA_DIR": str(folder), "CONCLAVE_LOG_LEVEL": "ERROR"}
    command = (sys.executable, "-m", "app.cli", "serve", "--port", str(port))
    url = f"http://127.0.0.1:{port}"
    with out.status("the server starts"), (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            _wait_ready(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(30)


def _wait_ready(url: str, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{url}/ready").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise SystemExit("The server did not become ready; see serve.log in its data directory.")


def tokens_of(people: Sequence[str], folder: Path) -> dict[str, str]:
    """A token for each of these people."""
    environment = {**os.environ, "CONCLAVE_DATA_DIR": str(folder)}

    def token(tenant: str, user: str) -> str:
        command = (sys.executable, "-m", "app.cli", "token", "--tenant", tenant, "--user", user)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    return {who: token(*who.split("/")) for who in people}


def report(alone: Waits, flooded: Waits, out: Console) -> float:
    """Print both; how many times longer the others wait."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    table = Table(title=f"{os.cpu_count()} processors, load {load}", title_justify="left")
    for heading in ("others", "p50 s", "p95 s", "loop lag s (99 %)", "flood: sent", "refused"):
        table.add_column(heading, justify="right")
    for name, seen in (("alone", alone), ("under flood", flooded)):
        lag = f"≤ {seen.lag_seconds:g}"
        table.add_row(name, f"{seen.p50:.3f}", f"{seen.p95:.3f}", lag, str(seen.sent), str(seen.refused))
    out.print(table)
    ratio = flooded.p95 / alone.p95
    out.print(f"p95 under flood / alone: {ratio:.2f}")
    return ratio


def main() -> None:
    """Parse arguments and run; exit code 1 with `--gate` when others wait too long or the event loop is too late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=8, help="of each of the others")
    parser.add_argument("--flood", type=int, default=150, help="questions at once")
    parser.add_argument("--worst", action="store_true", help="of the worst 4,000 characters")
    parser.add_argument("--data", type=Path, help="a data directory that exists; else one is made and seeded")
    parser.add_argument("--gate", action="store_true")
    arguments = parser.parse_args()
    out = Console()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.data or Path(made)
        with served(folder, port, out) as url:
            tokens = tokens_of((FLOODER, *OTHERS), folder)
            asyncio.run(measure(url, tokens, 2, 0))
            alone = asyncio.run(measure(url, tokens, arguments.questions, 0))
            flooded = asyncio.run(measure(url, tokens, arguments.questions, arguments.flood, is_worst=arguments.worst))
    ratio = report(alone, flooded, out)
    most = MOST_RATIO_WORST if arguments.worst else MOST_RATIO
    if arguments.gate and (ratio > most or flooded.lag_seconds > MOST_LAG_SECONDS):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
