"""Structured logs, and how much the caches of the process served one run.

A log line is one JSON object with request and task ids, never the text of a question or a document. Only the fields of
`ALLOWED_FIELDS` get out, values are cut, and an exception is told by its types and places in the code: its message may
quote what somebody wrote. Every room logs through ``structlog.get_logger(__name__)``.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, TextIO
from uuid import UUID

import structlog
from structlog.contextvars import bound_contextvars
from structlog.types import Processor

from app.errors import AppError

ALLOWED_FIELDS = frozenset({
    "agent", "agents", "attempt", "calls", "channel", "chunks", "code", "conflicts", "count", "decision", "department",
    "deadline_ms", "delay_seconds", "documents", "duration_ms", "entries", "error_class", "error_code", "error_type",
    "exception", "handler", "job_id", "kind", "lease_seconds", "level", "limit", "method", "model", "node", "node_id",
    "outcome", "pending", "queue", "reason", "request_id", "revision", "root_task_id", "route", "runs", "seconds",
    "seq", "session_id", "setting", "span_id", "stage", "state", "status", "steps", "task_id", "tenant_id", "tier",
    "tiers", "tool", "trace_id", "user_id", "version", "worker", "worker_id",
})  # fmt: skip
"""Ids, enumerations, counts and durations. Add a field only when its value can never be somebody's text."""

_ALWAYS = frozenset({"event", "logger", "timestamp"})
_REPEATING_LIBRARIES = ("pgqueuer", "asyncpg")
_REPEATING_EVENTS = frozenset({
    "hints_lost", "lease_not_renewed", "not_looked", "not_ready", "notifications_away", "worker_interrupted",
})  # fmt: skip
_CHATTY = ("uvicorn.access", "pgqueuer", "sqlalchemy", "asyncio", "sse_starlette", "alembic", "httpx", "openai")
_SELDOM_SECONDS = 30.0
_MAX_TEXT = 200
_MAX_FRAMES = 8
_MAX_CAUSES = 3

EventDict = MutableMapping[str, Any]


class Seldom(logging.Filter):
    """Of what loops say that look for a lost database again and again, one line in `_SELDOM_SECONDS` each."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._timer = timer
        self._said: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        said = str(record.msg.get("event", "") if isinstance(record.msg, dict) else record.msg)
        if said not in _REPEATING_EVENTS and not record.name.startswith(_REPEATING_LIBRARIES):
            return True
        key, now = (record.name, said), self._timer()
        if now - self._said.get(key, float("-inf")) < _SELDOM_SECONDS:
            return False
        self._said[key] = now
        return True


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send the logs of this process, ours and the libraries', to `stream` (default: standard error) as JSON lines."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[structlog.stdlib.filter_by_level, *shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, _foreign_event],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _exception_shape,
            keep_allowed,
            structlog.processors.JSONRenderer(),
        ],
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(Seldom())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in ("uvicorn.access", "uvicorn.error", "uvicorn", "asyncio", "pgqueuer", "sqlalchemy", "aiohttp"):
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)


@contextmanager
def log_context(**ids: UUID | str | int) -> Iterator[None]:
    """Give every line logged inside, in this task and the tasks it starts, these ids."""
    with bound_contextvars(**{name: str(value) for name, value in ids.items()}):
        yield


@dataclass
class CacheUse:
    """What one run asked of the caches (whole answers, search results, question vectors) and how often they knew."""

    lookups: int = 0
    hits: int = 0
    outages: int = 0
    """Calls a model failed, also those somebody got along without."""

    @property
    def hit_ratio(self) -> float:
        """Hits a lookup, 0–1; 0 when nothing was looked up."""
        return self.hits / self.lookups if self.lookups else 0.0


_cache_use: ContextVar[CacheUse | None] = ContextVar("cache_use", default=None)


@contextmanager
def counting_cache_use() -> Iterator[CacheUse]:
    """Count what is looked up inside, in this task and the tasks it starts."""
    use = CacheUse()
    token = _cache_use.set(use)
    try:
        yield use
    finally:
        _cache_use.reset(token)


TALLY: Counter[tuple[str, str]] = Counter()
"""What was looked up in this process, by cache and result, for its figures; both are names of our own."""


def count_lookups(hits: int, lookups: int = 1, cache: str = "") -> None:
    """A cache was asked for `lookups` things and had `hits` of them; without its name another process counts it."""
    if cache:
        TALLY[cache, "hit"] += hits
        TALLY[cache, "miss"] += lookups - hits
    if use := _cache_use.get():
        use.lookups += lookups
        use.hits += hits


def count_outage() -> None:
    """A model did not answer."""
    if use := _cache_use.get():
        use.outages += 1


def keep_allowed(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Drop the fields that are not on the list, cut the others, and name what was dropped."""
    kept: EventDict = {"event": _cut(str(event.get("event", "")))}
    dropped = []
    for name, value in event.items():
        if name in _ALWAYS and name != "event":
            kept[name] = str(value)
        elif name in ALLOWED_FIELDS:
            kept[name] = _plain(value)
        elif name not in _ALWAYS:
            dropped.append(_cut(name))
    if dropped:
        kept["dropped_fields"] = sorted(dropped)
    return kept


def describe_exception(error: BaseException) -> dict[str, Any]:
    """Types and code places of an exception and its causes, without any message."""
    told: dict[str, Any] = {"type": type(error).__qualname__, "at": _places(error.__traceback__)}
    if isinstance(error, AppError):
        told["code"] = error.code.value
    causes: list[str] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(causes) < _MAX_CAUSES:
        causes.append(type(cause).__qualname__)
        cause = cause.__cause__ or cause.__context__
    return {**told, "caused_by": causes} if causes else told


def _places(traceback: TracebackType | None) -> list[str]:
    codes = [(frame.f_code, line) for frame, line in walk_tb(traceback)][-_MAX_FRAMES:]
    return [f"{'/'.join(Path(code.co_filename).parts[-2:])}:{line} {code.co_name}" for code, line in codes]


def _exception_shape(_logger: Any, _method: str, event: EventDict) -> EventDict:
    info = event.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["exception"] = describe_exception(error)
    event.pop("stack_info", None)
    return event


def _foreign_event(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """A library's message: its template only, because the values put into it may be somebody's text; of our own rooms
    the fields they add."""
    record = event.get("_record")
    if isinstance(record, logging.LogRecord):
        if not record.name.startswith(("app", "uvicorn")):
            event["event"] = str(record.msg)
        elif record.name.startswith("app"):
            event.update({name: given for name, given in vars(record).items() if name in ALLOWED_FIELDS})
        if record.exc_info:
            event["exc_info"] = record.exc_info
    return event


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {_cut(str(key)): _plain(item) for key, item in list(value.items())[:20]}
        case list() | tuple() | set() | frozenset():
            return [_plain(item) for item in list(value)[:20]]
        case _:
            return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
