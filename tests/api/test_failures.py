"""When something of ours breaks: a code for the caller, one line in the log, and nobody's text in either."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app import telemetry
from app.agents.run import StepRunner
from app.main import Services

CANARY = "mức lương bí mật của giám đốc"
Client = httpx.AsyncClient


@pytest.fixture
def log_lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What the process logs meanwhile, as a server process would write it."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    telemetry.configure("DEBUG", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


class TestABug:
    async def test_in_a_route_gives_500_and_one_line_in_the_log(
        self,
        lan: Client,
        house: Services,
        monkeypatch: pytest.MonkeyPatch,
        log_lines: Callable[[], list[dict[str, Any]]],
    ) -> None:
        async def broken(*_: object, **__: object) -> None:
            raise KeyError(CANARY)

        monkeypatch.setattr(house.rooms.retriever, "search", broken)
        answer = await lan.post("/search", json={"query": CANARY}, headers={"X-Request-ID": "bug-00000001"})
        assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL")
        crashes = [line for line in log_lines() if line["event"] == "request_crashed"]
        [crash] = crashes
        assert crash["exception"]["type"] == "KeyError" and crash["request_id"] == "bug-00000001"
        assert CANARY not in json.dumps(log_lines(), ensure_ascii=False) + answer.text

    async def test_in_a_run_gives_the_error_shape(
        self,
        lan: Client,
        house: Services,
        monkeypatch: pytest.MonkeyPatch,
        log_lines: Callable[[], list[dict[str, Any]]],
    ) -> None:
        async def broken(*_: object) -> None:
            raise KeyError(CANARY)

        monkeypatch.setattr(StepRunner, "run", broken)
        answer = await lan.post("/chat", json={"query": f"đi muộn bị xử lý thế nào? {CANARY}"})
        body = answer.json()
        assert answer.status_code == 500
        assert (body["error"], body["error_code"], body["outcome"]) == (True, "INTERNAL", "failed")
        assert body["task_id"] and body["session_id"]
        lines = log_lines()
        assert any(line.get("task_id") == body["task_id"] for line in lines)
        assert CANARY not in json.dumps(lines, ensure_ascii=False)


class TestLogs:
    async def test_carry_ids_and_no_text(self, lan: Client, log_lines: Callable[[], list[dict[str, Any]]]) -> None:
        question = "mật khẩu dài bao nhiêu ký tự? CANARY-91c2"
        answer = (await lan.post("/chat", json={"query": question}, headers={"X-Request-ID": "log-00000001"})).json()
        lines, text = log_lines(), json.dumps(log_lines(), ensure_ascii=False)
        request = next(line for line in lines if line["event"] == "request")
        assert (request["route"], request["status"], request["request_id"]) == ("/api/v1/chat", 200, "log-00000001")
        assert request["duration_ms"] >= 0
        assert "CANARY-91c2" not in text and answer["answer"][:40] not in text
