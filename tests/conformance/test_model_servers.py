"""The model servers themselves: what they put on the wire is what the tests that use them rely on."""

import asyncio
import json
import time
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.conformance.model_calls import ANSWER, MESSAGES, TEXT, Seen, is_whole, stream, take
from tests.fakes.llama import LlamaServer
from tests.fakes.model_server import Fault, ModelServer, Reply, ToolCall, count_tokens

SMALL: Any = {
    "type": "json_schema",
    "json_schema": {
        "name": "choice",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "kind": {"enum": ["chitchat", "task"]},
                "agents": {"type": "array", "items": {"enum": ["hr", "it"]}, "minItems": 1, "maxItems": 2},
                "sure": {"type": "boolean"},
            },
            "required": ["kind", "agents", "sure"],
            "additionalProperties": False,
        },
    },
}
STORY: Any = [{"role": "user", "content": "Tell a very long story."}]


class TestScriptedServer:
    async def test_streams_an_answer_with_its_usage(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        seen = await stream(client)
        assert is_whole(seen, ANSWER)
        assert seen.usage.completion_tokens == count_tokens(ANSWER)
        assert seen.usage.prompt_tokens == scripted.requests[0].prompt_tokens
        assert scripted.requests[0].headers["authorization"] == "Bearer k"
        assert scripted.closed_early == []

    async def test_answers_in_one_body(self, client: AsyncOpenAI) -> None:
        answer = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert answer.choices[0].message.content == ANSWER
        assert answer.usage and answer.usage.total_tokens == answer.usage.prompt_tokens + count_tokens(ANSWER)

    async def test_sends_no_usage_unasked(self, raw: httpx.AsyncClient) -> None:
        answer = await raw.post("/chat/completions", json={**TEXT, "stream": True})
        assert "usage" not in answer.text
        assert answer.text.endswith("data: [DONE]\n\n")

    async def test_lists_its_model(self, client: AsyncOpenAI) -> None:
        assert [model.id async for model in client.models.list()] == ["scripted-1"]

    async def test_keeps_one_connection_for_many_calls(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        for _ in range(5):
            assert is_whole(await stream(client), ANSWER)
        assert len(scripted.requests) == 5

    @pytest.mark.parametrize("limit", [{"max_tokens": 5}, {"max_completion_tokens": 5}])
    async def test_stops_at_the_limit_of_the_call(self, client: AsyncOpenAI, limit: dict[str, int]) -> None:
        seen = await stream(client, **limit)
        assert seen.finish == "length"
        assert ANSWER.startswith(seen.text)
        assert seen.usage.completion_tokens == 5

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
    async def test_cuts_the_wire_anywhere(self, client: AsyncOpenAI, scripted: ModelServer, size: int) -> None:
        scripted.respond = lambda asked: Reply(ANSWER, wire_bytes=size)
        assert is_whole(await stream(client), ANSWER)

    async def test_cuts_the_text_as_told(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.respond = lambda asked: Reply("abc", pieces=["a", "", "bc"], tool_calls=(ToolCall("find"),))
        seen = await stream(client)
        assert (seen.text, seen.tools, seen.chunks) == ("abc", ["find"], 7)

    async def test_paces_an_answer(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.respond = lambda asked: Reply("abc", piece_chars=1, first_token_seconds=0.1, between_seconds=0.1)
        began = time.monotonic()
        assert is_whole(await stream(client), "abc")
        assert time.monotonic() - began >= 0.27  # three timers, each of which may fire a millisecond early

    async def test_fails_the_calls_it_is_told_to(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.SERVER_ERROR, after=1, times=2, when=lambda asked: asked.stream)
        outcomes = []
        for _ in range(4):
            outcomes.append((await stream(client)).error is None)
            await client.chat.completions.create(model="m", messages=MESSAGES)
        assert outcomes == [True, False, False, True]


class TestClientsThatLeave:
    @pytest.mark.parametrize(
        "fault", [Fault.HANG_BEFORE_HEADERS, Fault.HANG_AFTER_HEADERS, Fault.STALL_MIDWAY, Fault.FLOOD, Fault.DRIP]
    )
    @pytest.mark.parametrize("streamed", [True, False])
    async def test_are_noticed_at_once(self, scripted: ModelServer, fault: Fault, streamed: bool) -> None:
        scripted.fail(fault, seconds=5.0)
        async with AsyncOpenAI(base_url=scripted.base_url, api_key="k", max_retries=0) as client:
            asking = asyncio.create_task(_exhaust(client, streamed))
            await asyncio.sleep(0.3)
            assert len(scripted.open_calls) == 1
            left = time.monotonic()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            await scripted.settled(1.0)
        assert len(scripted.closed_early) == 1
        assert scripted.closed_early[0].at - left < 0.5
        assert scripted.closed_early[0].after_seconds >= 0.1

    async def test_are_noticed_when_they_close_a_stream(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.respond = lambda asked: Reply("word " * 1000, piece_chars=5, between_seconds=0.02)
        answer = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        async for _ in answer:
            break
        assert len(scripted.open_calls) == 1
        await answer.close()
        await scripted.settled(0.5)
        assert 0 < scripted.closed_early[0].sent_bytes < 20_000


async def _exhaust(client: AsyncOpenAI, streamed: bool) -> None:
    answer: Any = await client.chat.completions.create(model="m", messages=MESSAGES, stream=streamed)
    # Without the `async with`, a task cancelled between two chunks leaves its connection open.
    async with answer:
        async for _ in answer:
            await asyncio.sleep(0.005)


class TestLlama:
    async def test_streams_with_usage_and_a_finish_reason(self, llama_client: AsyncOpenAI, llama: LlamaServer) -> None:
        seen = Seen()
        async for chunk in await llama_client.chat.completions.create(
            model=llama.model, messages=STORY, max_tokens=12, stream=True, stream_options={"include_usage": True}
        ):
            take(seen, chunk)
        assert seen.finish == "length"
        assert seen.usage.completion_tokens == 12
        assert seen.chunks > 10

    @pytest.mark.parametrize("seed", range(3))
    async def test_keeps_a_schema(self, llama_client: AsyncOpenAI, llama: LlamaServer, seed: int) -> None:
        text, finish = await _told(llama_client, llama, response_format=SMALL, max_tokens=300, seed=seed)
        assert finish == "stop"
        value = json.loads(text)
        assert value.keys() == {"kind", "agents", "sure"}
        assert value["kind"] in ("chitchat", "task")
        assert 1 <= len(value["agents"]) <= 2

    async def test_two_calls_run_at_once(self, llama_client: AsyncOpenAI, llama: LlamaServer) -> None:
        calls = [asyncio.create_task(_told(llama_client, llama, max_tokens=80)) for _ in range(2)]
        most = 0
        while not all(call.done() for call in calls):
            most = max(most, await llama.busy_slots())
        assert most == 2
        assert all(call.result()[0] for call in calls)

    async def test_refuses_a_prompt_beyond_its_context(self, llama_client: AsyncOpenAI, llama: LlamaServer) -> None:
        long: Any = [{"role": "user", "content": "word " * llama.context_tokens}]
        with pytest.raises(openai.BadRequestError, match="context size"):
            await llama_client.chat.completions.create(model=llama.model, messages=long, max_tokens=1)

    async def test_stops_when_the_client_closes_the_stream(self, llama_client: AsyncOpenAI, llama: LlamaServer) -> None:
        answer = await llama_client.chat.completions.create(
            model=llama.model, messages=STORY, max_tokens=3_000, stream=True, extra_body={"ignore_eos": True}
        )
        seen = Seen()
        async for chunk in answer:
            take(seen, chunk)
            if seen.chunks == 10:
                break
        assert await llama.busy_slots() == 1
        await answer.close()
        assert await llama.idle_after(5.0) < 1.0


async def _told(client: AsyncOpenAI, llama: LlamaServer, **body: Any) -> tuple[str, str | None]:
    answer = await client.chat.completions.create(model=llama.model, messages=STORY, **body)
    return answer.choices[0].message.content or "", answer.choices[0].finish_reason
