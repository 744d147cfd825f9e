"""What is left after a storm, held against what the clients saw."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import asyncpg

from tests.api.sse_reader import TERMINAL
from tests.chaos.chats import Chat
from tests.chaos.house import House
from tests.chaos.storm import GRACE_SECONDS, Tempest

_PAUSES_THAT_TELL = 4
"""More pauses of workers that hold runs, and one of them must have come back to find its run taken over."""
_TASKS = """
select task_id::text, status, attempt, result, metadata, request ->> 'query' as query from tasks
where parent_task_id is null and kind = 'chat' and request ->> 'query' = any($1)
"""
_EVENTS = """
select seq, attempt, type, event from events where root_task_id = $1::uuid order by seq
"""


def is_refusal(line: Mapping[str, Any]) -> bool:
    """Whether a worker says that it has lost a run to another one, or that a late write of it was refused."""
    refused = line["event"] == "events_given_up" and line.get("error_class") == "StaleAttempt"
    return refused or line["event"] in ("run_lost", "step_result_late")


@dataclass
class Verdict:
    """What was found; `wrong` is what must never be."""

    wrong: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)


async def judge(house: House, tempest: Tempest, *, in_time: bool) -> Verdict:
    """Look at everything after a storm: what happened, in which order and, with `in_time`, how soon all had ended."""
    verdict = Verdict()
    if in_time and tempest.late:
        verdict.wrong.append(f"{tempest.late} tasks had not ended {GRACE_SECONDS} s after the lease")
    verdict.wrong += [f"never ended: {row}" for row in tempest.still_open]
    verdict.wrong += [f"{chat.task_id}: {problem}" for chat in tempest.chats for problem in chat.problems]
    async with house.looking() as db:
        rows = {row["query"]: row for row in await db.fetch(_TASKS, [chat.question for chat in tempest.chats])}
        made = await db.fetchval(f"select count(*) from ({_TASKS}) made", [chat.question for chat in tempest.chats])
        if made != len(rows):
            verdict.wrong.append(f"{made} tasks for {len(rows)} questions")
        attempts: Counter[int] = Counter()
        for chat in tempest.chats:
            if (row := rows.get(chat.question)) is None:
                verdict.wrong.append(f"{chat.task_id}: its task is gone")
                continue
            attempts[row["attempt"]] += 1
            await _judge_one(db, chat, row, verdict)
    endings = Counter(chat.frames[-1].type if chat.frames else "nothing" for chat in tempest.chats)
    refused = Counter(line["event"] for worker in house.workers for line in worker.logged() if is_refusal(line))
    verdict.figures |= {
        "every task had ended after, s": round(tempest.calm_seconds, 1),
        "blows": dict(tempest.struck),
        "chats": len(tempest.chats),
        "endings": dict(endings),
        "failures": dict(
            Counter(str((chat.answer or {}).get("error_code")) for chat in tempest.chats if _failed(chat))
        ),
        "answers shown before they were durable": sum(len(chat.pending) for chat in tempest.chats),
        "lines cut": sum(chat.cuts for chat in tempest.chats),
        "refusals": dict(sum((chat.refusals for chat in tempest.chats), Counter())),
        "attempts": dict(sorted(attempts.items())),
        "runs lost, late writes refused": dict(refused),
        "workers paused while they held runs": tempest.pauses_of_holders,
        "died by themselves": tempest.died,
    }
    # Of one or two pauses all may fall where nobody else was free to take the run over; `test_fence` makes sure of one.
    if tempest.pauses_of_holders > _PAUSES_THAT_TELL and not refused:
        verdict.wrong.append("no late write of a paused worker was refused")
    return verdict


async def _judge_one(
    db: "asyncpg.Connection[asyncpg.Record]", chat: Chat, row: asyncpg.Record, verdict: Verdict
) -> None:
    """One chat against its task's row and journal."""
    events = await db.fetch(_EVENTS, row["task_id"])
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        verdict.wrong.append(f"{row['task_id']}: the journal has gaps: {[event['seq'] for event in events]}")
    ends = [event for event in events if event["type"] in TERMINAL]
    if len(ends) != 1 or events[-1]["type"] not in TERMINAL:
        verdict.wrong.append(f"{row['task_id']}: ends are {[event['type'] for event in ends]}")
    if any(later["attempt"] < earlier["attempt"] for earlier, later in pairwise(events)):
        verdict.wrong.append(f"{row['task_id']}: a late write of an earlier attempt is in the journal")
    if ends and ends[-1]["attempt"] != row["attempt"]:
        verdict.wrong.append(f"{row['task_id']}: ended by attempt {ends[-1]['attempt']} of {row['attempt']}")
    _judge_what_was_seen(chat, row, events, verdict)


def _judge_what_was_seen(chat: Chat, row: asyncpg.Record, events: list[asyncpg.Record], verdict: Verdict) -> None:
    """Every event a client saw is in the journal as it was seen, and the answer is the task's result; one that was
    shown before it was durable may have come second, then it is kept as late."""
    for frame in chat.frames:
        kept = events[frame.seq - 1] if frame.seq <= len(events) else None
        if kept is None or not _is_same(frame.type, frame.data, kept):
            found = "nothing" if kept is None else kept["type"]
            verdict.wrong.append(f"{row['task_id']}: {frame.seq} was seen as {frame.type}, kept is {found}")
            break
    if chat.has_ended and len(chat.frames) != len(events):
        verdict.wrong.append(f"{row['task_id']}: {len(chat.frames)} events were seen, {len(events)} kept")
    result = json.loads(row["result"] or "null")
    if chat.answer is not None and chat.answer != result:
        verdict.wrong.append(f"{row['task_id']}: the answer that was seen is not the task's result")
    late = [answer["result"] for answer in json.loads(row["metadata"]).get("late_answers", ())]
    for answer in chat.pending:
        if {**answer, "durability": None} not in [{**kept, "durability": None} for kept in (result, *late) if kept]:
            verdict.wrong.append(
                f"{row['task_id']}: an answer that was shown as pending is neither its result nor late"
            )


def _is_same(kind: str, seen: dict[str, Any], kept: asyncpg.Record) -> bool:
    """An event as it was streamed and as it is stored; ``progress`` is streamed without its type."""
    stored: dict[str, Any] = json.loads(kept["event"])
    if kind == "progress":
        stored = {name: stored.get(name) for name in ("node", "output")}
    return kind == kept["type"] and seen == stored


def _failed(chat: Chat) -> bool:
    return chat.has_ended and chat.frames[-1].type == "task_failed"
