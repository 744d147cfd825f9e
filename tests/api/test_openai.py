"""The service through OpenAI's own client, and through the calls that chat frontends make besides."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from app.events import FinalReport, JournalEntry, Redispatched, TextDelta
from app.faces.frontend_requests import answer_frontend_request
from app.faces.openai import ChatMessage, CompletionBody, CompletionStream, sources_of
from tests.api.sse_reader import events_of
from tests.api.test_chat import DEMO, afresh

SMALL_TALK = "xin chào"
HISTORY = "<chat_history>\nUSER: Quên thẻ ra vào thì làm gì? Cảm ơn.\nASSISTANT: Báo lễ tân.\n</chat_history>"


def asked(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


async def sessions_of(lan: httpx.AsyncClient) -> list[str]:
    return [one["session_id"] for one in (await lan.get("/sessions")).json()["sessions"]]


@pytest.fixture
async def client(address: str, lan: httpx.AsyncClient) -> AsyncIterator[openai.AsyncOpenAI]:
    token = lan.headers["authorization"].removeprefix("Bearer ")
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key=token, max_retries=0) as opened:
        yield opened


class TestModels:
    async def test_are_the_agents_the_caller_may_use(self, client: openai.AsyncOpenAI) -> None:
        listed = [one.id async for one in client.models.list()]
        assert (listed[0], listed[-1]) == ("auto", "deep")
        assert set(listed) == {"auto", "hr", "it", "general", "deep"}
        assert (await client.models.retrieve("hr")).owned_by == "conclave"

    async def test_of_another_name_are_not_there(self, client: openai.AsyncOpenAI) -> None:
        with pytest.raises(openai.NotFoundError) as refused:
            await client.models.retrieve("gpt-9")
        assert refused.value.code == "NOT_FOUND"
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="gpt-9", messages=asked(DEMO))


class TestCompletion:
    async def test_is_the_answer_with_its_sources(self, client: openai.AsyncOpenAI, lan: httpx.AsyncClient) -> None:
        got = await client.chat.completions.create(model="auto", messages=asked(afresh()))
        [choice] = got.choices
        own = got.model_dump()["conclave"]
        native = (await lan.get(f"/tasks/{own['task_id']}")).json()["result"]
        assert (choice.finish_reason, choice.message.content) == ("stop", native["answer"])
        assert got.id == f"chatcmpl-{own['task_id']}" and own["outcome"] == native["outcome"]
        assert choice.message.model_dump()["references"] == native["evidence"]
        cited = {one.url_citation.url for one in choice.message.annotations or ()}
        assert cited == {one["url"] for one in native["evidence"]}
        assert "Giá trị cốt lõi của công ty" in {one.url_citation.title for one in choice.message.annotations or ()}
        assert got.usage is not None and got.usage.total_tokens > 0

    async def test_of_a_department_asks_that_agent_alone(self, client: openai.AsyncOpenAI) -> None:
        got = await client.chat.completions.create(model="it", messages=asked("mật khẩu dài bao nhiêu ký tự?"))
        task = got.model_dump()["conclave"]["task_id"]
        assert task and "12" in str(got.choices[0].message.content)

    async def test_takes_earlier_messages_as_the_history(self, client: openai.AsyncOpenAI) -> None:
        said = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "mật khẩu dài bao nhiêu ký tự?"},
            {"role": "assistant", "content": "Mật khẩu có ít nhất 12 ký tự."},
            {"role": "user", "content": [{"type": "text", "text": "còn thời hạn đổi thì sao?"}]},
        ]
        got = await client.chat.completions.create(model="auto", messages=said)  # type: ignore[arg-type]
        assert got.model_dump()["conclave"]["outcome"] in ("answered", "partial", "not_found")

    async def test_needs_no_run_for_a_frontends_answer_frontend_request(
        self, client: openai.AsyncOpenAI, lan: httpx.AsyncClient
    ) -> None:
        before = await sessions_of(lan)
        prompt = f'### Task:\nGenerate a title.\n### Output:\nJSON format: {{ "title": "…" }}\n{HISTORY}'
        got = await client.chat.completions.create(model="auto", messages=asked(prompt))
        assert json.loads(str(got.choices[0].message.content)) == {"title": "Quên thẻ ra vào thì làm gì"}
        assert got.model_dump()["conclave"] is None
        assert await sessions_of(lan) == before


class TestStream:
    async def test_tells_what_the_native_stream_tells(self, client: openai.AsyncOpenAI, lan: httpx.AsyncClient) -> None:
        """One run, seen through both."""
        question, key = afresh(), "the-same-run-seen-twice"
        told: list[Any] = []
        async with lan.stream(
            "POST", "/chat/stream", json={"query": question}, headers={"Idempotency-Key": key}
        ) as response:
            told = [event async for event in events_of(response)]
        chunks = [
            chunk
            async for chunk in await client.chat.completions.create(
                model="auto", messages=asked(question), stream=True, stream_options={"include_usage": True},
                extra_headers={"Idempotency-Key": key},
            )
        ]  # fmt: skip
        final = told[-1].data["answer"]
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert text == final["answer"] == "".join(one.data["text"] for one in told if one.type == "text_delta")
        assert {chunk.id for chunk in chunks} == {f"chatcmpl-{final['task_id']}"}
        last = chunks[-2].choices[0]
        assert last.finish_reason == "stop"
        assert last.delta.model_dump()["references"] == final["evidence"]
        assert chunks[-1].choices == [] and chunks[-1].usage is not None

    async def test_of_small_talk_has_no_usage_unless_asked_for(self, client: openai.AsyncOpenAI) -> None:
        stream = await client.chat.completions.create(model="auto", messages=asked(SMALL_TALK), stream=True)
        chunks = [chunk async for chunk in stream]
        assert all(chunk.usage is None for chunk in chunks)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    async def test_never_repeats_what_a_second_attempt_says_again(self) -> None:
        answer = {"answer": "Mười hai ngày.", "evidence": [], "task_id": "1", "outcome": "answered"}
        events: list[Any] = [
            TextDelta(text="Mười "), Redispatched(attempt=2), TextDelta(text="Mười hai "), TextDelta(text="ngày."),
            FinalReport(answer=answer),
        ]  # fmt: skip
        assert await streamed_text(events) == "Mười hai ngày."

    async def test_says_so_when_a_second_attempt_says_something_else(self) -> None:
        answer = {"answer": "Không rõ.", "evidence": [], "task_id": "1", "outcome": "not_found"}
        events: list[Any] = [TextDelta(text="Mười "), Redispatched(attempt=2), FinalReport(answer=answer)]
        assert (await chunks_of(events))[-1]["error"]["code"] == "OVERLOADED"


class TestRefusals:
    async def test_have_the_shape_of_openai(self, address: str, client: openai.AsyncOpenAI) -> None:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="nobody", max_retries=0) as stranger:
            with pytest.raises(openai.AuthenticationError) as refused:
                await stranger.models.list()
        assert refused.value.code == "UNAUTHENTICATED"
        picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]
        for messages in (picture, [{"role": "assistant", "content": "x"}], asked("  ")):
            with pytest.raises(openai.UnprocessableEntityError) as invalid:
                await client.chat.completions.create(model="auto", messages=messages)  # type: ignore[arg-type]
            assert invalid.value.code == "PAYLOAD_INVALID"

    async def test_also_for_what_is_no_route(self, address: str, lan: httpx.AsyncClient) -> None:
        response = await lan.post(f"{address}/v1/moderations", json={})
        assert (response.status_code, response.json()["error"]["code"]) == (404, "NOT_FOUND")
        assert response.headers["content-type"] == "application/json"


class TestHousework:
    def test_is_answered_in_the_form_that_is_asked_for(self, subtests: pytest.Subtests) -> None:
        cases: list[Any] = [
            ('{ "tags": ["tag1", "tag2"] }', {"tags": ["Quên", "Thẻ", "Ra"]}),
            ('{ "follow_ups": ["Question 1?"] }', {"follow_ups": []}),
            ('{ "queries": ["query1"] }', {"queries": ["Quên thẻ ra vào thì làm gì? Cảm ơn."]}),
        ]
        for form, reply in cases:
            with subtests.test(ascii((form, reply))[:80]):
                text = f"### Task:\nDo it.\n### Output:\nJSON format: {form}\n{HISTORY}"
                told = answer_frontend_request("user", text)
                assert told is not None and set(json.loads(told)) == set(reply)
                assert "tags" in reply or json.loads(told) == reply

    def test_in_a_sentence_before_the_first_turn_is_a_title_too(self, subtests: pytest.Subtests) -> None:
        for frame, reply in [
            (
                "Give a title of at most five words for this conversation.\n\nConversation:\n",
                "Quên thẻ ra vào thì làm gì",
            ),
            ("A short title, nothing else.\n\nConversation:\n", "Quên thẻ ra vào thì làm gì"),
            (
                "Look at this conversation and give:\n1. Its language\n2. A short title\n\n",
                {"language": "vi", "title": "Quên thẻ ra vào thì làm gì"},
            ),
        ]:
            with subtests.test(ascii((frame, reply))[:80]):
                told = answer_frontend_request("user", f"{frame}User: Quên thẻ ra vào thì làm gì? Cảm ơn.\nAI: Báo.")
                assert told is not None and (told if isinstance(reply, str) else json.loads(told)) == reply

    def test_is_told_from_questions(self, subtests: pytest.Subtests) -> None:
        for text in [
            DEMO,
            "### Task: nghỉ phép thế nào?",
            HISTORY,
            "What title does a conversation have?",
            "Ai ký?\n\nUser: a\nAI: b",
            "Conversation title:\nUser: a\nAI: b",
        ]:
            with subtests.test(ascii(text)[:80]):
                assert answer_frontend_request("user", text) is None


def test_sources_the_text_does_not_name_stand_at_its_end() -> None:
    titles = {"https://a.example/2": "Sổ tay"}
    answer = {"evidence": [{"url": "https://a.example/1"}, {"url": "https://a.example/2"}]}
    found = [one["url_citation"] for one in sources_of("Hai ngày [1].", answer, titles)["annotations"]]
    assert [one["title"] for one in found] == ["https://a.example/1", "Sổ tay"]
    assert [(one["start_index"], one["end_index"]) for one in found] == [(9, 12), (13, 13)]


async def chunks_of(events: list[Any]) -> list[dict[str, Any]]:
    async def entries() -> AsyncIterator[JournalEntry]:
        for seq, event in enumerate(events, 1):
            yield JournalEntry(seq=seq, event=event)

    body = CompletionBody(messages=(ChatMessage(role="user", content="?"),))
    return [chunk async for chunk in CompletionStream(body, "1", 0).chunks(entries())]


async def streamed_text(events: list[Any]) -> str:
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in await chunks_of(events))
