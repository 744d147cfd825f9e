"""Each fault of the scripted server, as the wire and the SDK show it."""

import asyncio
import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI

from tests.conformance.model_calls import ANSWER, FORMAT, MESSAGES, PATIENCE_SECONDS, TEXT, is_whole, stream
from tests.fakes.model_server import (
    BENIGN_FAULTS,
    JSON_FAULTS,
    STREAM_FAULTS,
    Asked,
    Fault,
    ModelServer,
    nobody_listening,
    plain,
)

STATUSES = {
    Fault.RATE_LIMITED: 429,
    Fault.RATE_LIMITED_UNTIL_DATE: 429,
    Fault.RATE_LIMITED_FOR_A_DAY: 429,
    Fault.RATE_LIMITED_GARBAGE: 429,
    Fault.RATE_LIMITED_UNSAID: 429,
    Fault.QUOTA_EXHAUSTED: 429,
    Fault.SERVER_ERROR: 500,
    Fault.BAD_GATEWAY: 502,
    Fault.OVERLOADED: 503,
    Fault.UNAUTHORIZED: 401,
    Fault.MODEL_UNKNOWN: 404,
    Fault.CONTEXT_TOO_LONG: 400,
    Fault.REJECTS_STREAM_OPTIONS: 400,
    Fault.REDIRECTED: 418,
}
UNREACHED = {Fault.CONNECTION_REFUSED, Fault.RESET_BEFORE_HEADERS, Fault.RESET_MIDWAY, Fault.CLOSED_MIDWAY}
UNREADABLE = {Fault.TRUNCATED_JSON, Fault.INVALID_UTF8}
SILENT = {Fault.HANG_BEFORE_HEADERS, Fault.HANG_AFTER_HEADERS, Fault.STALL_MIDWAY, Fault.COMMENTS_ONLY}
UNFINISHED = {
    Fault.CUT_UNFRAMED,
    Fault.END_WITHOUT_FINISH,
    Fault.CUT_WITHOUT_FINISH,
    Fault.DONE_WITHOUT_FINISH,
    Fault.NOT_A_STREAM,
    Fault.HTML_PAGE,
    Fault.NO_CHOICES,
}
WORDLESS = {Fault.ROLE_ONLY, Fault.NULL_CONTENT, Fault.EMPTY, Fault.REFUSAL}
FINISHES = {
    Fault.LENGTH: "length",
    Fault.CONTENT_FILTER: "content_filter",
    Fault.UNKNOWN_FINISH_REASON: "eos_maybe",
    Fault.UNKNOWN_TOOL: "tool_calls",
}


class TestFaultsOfAStream:
    """What the SDK makes of each fault: an error, or an end that says nothing."""

    @pytest.mark.parametrize("fault", STATUSES)
    async def test_refusals_carry_their_status(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert isinstance(seen.error, openai.APIStatusError)
        assert seen.error.status_code == STATUSES[fault]

    @pytest.mark.parametrize("fault", sorted(UNREACHED))
    async def test_broken_connections_are_errors(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault
    ) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert isinstance(seen.error, openai.APIConnectionError)
        assert bool(seen.text) == fault.endswith("midway")

    @pytest.mark.parametrize("fault", sorted(SILENT))
    async def test_silence_lasts(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        assert isinstance((await stream(client)).error, TimeoutError)

    @pytest.mark.parametrize("fault", [Fault.ERROR_AT_ONCE, Fault.ERROR_MIDWAY])
    async def test_errors_in_band_are_errors(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert type(seen.error) is openai.APIError
        assert bool(seen.text) == (fault is Fault.ERROR_MIDWAY)

    @pytest.mark.parametrize("fault", sorted(UNREADABLE))
    async def test_bad_bytes_are_no_error_of_the_sdk(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault
    ) -> None:
        scripted.fail(fault)
        assert isinstance((await stream(client)).error, ValueError)

    @pytest.mark.parametrize("fault", sorted(UNFINISHED))
    async def test_the_sdk_ends_in_silence(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert seen.error is None
        assert seen.finish is None

    @pytest.mark.parametrize("fault", sorted(WORDLESS))
    async def test_nothing_is_said(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert (seen.text, seen.finish) == ("", "stop")
        assert bool(seen.refusal) == (fault is Fault.REFUSAL)

    @pytest.mark.parametrize("fault", FINISHES)
    async def test_other_ends_say_so(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        seen = await stream(client)
        assert seen.error is None
        assert seen.finish == FINISHES[fault]

    @pytest.mark.parametrize("fault", sorted(BENIGN_FAULTS - JSON_FAULTS - {Fault.TWO_CHOICES}))
    async def test_the_answer_arrives_all_the_same(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault
    ) -> None:
        scripted.fail(fault)
        assert is_whole(await stream(client), ANSWER)

    async def test_a_second_choice_mixes_with_the_first(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.TWO_CHOICES)
        assert "SECOND CHOICE" in (await stream(client)).text

    async def test_text_follows_the_end(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.TEXT_AFTER_FINISH)
        assert (await stream(client)).text == f"{ANSWER} AFTER THE END"

    @pytest.mark.parametrize("fault", [Fault.FLOOD, Fault.HUGE_DELTA])
    async def test_too_much_is_said(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        assert len((await stream(client)).text) > 100_000
        await scripted.settled()

    async def test_a_line_without_end_never_becomes_an_event(
        self, raw: httpx.AsyncClient, scripted: ModelServer
    ) -> None:
        scripted.fail(Fault.ENDLESS_LINE)
        async with raw.stream("POST", "/chat/completions", json={**TEXT, "stream": True}) as answer:
            received = bytearray()
            async for part in answer.aiter_bytes():
                received += part
                if len(received) > 5_000_000:
                    break
        assert max(map(len, received.splitlines())) > 4_000_000

    async def test_ten_thousand_tools_are_called(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        scripted.fail(Fault.MANY_TOOL_CALLS)
        answer = await raw.post("/chat/completions", json={**TEXT, "stream": True}, timeout=20)
        assert answer.text.count('"tool_calls": [') == 10_000

    @pytest.mark.parametrize(("fault", "ending"), [(Fault.NUL_CHARACTERS, "\x00"), (Fault.LONE_SURROGATE, "\ud83d")])
    async def test_odd_characters_arrive(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault, ending: str
    ) -> None:
        scripted.fail(fault)
        assert (await stream(client)).text == ANSWER + ending


class TestFaultsOnTheWire:
    @pytest.mark.parametrize(
        ("fault", "said"),
        [
            (Fault.RATE_LIMITED, "3"),
            (Fault.RATE_LIMITED_FOR_A_DAY, "86400"),
            (Fault.RATE_LIMITED_GARBAGE, "soon; -1e400"),
            (Fault.RATE_LIMITED_UNSAID, None),
            (Fault.OVERLOADED, "3"),
        ],
    )
    async def test_retry_after(
        self, raw: httpx.AsyncClient, scripted: ModelServer, fault: Fault, said: str | None
    ) -> None:
        scripted.fail(fault, seconds=None if fault is Fault.RATE_LIMITED_FOR_A_DAY else 3)
        answer = await raw.post("/chat/completions", json=TEXT)
        assert answer.headers.get("retry-after") == said

    async def test_retry_after_a_date(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        scripted.fail(Fault.RATE_LIMITED_UNTIL_DATE, seconds=100)
        answer = await raw.post("/chat/completions", json=TEXT)
        ahead = parsedate_to_datetime(answer.headers["retry-after"]).timestamp() - time.time()
        assert 97 < ahead <= 100

    async def test_a_redirect_hands_the_prompt_over(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.REDIRECTED)
        await stream(client)
        assert [asked.text for asked in scripted.strayed] == [scripted.requests[0].text]

    async def test_a_stream_without_done(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        scripted.fail(Fault.NO_DONE)
        answer = await raw.post("/chat/completions", json={**TEXT, "stream": True})
        assert '"finish_reason": "stop"' in answer.text
        assert "[DONE]" not in answer.text

    async def test_crlf_and_comments(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        scripted.fail(Fault.SSE_CRLF)
        answer = await raw.post("/chat/completions", json={**TEXT, "stream": True})
        assert answer.text.count("\n") == answer.text.count("\r\n")
        assert ": still here\r\n" in answer.text

    async def test_labels(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        for fault, label in ((Fault.WRONG_CONTENT_TYPE, "text/plain"), (Fault.HTML_PAGE, "text/html")):
            scripted.fail(fault, times=1)
            answer = await raw.post("/chat/completions", json={**TEXT, "stream": True})
            assert answer.headers["content-type"] == label

    async def test_an_unframed_cut_looks_like_an_end(self, raw: httpx.AsyncClient, scripted: ModelServer) -> None:
        scripted.fail(Fault.CUT_UNFRAMED)
        answer = await raw.post("/chat/completions", json={**TEXT, "stream": True})
        assert not {"content-length", "transfer-encoding"} & set(answer.headers)
        assert "[DONE]" not in answer.text

    async def test_a_closed_port_refuses_until_mended(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        assert is_whole(await stream(client), ANSWER)
        scripted.fail(Fault.CONNECTION_REFUSED)
        for _ in range(2):
            assert isinstance((await stream(client)).error, openai.APIConnectionError)
        assert len(scripted.requests) == 1
        await scripted.mend()
        assert is_whole(await stream(client), ANSWER)

    async def test_a_server_dies_under_a_call(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.CONNECTION_REFUSED, after=1)
        errors = [(await stream(client)).error for _ in range(3)]
        assert [type(error) for error in errors] == [type(None), openai.APIConnectionError, openai.APIConnectionError]
        assert len(scripted.requests) == 2

    async def test_a_dead_port_refuses(self) -> None:
        async with (
            nobody_listening() as url,
            AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client,
        ):
            assert isinstance((await stream(client)).error, openai.APIConnectionError)

    @pytest.mark.parametrize("fault", Fault)
    async def test_the_server_is_well_after_any_fault(self, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        async with httpx.AsyncClient(base_url=scripted.base_url, timeout=0.2) as impatient:
            for body in ({**TEXT, "stream": True}, TEXT, {**TEXT, "response_format": FORMAT}):
                try:
                    async with asyncio.timeout(0.3):
                        await impatient.post("/chat/completions", json=body)
                except (httpx.HTTPError, TimeoutError, UnicodeError):
                    continue
        await scripted.settled()
        await scripted.mend()
        async with httpx.AsyncClient(base_url=scripted.base_url, timeout=PATIENCE_SECONDS) as patient:
            answer = await patient.post("/chat/completions", json=TEXT)
        assert answer.json()["choices"][0]["message"]["content"] == ANSWER


class TestFaultsOfABody:
    @pytest.mark.parametrize("fault", sorted(STREAM_FAULTS))
    async def test_those_of_streams_leave_it_alone(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault
    ) -> None:
        scripted.fail(fault)
        answer = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert answer.choices[0].message.content == ANSWER

    @pytest.mark.parametrize("fault", [Fault.ERROR_AT_ONCE, Fault.ERROR_MIDWAY, Fault.NO_CHOICES])
    async def test_the_sdk_hands_out_a_completion_without_choices(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault
    ) -> None:
        scripted.fail(fault)
        answer = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert not answer.choices

    async def test_the_sdk_hands_out_a_page_as_text(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        scripted.fail(Fault.HTML_PAGE)
        answer: Any = await client.chat.completions.create(model="m", messages=MESSAGES)
        assert isinstance(answer, str)

    @pytest.mark.parametrize("fault", [*sorted(UNREACHED), Fault.TRUNCATED_JSON, Fault.INVALID_UTF8])
    async def test_half_a_body_is_an_error(self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault) -> None:
        scripted.fail(fault)
        with pytest.raises((openai.APIConnectionError, ValueError)):
            await client.chat.completions.create(model="m", messages=MESSAGES)

    @pytest.mark.parametrize(
        ("fault", "kind"), [(Fault.REJECTS_JSON_SCHEMA, FORMAT), (Fault.REJECTS_JSON_OBJECT, {"type": "json_object"})]
    )
    async def test_formats_are_rejected_one_by_one(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault, kind: Any
    ) -> None:
        scripted.fail(fault)
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(model="m", messages=MESSAGES, response_format=kind)
        other: Any = {"type": "json_object"} if fault is Fault.REJECTS_JSON_SCHEMA else FORMAT
        await client.chat.completions.create(model="m", messages=MESSAGES, response_format=other)


class TestFaultsOfJson:
    @pytest.mark.parametrize("streamed", [True, False])
    @pytest.mark.parametrize("fault", sorted(JSON_FAULTS))
    async def test_change_the_value_or_break_it(
        self, client: AsyncOpenAI, scripted: ModelServer, fault: Fault, streamed: bool
    ) -> None:
        good = plain(Asked({"messages": MESSAGES, "response_format": FORMAT}, {}, 0)).content
        scripted.fail(fault)
        if streamed:
            said = (await stream(client, response_format=FORMAT)).text
        else:
            answer = await client.chat.completions.create(model="m", messages=MESSAGES, response_format=FORMAT)
            said = answer.choices[0].message.content or ""
        assert said != good
        assert _TELLTALES[fault] in said
        if fault in (Fault.FENCED_JSON, Fault.PROSE_AROUND_JSON):
            assert (good or "-") in said

    async def test_leave_text_alone(self, client: AsyncOpenAI, scripted: ModelServer) -> None:
        for fault in JSON_FAULTS:
            scripted.fail(fault)
        assert is_whole(await stream(client), ANSWER)


_TELLTALES = {
    Fault.BROKEN_JSON: '"kind" ',
    Fault.FENCED_JSON: "```json\n",
    Fault.PROSE_AROUND_JSON: "Sure!",
    Fault.DUPLICATE_KEYS: '"kind": "chitchat (again)"',
    Fault.NOT_A_NUMBER: '"confidence": NaN',
    Fault.INFINITE: '"confidence": Infinity',
    Fault.OVERFLOWING: '"confidence": 1e999',
    Fault.HUGE_INTEGER: "9" * 5_000,
    Fault.MISSING_FIELD: "agents",
    Fault.WRONG_TYPE: '"kind": 7',
    Fault.EXTRA_FIELDS: '"flow_action"',
    Fault.DEEP_JSON: "[" * 100_000,
}


def test_every_fault_is_placed() -> None:
    assert len(Fault) >= 25
    known: Iterable[Fault] = (
        *STATUSES, *UNREACHED, *UNREADABLE, *SILENT, *UNFINISHED, *WORDLESS, *FINISHES, *BENIGN_FAULTS, *JSON_FAULTS,
        Fault.REJECTS_JSON_OBJECT, Fault.REJECTS_JSON_SCHEMA, Fault.ERROR_AT_ONCE, Fault.ERROR_MIDWAY,
        Fault.TEXT_AFTER_FINISH, Fault.FLOOD, Fault.HUGE_DELTA, Fault.ENDLESS_LINE, Fault.MANY_TOOL_CALLS,
        Fault.NUL_CHARACTERS, Fault.LONE_SURROGATE, Fault.BLANK,
    )  # fmt: skip
    assert set(known) == set(Fault)
