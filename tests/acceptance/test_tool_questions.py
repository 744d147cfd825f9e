"""Questions that tools answer, asked of the whole house: by the API's own door and by the command line."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from typing import Any

import pytest

from app.main import Services
from tests.acceptance.asking import Told, ask

QUESTIONS: dict[str, tuple[str, str, str, str]] = {
    "tính 2+4 = ??": ("acme/lan", "math.mcp_sum", "2 + 4 = 6", "mcp:math/mcp_sum?a=2&b=4"),
    "15% của 32 triệu là bao nhiêu?": (
        "acme/lan", "math.mcp_percent", "4.800.000", "mcp:math/mcp_percent?part_percent=15&of=32000000",
    ),
    "từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?": (
        "acme/lan", "date.working_days", "56 ngày làm việc", "mcp:date/working_days?start=2026-02-03&end=2026-04-30",
    ),
    "100 °F là bao nhiêu độ C": ("acme/lan", "unit_tool", "37,78 °C", "unit:100+degree_Fahrenheit+to+degree_Celsius"),
    "hôm qua VPN có bao nhiêu lỗi, lỗi nào nhiều nhất?": (
        "acme/minh", "log_tool", "TLS handshake with # timed out", "log:vpn-gw-01",
    ),
    "hom qua VPN co bao nhieu loi, loi nao nhieu nhat?": (
        "acme/minh", "log_tool", "TLS handshake with # timed out", "log:vpn-gw-01",
    ),
    "What is 15% of 32 million?": ("globex/tom", "math.mcp_percent", "4,800,000", "mcp:math/"),
    "Convert 26.2 miles to kilometres": ("globex/tom", "unit_tool", "42.16", "unit:26.2+mile"),
    "How many working days are there from 3 February 2026 to 30 April 2026?": (
        "globex/tom", "date.working_days", "working days", "mcp:date/working_days?start=2026-02-03&end=2026-04-30",
    ),
}  # fmt: skip
"""Question: who asks, the tool that answers, what the answer says, what its evidence is called."""
GREETING = [{"role": "user", "content": "Xin chào"}]
"""A question with a history is never answered from the answer cache, whoever asked it of the same services before."""
REFUSED = {
    "tính 5 / 0": "chia cho 0",
    "tính 9**9**9**9": "quá lớn",
    "đổi 3 tạ sang độ C": "tạ",
}


def steps_of(told: Told) -> list[dict[str, Any]]:
    return [action for action in told.answer["flow_action"] if action["type"] == "agent_tool"]


class TestQuestions:
    @pytest.mark.parametrize("question", QUESTIONS)
    async def test_are_answered_by_one_tool_with_evidence(self, services: Services, question: str) -> None:
        asker, tool, said, evidence = QUESTIONS[question]
        told = await ask(services, asker, question, history_chat=GREETING)
        assert said in told.answer["answer"]
        assert told.answer["outcome"] == "answered"
        assert [step["tool"] for step in steps_of(told)] == [tool]
        assert all(step["input_hash"] and step["output_hash"] for step in steps_of(told))
        assert [one["url"][: len(evidence)] for one in told.answer["evidence"]] == [evidence]

    @pytest.mark.parametrize("question", REFUSED)
    async def test_what_cannot_be_computed_is_said_so_and_not_guessed(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question, history_chat=GREETING)
        assert REFUSED[question] in told.answer["answer"]
        assert told.answer["outcome"] == "not_found"
        assert told.answer["confidence_score"] <= 0.3
        assert told.answer["evidence"] == []

    async def test_a_sum_goes_through_the_agent_type_of_the_pool(self, services: Services) -> None:
        told = await ask(services, "acme/lan", "tính 3+5 = ??", history_chat=GREETING)
        plan = next(event for event in told.events if event.type == "plan_ready").plan
        assert list(plan["agents"]) == ["math"]
        assert [event.agent for event in told.events if event.type == "agent_task"] == ["math"]

    async def test_a_question_beside_a_sum_is_answered_too(self, services: Services) -> None:
        told = await ask(services, "acme/lan", "tính 4+9 và nhân viên đi muộn bị xử lý thế nào?", history_chat=GREETING)
        tools = {step["tool"] for step in steps_of(told)}
        assert {"math.mcp_sum", "rag_tool"} <= tools
        assert "4 + 9 = 13" in told.answer["answer"]


class TestCommandLine:
    async def test_answers_a_sum_against_the_same_data(self, services: Services) -> None:
        """The service's own process holds the embedded server; the command joins it."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("CONCLAVE_")}
        env["CONCLAVE_DATA_DIR"] = str(services.settings.data_dir)
        command = ["-c", "from app.cli import main; main()", "ask", "tính 2+4 = ??", "--as", "acme/lan", "--json"]
        running = await asyncio.create_subprocess_exec(sys.executable, *command, env=env, stdout=PIPE, stderr=PIPE)
        printed, complaints = await running.communicate()
        assert running.returncode == 0, complaints[-2_000:]
        answer = json.loads(printed.splitlines()[-1])
        assert (answer["answer"], answer["outcome"]) == ("2 + 4 = 6", "answered")
