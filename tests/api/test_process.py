"""The `conclave` command: real processes, one data directory, signals.

The first server is started as people start it; the other processes come from one that has imported everything.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from app.client.local import DEMO_KEY_HEADER, demo_key
from app.storage.embedded import start_embedded
from tests.api.sse_reader import TERMINAL, Seen, events_of
from tests.limits import limit
from tests.nursery import Child, Nursery, Terminal
from tests.warm import warm

Serving: TypeAlias = Child | Process
LEASE_SECONDS = 2
QUESTION = "đi muộn bị xử lý thế nào và mật khẩu dài bao nhiêu ký tự?"


@pytest.fixture(scope="module")
def terminal(small_seed: Path, nursery: Nursery) -> Iterator[Terminal]:
    """A data directory of its own, with the small seed."""
    folder = Path(tempfile.mkdtemp(prefix="conclave-cli-"))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
    settings = {
        **kept,
        "CONCLAVE_DATA_DIR": str(warm(folder / "data")),
        "CONCLAVE_SEED_DIR": str(small_seed),
        "CONCLAVE_TASK_LEASE_SECONDS": str(LEASE_SECONDS),
        "COLUMNS": "160",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    yield Terminal(nursery, settings)
    shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def from_nothing(terminal: Terminal, *arguments: str) -> Process:
    """``conclave …`` in an interpreter of its own."""
    command = (sys.executable, "-m", "app.cli", *arguments)
    return await asyncio.create_subprocess_exec(*command, env=terminal.settings, stdin=PIPE, stdout=PIPE, stderr=PIPE)


@asynccontextmanager
async def server(
    terminal: Terminal, port: int, *, anew: bool = False
) -> AsyncIterator[tuple[Serving, httpx.AsyncClient]]:
    """A serving process that is ready, and a client signed in as acme/lan; `anew`: in an interpreter of its own."""
    arguments = ("serve", "--port", str(port))
    process = await (from_nothing(terminal, *arguments) if anew else terminal.start(*arguments))
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
        try:
            await ready(http, process)
            by_link = {DEMO_KEY_HEADER: demo_key(Path(terminal.settings["CONCLAVE_DATA_DIR"]))}
            token = (await http.post("/api/v1/auth/dev", json={"user": "acme/lan"}, headers=by_link)).json()["token"]
            http.headers["Authorization"] = f"Bearer {token}"
            yield process, http
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def ready(http: httpx.AsyncClient, process: Serving) -> None:
    async with asyncio.timeout(90):
        while process.returncode is None:
            try:
                if (await http.get("/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.1)
        raise AssertionError((await process.communicate())[1].decode())


async def first_event(http: httpx.AsyncClient, question: str) -> Seen:
    async with http.stream("POST", "/api/v1/chat/stream", json={"query": question}) as response:
        async for event in events_of(response):
            return event
    raise AssertionError("the stream was empty")


async def journal(http: httpx.AsyncClient, task_id: str) -> list[Seen]:
    async with http.stream("GET", f"/api/v1/tasks/{task_id}/events") as response:
        return [event async for event in events_of(response)]


class TestServe:
    async def test_brings_everything_up_answers_and_goes_down_in_time(self, terminal: Terminal) -> None:
        port = free_port()
        async with server(terminal, port, anew=True) as (process, http):
            assert (await http.get("/")).status_code == 200
            code, out, err = await terminal.run("ask", QUESTION, "--json", "--server", f"http://127.0.0.1:{port}")
            lines = [json.loads(line) for line in out.splitlines()]
            assert (code, err) == (0, "")
            assert lines[0]["event"] == "task_available" and lines[-1]["outcome"] in ("answered", "partial", "conflict")
            stream = asyncio.ensure_future(http.get(f"/api/v1/tasks/{lines[-1]['task_id']}/events"))
            code, _, err = await terminal.run("serve", "--port", str(port))
            assert code == 3 and "taken" in err
            await self.check_the_command_line_is_a_client(terminal, port)
            await stream
            process.send_signal(signal.SIGTERM)
            told = (await asyncio.wait_for(process.communicate(), limit(15)))[1].decode()
        assert process.returncode == 0
        key = demo_key(Path(terminal.settings["CONCLAVE_DATA_DIR"]))
        assert f"http://127.0.0.1:{port}/?as=acme/lan&key={key}\n" in told and len(key) >= 32
        logged = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        assert logged and not [line for line in logged if line["level"] in ("error", "critical")]
        assert "Traceback" not in told and QUESTION not in told
        assert told.index("database") < told.index("model") < told.index("Conclave http")
        assert not list(Path(terminal.settings["CONCLAVE_DATA_DIR"]).glob("server.*"))

    async def test_answers_again_after_its_database_was_killed(self, terminal: Terminal) -> None:
        pid_file = Path(terminal.settings["CONCLAVE_DATA_DIR"]) / "postgres" / "postmaster.pid"
        async with server(terminal, free_port()) as (process, http):
            os.kill(int(pid_file.read_text().split("\n", 1)[0]), signal.SIGKILL)
            async with asyncio.timeout(60):
                while (answer := await http.post("/api/v1/chat", json={"query": QUESTION})).status_code == 503:
                    assert answer.json()["code"] == "DATABASE_UNAVAILABLE"
                    await asyncio.sleep(0.2)
                assert answer.status_code == 200
                await ready(http, process)
            process.send_signal(signal.SIGTERM)
            told = (await asyncio.wait_for(process.communicate(), limit(15)))[1].decode()
        assert told.count('"event": "database_started_again"') == 1

    async def check_the_command_line_is_a_client(self, terminal: Terminal, port: int) -> None:
        """Commands without --server go over the private socket, and say so unless they print JSON."""
        folder = Path(terminal.settings["CONCLAVE_DATA_DIR"])
        assert [path.stat().st_mode & 0o777 for path in folder.glob("server.*")] == [0o600, 0o600]
        code, out, err = await terminal.run("ask", QUESTION)
        assert (code, err) == (0, f"through the server at http://127.0.0.1:{port}\n") and "Evidence" in out
        code, out, err = await terminal.run("ask", "hi", "--as", "acme/nobody", "--json")
        assert (code, err, json.loads(out)["error_code"]) == (1, "", "NOT_FOUND")
        code, out, err = await terminal.run("documents", "list", "--json")
        assert (code, err) == (0, "") and len(out.splitlines()) == 4

    async def test_what_was_accepted_survives_kill_minus_nine(self, terminal: Terminal) -> None:
        async with server(terminal.but(CONCLAVE_WORKER_IN_PROCESS="false"), free_port()) as (process, http):
            accepted = [await first_event(http, QUESTION)]
            process.kill()
        async with server(terminal, free_port()) as (process, http):
            # Together they keep the model busy for a while, so most of them are cut in the middle.
            asked = (first_event(http, f"{QUESTION} {number} ngày?") for number in range(6))
            accepted += await asyncio.gather(*asked)
            process.kill()
        async with server(terminal, free_port()) as (_, http):
            for first in accepted:
                seen = await journal(http, first.data["task_id"])
                assert seen[0] == first
                assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
                assert [event.type for event in seen if event.type in TERMINAL] == ["final_report"]
                text = "".join(event.data["text"] for event in _last_attempt(seen) if event.type == "text_delta")
                assert text == seen[-1].data["answer"]["answer"]


def _last_attempt(seen: list[Seen]) -> list[Seen]:
    restarts = [number for number, event in enumerate(seen) if event.type == "redispatched"]
    return seen[restarts[-1] :] if restarts else seen


class TestAsk:
    async def test_works_in_process(self, terminal: Terminal) -> None:
        code, out, err = await terminal.run("ask", QUESTION, "--as", "acme/lan", "--json")
        lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
        assert code == 0, err
        assert [line["seq"] for line in lines[:-1]] == list(range(1, len(lines)))
        assert lines[-1].keys() >= {"answer", "evidence", "flow_action", "session_id", "task_id", "outcome"}
        assert lines[-1] == {**lines[-2]["data"]["answer"]}

    async def test_shows_plan_answer_evidence_and_flow(self, terminal: Terminal) -> None:
        code, out, _ = await terminal.run("ask", QUESTION)
        assert code == 0
        assert all(part in out for part in ("Plan", "Answer", "Evidence", "Flow", "rag_tool", "session"))
        assert "\x1b" not in out, "no colours into a pipe"

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            (("ask", " "), (2, "PAYLOAD_INVALID")),
            (("ask", "hi", "--as", "acme/nobody"), (1, "NOT_FOUND")),
            (("ask", "hi", "--server", "http://127.0.0.1:9"), (3, "OVERLOADED")),
        ],
    )
    async def test_tells_failures_by_code(
        self, terminal: Terminal, arguments: tuple[str, ...], expected: tuple[int, str]
    ) -> None:
        code, out, _ = await terminal.run(*arguments, "--json")
        assert (code, json.loads(out.splitlines()[-1])["error_code"]) == expected

    async def test_refuses_an_external_database_without_a_secret(self, terminal: Terminal) -> None:
        outside = terminal.but(CONCLAVE_DATABASE_URL="postgresql://app@127.0.0.1:9/conclave")
        code, _, err = await outside.run("token", "--department", "hr", "--permissions", "public")
        assert code == 2 and "CONCLAVE_AUTH_JWT_SECRET" in err
        code, _, err = await outside.but(CONCLAVE_AUTH_JWT_SECRET="x" * 40).run("ask", "hi")
        assert code == 3 and "DATABASE_UNAVAILABLE" in err

    async def test_chat_keeps_the_conversation(self, terminal: Terminal) -> None:
        process = await terminal.start("chat", "--as", "acme/lan")
        out, err = await asyncio.wait_for(process.communicate("xin chào\ncảm ơn nhé\n\n".encode()), 60)
        sessions = re.findall(r"session ([0-9a-f-]{36})", " ".join(out.decode().split()))
        assert process.returncode == 0, err
        assert len(sessions) == 2 and len(set(sessions)) == 1


class TestWorker:
    async def test_runs_what_a_server_without_one_accepted(self, terminal: Terminal) -> None:
        async with server(terminal.but(CONCLAVE_WORKER_IN_PROCESS="false"), free_port()) as (_, http):
            accepted = await first_event(http, "xin chào")
            working = await terminal.start("worker")
            seen = await asyncio.wait_for(journal(http, accepted.data["task_id"]), 60)
            working.send_signal(signal.SIGTERM)
            told = (await asyncio.wait_for(working.communicate(), limit(15)))[1].decode()
        assert seen[-1].type == "final_report" and working.returncode == 0
        assert told.startswith("worker ") and "Traceback" not in told


@pytest.fixture(scope="class")
def running_database(terminal: Terminal) -> Iterator[None]:
    """The database runs already, as it does beside a server: commands that start and stop it stand above."""
    server = start_embedded(Path(terminal.settings["CONCLAVE_DATA_DIR"]))
    yield
    server.stop()


@pytest.mark.usefixtures("running_database")
class TestOperator:
    async def test_token_prints_the_token_alone(self, terminal: Terminal) -> None:
        arguments = ("--tenant", "acme", "--user", "lan", "--department", "hr", "--permissions", "public,internal")
        assert (await terminal.run("seed"))[0] == 0
        for given in (arguments, ()):
            code, out, err = await terminal.run("token", *given)
            assert (code, err) == (0, "") and out.count(".") == 2 and len(out.split()) == 1

    async def test_a_new_tenant_reads_what_is_ingested_for_it(self, terminal: Terminal, tmp_path: Path) -> None:
        rule = tmp_path / "parking.md"
        rule.write_text("# Parking\n\nBicycles are parked in hall seven from Monday to Friday.\n", "utf-8")
        assert (await terminal.run("tenant", "add", "initech", "--language", "en"))[0] == 0
        added = await terminal.run("user", "add", "initech/bill", "--permissions", "public,internal")
        assert added[0] == 0, added
        code, out, err = await terminal.run("ingest", str(rule), "--tenant", "initech", "--json")
        assert code == 0 and json.loads(out.splitlines()[-1])["published"] == 1, err
        asked = await terminal.run("ask", "Where are bicycles parked?", "--as", "initech/bill", "--json")
        assert asked[0] == 0 and "hall seven" in json.loads(asked[1].splitlines()[-1])["answer"]
        assert (await terminal.run("user", "disable", "initech/bill"))[0] == 0
        code, _, err = await terminal.run("ask", "Where are bicycles parked?", "--as", "initech/bill")
        assert code != 0 and "disabled" in err
        assert (await terminal.run("user", "disable", "initech/bill", "--undo"))[0] == 0
        assert (await terminal.run("user", "disable", "initech/nobody"))[0] != 0
        assert (await terminal.run("ask", "Where are bicycles parked?", "--as", "initech/bill"))[0] == 0

    async def test_doctor_hides_secrets_and_checks(self, terminal: Terminal) -> None:
        hidden = terminal.but(CONCLAVE_AUTH_JWT_SECRET="secret-" * 10, CONCLAVE_BUS_URL="redis://u:hunter2@h/0")
        code, out, _ = await hidden.run("doctor", "--json")
        found = json.loads(out)
        assert code == 0 and set(found["checks"].values()) == {True}
        assert "secret-" not in out and "hunter2" not in out
        assert (await terminal.run("db", "check"))[:2] == (0, "current\n")
