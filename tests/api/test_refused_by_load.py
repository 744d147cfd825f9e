"""A question that is not taken in says so over every face, with when to come back, and leaves nothing behind."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.main import Services
from app.trust.admission import Admission, RunLimits
from tests.api.test_agui import asked as asked_by_agui
from tests.api.test_vercel import asked as asked_by_page

MESSAGE = {"role": "user", "content": "xin chào"}
FACES: dict[str, dict[str, Any]] = {
    "/api/v1/chat": {"query": "xin chào"},
    "/api/v1/chat/stream": {"query": "xin chào"},
    "/v1/chat/completions": {"model": "auto", "messages": [MESSAGE]},
    "/ag-ui": asked_by_agui("xin chào"),
    "/ui/chat": asked_by_page("xin chào"),
}
LIMITS = {
    "person": (RunLimits(per_person=0), 429, "RATE_LIMITED"),
    "tenant": (RunLimits(per_tenant=0), 429, "RATE_LIMITED"),
    "service": (RunLimits(in_all=0), 503, "OVERLOADED"),
}


@pytest.fixture(params=LIMITS)
def limit(request: pytest.FixtureRequest, house: Services) -> Iterator[str]:
    """Nobody gets in, by one of the limits."""
    admission = house.rooms.registry._admission
    assert isinstance(admission, Admission)
    before, admission.limits = admission.limits, LIMITS[request.param][0]
    yield request.param
    admission.limits = before


async def open_tasks(house: Services) -> int:
    async with house.storage.database.operator_scope() as tx:
        return int(await tx.driver.fetchval("select count(*) from pgqueuer where entrypoint = 'run_task'"))


class TestEveryFace:
    async def test_says_when_to_come_back(
        self, limit: str, address: str, lan: httpx.AsyncClient, house: Services
    ) -> None:
        _, status, code = LIMITS[limit]
        before = await open_tasks(house)
        for path, body in FACES.items():
            key = {"Idempotency-Key": uuid4().hex}  # else a refusal of the test before would be repeated
            answer = await lan.post(f"{address}{path}", json=body, headers=key)
            assert answer.status_code == status, (path, answer.text)
            told = answer.json()
            assert told.get("error", told)["code"] == code, (path, told)
            assert int(answer.headers["retry-after"]) >= 1, path
        assert await open_tasks(house) <= before

    async def test_of_calls_says_it_in_the_call(self, limit: str, address: str, lan: httpx.AsyncClient) -> None:
        code = LIMITS[limit][2]
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "xin chào"}]}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
        answer = await lan.post(f"{address}/a2a", json=call)
        info, retry = answer.json()["error"]["data"]
        assert info["reason"] == code and retry["retryDelay"] == f"{answer.headers['retry-after']}s"
        ask = {"name": "ask", "arguments": {"question": "xin chào"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ask}
        accepted = {"Accept": "application/json, text/event-stream"}
        result = (await lan.post(f"{address}/mcp", json=call, headers=accepted)).text
        assert code in result and '"retry_after_seconds":' in result.replace(" ", "")
