"""What tools share when they call the ports below: side by side, and outages told as `ToolRetry`."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode, ToolRetry

_Result = TypeVar("_Result")
_OUTAGES = frozenset({ErrorCode.DATABASE_UNAVAILABLE, ErrorCode.LLM_UNAVAILABLE})


async def side_by_side(work: Sequence[Coroutine[None, None, _Result]]) -> list[_Result]:
    """Results in the order of `work`; the first exception ends the rest and is raised by itself."""
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(piece) for piece in work]
    except ExceptionGroup as failures:
        first = failures.exceptions[0]
        raise first from first.__cause__
    return [task.result() for task in running]


@contextmanager
def outages_as_retry(what: str) -> Iterator[None]:
    """Turn "could not be reached" into `ToolRetry`; every other exception passes.

    Args:
        what: What could not be reached, for the sentence somebody may read.
    """
    try:
        yield
    except (EmbeddingUnavailable, OSError, TimeoutError) as outage:
        raise ToolRetry(f"{what} is not reachable at the moment") from outage
    except AppError as refusal:
        if refusal.code not in _OUTAGES:
            raise
        raise ToolRetry(f"{what} is not reachable at the moment") from refusal
