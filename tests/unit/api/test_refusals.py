"""A refusal is repeated to whoever got it, for half a second, and to nobody else."""

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.api.problem import problem
from app.api.refusals import RepeatedRefusals
from app.errors import ErrorCode

LAN = {"authorization": "Bearer lan", "content-type": "application/json"}


class House:
    """Refuses everything with a status, and counts who came so far."""

    def __init__(self) -> None:
        self.now, self.status, self.asked = 0.0, 429, 0
        self.pieces = False
        self.leave = asyncio.Event()
        self.leave.set()
        self.door = RepeatedRefusals(self._app, open_runs=2, clock=lambda: self.now)

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        await self.leave.wait()
        if self.pieces:
            await send({"type": "http.response.start", "status": 429, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            await send({"type": "http.response.body", "body": b"b"})
            return
        detail = f"{self.asked} of your questions are still being answered."
        await problem(ErrorCode.RATE_LIMITED, detail, self.status)(scope, receive, send)

    async def post(self, headers: dict[str, str], path: str = "/api/v1/chat", method: str = "POST") -> list[Message]:
        """What is sent to a request."""
        sent: list[Message] = []

        async def send(message: Message) -> None:
            # As `RequestMiddleware` does: every answer gets headers of its own.
            if message["type"] == "http.response.start":
                message["headers"].append((b"x-request-id", str(len(message["headers"])).encode()))
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"{}", "more_body": False}

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self.door({"type": "http", "method": method, "path": path, "headers": raw}, receive, send)
        return sent


@pytest.fixture
def house() -> House:
    return House()


async def test_is_repeated_without_asking_for_half_a_second(house: House) -> None:
    first = await house.post(LAN)
    for now in (0.1, 0.4, 0.49):
        house.now = now
        assert await house.post(LAN) == first
    assert house.asked == 1
    assert dict(first[0]["headers"])[b"retry-after"] == b"1"
    house.now = 0.51
    assert (await house.post(LAN))[1]["body"] != first[1]["body"]
    assert house.asked == 2


@pytest.mark.parametrize(
    ("other", "where"),
    [
        ({**LAN, "authorization": "Bearer hoa"}, {}),
        ({"cookie": "session=lan", "content-type": "application/json"}, {}),
        ({**LAN, "idempotency-key": "again"}, {}),
        ({**LAN, "content-type": "multipart/form-data; boundary=x"}, {}),
        ({"content-type": "application/json"}, {}),
        (LAN, {"path": "/api/v1/chat/stream"}),
        (LAN, {"method": "GET"}),
    ],
)
async def test_reaches_nothing_else(house: House, other: dict[str, str], where: dict[str, Any]) -> None:
    await house.post(LAN)
    await house.post(other, **where)
    assert house.asked == 2


async def test_is_repeated_whatever_cookies_come_with_a_token(house: House) -> None:
    await house.post(LAN)
    await house.post({**LAN, "cookie": "another=1"})
    assert house.asked == 1


async def test_that_comes_in_pieces_is_not_repeated(house: House) -> None:
    house.pieces = True
    for _ in range(2):
        assert b"".join(one["body"] for one in (await house.post(LAN))[1:]) == b"ab"
    assert house.asked == 2


async def test_of_another_kind_is_not_repeated(house: House) -> None:
    house.status = 503
    await house.post(LAN)
    await house.post(LAN)
    assert house.asked == 2


async def test_of_one_is_told_to_a_crowd_that_came_with_it(house: House) -> None:
    house.leave.clear()
    crowd = [asyncio.create_task(house.post(LAN)) for _ in range(100)]
    other = asyncio.create_task(house.post({**LAN, "authorization": "Bearer hoa"}))
    await asyncio.sleep(0)
    assert house.asked == 2 + 8 + 1
    crowd[-1].cancel()
    house.leave.set()
    answers = await asyncio.gather(*crowd[:-1], other)
    assert {answer[0]["status"] for answer in answers} == {429}
    assert house.asked == 2 + 8 + 1 and not len(house.door._turns)


async def test_of_a_body_that_may_never_end_closes_the_line(house: House) -> None:
    await house.post(LAN)
    endless = await house.post({**LAN, "transfer-encoding": "chunked"})
    assert house.asked == 1
    assert dict(endless[0]["headers"])[b"connection"] == b"close"
    assert b"connection" not in dict((await house.post(LAN))[0]["headers"])
