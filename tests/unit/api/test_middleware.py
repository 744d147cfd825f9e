"""What the middleware decides without a server."""

import json
import time
from collections.abc import AsyncIterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from app.api.middleware import MAX_JSON_DEPTH, BodyLimitMiddleware, is_nested_deeper
from tests.limits import limit


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max((depth_of(item) for item in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(item) for item in value), default=0)
    return 0


JSON = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


class TestIsNestedDeeper:
    @given(JSON, st.booleans())
    def test_agrees_with_the_parsed_value(self, value: object, ascii_only: bool) -> None:
        depth, body = depth_of(value), json.dumps(value, ensure_ascii=ascii_only).encode()
        assert not is_nested_deeper(body, depth)
        assert depth == 0 or is_nested_deeper(body, depth - 1)

    def test_does_not_count_brackets_inside_strings(self) -> None:
        assert not is_nested_deeper(b'{"a": "[[[[\\"[[[["}', 1)

    def test_is_quick_on_hostile_bytes(self, subtests: pytest.Subtests) -> None:
        for body in [
            b"[" * 262_144,
            b'"' * 262_144,
            b"\\" * 262_144,
            b'"\\' * 131_072,
            b'{"a' * 87_381,
            b'"' + b"a" * 262_143,
        ]:
            with subtests.test(ascii(body)[:80]):
                started = time.perf_counter()
                is_nested_deeper(body, 32)
                assert time.perf_counter() - started < limit(1)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body as it arrived."""
    await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)


class TestBodyLimitMiddleware:
    @pytest.mark.parametrize("pieces", [1, 7])
    async def test_refuses_json_for_its_depth_alone(self, pieces: int) -> None:
        limited = httpx.ASGITransport(BodyLimitMiddleware(echo, max_body_bytes=1_000))
        async with httpx.AsyncClient(transport=limited, base_url="http://house") as client:
            for depth, status in ((MAX_JSON_DEPTH, 200), (MAX_JSON_DEPTH + 1, 422)):
                body = b'{"a": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"

                async def streamed(body: bytes = body) -> AsyncIterator[bytes]:
                    for at in range(0, len(body), -(-len(body) // pieces)):
                        yield body[at : at + -(-len(body) // pieces)]

                answer = await client.post("/", content=streamed(), headers={"Content-Type": "application/json"})
                assert answer.status_code == status
                assert answer.content == body if status == 200 else answer.json()["code"] == "PAYLOAD_INVALID"
