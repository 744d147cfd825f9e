"""Every event as the message that tells it."""

from datetime import UTC, datetime

import pytest

from app.bus import Method, Place, message_of
from app.events import (
    AgentResult,
    AgentTask,
    Event,
    FinalReport,
    Handover,
    Heartbeat,
    JournalEntry,
    PlanReady,
    StartProcess,
    TaskAvailable,
    TaskCancelled,
    ToolRequest,
    read_event,
)
from tests.factories import principal, stable_id

PLACE = Place.of(principal(), stable_id("session"), stable_id("root"), 2)
STEP = stable_id("step")
DEADLINE = datetime(2026, 11, 21, tzinfo=UTC)
ALL, LEADER = "broadcast", "orchestrator"
TOLD: list[tuple[Event, str, Method, str, str]] = [
    (PlanReady(plan={}), "plan_ready", Method.PROGRESS, LEADER, ALL),
    (StartProcess(agent="hr"), "start_process", Method.PROGRESS, "hr", ALL),
    (Handover(from_agent="hr", to_agent="it", reason="next_stage"), "handover", Method.PROGRESS, "hr", "it"),
    (Heartbeat(attempt=1), "heartbeat", Method.HEARTBEAT, LEADER, ALL),
    (FinalReport(answer={}), "final_report", Method.RESULT, LEADER, ALL),
    (TaskCancelled(reason=""), "task_cancelled", Method.PROGRESS, LEADER, ALL),
    (
        TaskAvailable(task_id=PLACE.root_task_id, session_id=PLACE.session_id, query="?"),
        "task_available", Method.PROGRESS, LEADER, ALL,
    ),
    (
        AgentTask(task_id=STEP, agent="math", node_id="m", tool="math.mcp_sum", attempt=1),
        "math_task", Method.TASK, LEADER, "math",
    ),
    (
        ToolRequest(agent="math", node_id="m", tool="t", input_hash="h", task_id=STEP),
        "tool_request", Method.PROGRESS, "math", ALL,
    ),
    (
        AgentResult(task_id=STEP, agent="date", node_id="m", status="completed", answer=""),
        "date_result", Method.RESULT, "date", LEADER,
    ),
]  # fmt: skip


class TestMessageOf:
    @pytest.mark.parametrize(
        ("event", "topic", "method", "sender", "receiver"), TOLD, ids=lambda value: str(value)[:20]
    )
    def test_names_topic_method_sender_and_receiver(
        self, event: Event, topic: str, method: Method, sender: str, receiver: str
    ) -> None:
        told = message_of(PLACE, JournalEntry(seq=7, event=event))
        assert (told.topic, told.method, told.from_agent, told.to_agent) == (topic, method, sender, receiver)
        assert (told.tenant_id, told.user_id) == (PLACE.tenant_id, PLACE.user_id)
        assert (told.session_id, told.root_task_id) == (PLACE.session_id, PLACE.root_task_id)
        assert (told.attempt, told.seq) == (2, 7)
        assert told.task_id == (STEP if "task_id" in dict(event) and topic != "task_available" else PLACE.root_task_id)
        assert told.payload is not None
        assert read_event(told.payload) == event

    def test_a_task_says_for_whom_how_long_and_until_when(self) -> None:
        event = AgentTask(
            task_id=STEP, agent="math", node_id="m", tool="math.mcp_sum", attempt=1, agent_type="sum", token_limit=500,
            deadline=DEADLINE, context_hash="0123456789abcdef",
        )  # fmt: skip
        told = message_of(PLACE, JournalEntry(seq=1, event=event))
        assert (told.agent_type, told.token_limit, told.deadline) == ("sum", 500, DEADLINE)

    def test_an_event_of_an_older_journal_is_told_too(self) -> None:
        old = {"type": "tool_request", "agent": "hr", "node_id": "n", "tool": "rag_tool", "input_hash": "h"}
        assert message_of(PLACE, JournalEntry(seq=1, event=read_event(old))).task_id == PLACE.root_task_id
