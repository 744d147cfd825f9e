"""The rows that change when a run ends or is stopped, beside its last events."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.domain.tasks import TaskStatus
from app.events import TaskCancelled
from app.journal.messages import Place
from app.journal.spool_records import RunEnded, json_of
from app.storage import conflicts, events, sessions, tasks
from app.storage.database import Transaction
from app.tasks.steps import demand


async def conclude_run(tx: Transaction, session_id: UUID, task_id: UUID, attempt: int, ended: RunEnded) -> None:
    """Task row, leftover steps, session and ledger of conflicts.

    Raises `StaleAttempt` when the attempt no longer holds the task.
    """
    done = await tasks.conclude(
        tx, task_id, attempt, ended.status, result=ended.result, error_message=ended.error_message,
        flow_action=ended.flow_action, metadata=ended.metadata, plan=ended.plan,
    )  # fmt: skip
    demand(done, task_id, attempt)
    await tasks.stop_children(tx, task_id)
    text, agent = _text_of(ended.result), _agent_of(ended.result, ended.metadata)
    await sessions.close_turn(tx, session_id, ended.status.value, text, agent)
    await conflicts.keep(tx, task_id, ended.conflicts)


async def stop_run(tx: Transaction, root_task_id: UUID, reason: str) -> tuple[Place, int, TaskCancelled] | None:
    """Cancel an own run with its steps, and write its last event; what is to be told once that is committed. None, and
    nothing changed, when it has ended or is somebody else's."""
    stopped = await tasks.cancel(tx, root_task_id, reason)
    if stopped is None:
        return None
    attempt, session_id = stopped
    event = TaskCancelled(reason=reason)
    seq = await events.append_next(tx, root_task_id, attempt, event.type, json_of(event))
    await tasks.stop_children(tx, root_task_id)
    await sessions.close_turn(tx, session_id, TaskStatus.CANCELLED.value, None, None)
    return Place.of(tx.principal, session_id, root_task_id, attempt), seq, event


def _text_of(result: Mapping[str, Any] | None) -> str | None:
    answer = (result or {}).get("answer") or (result or {}).get("fallback_answer")
    return str(answer) if answer else None


def _agent_of(result: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None) -> str | None:
    """The agent follow-up questions go to: whose answer counted, else the first one that was asked."""
    agents = ((result or {}).get("execution_metadata") or {}).get("agents_invoked") or ()
    return (metadata or {}).get("active_agent") or (str(agents[0]) if agents else None)
