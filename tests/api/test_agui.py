"""The service through AG-UI's own types and client, and the order of its events."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag_ui.core import RunAgentInput, UserMessage
from ag_ui.core.events import Event as AguiEvent
from pydantic import BaseModel, TypeAdapter

from app.events import (
    AgentTask,
    EndProcess,
    FinalReport,
    Interrupt,
    JournalEntry,
    NavigationError,
    Redispatched,
    StartProcess,
    TaskCancelled,
    TextDelta,
    ToolRequest,
    VerificationDone,
)
from extras.faces.agui_events import AguiStream, Run
from tests.api import node
from tests.api.test_chat import afresh
from tests.api.test_deep_approval import QUESTION as DEEP

EVENTS: TypeAdapter[Any] = TypeAdapter(AguiEvent)
CLIENT = """
import { HttpAgent } from "@ag-ui/client";
const { API, TOKEN, THREAD, QUESTION } = process.env;
const agent = new HttpAgent({
  url: API, threadId: THREAD, headers: { Authorization: `Bearer ${TOKEN}` },
  initialMessages: [{ id: "m1", role: "user", content: QUESTION }],
});
let failure = null;
const seen = new Set();
const { result, newMessages } = await agent.runAgent({}, {
  onEvent: ({ event }) => { seen.add(event.type); }, onRunFailed: ({ error }) => { failure = error.message; },
});
console.log(JSON.stringify({ result, newMessages, state: agent.state, failure, seen: [...seen] }));
"""


def asked(text: str, thread: str | None = None, run: str | None = None, **other: Any) -> dict[str, Any]:
    """A request as the package writes it."""
    given = RunAgentInput(
        thread_id=thread or str(uuid4()), run_id=run or str(uuid4()), messages=[UserMessage(id="m1", content=text)],
        **other,
    )  # fmt: skip
    return given.model_dump(mode="json", by_alias=True)


def events_of(body: str) -> list[Any]:
    """The events of a whole stream, each as its own type, with nothing the protocol does not know."""
    lines = [line.removeprefix("data: ") for line in body.split("\n") if line.startswith("data: ")]
    return [known(EVENTS.validate_json(line)) for line in lines]


def known(event: BaseModel) -> BaseModel:
    """The same, without unknown fields anywhere in it."""
    assert not event.model_extra, event
    for value in event.__dict__.values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, BaseModel):
                known(one)
    return event


def check_order(events: list[Any]) -> None:
    """Everything that begins ends, once, between the run's beginning and its end."""
    assert events[0].type == "RUN_STARTED" and events[-1].type in ("RUN_FINISHED", "RUN_ERROR")
    began, ended = _named(events, BEGINS), _named(events, ENDS)
    assert sorted(began) == sorted(ended)
    for kind in ("TOOL_CALL_START", "TEXT_MESSAGE_START", "SUBAGENT_STARTED"):
        names = [name for what, name in began if what == kind]
        assert len(names) == len(set(names))


BEGINS = {
    "STEP_STARTED": "step_name", "SUBAGENT_STARTED": "subagent_run_id", "TEXT_MESSAGE_START": "message_id",
    "TOOL_CALL_START": "tool_call_id",
}  # fmt: skip
ENDS = {
    "STEP_FINISHED": "STEP_STARTED", "SUBAGENT_FINISHED": "SUBAGENT_STARTED", "TEXT_MESSAGE_END": "TEXT_MESSAGE_START",
    "TOOL_CALL_RESULT": "TOOL_CALL_START",
}  # fmt: skip


def _named(events: list[Any], kinds: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (start, getattr(event, BEGINS[start]))
        for event in events
        if event.type.value in kinds
        for start in [kinds[event.type.value] if kinds is ENDS else event.type.value]
    ]


def text_of(events: list[Any]) -> str:
    return "".join(event.delta for event in events if event.type == "TEXT_MESSAGE_CONTENT")


@pytest.fixture
def agui(address: str) -> str:
    return f"{address}/ag-ui"


class TestItsOwnClient:
    async def test_reads_the_answer_with_plan_agents_and_tools(
        self, agui: str, lan: httpx.AsyncClient, modules: Path
    ) -> None:
        token = lan.headers["authorization"].removeprefix("Bearer ")
        got = await node.told_by(modules, CLIENT, API=agui, TOKEN=token, THREAD="my thread", QUESTION=afresh())
        assert got["failure"] is None
        native = (await lan.get(f"/tasks/{got['result']['task_id']}")).json()["result"]
        assert got["result"]["answer"] == native["answer"] and got["result"]["evidence"] == native["evidence"]
        said = [one for one in got["newMessages"] if one["role"] == "assistant" and one.get("content")]
        assert [one["content"] for one in said] == [native["answer"]]
        [plan] = [one for one in got["newMessages"] if one["role"] == "activity"]
        assert plan["activityType"] == "PLAN" and {step["status"] for step in plan["content"]["steps"]} == {"completed"}
        assert got["state"]["outcome"] == "answered" and got["state"]["progress"] == 95
        assert got["state"]["agents"]["hr"] == {"speaking": False}
        assert {"STEP_STARTED", "SUBAGENT_STARTED", "TOOL_CALL_RESULT", "ACTIVITY_DELTA"} <= set(got["seen"])


class TestRun:
    async def test_is_told_in_the_protocols_own_types(self, agui: str, lan: httpx.AsyncClient) -> None:
        given = asked(afresh())
        events = events_of((await lan.post(agui, json=given)).text)
        check_order(events)
        first, last = events[0], events[-1]
        assert (first.thread_id, first.run_id) == (last.thread_id, last.run_id) == (given["threadId"], given["runId"])
        assert last.outcome.type == "success" and text_of(events) == last.result["answer"]
        [evidence] = [event.value for event in events if event.type == "CUSTOM" and event.name == "evidence"]
        assert evidence == last.result["evidence"]
        assert last.result["session_id"] == given["threadId"]
        agents = {event.name for event in events if event.type == "SUBAGENT_STARTED"}
        assert agents == {"hr", "general", "orchestrator"}
        assert all(event.subagent_run_id for event in events if event.type == "TOOL_CALL_START")

    async def test_of_the_same_id_is_the_same_run(self, agui: str, lan: httpx.AsyncClient) -> None:
        given = asked("mật khẩu dài bao nhiêu ký tự?")
        first, again = [(await lan.post(agui, json=given)).text for _ in range(2)]
        assert events_of(first) == events_of(again)
        other = await lan.post(agui, json=asked("còn gì nữa?", given["threadId"], given["runId"]))
        assert (other.status_code, other.json()["code"]) == (422, "IDEMPOTENCY_MISMATCH")

    async def test_can_be_named_by_its_task(self, agui: str, lan: httpx.AsyncClient, client_of: Any) -> None:
        native = (await lan.post("/chat", json={"query": afresh()})).json()
        given = asked("?", native["session_id"], native["task_id"])
        events = events_of((await lan.post(agui, json=given)).text)
        assert text_of(events) == native["answer"] and events[-1].result["task_id"] == native["task_id"]
        foreign = events_of((await client_of("acme/minh").post(agui, json={**given, "messages": HELLO})).text)
        assert foreign[-1].result["outcome"] == "chitchat"

    async def test_goes_on_in_its_thread(self, agui: str, lan: httpx.AsyncClient) -> None:
        thread = f"thread of {uuid4()}"
        sessions = {
            events_of((await lan.post(agui, json=asked(question, thread))).text)[-1].result["session_id"]
            for question in ("mật khẩu dài bao nhiêu ký tự?", "còn thời hạn đổi thì sao?")
        }
        [session] = sessions
        assert len((await lan.get(f"/sessions/{session}")).json()["messages"]) == 4

    async def test_asks_one_agent_where_that_is_wished(self, agui: str, lan: httpx.AsyncClient) -> None:
        given = asked("mật khẩu dài bao nhiêu ký tự?", forwarded_props={"agent": "it", "theme": "dark"})
        events = events_of((await lan.post(agui, json=given)).text)
        assert {event.name for event in events if event.type == "SUBAGENT_STARTED"} <= {"it", "orchestrator"}
        assert "12" in text_of(events)
        unknown = await lan.post(agui, json=asked("xin chào", forwarded_props={"mode": "guess"}))
        assert (unknown.status_code, unknown.json()["code"]) == (422, "PAYLOAD_INVALID")

    async def test_takes_a_users_text_and_nothing_else(
        self, agui: str, lan: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for messages in [
            [],
            [{"id": "1", "role": "assistant", "content": "x"}],
            [{"id": "1", "role": "user", "content": [{"type": "image", "source": {}}]}],
            [{"id": "1", "role": "user", "content": " "}],
            [{"id": "1", "role": "tool", "content": "x", "toolCallId": "1"}],
        ]:
            with subtests.test(ascii(messages)[:80]):
                refused = await lan.post(agui, json={**asked("x"), "messages": messages})
                assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")


HELLO = [{"id": "1", "role": "user", "content": "xin chào"}]


class TestAPlanThatWaits:
    async def test_stops_the_run_and_is_decided_by_the_next_one(self, agui: str, lan: httpx.AsyncClient) -> None:
        wishes = {"mode": "deep", "approve_plan": True}
        given = asked(f"{DEEP}  ", forwarded_props=wishes)
        stopped = events_of((await lan.post(agui, json=given)).text)
        check_order(stopped)
        [interrupt] = stopped[-1].outcome.interrupts
        assert stopped[-1].outcome.type == "interrupt" and interrupt.reason == "plan_approval"
        answer = {"interrupt_id": interrupt.id, "status": "resolved", "payload": {"approved": True}}
        resumed = asked("", given["threadId"], resume=[answer])
        went_on = events_of((await lan.post(agui, json=resumed)).text)
        check_order(went_on)
        assert went_on[-1].outcome.type == "success" and text_of(went_on) == went_on[-1].result["answer"]
        assert [event.type for event in went_on[1:3]] == ["STATE_SNAPSHOT", "ACTIVITY_SNAPSHOT"]
        whole = events_of((await lan.post(agui, json=given)).text)
        assert text_of(whole) == text_of(went_on)

    async def test_ends_when_it_is_refused(self, agui: str, lan: httpx.AsyncClient) -> None:
        given = asked(f"{DEEP}   ", forwarded_props={"mode": "deep", "approve_plan": True})
        [interrupt] = events_of((await lan.post(agui, json=given)).text)[-1].outcome.interrupts
        resumed = asked("", given["threadId"], resume=[{"interrupt_id": interrupt.id, "status": "cancelled"}])
        assert events_of((await lan.post(agui, json=resumed)).text)[-1].outcome.type == "cancelled"
        unknown = asked("", resume=[{"interrupt_id": "x", "status": "cancelled"}])
        assert (await lan.post(agui, json=unknown)).status_code == 404


class TestProjection:
    async def test_closes_what_a_lost_attempt_left_open(self) -> None:
        begun: list[Any] = [StartProcess(agent="hr"), step("hr#1"), call("hr#1")]
        told = await projected(
            *begun, TextDelta(text="Mười "), Redispatched(attempt=2), *begun, EndProcess(agent="hr"),
            TextDelta(text="Mười hai "), final("Mười hai ngày."),
        )  # fmt: skip
        check_order(told)
        assert text_of(told) == "Mười hai ngày."

    async def test_says_so_when_a_second_attempt_says_something_else(self) -> None:
        told = await projected(TextDelta(text="Mười "), Redispatched(attempt=2), final("Không rõ."))
        check_order(told)
        assert (told[-1].type, told[-1].code) == ("RUN_ERROR", "OVERLOADED")

    async def test_tells_a_step_that_failed_and_a_run_that_was_stopped(self) -> None:
        failed = NavigationError(node_id="a/b~c#1", error_code="TOOL_FAILED", message="x")
        told = await projected(
            StartProcess(agent="a/b~c"), step("a/b~c#1"), call("a/b~c#1"), failed, TaskCancelled(reason="x")
        )
        check_order(told)
        assert told[-1].outcome.type == "cancelled"
        assert "/agents/a~1b~0c" in str([event.delta for event in told if event.type == "STATE_DELTA"])

    async def test_does_not_stop_again_where_it_was_decided(self) -> None:
        asking = Interrupt(plan={}, attempt=1, expires_at=datetime(2026, 1, 1, tzinfo=UTC))
        journal: list[Any] = [asking, VerificationDone(node_id="planner", confidence=1), final("Có.")]
        assert (await projected(*journal))[-1].outcome.type == "interrupt"
        assert text_of(await projected(*journal, decided=1)) == "Có."


def step(name: str) -> AgentTask:
    return AgentTask(task_id=uuid4(), agent=name.partition("#")[0], node_id=name, tool="rag_tool", attempt=1)


def call(name: str) -> ToolRequest:
    return ToolRequest(agent=name.partition("#")[0], node_id=name, tool="rag_tool", input_hash="0")


def final(text: str) -> FinalReport:
    return FinalReport(answer={"answer": text, "evidence": [], "task_id": "1", "outcome": "answered"})


async def projected(*events: Any, decided: int = 0) -> list[Any]:
    async def entries() -> AsyncIterator[JournalEntry]:
        for seq, event in enumerate(events, 1):
            yield JournalEntry(seq=seq, event=event)

    run = Run("thread", "run", uuid4(), uuid4(), decided=decided)
    return [known(EVENTS.validate_python(event)) async for event in AguiStream(run).chunks(entries())]
