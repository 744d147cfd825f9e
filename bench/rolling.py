"""`python -m bench.rolling [--old REVISION]`: what people notice while machines are replaced and the schema moves on.

Two API processes behind nginx (`docker/nginx.conf`), two workers and a Valkey on one PostgreSQL, all of them of an
older revision of this repository; questions go on all the time. Then, one after another: every machine is restarted,
this version upgrades the schema while the old one serves, every machine is replaced by one of this version, one API
process and one worker are killed. A client comes back where its line breaks, with its key and the last event it saw.

Printed for each phase: questions answered, how long they took, lines that broke, refusals that asked to come back, and
what must never happen: a run or an event that is lost, twice or out of order, an error. Exit code 1 where it happened.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from app.settings import Settings
from app.storage import migrate
from app.storage.embedded import EmbeddedServer
from tests.api.conftest import SECRET
from tests.chaos.chats import Chat
from tests.chaos.machines import Api, Machine, Postgres, Worker
from tests.factories import demo_token
from tests.fakes.valkey import ValkeyServer
from tests.nginx import running_nginx
from tests.nursery import Nursery

ROOT = Path(__file__).parents[1]
QUESTIONS = (
    "Mật khẩu phải dài bao nhiêu ký tự?",
    "Nhân viên chính thức có bao nhiêu ngày phép năm?",
    "How long must a password be?",
    "Đi muộn có bị trừ tiền không?",
    "Xin chào, bạn làm được gì?",
)
_AT_ONCE, _PAUSE_SECONDS, _PATIENCE_SECONDS = 4, 0.3, 60


class Checkout:
    """Starts machines as processes of the code in a folder. Used in place of a `Nursery`."""

    def __init__(self, folder: Path):
        self.folder = folder

    async def bear(
        self, program: str, arguments: Sequence[str], environment: dict[str, str], _: Path, streams: Sequence[int], /
    ) -> asyncio.subprocess.Process:
        """A process whose end is awaited by whoever asked for it."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", program, *arguments, cwd=self.folder,
            env={**environment, "PYTHONPATH": str(self.folder)}, stdin=streams[0], stdout=streams[1], stderr=streams[2],
        )  # fmt: skip

    def run(self, environment: dict[str, str], *arguments: str) -> None:
        """A command that has to end with 0."""
        subprocess.run(
            [sys.executable, "-m", "app.cli", *arguments], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": str(self.folder)},
        )  # fmt: skip


@dataclass
class Phase:
    """What was noticed between two moments."""

    name: str
    seconds: list[float] = field(default_factory=list)
    """Of every question that ended in it."""
    cuts: int = 0
    refusals: int = 0
    problems: list[str] = field(default_factory=list)


class Crowd:
    """People who ask without a pause that matters, each question through the proxy."""

    def __init__(self, http: httpx.AsyncClient, address: str):
        self._http, self._address = http, address
        self._numbers, self._leaving = count(), False
        self.phases: list[Phase] = []

    def begin(self, name: str) -> None:
        """From now on what ends belongs to this phase."""
        Console(stderr=True).print(f"… {name}")
        self.phases.append(Phase(name))

    async def ask(self) -> None:
        """One person, until `leave`."""
        while not self._leaving:
            number = next(self._numbers)
            question = f"{QUESTIONS[number % len(QUESTIONS)]} ({number})"
            chat = Chat(self._http, lambda: [self._address], question, uuid4().hex, random.Random(number))
            began = time.monotonic()
            await chat.run(_PATIENCE_SECONDS)
            self._note(chat, time.monotonic() - began)
            await asyncio.sleep(_PAUSE_SECONDS)

    def _note(self, chat: Chat, seconds: float) -> None:
        phase = self.phases[-1]
        phase.seconds.append(seconds)
        phase.cuts += max(0, chat.cuts - sum(chat.refusals.values()))
        phase.refusals += sum(chat.refusals.values())
        phase.problems += chat.problems
        if chat.has_ended and chat.frames[-1].type != "final_report":
            last = chat.frames[-1]
            phase.problems.append(f"ended with {last.type}: {last.text[:300]}")

    @asynccontextmanager
    async def asking(self, name: str) -> AsyncIterator[None]:
        """People ask as long as this is open, from its first phase on; at its end every question has its answer."""
        self.begin(name)
        people = [asyncio.ensure_future(self.ask()) for _ in range(_AT_ONCE)]
        try:
            yield
        finally:
            self._leaving = True
            await asyncio.gather(*people)


def archived(revision: str, folder: Path) -> Checkout:
    """The code of a revision, in `folder`."""
    folder.mkdir()
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    # Its own extras, not those that are installed for this version.
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    known = folder / f"{project['name']}-0.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n", "utf-8")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    told = (f"[{name}]\n" + "".join(f"{one} = {at}\n" for one, at in group.items()) for name, group in groups.items())
    (known / "entry_points.txt").write_text("\n".join(told), "utf-8")
    return Checkout(folder)


def older_schema() -> str:
    """The newest commit whose schema is older than this version's."""
    newest = migrate.revisions()[max(migrate.revisions())].relative_to(ROOT)
    command = ["git", "log", "--diff-filter=A", "--format=%H", "--", str(newest)]
    added = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return f"{added[-1]}^"


def environment_of(server: EmbeddedServer, bus: str, data: Path, *, owns: bool = False) -> dict[str, str]:
    """The settings of one machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    own = {"CONCLAVE_DATABASE_OWNER_URL": server.owner_url, "CONCLAVE_DATABASE_OPERATOR_URL": server.maintenance_url}
    return {
        **kept, **(own if owns else {}), "CONCLAVE_DATA_DIR": str(data), "CONCLAVE_DATABASE_URL": server.app_url,
        "CONCLAVE_BUS_URL": bus, "CONCLAVE_AUTH_JWT_SECRET": SECRET, "CONCLAVE_WORKER_IN_PROCESS": "false",
        "CONCLAVE_EMBEDDING_THREADS": "1", "CONCLAVE_ENABLE_CACHING": "false", "COLUMNS": "160",
        "CONCLAVE_MAX_OPEN_RUNS_PER_USER": "1000",
    }  # fmt: skip


@asynccontextmanager
async def proxied(ports: Sequence[int], folder: Path) -> AsyncIterator[str]:
    """The address of an nginx that runs the example of this repository in front of two ports."""
    example = (ROOT / "docker" / "nginx.conf").read_text("utf-8")
    for told, real in zip((8000, 8001), ports, strict=True):
        example = example.replace(f"127.0.0.1:{told} ", f"127.0.0.1:{real} ")
    servers = lambda port: example.replace("listen 80;", f"listen 127.0.0.1:{port};")  # noqa: E731
    async with running_nginx(folder / "nginx", servers) as address:
        yield address


async def roll(machines: Sequence[Machine], to: Checkout) -> None:
    """Restart machine after machine, each with the code of `to`."""
    for machine in machines:
        await machine.terminate()
        machine.comes_from(cast(Nursery, to))
        await machine.restart()


async def measure(old: Checkout, new: Checkout, folder: Path, seconds: float) -> list[Phase]:
    """Start everything of the old checkout, go through the phases, and end everything."""
    postgres, valkey, machines = Postgres(folder / "pg"), ValkeyServer(), list[Machine]()
    try:
        await asyncio.to_thread(postgres.start)
        await asyncio.to_thread(valkey.start)
        server, nursery = postgres.server, cast(Nursery, old)
        first = environment_of(server, valkey.url, folder / "first", owns=True)
        await asyncio.to_thread(old.run, first, "db", "upgrade")
        await asyncio.to_thread(old.run, first, "seed")
        apis = [
            Api(name, environment_of(server, valkey.url, folder / name), folder, nursery) for name in ("api0", "api1")
        ]
        workers = [Worker(name, "chat,ingest", environment_of(server, valkey.url, folder / name), folder, nursery)
                   for name in ("worker0", "worker1")]  # fmt: skip
        machines = [*apis, *workers]
        await asyncio.gather(*(machine.restart() for machine in machines))
        signing = Settings(_env_file=None, auth_jwt_secret=SecretStr(SECRET))
        headers = {"Authorization": f"Bearer {demo_token(signing, 'acme/lan')}"}
        async with (
            proxied([api.port for api in apis], folder) as address,
            httpx.AsyncClient(headers=headers, timeout=30, limits=httpx.Limits(max_connections=None)) as http,
        ):
            crowd = Crowd(http, address)
            async with crowd.asking("the old version"):
                await phases(crowd, machines, old, new, first, seconds)
            return crowd.phases
    finally:
        await asyncio.gather(*(machine.kill() for machine in machines if machine.is_up))
        valkey.close()
        await asyncio.to_thread(postgres.stop)


async def phases(
    crowd: Crowd, machines: Sequence[Machine], old: Checkout, new: Checkout, owner: dict[str, str], seconds: float
) -> None:
    """Replace the machines of the old version by the new one's, with everything that may happen on the way."""
    await asyncio.sleep(seconds)
    crowd.begin("every machine restarted")
    await roll(machines, old)
    crowd.begin("the schema upgraded under it")
    await asyncio.to_thread(new.run, owner, "db", "upgrade")
    await asyncio.sleep(seconds)
    crowd.begin("an old machine restarted on the new schema")
    await asyncio.sleep(seconds)
    if absent := [machine.name for machine in machines if not await machine.is_ready()]:
        crowd.phases[-1].problems.append(f"not ready on the new schema: {', '.join(absent)}")
    else:
        await roll(machines[:1], old)
    crowd.begin("machine after machine replaced")
    await roll(machines, new)
    crowd.begin("an API process and a worker killed")
    for machine in (machines[0], machines[-1]):
        await machine.kill()
        await asyncio.sleep(1)
        await machine.restart()
    crowd.begin("the new version")
    await asyncio.sleep(seconds)


def report(found: Sequence[Phase]) -> Table:
    """A line a phase."""
    table = Table("", "answered", "median s", "longest s", "lines that broke", "asked to come back", "must not happen")
    for one in found:
        spent = (f"{statistics.median(one.seconds):.2f}", f"{max(one.seconds):.2f}") if one.seconds else ("–", "–")
        table.add_row(
            one.name, str(len(one.seconds)), *spent, str(one.cuts), str(one.refusals), str(len(one.problems)),
            style="red" if one.problems else "",
        )  # fmt: skip
    return table


def main() -> None:
    """Parse arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="a commit; default: the newest one with an older schema. 'here': this very code")
    parser.add_argument("--seconds", type=float, default=8, help="length of the quiet phases")
    given, out = parser.parse_args(), Console(width=140)
    with tempfile.TemporaryDirectory(prefix="conclave-rolling-") as name:
        folder, new = Path(name), Checkout(ROOT)
        old = new if given.old == "here" else archived(given.old or older_schema(), folder / "old")
        found = asyncio.run(measure(old, new, folder, given.seconds))
    out.print(report(found))
    problems: list[Any] = [problem for phase in found for problem in phase.problems]
    for problem in problems[:20]:
        out.print(f"  {problem}", style="red", markup=False)
    raise SystemExit(1 if problems or not all(phase.seconds for phase in found) else 0)


if __name__ == "__main__":
    main()
