"""A deep question whose plan is approved first, through the whole house."""

from collections.abc import Callable
from typing import Any

import pytest

from app.cli.questions import ask_and_show, ask_as_json
from app.client.connection import Connection, question_body
from tests.api.test_chat import Client, stream
from tests.unit.cli.test_deciding import Desk

QUESTION = "Nhân viên lương 18 triệu đi muộn 5 lần tháng này bị trừ tổng cộng bao nhiêu?"


class TestADeepQuestion:
    async def test_runs_the_plan_that_was_approved(self, lan: Client) -> None:
        asked = {"query": QUESTION, "mode": "deep", "approve_plan": True}
        waiting = await lan.post("/chat", json=asked)
        assert waiting.status_code == 202, waiting.text
        told: dict[str, Any] = waiting.json()
        path = f"/tasks/{told['task_id']}"
        task = (await lan.get(path)).json()
        assert (task["status"], task["waiting_for"], task["children"]) == ("pending", "approval", [])
        steps = [
            step
            for tier in told["plan"]["execution_flow"]["planning"]["tasks"]
            for one in tier.values()
            for step in one
        ]
        assert steps and {step["status"] for step in steps} == {"pending"}
        assert (
            await lan.post(f"{path}/approve", json={"approved": True, "attempt": told["attempt"]})
        ).status_code == 200
        seen = await stream(lan, "GET", f"{path}/events")
        types = [event.type for event in seen]
        assert types.count("plan_ready") == types.count("interrupt") == 1 and "redispatched" not in types
        assert types.index("interrupt") < types.index("agent_task") < types.index("final_report")
        task = (await lan.get(path)).json()
        assert (task["status"], task["waiting_for"], task["attempt"]) == ("completed", None, 2)
        assert task["result"]["answer"]

    async def test_plans_again_with_what_was_said(self, lan: Client) -> None:
        waiting = await lan.post("/chat", json={"query": f"{QUESTION} ", "mode": "deep", "approve_plan": True})
        path = f"/tasks/{waiting.json()['task_id']}"
        said = {"approved": False, "feedback": "chỉ tính các lần đi muộn từ lần thứ ba"}
        assert (await lan.post(f"{path}/approve", json=said)).status_code == 200
        async with lan.stream("GET", f"{path}/events") as response:
            interrupts = 0
            async for line in response.aiter_lines():
                interrupts += line == "event: interrupt"
                if interrupts == 2 or line == "event: final_report":
                    break
        assert interrupts == 2
        cancelled = await lan.post(f"{path}/approve", json={"approved": False})
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")


class TestCommandLine:
    """``conclave ask --deep --approve``."""

    @pytest.mark.parametrize("as_json", [False, True])
    async def test_asks_in_the_terminal_and_goes_on(
        self, address: str, token_of: Callable[[str], str], as_json: bool
    ) -> None:
        out, desk = Desk(), Desk("tính lại từng bước", "có")
        body = question_body(QUESTION, "deep", approve_plan=True)
        async with Connection(address, token_of("acme/lan")) as connection:
            answer = await (ask_as_json if as_json else ask_and_show)(connection, body, out, desk)
        assert answer["outcome"] in ("answered", "not_found")
        assert desk.shown.count("Carry out this plan?") == 2 and "tier 1" in desk.shown
        assert out.shown.count('"event": "interrupt"') == (2 if as_json else 0)

    async def test_gives_up_when_it_is_refused(self, address: str, token_of: Callable[[str], str]) -> None:
        body = question_body(QUESTION, "deep", approve_plan=True)
        async with Connection(address, token_of("acme/lan")) as connection:
            answer = await ask_and_show(connection, body, Desk(), Desk("n"))
        assert (answer["error_code"], answer["error_message"]) == ("TASK_CANCELLED", "The plan was not approved.")


async def test_only_deep_runs_wait(lan: Client) -> None:
    refused = await lan.post("/chat", json={"query": QUESTION, "mode": "department", "approve_plan": True})
    assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")
