"""Embeddings, responses and what clients wish for besides, through OpenAI's own client."""

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import httpx
import numpy as np
import openai
import pytest

from app.events import FinalReport, JournalEntry, TaskCancelled, TaskFailed, TextDelta
from app.faces.openai import ChatMessage, CompletionBody, CompletionStream
from app.faces.openai_limits import Written
from app.faces.openai_responses import ResponseBody, ResponseStream
from app.faces.quoted import spans_of
from app.main import Services
from tests.api.test_chat import DEMO, afresh
from tests.api.test_openai import asked, client

__all__ = ["client"]  # a fixture
ID = UUID("00000000-0000-4000-8000-000000000000")
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}


class TestEmbeddings:
    async def test_are_those_of_the_search(self, client: openai.AsyncOpenAI, house: Services) -> None:
        texts = ["nghỉ phép năm", "password", "nghỉ phép năm"]
        got = await client.embeddings.create(model="auto", input=texts)
        expected = await house.embedder.embed_passages(texts)
        assert got.model == house.embedder.model
        assert [one.index for one in got.data] == [0, 1, 2]
        assert np.allclose([one.embedding for one in got.data], expected, atol=1e-6)
        assert got.usage.prompt_tokens == got.usage.total_tokens > 3

    async def test_of_questions_are_other_ones(self, client: openai.AsyncOpenAI, house: Services) -> None:
        own, extra = house.embedder.model, {"input_type": "query"}
        got = await client.embeddings.create(model=own, input="nghỉ phép", extra_body=extra, encoding_format="float")
        [expected] = await house.embedder.embed_queries(["nghỉ phép"])
        assert np.allclose(got.data[0].embedding, expected, atol=1e-6)
        [passage] = (await client.embeddings.create(model=own, input="nghỉ phép")).data
        assert not np.allclose(passage.embedding, expected, atol=1e-3)

    async def test_in_both_formats_are_the_same(self, address: str, lan: httpx.AsyncClient, house: Services) -> None:
        body = {"model": "hr", "input": ["a", "b"], "dimensions": house.embedder.dimensions}
        told = [
            (await lan.post(f"{address}/v1/embeddings", json={**body, "encoding_format": form})).json()["data"]
            for form in ("float", "base64")
        ]
        for plain, packed in zip(*told, strict=True):
            unpacked = np.frombuffer(base64.b64decode(packed["embedding"]), "<f4")
            assert np.array_equal(np.array(plain["embedding"], "<f4"), unpacked)
            assert abs(float(np.linalg.norm(unpacked)) - 1) < 1e-3

    async def test_refuse_what_cannot_be_done(
        self, client: openai.AsyncOpenAI, address: str, nobody: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        bodies: list[dict[str, Any]] = [
            {"input": []}, {"input": ["x"] * 129}, {"input": "x" * 8_193}, {"input": ""}, {"input": ["a", " "]},
            {"input": [[1, 2]]}, {"input": "x", "dimensions": 64}, {"input": "x", "encoding_format": "int8"},
            {"input": "x", "extra_body": {"input_type": "title"}},
        ]  # fmt: skip
        for body in bodies:
            with subtests.test(ascii(body)[:60]):
                with pytest.raises(openai.UnprocessableEntityError) as refused:
                    await client.embeddings.create(**{"model": "auto", **body})
                assert refused.value.code == "PAYLOAD_INVALID"
        with pytest.raises(openai.UnprocessableEntityError, match="are not shortened"):
            await client.embeddings.create(model="auto", input="x", dimensions=64)
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="text-embedding-3-small", input="x")
        answer = await nobody.post(f"{address}/v1/embeddings", json={"model": "auto", "input": "x"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "UNAUTHENTICATED")


class TestResponses:
    async def test_are_the_answer_with_its_sources(self, client: openai.AsyncOpenAI, lan: httpx.AsyncClient) -> None:
        got = await client.responses.create(model="auto", input=afresh(), store=False, metadata={"as_of": "2026-11-01"})
        own = got.model_dump()["conclave"]
        native = (await lan.get(f"/tasks/{own['task_id']}")).json()["result"]
        assert (got.status, got.output_text, got.error) == ("completed", native["answer"], None)
        assert got.id == f"resp_{UUID(own['task_id']).hex}" and got.model_dump()["store"] is False
        [message] = got.output
        assert message.type == "message"
        [part] = message.content
        assert part.type == "output_text"
        assert {one.url for one in part.annotations if one.type == "url_citation"} == {
            one["url"] for one in native["evidence"]
        }
        for one in part.annotations:
            assert one.type == "url_citation" and 0 <= one.start_index <= one.end_index <= len(part.text)
        assert got.usage is not None and got.usage.total_tokens > 0

    async def test_as_a_stream_tell_the_same(self, client: openai.AsyncOpenAI) -> None:
        events = [event async for event in await client.responses.create(model="auto", input=afresh(), stream=True)]
        assert [event.sequence_number for event in events] == list(range(len(events)))
        kinds = [event.type for event in events]
        assert kinds[:2] == ["response.created", "response.in_progress"] and kinds[-1] == "response.completed"
        last = events[-1]
        assert last.type == "response.completed"
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert text == last.response.output_text != ""
        assert {"response.output_text.done", "response.output_item.done"} < set(kinds)

    async def test_are_read_by_the_clients_own_helper(self, client: openai.AsyncOpenAI) -> None:
        async with client.responses.stream(model="it", input="mật khẩu dài bao nhiêu ký tự?") as stream:
            async for _ in stream:
                pass
            final = await stream.get_final_response()
        assert "12" in final.output_text

    async def test_go_on_with_the_conversation_of_the_same_person(
        self, client: openai.AsyncOpenAI, client_of: Callable[[str], httpx.AsyncClient], address: str
    ) -> None:
        first = await client.responses.create(model="auto", input="mật khẩu dài bao nhiêu ký tự?")
        then = await client.responses.create(
            model="auto", input="còn thời hạn đổi thì sao?", previous_response_id=first.id
        )
        sessions = {one.model_dump()["conclave"]["session_id"] for one in (first, then)}
        assert len(sessions) == 1 and then.previous_response_id == first.id
        told = set()
        for user, name in (
            ("acme/minh", first.id), ("acme/admin", first.id), ("globex/admin", first.id),
            ("acme/lan", f"resp_{ID.hex}"), ("acme/lan", "resp_x"), ("acme/lan", "resp_\u0000"),
        ):  # fmt: skip
            body = {"model": "auto", "input": "xin chào", "previous_response_id": name}
            answer = await client_of(user).post(f"{address}/v1/responses", json=body)
            told.add((answer.status_code, answer.json()["error"]["code"]) if "\0" not in name else (404, "NOT_FOUND"))
            assert answer.status_code in (404, 422)
        assert told == {(404, "NOT_FOUND")}

    async def test_take_messages_of_which_the_last_is_the_question(self, client: openai.AsyncOpenAI) -> None:
        got = await client.responses.create(
            model="it", instructions="Be brief.",
            input=[
                {"role": "developer", "content": "x"},
                {"role": "user", "content": [{"type": "input_text", "text": "mật khẩu dài bao nhiêu ký tự?"}]},
                {"role": "assistant", "content": "Ít nhất 12 ký tự."},
                {"type": "message", "role": "user", "content": "mật khẩu phải có mấy ký tự?"},
            ],
        )  # fmt: skip
        assert "12" in got.output_text and got.instructions == "Be brief."

    async def test_refuse_what_cannot_be_done(self, client: openai.AsyncOpenAI, subtests: pytest.Subtests) -> None:
        bodies: list[dict[str, Any]] = [
            {"input": ""}, {"input": []}, {"input": [{"role": "assistant", "content": "x"}]}, {"input": " "},
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]},
            {"input": "x", "tool_choice": "required"}, {"input": "x", "text": {"format": {"type": "json_object"}}},
            {"input": "x", "metadata": {"as_of": "yesterday"}}, {"input": [{"role": "king", "content": "x"}]},
        ]  # fmt: skip
        for body in bodies:
            with subtests.test(ascii(body)[:60]), pytest.raises(openai.UnprocessableEntityError) as refused:
                await client.responses.create(**{"model": "auto", **body})
        assert refused.value.code == "PAYLOAD_INVALID"
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(model="gpt-9", input="x")
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key="nobody", max_retries=0) as stranger:
            with pytest.raises(openai.AuthenticationError):
                await stranger.responses.create(model="auto", input="x")

    async def test_end_as_the_run_does(self) -> None:
        answer = {"answer": "Hai ngày [1].", "evidence": [{"url": "/a"}], "task_id": "1", "outcome": "answered"}
        events: list[Any] = [TextDelta(text="Hai "), FinalReport(answer=answer)]
        told = await response_events(events)
        assert (told[-1]["type"], told[-1]["response"]["status"]) == ("response.completed", "completed")
        [citation] = told[-1]["response"]["output"][0]["content"][0]["annotations"]
        assert citation == {"type": "url_citation", "url": "/a", "title": "/a", "start_index": 9, "end_index": 12}
        cut = await response_events(events, max_output_tokens=1)
        assert cut[-1]["type"] == "response.incomplete"
        assert cut[-1]["response"]["output"][0]["content"][0]["text"] == "Hai"
        failed = await response_events([TaskFailed(answer={"error_code": "LLM_UNAVAILABLE", "error_message": "x"})])
        assert failed[-1]["type"] == "response.failed"
        assert failed[-1]["response"]["error"] == {"code": "LLM_UNAVAILABLE", "message": "x"}
        stopped = await response_events([TaskCancelled(reason="by me")])
        assert stopped[-1]["response"]["error"]["code"] == "TASK_CANCELLED"


class TestCitations:
    async def test_stand_where_a_source_is_quoted_whole_and_streamed(self, client: openai.AsyncOpenAI) -> None:
        question = asked("giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không")
        whole = (await client.chat.completions.create(model="auto", messages=question)).choices[0].message
        text, cited = str(whole.content), [one.url_citation for one in whole.annotations or ()]
        said = {one.url: text[one.start_index : one.end_index] for one in cited}
        assert len(said) == 2
        assert said["https://intra.acme.example/about/core-values"].startswith("Công ty có 4 giá trị cốt lõi")
        assert "Kỷ luật" in said["https://intra.acme.example/policies/punctuality"]
        assert not any("**" in words or "\n" in words for words in said.values())
        stream = await client.chat.completions.create(model="auto", messages=question, stream=True)
        last = [chunk.choices[0].delta.model_dump() async for chunk in stream][-1]
        assert [one["url_citation"] for one in last["annotations"]] == [one.model_dump() for one in cited]
        got = await client.responses.create(model="auto", input=question[0]["content"])
        [message] = got.model_dump()["output"]
        spans = [(one["start_index"], one["end_index"]) for one in message["content"][0]["annotations"]]
        assert spans == [(one.start_index, one.end_index) for one in cited]

    def test_are_given_only_where_one_source_alone_says_it(self) -> None:
        evidence = [{"url": "/a"}, {"url": "/b"}]
        quotes = {"/a": "Có 14 ngày phép. Nộp đơn trước.", "/b": "Có 12 ngày phép. Nộp đơn trước."}
        text = "**Phép**\n- Theo “Sổ tay”: Có 14 ngày phép.\n- Có **12** ngày phép.\nNộp đơn trước.\nKhông ai nói."
        spans = spans_of(text, evidence, quotes)
        assert {number: [text[begin:end] for begin, end in found] for number, found in spans.items()} == {
            1: ["Có 14 ngày phép."], 2: ["Có **12** ngày phép."],
        }  # fmt: skip
        joined = "Có 14 ngày phép.\nNộp đơn trước. Có 14 ngày phép."
        assert spans_of(joined, evidence, quotes) == {1: [(0, len(joined))]}
        assert spans_of(text, evidence, {}) == {}


class TestWishes:
    async def test_images_are_told_as_left_out(self, client: openai.AsyncOpenAI) -> None:
        text = {"type": "text", "text": "mật khẩu dài bao nhiêu ký tự?"}
        messages: Any = [{"role": "user", "content": [PICTURE, text]}]
        whole = await client.chat.completions.create(model="it", messages=messages)
        said = str(whole.choices[0].message.content)
        assert "12" in said and said.endswith(
            "Lưu ý: hình ảnh gửi kèm không được đọc; câu trả lời chỉ dựa vào phần chữ của câu hỏi."
        )
        stream = await client.chat.completions.create(model="it", messages=messages, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream]) == said
        got = await client.responses.create(
            model="it",
            input=[
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "How long must a password be?"},
                        {"type": "input_image", "image_url": "data:,", "detail": "auto"},
                    ],
                }
            ],
        )
        assert got.output_text.endswith(
            "Note: what was sent along (image) was left out; only the text of the question was read."
        )

    async def test_of_a_form_or_a_tool_are_refused_with_a_reason(self, client: openai.AsyncOpenAI) -> None:
        wishes: list[tuple[dict[str, Any], str]] = [
            ({"response_format": {"type": "json_object"}}, "response_format"),
            (
                {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
                "response_format",
            ),
            ({"tool_choice": "required", "tools": []}, "tool_choice"),
            ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
        ]
        for wish, named in wishes:
            with pytest.raises(openai.UnprocessableEntityError, match=named) as refused:
                await client.chat.completions.create(model="auto", messages=asked(DEMO), **wish)
            assert refused.value.code == "PAYLOAD_INVALID"
        for harmless in ({"response_format": {"type": "text"}}, {"tool_choice": "auto"}, {"tool_choice": "none"}):
            got = await client.chat.completions.create(model="auto", messages=asked("xin chào"), **harmless)
            assert got.choices[0].message.content

    async def test_of_fewer_tokens_cuts_the_text_and_says_so(self, client: openai.AsyncOpenAI) -> None:
        question = asked("mật khẩu dài bao nhiêu ký tự?")
        whole = await client.chat.completions.create(model="it", messages=question)
        cut = await client.chat.completions.create(model="it", messages=question, max_tokens=3)
        assert (whole.choices[0].finish_reason, cut.choices[0].finish_reason) == ("stop", "length")
        text = str(cut.choices[0].message.content)
        assert 0 < len(text.encode()) <= 9 and str(whole.choices[0].message.content).startswith(text)
        events: list[Any] = [
            TextDelta(text="Mười hai"),
            FinalReport(answer={"answer": "Mười hai ngày.", "evidence": []}),
        ]
        body = CompletionBody(messages=(ChatMessage(role="user", content="?"),), max_completion_tokens=4)
        chunks = [chunk async for chunk in CompletionStream(body, "1", 0).chunks(entries(events))]
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Mười hai "
        assert chunks[-1]["choices"][0]["finish_reason"] == "length"

    def test_never_cut_a_letter_in_two(self) -> None:
        for limit in range(1, 8):
            said = Written(limit, "")
            text = "".join(said.add(piece) for piece in ("Đỗ ", "Thị", " Hoà 🙂", "x"))
            assert "Đỗ Thị Hoà 🙂x".startswith(text) and said.text == text


async def entries(events: list[Any]) -> AsyncIterator[JournalEntry]:
    for seq, event in enumerate(events, 1):
        yield JournalEntry(seq=seq, event=event)


async def response_events(events: list[Any], **fields: Any) -> list[dict[str, Any]]:
    body = ResponseBody(input="?", **fields)
    stream = ResponseStream(body, body.as_completion(), ID, 0)
    told = [chunk async for chunk in stream.chunks(entries(events))]
    assert json.dumps(told)
    return told
