"""The service through Vercel's own AI SDK on Node, and the shapes of its stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.events import FinalReport, Handover, JournalEntry, Redispatched, TaskCancelled, TextDelta
from extras.faces.ai_sdk import UIMessageStream
from tests.api import node
from tests.api.test_chat import Gate, afresh, gate

__all__ = ["gate"]  # a fixture
CLIENT = """
import { writeFileSync } from "node:fs";
import { DefaultChatTransport, readUIMessageStream } from "ai";
const { API, TOKEN, CHAT, QUESTION, CONNECTED } = process.env;
const transport = new DefaultChatTransport({ api: API, headers: { Authorization: `Bearer ${TOKEN}` } });
const message = { id: "m1", role: "user", parts: [{ type: "text", text: QUESTION }] };
const asked = { chatId: CHAT, messages: [message], trigger: "submit-message", messageId: undefined };
let failure = null, last = null, seen = 0;
const stream = QUESTION ? await transport.sendMessages(asked) : await transport.reconnectToStream({ chatId: CHAT });
if (CONNECTED) writeFileSync(CONNECTED, "");
if (stream !== null) {
  const onError = (error) => { failure = error.message; };
  for await (const state of readUIMessageStream({ stream, onError, terminateOnError: false })) { last = state; seen++; }
}
console.log(JSON.stringify({ message: last, failure, seen }));
"""


def asked(text: str, chat: str | None = None, **other: Any) -> dict[str, Any]:
    message = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}
    return {"id": chat or str(uuid4()), "messages": [message], "trigger": "submit-message", **other}


def chunks_of(body: str) -> list[Any]:
    """The chunks of a whole stream, without its last line."""
    lines = [line.removeprefix("data: ") for line in body.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")


@pytest.fixture
def ui(address: str) -> str:
    return f"{address}/ui/chat"


class TestItsOwnClient:
    async def test_reads_the_answer_with_plan_agents_and_sources(
        self, ui: str, lan: httpx.AsyncClient, modules: Path
    ) -> None:
        token = lan.headers["authorization"].removeprefix("Bearer ")
        got = await node.told_by(modules, CLIENT, API=ui, TOKEN=token, CHAT="a chat/of mine", QUESTION=afresh())
        message = got["message"]
        native = (await lan.get(f"/tasks/{message['id']}")).json()["result"]
        parts = {kind: [part for part in message["parts"] if part["type"] == kind] for kind in SEEN}
        assert got["failure"] is None and message["role"] == "assistant"
        assert "".join(part["text"] for part in parts["text"]) == native["answer"]
        assert [part["url"] for part in parts["source-url"]] == [one["url"] for one in native["evidence"]]
        assert "Giá trị cốt lõi của công ty" in [part["title"] for part in parts["source-url"]]
        [plan], [agents] = parts["data-plan"], parts["data-agents"]
        assert {step["status"] for step in plan["data"]["steps"]} == {"completed"} and plan["data"]["progress"] == 95
        assert set(agents["data"]) >= {"hr", "general"}
        assert message["metadata"]["outcome"] == native["outcome"]

    async def test_comes_back_to_a_running_answer(
        self, ui: str, lan: httpx.AsyncClient, modules: Path, gate: Gate, tmp_path: Path
    ) -> None:
        token, chat = lan.headers["authorization"].removeprefix("Bearer "), str(uuid4())
        async with lan.stream("POST", ui, json=asked(afresh(), chat)) as first:
            assert first.status_code == 200
            await gate.reached.wait()
        again = {"API": ui, "TOKEN": token, "CHAT": chat, "QUESTION": ""}
        connected = tmp_path / "connected"
        coming = asyncio.ensure_future(node.told_by(modules, CLIENT, **again, CONNECTED=str(connected)))
        while not connected.exists():
            await asyncio.sleep(0.02)
            assert not coming.done(), await coming
        gate.open.set()
        got = await coming
        native = (await lan.get(f"/tasks/{got['message']['id']}")).json()["result"]
        assert "".join(p["text"] for p in got["message"]["parts"] if p["type"] == "text") == native["answer"]
        over = await node.told_by(modules, CLIENT, **again)
        assert (over["message"], over["seen"]) == (None, 0)


SEEN = ("text", "source-url", "data-plan", "data-agents")


class TestChat:
    async def test_is_a_session_that_goes_on(self, ui: str, lan: httpx.AsyncClient) -> None:
        chat = f"chat of {uuid4()}"
        ids = set()
        for question in ("mật khẩu dài bao nhiêu ký tự?", "còn thời hạn đổi thì sao?"):
            answer = await lan.post(ui, json=asked(question, chat))
            assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
            chunks = chunks_of(answer.text)
            ids.add(chunks[0]["messageMetadata"]["session_id"])
            assert chunks[-1]["finishReason"] == "stop" and text_of(chunks)
        [session] = ids
        told = (await lan.get(f"/sessions/{session}")).json()["messages"]
        assert [one["role"] for one in told] == ["user", "assistant"] * 2

    async def test_of_the_same_name_is_another_one_for_somebody_else(
        self, ui: str, lan: httpx.AsyncClient, client_of: Any
    ) -> None:
        seen = {
            chunks_of((await http.post(ui, json=asked("xin chào", "general"))).text)[0]["messageMetadata"]["session_id"]
            for http in (lan, client_of("globex/jane"))
        }
        assert len(seen) == 2

    async def test_has_nothing_to_come_back_to_when_nothing_runs(self, ui: str, lan: httpx.AsyncClient) -> None:
        for chat in (str(uuid4()), "unknown"):
            answer = await lan.get(f"{ui}/{chat}/stream")
            assert (answer.status_code, answer.content) == (204, b"")

    async def test_takes_a_users_text_and_nothing_else(
        self, ui: str, lan: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for last in [
            {"role": "assistant", "parts": [{"type": "text", "text": "x"}]},
            {"role": "user", "parts": [{"type": "file", "url": "data:,", "mediaType": "image/png"}]},
            {"role": "user", "parts": [{"type": "text", "text": " "}]},
            {"role": "user", "parts": "x"},
            {},
        ]:
            with subtests.test(ascii(last)[:80]):
                refused = await lan.post(ui, json={"id": "c", "messages": [last], "trigger": "submit-message"})
                assert (refused.status_code, refused.json()["code"]) == (422, "PAYLOAD_INVALID")


class TestParts:
    async def test_never_repeat_what_a_second_attempt_says_again(self) -> None:
        told = await parts_of(
            TextDelta(text="Mười "), Redispatched(attempt=2), TextDelta(text="Mười hai "), TextDelta(text="ngày."),
            final("Mười hai ngày."),
        )  # fmt: skip
        assert text_of(told) == "Mười hai ngày." and told[-1]["type"] == "finish"

    async def test_say_so_when_a_second_attempt_says_something_else(self) -> None:
        told = await parts_of(TextDelta(text="Mười "), Redispatched(attempt=2), final("Không rõ."))
        assert [one["type"] for one in told[-4:]] == ["text-end", "message-metadata", "error", "finish"]
        assert text_of(told) == "Mười "

    async def test_end_with_an_abort_when_somebody_stops_the_run(self) -> None:
        told = await parts_of(Handover(from_agent="hr", to_agent="it", reason="x"), TaskCancelled(reason="enough"))
        assert [one["type"] for one in told[1:]] == ["data-handover", "message-metadata", "abort"]


def final(text: str) -> FinalReport:
    return FinalReport(answer={"answer": text, "evidence": [], "task_id": "1", "outcome": "answered"})


async def parts_of(*events: Any) -> list[Any]:
    async def entries() -> AsyncIterator[JournalEntry]:
        for seq, event in enumerate(events, 1):
            yield JournalEntry(seq=seq, event=event)

    return [chunk async for chunk in UIMessageStream(uuid4(), uuid4()).chunks(entries())]
