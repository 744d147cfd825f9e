"""The service as an MCP server, through the official client over HTTP."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from app.domain.answer import FinalAnswer
from tests.api.test_chat import afresh

Connect = Callable[[str], Any]


@pytest.fixture
def connect(address: str, token_of: Callable[[str], str]) -> Connect:
    """A client signed in as a demo user."""

    @asynccontextmanager
    async def opened(user: str) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token_of(user)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
        ):
            yield client

    return opened


def told(result: CallToolResult) -> dict[str, Any]:
    assert isinstance(result.structured_content, dict), result
    return result.structured_content


class TestTools:
    async def test_are_three(self, connect: Connect) -> None:
        async with connect("acme/lan") as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(listed) == {"ask", "search_documents", "get_task"}
        assert listed["ask"].input_schema["required"] == ["question"]
        assert all("tenant" not in str(tool.input_schema) for tool in listed.values())

    async def test_ask_answers_with_sources_and_tells_how_far_it_is(
        self, connect: Connect, lan: httpx.AsyncClient
    ) -> None:
        steps: list[float] = []

        async def heard(done: float, total: float | None, message: str | None) -> None:
            steps.append(done)

        async with connect("acme/lan") as client:
            result = await client.call_tool("ask", {"question": afresh()}, progress_callback=heard)
            answer = told(result)
            run = told(await client.call_tool("get_task", {"task_id": answer["task_id"]}))
            again = told(await client.call_tool(
                "ask", {"question": "còn mật khẩu thì sao?", "session_id": answer["session_id"], "agent": "it"}
            ))  # fmt: skip
        native = (await lan.get(f"/tasks/{answer['task_id']}")).json()["result"]
        assert (answer["answer"], answer["evidence"]) == (native["answer"], native["evidence"])
        assert result.content[0].text == native["answer"]
        assert steps == sorted(steps) and steps and max(steps) <= 100
        assert (run["status"], run["result"]["answer"]) == ("completed", native["answer"])
        own = ("session_id", "task_id", "outcome")
        FinalAnswer.model_validate({name: item for name, item in run["result"].items() if name not in own})
        assert again["session_id"] == answer["session_id"]

    async def test_search_finds_what_the_caller_may_read(self, connect: Connect) -> None:
        async with connect("acme/lan") as client:
            found = told(await client.call_tool("search_documents", {"query": "đi muộn", "limit": 5}))["passages"]
        async with connect("acme/an") as client:
            seen = told(await client.call_tool("search_documents", {"query": "đi muộn", "limit": 5}))["passages"]
        assert any(passage["scope"] == "private" for passage in found)
        assert {passage["scope"] for passage in seen} <= {"public"}


class TestRefusals:
    async def test_nobody_gets_in(self, address: str) -> None:
        async with httpx.AsyncClient() as http:
            answer = await http.post(f"{address}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")

    @pytest.mark.parametrize(
        ("tool", "arguments", "code"),
        [
            ("ask", {}, "PAYLOAD_INVALID"),
            ("ask", {"question": "  "}, "PAYLOAD_INVALID"),
            ("ask", {"question": "?", "tenant_id": "globex"}, "PAYLOAD_INVALID"),
            ("ask", {"question": "lương?", "agent": "nobody"}, "VALIDATION_FAILED"),
            ("search_documents", {"query": "x" * 100_000}, "PAYLOAD_INVALID"),
            ("get_task", {"task_id": "00000000-0000-4000-8000-000000000000"}, "NOT_FOUND"),
            ("drop_tables", {}, "NOT_FOUND"),
        ],
    )
    async def test_are_coded(self, connect: Connect, tool: str, arguments: dict[str, Any], code: str) -> None:
        async with connect("acme/lan") as client:
            result = await client.call_tool(tool, arguments)
        assert result.is_error and told(result)["code"] == code, result

    async def test_a_run_of_somebody_else_is_unknown(self, connect: Connect) -> None:
        async with connect("acme/lan") as client:
            task_id = told(await client.call_tool("ask", {"question": afresh()}))["task_id"]
        async with connect("acme/minh") as client:
            result = await client.call_tool("get_task", {"task_id": task_id})
        assert told(result) == {"code": "NOT_FOUND"}
