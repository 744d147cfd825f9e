"""One run, seen through every protocol that streams and every one that tells it whole: the same text, the same sources,
the same end."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import openai
import pytest

from app.agents.run import StepRunner
from tests.api import sse_reader, test_agui, test_vercel
from tests.api.test_chat import Gate, afresh, gate
from tests.api.test_conflicts import EVEN, HOLDS, OVERRULED, QUESTION, bring
from tests.api.test_deep_approval import QUESTION as DEEP
from tests.api.test_openai import client

__all__ = ["client", "gate"]  # fixtures
CANCELLED = "cancelled"
_A2A_ENDS = {"TASK_STATE_FAILED": "failed", "TASK_STATE_CANCELED": CANCELLED}


@dataclass(frozen=True)
class Seen:
    """What a reader of one protocol learns of a run."""

    task_id: str
    text: str
    """As it was streamed."""
    sources: tuple[str, ...]
    end: str
    """The outcome, the code of the error, or that somebody stopped it."""


@dataclass(frozen=True)
class Doors:
    """The ways to ask the same question in the same session under the same key, so that it is the same run."""

    address: str
    lan: httpx.AsyncClient
    client: openai.AsyncOpenAI
    session: str
    key: str
    question: str = ""
    mode: str = "auto"

    @property
    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.key}

    async def native(self) -> Seen:
        answer = await self.lan.post("/chat/stream", json=self._body, headers=self.headers)
        events = sse_reader.parse(answer.text)
        told, last = events[0].data, events[-1]
        text = "".join(event.data["text"] for event in events if event.type == "text_delta")
        if last.type == "task_cancelled":
            return Seen(told["task_id"], text, (), CANCELLED)
        result = last.data["answer"]
        end = result["error_code"] if last.type == "task_failed" else result["outcome"]
        return Seen(told["task_id"], text, _urls(result.get("evidence", ())), end)

    async def native_whole(self) -> Seen:
        answer = (await self.lan.post("/chat", json=self._body, headers=self.headers)).json()
        if answer["outcome"] != "failed":
            return Seen(answer["task_id"], answer["answer"], _urls(answer["evidence"]), answer["outcome"])
        return Seen(answer["task_id"], "", (), _end_of_error(answer["error_code"]))

    async def openai(self) -> Seen:
        text, task, end = "", "", ""
        sources: tuple[str, ...] = ()
        try:
            async for chunk in await self.client.chat.completions.create(**self._asked, stream=True):
                [choice], task = chunk.choices, chunk.id.removeprefix("chatcmpl-")
                text += choice.delta.content or ""
                if choice.finish_reason:
                    sources = _cited(choice.delta.model_dump())
                    end = chunk.model_dump()["conclave"]["outcome"]
        except openai.APIError as failure:
            end = _end_of_error(str(failure.code))
        return Seen(task, text, sources, end)

    async def openai_whole(self) -> Seen:
        """A refusal has no room for the run's id: it is taken from the native answer."""
        try:
            told = await self.client.chat.completions.create(**self._asked)
        except openai.APIError as failure:
            return Seen((await self.native()).task_id, "", (), _end_of_error(str(failure.code)))
        message, own = told.choices[0].message, told.model_dump()["conclave"]
        assert told.id == f"chatcmpl-{own['task_id']}"
        return Seen(own["task_id"], message.content or "", _cited(message.model_dump()), own["outcome"])

    async def agui(self) -> Seen:
        given = test_agui.asked(self.question, self.session, forwarded_props={"mode": self.mode})
        answer = await self.lan.post(f"{self.address}/ag-ui", json=given, headers=self.headers)
        events = test_agui.events_of(answer.text)
        test_agui.check_order(events)
        task = next(event.snapshot["task_id"] for event in events if event.type == "STATE_SNAPSHOT")
        cited = [one for event in events if event.type == "CUSTOM" and event.name == "evidence" for one in event.value]
        last = events[-1]
        end = last.code if last.type == "RUN_ERROR" else _end_of_agui(last)
        return Seen(task, test_agui.text_of(events), _urls(cited), end)

    async def vercel(self) -> Seen:
        given = test_vercel.asked(self.question, self.session, mode=self.mode)
        answer = await self.lan.post(f"{self.address}/ui/chat", json=given, headers=self.headers)
        chunks = test_vercel.chunks_of(answer.text)
        told: dict[str, Any] = {}
        for chunk in chunks:
            told |= chunk.get("messageMetadata", {})
        sources = tuple(chunk["url"] for chunk in chunks if chunk["type"] == "source-url")
        types = {chunk["type"] for chunk in chunks}
        end = told.get("error_code") or told["outcome"]
        assert ("error_code" in told, end == CANCELLED) == ("error" in types, "abort" in types)
        return Seen(told["task_id"], test_vercel.text_of(chunks), sources, end)

    async def a2a(self, task_id: str) -> Seen:
        """Its calls have keys of their own: the same run is looked at, not asked again."""
        body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task_id}}
        task = (await self.lan.post(f"{self.address}/a2a", json=body)).json()["result"]
        if task["status"]["state"] != "TASK_STATE_COMPLETED":
            code = task["status"]["message"]["metadata"]["error_code"]
            return Seen(task["id"], "", (), code or _A2A_ENDS[task["status"]["state"]])
        text, data = task["artifacts"][0]["parts"]
        return Seen(task["id"], text["text"], _urls(data["data"]["evidence"]), data["data"]["outcome"])

    @property
    def _body(self) -> dict[str, Any]:
        return {"query": self.question, "session_id": self.session, "mode": self.mode}

    @property
    def _asked(self) -> dict[str, Any]:
        return {
            "model": self.mode, "messages": [{"role": "user", "content": self.question}],
            "metadata": {"session_id": self.session}, "extra_headers": self.headers,
        }  # fmt: skip


def _urls(evidence: Any) -> tuple[str, ...]:
    return tuple(one["url"] for one in evidence)


def _cited(message: dict[str, Any]) -> tuple[str, ...]:
    sources = _urls(message["references"])
    assert {one["url_citation"]["url"] for one in message["annotations"]} == set(sources)
    return sources


def _end_of_error(code: str) -> str:
    return CANCELLED if code == "TASK_CANCELLED" else code


def _end_of_agui(finished: Any) -> str:
    outcome = finished.outcome.type if finished.outcome else "success"
    return CANCELLED if outcome == "cancelled" else str(finished.result["outcome"])


@pytest.fixture
async def doors(address: str, lan: httpx.AsyncClient, client: openai.AsyncOpenAI) -> AsyncIterator[Doors]:
    yield Doors(address, lan, client, str(uuid4()), f"seen-{uuid4()}")


async def seen_through_all(doors: Doors, question: str, mode: str = "auto") -> Seen:
    """What every one of them says; the first one makes the run."""
    same = replace(doors, question=question, mode=mode)
    first = await same.vercel()
    for look in (same.native, same.native_whole, same.openai, same.openai_whole, same.agui, same.vercel):
        assert await look() == first, look
    assert await same.a2a(first.task_id) == first
    return first


@pytest.mark.parametrize(
    ("question", "end", "mode"),
    [
        (afresh(), "answered", "auto"),
        ("xin chào", "chitchat", "auto"),
        ("chính sách nghỉ thai sản trên sao Hỏa là gì?", "not_found", "auto"),
        ("giá trị cốt lõi là gì, và lịch bay lên sao Hỏa thế nào?", "partial", "auto"),
        (DEEP, "not_found", "deep"),
        ("Thủ đô của sao Hỏa là gì?", "not_found", "deep"),
    ],
)
async def test_an_answer_is_the_same_everywhere(doors: Doors, question: str, end: str, mode: str) -> None:
    seen = await seen_through_all(doors, question, mode)
    native = (await doors.lan.get(f"/tasks/{seen.task_id}")).json()["result"]
    assert (seen.text, seen.end) == (native["answer"], end)
    assert bool(seen.sources) == (end in ("answered", "partial"))


@pytest.fixture
async def disagreeing(client_of: Callable[[str], httpx.AsyncClient]) -> AsyncIterator[dict[str, str]]:
    """Sources of which one holds, and sources that weigh the same; the question to each."""
    admin = client_of("acme/admin")
    _, _, even = EVEN["vi"]
    notices = [
        {"external_id": title, "title": title, "text": f"{text}\n", "department": "general", "scope": "internal",
         "url": f"https://intra.acme.example/general/even-{number}", "effective_from": "2026-08-01"}
        for number, (title, text, _) in enumerate(even)
    ]  # fmt: skip
    made = [await bring(admin, body) for body in (HOLDS, OVERRULED, *notices)]
    yield {"decided": QUESTION, "undecided": EVEN["vi"][0]}
    for document_id in made:
        await admin.delete(f"/documents/{document_id}")


@pytest.mark.parametrize(("kind", "end"), [("decided", "answered"), ("undecided", "conflict")])
async def test_a_conflict_is_the_same_everywhere(
    doors: Doors, disagreeing: dict[str, str], kind: str, end: str
) -> None:
    seen = await seen_through_all(doors, disagreeing[kind])
    assert seen.end == end and len(seen.sources) >= 2
    chunks = test_vercel.chunks_of(
        (await doors.lan.post(f"{doors.address}/ui/chat", json=test_vercel.asked(disagreeing[kind]))).text
    )
    [conflict] = [chunk["data"]["conflict"] for chunk in chunks if chunk["type"] == "data-conflict"]
    assert conflict["decided"] is (kind == "decided")


async def test_a_failure_is_the_same_everywhere(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(StepRunner, "run", broken)
    seen = await seen_through_all(doors, f"{afresh()} đi muộn bị xử lý thế nào?")
    assert (seen.text, seen.sources, seen.end) == ("", (), "INTERNAL")


@pytest.mark.parametrize("mode", ["auto", "deep"])
async def test_a_stopped_run_is_the_same_everywhere(doors: Doors, gate: Gate, mode: str) -> None:
    question = f"{DEEP}{'?' * (mode == 'deep')} {afresh()}"
    asked = replace(doors, question=question, mode=mode)
    body = test_vercel.asked(question, doors.session, mode=mode)
    async with doors.lan.stream("POST", f"{doors.address}/ui/chat", json=body, headers=doors.headers) as first:
        begun = json.loads((await anext(first.aiter_lines())).removeprefix("data: "))
        task_id = begun["messageMetadata"]["task_id"]
        await gate.reached.wait()
        watching = [asyncio.ensure_future(look()) for look in (asked.vercel, asked.native, asked.openai, asked.agui)]
        assert (await doors.lan.post(f"/tasks/{task_id}/cancel")).status_code == 200
    gate.open.set()
    seen = await seen_through_all(doors, question, mode)
    assert seen == Seen(task_id, "", (), CANCELLED)
    assert await asyncio.gather(*watching) == [seen] * len(watching)
