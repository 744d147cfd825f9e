"""A span for every statement that is sent inside a span; asyncpg tells of each when it has ended.

Statements are constants with places for values, but a span names only what one does and to which table: that is what a
graph is read by, and neither a value nor three thousand letters of SQL can get out with it.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import asyncpg
from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from extras.telemetry.wrapping import Undo, wrapped_as

_FIRST_WORD = re.compile(r"\s*(?:--[^\n]*\n\s*)*([a-z]+)", re.IGNORECASE)
_CHANGES = re.compile(r"\b(insert|update|delete)\s+(?:into\s+|from\s+)?([a-z_][a-z_0-9.]*)", re.IGNORECASE)
_READS = re.compile(r"\bfrom\s+(?!unnest\b|lateral\b)([a-z_][a-z_0-9.]*)\b(?!\s*\()", re.IGNORECASE)
_CALLS = re.compile(r"\bselect\s+([a-z_][a-z_0-9.]*)\s*\(", re.IGNORECASE)
_KNOWN = 1_000
"""Statements whose names are kept; the service has some hundreds."""


class Summary(NamedTuple):
    """What a statement does, for the name of its span."""

    operation: str
    """Its first word, in capitals; of one that begins with WITH what it comes to."""
    table: str = ""
    """The first table it changes or else reads, or the function it calls; empty where it has none."""

    @property
    def name(self) -> str:
        """Such as ``UPDATE tasks``."""
        return f"{self.operation} {self.table}".strip()


@lru_cache(_KNOWN)
def summary_of(statement: str) -> Summary:
    """What a statement of SQL does, and to which table."""
    first = _FIRST_WORD.match(statement)
    operation = first[1].upper() if first else "SQL"
    if operation in ("WITH", "INSERT", "UPDATE", "DELETE") and (change := _CHANGES.search(statement)):
        return Summary(change[1].upper(), change[2].lower())
    if operation in ("WITH", "SELECT"):
        read = _READS.search(statement) or _CALLS.search(statement)
        return Summary("SELECT", read[1].lower() if read else "")
    return Summary(operation)


def trace_statements(tracer: Tracer) -> Undo:
    """Have every connection of the service's own pools, made from now on, tell of its statements. The pool of the job
    queue, which asks all day whether there is work, is left alone."""

    async def tells(init: Callable[[Any], Awaitable[None]], driver: Any) -> None:
        driver.add_query_logger(partial(_add_span, tracer))
        await init(driver)

    def create_pool(wrapped: Callable[..., Any], _: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        init = kwargs.get("init")
        return wrapped(*args, **(kwargs if init is None else {**kwargs, "init": partial(tells, init)}))

    return wrapped_as(asyncpg, "create_pool", create_pool)


def _add_span(tracer: Tracer, record: asyncpg.connection.LoggedQuery) -> None:
    """Make the span of a statement that has just ended; called by the event loop in the context it was sent in."""
    if not trace.get_current_span().is_recording():
        return
    does = summary_of(record.query)
    ended = time.time_ns()
    attributes = {"db.system.name": "postgresql", "db.operation.name": does.operation, "db.query.summary": does.name}
    if does.table:
        attributes["db.collection.name"] = does.table
    started = ended - round(record.elapsed * 1e9)
    span = tracer.start_span(does.name, kind=SpanKind.CLIENT, attributes=attributes, start_time=started)
    if record.exception is not None:
        span.set_attribute("error.type", type(record.exception).__qualname__)
        span.set_status(Status(StatusCode.ERROR))
    span.end(ended)
