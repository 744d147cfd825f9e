"""One question through an API process and a worker process is one trace, and nothing in it is anybody's text."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs conclave[telemetry]")
from app.client.local import DEMO_KEY_HEADER, demo_key
from app.domain.principal import tenant_id_of, user_id_of
from extras.telemetry.allowed import ALLOWED_ATTRIBUTES
from tests.fakes.collector import Collector, Seen, collecting
from tests.limits import limit
from tests.nursery import Nursery, Terminal
from tests.warm import planted

QUESTION = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"
TRACEPARENT = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
TO_THE_RUN = ["POST /api/v1/chat", "send run_task", "process run_task", "invoke_workflow department"]
pytestmark = pytest.mark.timeout(300)
NODES = ("orchestrator", "reflection_router", "agent_execution", "conflict_resolution", "final_response")


def settings_of(folder: Path, collector: Collector) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CONCLAVE_", "OTEL_"))}
    return {
        **kept, "CONCLAVE_DATA_DIR": str(folder), "CONCLAVE_WORKER_IN_PROCESS": "false", "COLUMNS": "160",
        "PYTHONPATH": os.pathsep.join(sys.path), "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
    }  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def ready(http: httpx.AsyncClient) -> None:
    """Wait until the API answers."""
    async with asyncio.timeout(limit(30)):
        while True:
            try:
                if (await http.get("/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


async def asked(http: httpx.AsyncClient, folder: Path) -> httpx.Response:
    """The question, asked as acme/lan with the context of a trace that began elsewhere."""
    key = {DEMO_KEY_HEADER: demo_key(folder)}
    signed_in = await http.post("/api/v1/auth/dev", json={"user": "acme/lan"}, headers=key)
    headers = {
        "Authorization": f"Bearer {signed_in.json()['token']}", "baggage": "who=lan",
        "traceparent": f"00-{TRACEPARENT[0]}-{TRACEPARENT[1]}-01",
    }  # fmt: skip
    return await http.post("/api/v1/chat", params={"said": "lan-asks"}, json={"query": QUESTION}, headers=headers)


Answered = tuple[Collector, httpx.Response, list[Mapping[str, Any]]]
"""What arrived at the collector, the answer, and what the API's process logged."""


@pytest.fixture(scope="module")
async def answered(scratch: Path, small_seed: Path, nursery: Nursery) -> Answered:
    """The question, asked of an API process that leaves the work to a worker process."""
    folder, port, told = await planted(scratch / "traces", small_seed), free_port(), []
    with collecting() as collector:
        terminal = Terminal(nursery, {**settings_of(folder, collector), "CONCLAVE_SEED_DIR": str(small_seed)})
        started = [await terminal.start("serve", "--port", str(port))]
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http:
                await ready(http)
                started.insert(0, await terminal.but(OTEL_SERVICE_NAME="answers").start("worker"))
                response = await asked(http, folder)
            for process in started:  # the last spans leave as a process ends
                process.send_signal(signal.SIGTERM)
                told.append((await asyncio.wait_for(process.communicate(), limit(15)))[1].decode())
        finally:
            for process in started:
                process.kill()
    return collector, response, [json.loads(line) for line in told[1].splitlines() if line.startswith("{")]


class TestTraces:
    async def test_one_question_is_one_trace_across_both_processes(self, answered: Answered) -> None:
        collector, response, _ = answered
        assert response.json()["outcome"] in ("answered", "partial", "conflict")
        trace = Collector("", [span for span in collector.spans if span.trace == TRACEPARENT[0]])
        [root] = trace.named("POST /api/v1/chat")
        assert root.parent == TRACEPARENT[1]
        trace.spans[trace.spans.index(root)] = Seen(**{**vars(root), "parent": ""})
        paths = {span.id: trace.path_to(span) for span in trace.spans}  # every parent is there
        assert all(path[0] == "POST /api/v1/chat" for path in paths.values())
        [run] = trace.named("invoke_workflow department")
        assert paths[run.id] == TO_THE_RUN
        assert run.attributes["conclave.task.id"] == response.json()["task_id"]
        assert {span.process for span in trace.spans if paths[span.id][:4] == TO_THE_RUN} == {"answers"}
        assert root.process == "conclave"
        self.check_the_run(trace, paths)

    def check_the_run(self, trace: Collector, paths: Mapping[str, list[str]]) -> None:
        """One span for each node, agent, tool; statements below them, and back in the API's process."""
        for node in NODES:
            [span] = trace.named(f"node {node}")
            assert paths[span.id] == [*TO_THE_RUN, f"node {node}"]
        agents, tools = trace.named("invoke_agent hr"), trace.named("execute_tool rag_tool")
        assert agents and {tuple(paths[one.id][4:-1]) for one in agents} == {("node agent_execution",)}
        within = Counter(one.parent for one in trace.spans if one.name.startswith("execute_tool"))
        assert set(within.values()) == {1} and len(within) == sum(
            span.name.startswith("invoke_agent") for span in trace.spans
        )
        searched = [span for span in trace.named("SELECT chunk_vectors") if span.parent in {tool.id for tool in tools}]
        assert searched and searched[0].attributes["db.system.name"] == "postgresql"
        assert trace.named("embeddings multilingual-e5-small-int8")
        below = {span.name for span in trace.spans if paths[span.id][:-1] == ["POST /api/v1/chat"]}
        assert {"send run_task", "COMMIT"} <= below and not any(span.failed for span in trace.spans)

    async def test_no_span_holds_text_people_or_companies(self, answered: Answered) -> None:
        collector, response, _ = answered
        assert len(collector.spans) > 50
        assert {name for span in collector.spans for name in span.attributes} <= ALLOWED_ATTRIBUTES
        tenant = tenant_id_of("acme")
        forbidden = [
            "acme",
            "lan-asks",
            "who=lan",
            str(tenant),
            str(user_id_of(tenant, "lan")),
            "/auth/dev?",
            "set_config",
        ]
        sent = b"".join(collector.texts).decode("utf-8", "replace").lower()
        for text in (*forbidden, *QUESTION.split(", "), *response.json()["answer"].split()[:40]):
            assert len(text) < 6 or text.lower() not in sent

    async def test_probes_and_background_work_make_no_traces(self, answered: Answered) -> None:
        roots = {span.name for span in answered[0].spans if not span.parent}
        assert roots <= {"POST /api/v1/auth/dev"}

    async def test_lines_of_the_log_name_their_trace(self, answered: Answered) -> None:
        [line] = [line for line in answered[2] if line.get("route") == "/api/v1/chat"]
        [root] = answered[0].named("POST /api/v1/chat")
        assert (line["trace_id"], line["span_id"]) == (root.trace, root.id)
