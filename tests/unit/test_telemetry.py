"""Logs carry ids and places, never what people wrote."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from app import telemetry
from app.errors import AppError, ErrorCode

CANARY = "lương của Lan là 30 triệu"


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level, before = root.handlers[:], root.level, structlog.get_config()
    stream = io.StringIO()
    telemetry.configure("INFO", stream)
    yield stream
    root.handlers[:], root.level = handlers, level
    structlog.configure(**before)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


class TestLogLines:
    def test_carry_the_ids_of_their_context(self, lines: io.StringIO) -> None:
        with telemetry.log_context(request_id="r-1", task_id="t-1"):
            structlog.get_logger("app.flow").info("step_done", tool="rag_tool", duration_ms=12)
        (line,) = read(lines)
        assert (line["request_id"], line["task_id"], line["tool"], line["duration_ms"]) == (
            "r-1",
            "t-1",
            "rag_tool",
            12,
        )
        assert line["event"] == "step_done" and line["level"] == "info" and line["timestamp"].endswith("Z")

    def test_drop_unlisted_fields_and_name_them(self, lines: io.StringIO) -> None:
        structlog.get_logger("app.flow").info("step_done", query=CANARY, answer=CANARY)
        (line,) = read(lines)
        assert line["dropped_fields"] == ["answer", "query"]
        assert CANARY not in lines.getvalue()

    def test_tell_an_exception_without_its_messages(self, lines: io.StringIO) -> None:
        try:
            try:
                raise ValueError(CANARY)
            except ValueError as cause:
                raise AppError(ErrorCode.NOT_FOUND, CANARY) from cause
        except AppError:
            structlog.get_logger("app.api").exception("crashed")
        (line,) = read(lines)
        assert line["exception"]["type"] == "AppError"
        assert line["exception"]["code"] == "NOT_FOUND"
        assert line["exception"]["caused_by"] == ["ValueError"]
        assert any("test_telemetry.py" in place for place in line["exception"]["at"])
        assert CANARY not in json.dumps(line, ensure_ascii=False)

    def test_keep_only_the_template_of_a_library_message(self, lines: io.StringIO) -> None:
        try:
            raise RuntimeError(CANARY)
        except RuntimeError:
            logging.getLogger("pgqueuer").exception("job failed with %s", CANARY)
        (line,) = read(lines)
        assert line["event"] == "job failed with %s"
        assert CANARY not in json.dumps(line, ensure_ascii=False)

    def test_are_one_line_each_whatever_a_value_holds(self, lines: io.StringIO) -> None:
        structlog.get_logger("app.api").info("named\r\n{}", agent="x\x1b[31m\nforged", reason="a" * 5_000)
        (line,) = read(lines)
        assert line["agent"] == "x\x1b[31m\nforged"
        assert "\x1b" not in lines.getvalue() and len(lines.getvalue()) < 1_000

    def test_below_the_level_are_left_out(self, lines: io.StringIO) -> None:
        structlog.get_logger("app.api").debug("quiet")
        assert read(lines) == []


class TestSeldom:
    def test_a_loop_that_looks_for_the_database_says_so_once_in_a_while(self) -> None:
        now = 0.0
        seldom = telemetry.Seldom(timer=lambda: now)

        def passes(name: str, event: object) -> bool:
            return seldom.filter(logging.LogRecord(name, logging.WARNING, __file__, 1, event, None, None))

        assert passes("pgqueuer", "Flush failed") and passes("app.tasks.queue", {"event": "worker_interrupted"})
        assert not passes("pgqueuer", "Flush failed")
        assert not passes("app.tasks.queue", {"event": "worker_interrupted"})
        assert passes("pgqueuer", "something else")
        assert all(passes("app.tasks.worker", {"event": "run_crashed"}) for _ in range(3))
        now = 31.0
        assert passes("pgqueuer", "Flush failed")
