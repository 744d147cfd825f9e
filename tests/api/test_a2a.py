"""The service through A2A's own client, in both versions of the protocol."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.agents.run import StepRunner
from tests.api.test_chat import afresh

a2a = pytest.importorskip("a2a.client", reason="a2a-sdk is not installed")
types = pytest.importorskip("a2a.types", reason="a2a-sdk is not installed")
json_format = pytest.importorskip("google.protobuf.json_format", reason="a2a-sdk is not installed")


async def card_of(address: str) -> Any:
    async with httpx.AsyncClient() as http:
        return await a2a.A2ACardResolver(http, address).get_agent_card()


def message(text: str, **other: Any) -> Any:
    return types.SendMessageRequest(
        message=types.Message(message_id=str(uuid4()), role="ROLE_USER", parts=[types.Part(text=text)], **other)
    )


async def sent(address: str, lan: httpx.AsyncClient, version: str, text: str, **other: Any) -> Any:
    """The last thing the client is told."""
    card = await card_of(address)
    [interface] = [one for one in card.supported_interfaces if one.protocol_version == version]
    del card.supported_interfaces[:]
    card.supported_interfaces.append(interface)
    async with httpx.AsyncClient(headers={"authorization": lan.headers["authorization"]}, timeout=30) as http:
        client = a2a.ClientFactory(a2a.ClientConfig(httpx_client=http, streaming=False)).create(card)
        told = [one async for one in client.send_message(message(text, **other))]
    return told[-1].task


async def called(address: str, lan: httpx.AsyncClient, method: str, params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answer = await lan.post(f"{address}/a2a", json=body)
    assert (answer.status_code, answer.json()["id"]) == (200, 7), answer.text
    return answer.json()


class TestCard:
    async def test_says_how_to_ask_and_nothing_private(self, address: str, nobody: httpx.AsyncClient) -> None:
        card = await card_of(address)
        assert {one.url for one in card.supported_interfaces} == {f"{address}/a2a"}
        assert [one.id for one in card.skills] == ["ask"] and not card.capabilities.streaming
        text = (await nobody.get(f"{address}/.well-known/agent-card.json")).text
        assert "acme" not in text and "globex" not in text and "hr" not in [one.id for one in card.skills]


class TestItsOwnClient:
    @pytest.mark.parametrize("version", ["1.0", "0.3"])
    async def test_gets_the_answer_with_its_sources(self, address: str, lan: httpx.AsyncClient, version: str) -> None:
        task = await sent(address, lan, version, afresh())
        native = (await lan.get(f"/tasks/{task.id}")).json()
        assert types.TaskState.Name(task.status.state) == "TASK_STATE_COMPLETED"
        assert task.context_id == native["session_id"]
        [artifact] = task.artifacts
        text, data = artifact.parts
        assert text.text == native["result"]["answer"]
        told = json_format.MessageToDict(data.data)
        assert [one["url"] for one in told["evidence"]] == [one["url"] for one in native["result"]["evidence"]]
        assert told["outcome"] == native["result"]["outcome"]

    @pytest.mark.parametrize("version", ["1.0", "0.3"])
    async def test_is_told_why_there_is_no_answer(
        self, address: str, lan: httpx.AsyncClient, version: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def broken(*_: object) -> None:
            raise KeyError("broken")

        monkeypatch.setattr(StepRunner, "run", broken)
        task = await sent(address, lan, version, afresh())
        assert types.TaskState.Name(task.status.state) == "TASK_STATE_FAILED" and not task.artifacts
        assert task.status.message.parts[0].text
        assert json_format.MessageToDict(task.status.message.metadata) == {"error_code": "INTERNAL"}

    async def test_goes_on_in_a_context(self, address: str, lan: httpx.AsyncClient) -> None:
        first = await sent(address, lan, "1.0", "mật khẩu dài bao nhiêu ký tự?", context_id=f"context {uuid4()}")
        again = await sent(address, lan, "1.0", "còn thời hạn đổi thì sao?", context_id=first.context_id)
        assert again.context_id == first.context_id and again.id != first.id


class TestCalls:
    async def test_of_a_task_look_at_it(self, address: str, lan: httpx.AsyncClient) -> None:
        said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "xin chào"}]}
        params = {"message": said, "configuration": {"returnImmediately": True}}
        task = (await called(address, lan, "SendMessage", params))["result"]["task"]
        while (told := await called(address, lan, "GetTask", {"id": task["id"]}))["result"]["status"]["state"] in OPEN:
            pass
        assert told["result"]["status"]["state"] == "TASK_STATE_COMPLETED" and told["result"]["artifacts"]
        repeated = await called(address, lan, "SendMessage", {"message": said})
        assert repeated["result"]["task"]["id"] == task["id"]

    async def test_are_refused_with_a_number_and_our_code(
        self, address: str, lan: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for method, params, number in [
            ("tasks/resubscribe", {}, -32601),
            ("SendMessage", {}, -32602),
            ("SendMessage", {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"url": "x"}]}}, -32602),
            ("message/send", {"message": {"messageId": "1", "role": "agent", "parts": [{"text": "x"}]}}, -32602),
            ("GetTask", {"id": "00000000-0000-4000-8000-000000000000"}, -32001),
        ]:
            with subtests.test(ascii((method, params, number))[:80]):
                error = (await called(address, lan, method, params))["error"]
                assert error["code"] == number and error["data"][0]["reason"] in ("PAYLOAD_INVALID", "NOT_FOUND")


OPEN = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
