"""One run, seen through every protocol that streams: the same text, the same sources, the same end."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import httpx
import openai
import pytest

from app.agents.run import StepRunner
from tests.api import sse_reader, test_agui, test_vercel
from tests.api.test_chat import afresh
from tests.api.test_openai import client

__all__ = ["client"]  # a fixture


@dataclass(frozen=True)
class Seen:
    """What a reader of one protocol learns of a run."""

    task_id: str
    text: str
    """As it was streamed."""
    sources: tuple[str, ...]
    end: str
    """The outcome, or the code of the error."""


@dataclass(frozen=True)
class Doors:
    """The ways to ask the same question in the same session under the same key, so that it is the same run."""

    address: str
    lan: httpx.AsyncClient
    client: openai.AsyncOpenAI
    question: str
    session: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.key}

    async def native(self) -> Seen:
        body = {"query": self.question, "session_id": self.session}
        answer = await self.lan.post("/chat/stream", json=body, headers=self.headers)
        events = sse_reader.parse(answer.text)
        told, last = events[0].data, events[-1].data["answer"]
        text = "".join(event.data["text"] for event in events if event.type == "text_delta")
        end = last["error_code"] if events[-1].type == "task_failed" else last["outcome"]
        return Seen(told["task_id"], text, tuple(one["url"] for one in last.get("evidence", ())), end)

    async def openai(self) -> Seen:
        stream = await self.client.chat.completions.create(
            model="auto", messages=[{"role": "user", "content": self.question}], stream=True,
            metadata={"session_id": self.session}, extra_headers=self.headers,
        )  # fmt: skip
        text, task, sources, end = "", "", (), ""
        try:
            async for chunk in stream:
                [choice], task = chunk.choices, chunk.id.removeprefix("chatcmpl-")
                text += choice.delta.content or ""
                if choice.finish_reason:
                    given = choice.delta.model_dump()
                    assert {one["url_citation"]["url"] for one in given["annotations"]} == {
                        one["url"] for one in given["references"]
                    }
                    sources = tuple(one["url"] for one in given["references"])
                    end = chunk.model_dump()["conclave"]["outcome"]
        except openai.APIError as failure:
            end = str(failure.code)
        return Seen(task, text, sources, end)

    async def agui(self) -> Seen:
        given = test_agui.asked(self.question, self.session)
        answer = await self.lan.post(f"{self.address}/ag-ui", json=given, headers=self.headers)
        events = test_agui.events_of(answer.text)
        test_agui.check_order(events)
        task = next(event.snapshot["task_id"] for event in events if event.type == "STATE_SNAPSHOT")
        cited = [one for event in events if event.type == "CUSTOM" and event.name == "evidence" for one in event.value]
        last = events[-1]
        end = last.code if last.type == "RUN_ERROR" else last.result["outcome"]
        return Seen(task, test_agui.text_of(events), tuple(one["url"] for one in cited), end)

    async def vercel(self) -> Seen:
        given = test_vercel.asked(self.question, self.session)
        answer = await self.lan.post(f"{self.address}/ui/chat", json=given, headers=self.headers)
        chunks = test_vercel.chunks_of(answer.text)
        told: dict[str, Any] = {}
        for chunk in chunks:
            told |= chunk.get("messageMetadata", {})
        sources = tuple(chunk["url"] for chunk in chunks if chunk["type"] == "source-url")
        assert ("error_code" in told) == any(chunk["type"] == "error" for chunk in chunks)
        end = told.get("error_code") or told["outcome"]
        return Seen(told["task_id"], test_vercel.text_of(chunks), sources, end)


@pytest.fixture
async def doors(address: str, lan: httpx.AsyncClient, client: openai.AsyncOpenAI) -> AsyncIterator[Doors]:
    yield Doors(address, lan, client, "", str(uuid4()), f"seen-{uuid4()}")


async def seen_through_all(doors: Doors, question: str) -> Seen:
    """What every one of them says; the first one makes the run."""
    same = replace(doors, question=question)
    first = await same.vercel()
    for look in (same.native, same.openai, same.agui, same.vercel):
        assert await look() == first, look
    return first


@pytest.mark.parametrize(
    ("question", "end"),
    [
        (afresh(), "answered"),
        ("xin chào", "chitchat"),
        ("chính sách nghỉ thai sản trên sao Hỏa là gì?", "not_found"),
    ],
)
async def test_an_answer_is_the_same_everywhere(doors: Doors, question: str, end: str) -> None:
    seen = await seen_through_all(doors, question)
    native = (await doors.lan.get(f"/tasks/{seen.task_id}")).json()["result"]
    assert (seen.text, seen.end) == (native["answer"], end)
    assert bool(seen.sources) == (end == "answered")


async def test_a_failure_is_the_same_everywhere(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise KeyError("broken")

    monkeypatch.setattr(StepRunner, "run", broken)
    seen = await seen_through_all(doors, f"{afresh()} đi muộn bị xử lý thế nào?")
    assert (seen.text, seen.sources, seen.end) == ("", (), "INTERNAL")
