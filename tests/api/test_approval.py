"""Approving a plan over HTTP: what the asker is shown while the run waits, and what a decision does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest

from app.domain.tasks import TaskStatus
from app.events import FinalReport, PlanReady
from app.main import Services
from app.tasks.approvals import DeepStates
from app.tasks.run import TaskRun
from tests.api.sse_reader import TERMINAL, Seen, events_of
from tests.api.test_chat import Client, stream

UNKNOWN = "00000000-0000-4000-8000-000000000000"
_numbers = count(1)


class PlanningFlow:
    """Plans and waits; approved, it answers with the plan it was approved for."""

    def __init__(self, house: Services):
        rooms = house.rooms
        self._registry = rooms.registry
        self._states = DeepStates(house.database, rooms.journal, rooms.now)

    async def run(self, run: TaskRun) -> None:
        state = await self._states.last(run) or {"plan": "plan"}
        if state.get("approved"):
            result = {"answer": state["plan"], "evidence": [], "flow_action": [], "outcome": "answered"}
            await self._registry.finish(
                run, status=TaskStatus.COMPLETED, result=result, metadata={"outcome": "answered"},
                event=FinalReport(answer=result),
            )  # fmt: skip
            return
        plan = {"refined_query": f"{state['plan']}{state.get('feedback', '')}"}
        run.writer.append(PlanReady(plan=plan))
        await self._states.park(run, {"plan": plan["refined_query"]}, plan)


def decided(state: dict[str, Any], *, approved: bool, feedback: str = "") -> dict[str, Any]:
    return {**state, "approved": approved, "feedback": f" {feedback}"}


@pytest.fixture(autouse=True)
def planning(house: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question waits for its plan."""
    monkeypatch.setattr(house.rooms.flow, "run", PlanningFlow(house).run)
    monkeypatch.setattr(house.rooms.approvals, "_decided", decided)


def question() -> dict[str, Any]:
    return {"query": f"how much is it, and twice as much? {next(_numbers)}", "approve_plan": True}


@pytest.fixture
async def waiting(lan: Client) -> dict[str, Any]:
    """The answer to a question whose plan waits."""
    response = await lan.post("/chat", json=question())
    assert response.status_code == 202
    told: dict[str, Any] = response.json()
    return told


async def followed(client: Client, task_id: str) -> AsyncIterator[Seen]:
    async with client.stream("GET", f"/tasks/{task_id}/events") as response:
        async for event in events_of(response):
            yield event


class TestAWaitingRun:
    async def test_is_told_to_who_asked(self, lan: Client, waiting: dict[str, Any]) -> None:
        assert list(waiting) == ["session_id", "task_id", "outcome", "waiting_for", "plan", "attempt", "expires_at"]
        assert (waiting["outcome"], waiting["waiting_for"], waiting["attempt"]) == ("waiting", "approval", 1)
        assert waiting["plan"] == {"refined_query": "plan"}
        task = (await lan.get(f"/tasks/{waiting['task_id']}")).json()
        assert (task["status"], task["waiting_for"]) == ("pending", "approval")
        assert task["expires_at"] == waiting["expires_at"]

    async def test_is_told_again_to_who_repeats_the_question(self, lan: Client) -> None:
        headers, body = {"Idempotency-Key": f"waiting-{next(_numbers)}"}, question()
        first, again = [await lan.post("/chat", json=body, headers=headers) for _ in range(2)]
        assert (again.status_code, again.json()) == (202, first.json())
        await lan.post(f"/tasks/{first.json()['task_id']}/approve", json={"approved": True})
        await stream(lan, "GET", f"/tasks/{first.json()['task_id']}/events")
        assert (await lan.post("/chat", json=body, headers=headers)).json()["answer"] == "plan"

    async def test_is_streamed_up_to_the_question_and_on_from_the_decision(self, lan: Client) -> None:
        async with lan.stream("POST", "/chat/stream", json=question()) as response:
            told = events_of(response)
            seen = [await anext(told) for _ in range(3)]
            assert [event.type for event in seen] == ["task_available", "plan_ready", "interrupt"]
            assert set(seen[2].data) == {"type", "plan", "attempt", "expires_at"}
            rest = asyncio.ensure_future(_all(told))
            await asyncio.sleep(0.7)
            assert not rest.done()
            task_id = seen[0].data["task_id"]
            answer = await lan.post(f"/tasks/{task_id}/approve", json={"approved": True, "attempt": 1})
            assert (answer.status_code, answer.json()["waiting_for"]) == (200, None)
            assert [event.type for event in await rest] == ["verification_done", "final_report"]
        ended = (await lan.get(f"/tasks/{task_id}")).json()
        assert (ended["status"], ended["result"]["answer"]) == ("completed", "plan")

    async def test_can_be_cancelled(self, lan: Client, waiting: dict[str, Any]) -> None:
        cancelled = (await lan.post(f"/tasks/{waiting['task_id']}/cancel")).json()
        assert (cancelled["status"], cancelled["waiting_for"]) == ("cancelled", None)
        seen = await stream(lan, "GET", f"/tasks/{waiting['task_id']}/events")
        assert [event.type for event in seen if event.type in TERMINAL] == ["task_cancelled"]
        late = await lan.post(f"/tasks/{waiting['task_id']}/approve", json={"approved": True})
        assert (late.status_code, late.json()["code"]) == (409, "CONFLICT_IN_FLIGHT")


class TestDecisions:
    async def test_a_refused_plan_is_made_again_and_asked_about_again(
        self, lan: Client, waiting: dict[str, Any]
    ) -> None:
        path = f"/tasks/{waiting['task_id']}/approve"
        said = {"approved": False, "feedback": "  by month  ", "attempt": 1}
        assert (await lan.post(path, json=said)).status_code == 200
        seen = [event async for event in _until(followed(lan, waiting["task_id"]), "interrupt", times=2)]
        assert [event.data["reason"] for event in seen if event.type == "renavigate_request"] == ["by month"]
        assert (seen[-1].data["plan"], seen[-1].data["attempt"]) == ({"refined_query": "plan by month"}, 2)
        assert (await lan.post(path, json={"approved": True, "attempt": 1})).status_code == 409
        assert (await lan.post(path, json={"approved": True, "attempt": 2})).status_code == 200
        told = await stream(lan, "GET", f"/tasks/{waiting['task_id']}/events")
        assert told[-1].data["answer"]["answer"] == "plan by month"

    async def test_a_plan_refused_without_a_word_cancels_the_run(self, lan: Client, waiting: dict[str, Any]) -> None:
        for _ in range(2):
            answer = await lan.post(f"/tasks/{waiting['task_id']}/approve", json={"approved": False, "feedback": " "})
            assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")

    async def test_are_nobody_elses(
        self, lan: Client, client_of: Callable[[str], Client], waiting: dict[str, Any]
    ) -> None:
        for path in (f"/tasks/{waiting['task_id']}/approve", f"/tasks/{UNKNOWN}/approve"):
            for user in ("acme/minh", "acme/admin", "globex/jane"):
                answer = await client_of(user).post(path, json={"approved": True})
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
        assert (await lan.get(f"/tasks/{waiting['task_id']}")).json()["waiting_for"] == "approval"

    @pytest.mark.parametrize(
        "body",
        [
            {}, {"approved": "yes"}, {"approved": None}, {"approved": False, "feedback": "x" * 2_001},
            {"approved": True, "feedback": "but"}, {"approved": True, "attempt": 0}, {"approved": True, "why": "?"},
            {"approved": False, "feedback": "\x00"},
        ],
        ids=str,
    )  # fmt: skip
    async def test_that_say_nothing_are_refused(
        self, lan: Client, waiting: dict[str, Any], body: dict[str, Any]
    ) -> None:
        answer = await lan.post(f"/tasks/{waiting['task_id']}/approve", json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "PAYLOAD_INVALID")
        assert (await lan.get(f"/tasks/{waiting['task_id']}")).json()["waiting_for"] == "approval"


async def _all(events: AsyncIterator[Seen]) -> list[Seen]:
    return [event async for event in events]


async def _until(events: AsyncIterator[Seen], kind: str, times: int) -> AsyncIterator[Seen]:
    async for event in events:
        yield event
        times -= event.type == kind
        if not times:
            return
