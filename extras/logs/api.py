"""System logs: lines are brought in by administrators and looked at by everybody, as their rights allow."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect

from app.api.deps import Caller, Services
from app.api.schemas import Problem, Text
from app.api.uploads import media_type_of
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.faces.face import Face
from extras.logs.book import (
    JSON_LINES,
    MAX_LINE_BYTES,
    Delivery,
    LogBook,
    LogDraft,
    LogMoment,
    LogPage,
    check_may_bring,
    elements_of,
    words_of,
)
from extras.logs.reading import LogFilter

PATH = "/api/v1/logs"
router = APIRouter(prefix=PATH, tags=["logs"])
_BATCH = 2_000
_SCHEMA = LogDraft.model_json_schema()
_BODIES = {
    "requestBody": {
        "required": True,
        "content": {
            JSON_LINES: {"schema": _SCHEMA},
            "application/json": {"schema": {"type": "array", "items": _SCHEMA}},
        },
    }
}


@router.post(
    "",
    summary="Bring log lines in",
    openapi_extra=_BODIES,
    responses={code: {"model": Problem} for code in (403, 413, 415, 422)},
)
async def bring_in(request: Request, caller: Caller, services: Services) -> Delivery:
    """One JSON object a line (`application/x-ndjson`), or a JSON array. Good lines are stored even where others are
    refused; those are told with their numbers. Sent again, nothing is stored twice."""
    check_may_bring(caller)
    book, kind = LogBook(services.database), media_type_of(request)
    if kind == JSON_LINES:
        return await _from_lines(book, caller, request)
    if kind == "application/json":
        elements = await asyncio.to_thread(elements_of, await request.body())
        delivery = Delivery()
        for start in range(0, len(elements), _BATCH):
            lines = elements[start : start + _BATCH]
            delivery = delivery.and_then(await book.take_in(caller, lines, start + 1))
        return delivery
    detail = f"Send one JSON object a line as {JSON_LINES}, or an array as application/json."
    raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=415)


@router.get("", summary="Log lines you may see", responses={422: {"model": Problem}})
async def listing(
    caller: Caller,
    services: Services,
    q: Annotated[Text, Query(max_length=500)] = "",
    regex: Annotated[Text, Query(max_length=4_000)] = "",
    level: Annotated[list[Text] | None, Query(max_length=20)] = None,
    source: Annotated[Text, Query(max_length=200)] = "",
    since: LogMoment | None = None,
    until: LogMoment | None = None,
    cursor: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> LogPage:
    """Newest first, a page at a time; secrets are hidden. `q` are beginnings of words, `regex` is RE2 in either case,
    `source` the beginning of a name, `until` is exclusive; times need their zone."""
    wanted = LogFilter(
        terms=words_of(q),
        levels=tuple(name.strip().upper() for name in level or ()),
        source=source.strip(),
        since=since,
        until=until,
    )
    return await LogBook(services.database).page(caller, wanted, regex=regex, cursor=cursor, limit=limit)


async def _from_lines(book: LogBook, caller: Principal, request: Request) -> Delivery:
    """Store the lines as they arrive. What was stored stays when the sender breaks off."""
    delivery, number, waiting = Delivery(), 1, list[bytes]()
    try:
        async for line in _lines(request):
            waiting.append(line)
            if len(waiting) == _BATCH:
                delivery = delivery.and_then(await book.take_in(caller, waiting, number))
                number += len(waiting)
                waiting.clear()
    except ClientDisconnect as error:
        raise AppError(ErrorCode.PAYLOAD_INVALID, "The lines did not arrive whole; send them again.") from error
    return delivery.and_then(await book.take_in(caller, waiting, number))


async def _lines(request: Request) -> AsyncIterator[bytes]:
    """The lines of the body; of one that is far too long only the beginning, which is enough to refuse it."""
    rest = bytearray()
    async for piece in request.stream():
        head, *further = piece.split(b"\n")
        rest += head[: MAX_LINE_BYTES + 1 - len(rest)] if len(rest) <= MAX_LINE_BYTES else b""
        for line in further:
            yield bytes(rest)
            rest = bytearray(line[: MAX_LINE_BYTES + 1])
    yield bytes(rest)


FACE = Face(router, roots=(PATH,), uploads={PATH: JSON_LINES})
