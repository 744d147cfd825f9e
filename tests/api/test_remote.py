"""The command line's own client against a line that breaks."""

from collections.abc import AsyncIterator
from uuid import UUID

import aiohttp
import pytest
from fastapi import FastAPI, Header
from starlette.responses import Response

from app.api.problem import problem
from app.api.sse import EventStream, JournalStream
from app.client.connection import Connection
from app.errors import AppError, ErrorCode
from app.events import FinalReport, JournalEntry, TaskAvailable, TextDelta
from tests.api.serving import serve

TASK = UUID("6a0f6a52-6a1c-4a53-9d0c-2f6a3f1f7c11")
EVENTS = (
    TaskAvailable(task_id=TASK, session_id=TASK, query="x"),
    *(TextDelta(text=f"đoạn {number}\n") for number in range(20)),
    FinalReport(answer={"answer": "xong", "outcome": "answered"}),
)


def breaking(every: int) -> FastAPI:
    """A server whose streams end after `every` events."""
    app = FastAPI()
    app.state.visits = 0

    async def piece(after: int) -> AsyncIterator[JournalEntry]:
        for seq in range(after + 1, min(after + every, len(EVENTS)) + 1):
            yield JournalEntry(seq=seq, event=EVENTS[seq - 1])

    @app.post("/api/v1/chat/stream", response_class=EventStream, response_model=None)
    async def ask() -> Response:
        return JournalStream(piece(0))

    @app.get(f"/api/v1/tasks/{TASK}/events", response_class=EventStream, response_model=None)
    async def follow(last_event_id: str = Header()) -> Response:
        app.state.visits += 1
        return JournalStream(piece(int(last_event_id)))

    @app.post("/api/v1/auth/dev", response_model=None)
    async def sign_in() -> Response:
        return problem(ErrorCode.NOT_FOUND, "There is no such demo user.", 404)

    return app


class TestConnection:
    async def test_takes_a_broken_stream_up_where_it_broke(self) -> None:
        app = breaking(every=5)
        async with serve(app, lifespan="off") as url, Connection(url, "t") as remote:
            seen = [told async for told in remote.run({"query": "x"})]
        assert [seq for seq, _, _ in seen] == list(range(1, len(EVENTS) + 1))
        assert "".join(event["text"] for _, kind, event in seen if kind == "text_delta").count("\n") == 20
        assert app.state.visits == 4

    async def test_tells_a_refusal_by_its_code(self) -> None:
        async with serve(breaking(every=5), lifespan="off") as url, Connection(url) as remote:
            with pytest.raises(AppError) as refused:
                await remote.sign_in("acme/root", "key")
        assert (refused.value.code, refused.value.status) == (ErrorCode.NOT_FOUND, 404)

    async def test_gives_up_on_a_server_that_is_not_there(self) -> None:
        async with Connection("http://127.0.0.1:9") as remote:
            with pytest.raises(aiohttp.ClientError):
                _ = [told async for told in remote.run({"query": "x"})]
