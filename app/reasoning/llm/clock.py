"""The time limits of one call: the first word, each pause, the call, and the run it belongs to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import TypeVar

from app.reasoning.llm.outcomes import CallOutcome, ModelFailed

_COUNTS_WAIT_SECONDS = 0.5
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class TimeLimits:
    """Seconds."""

    first_token: float = 20.0
    between_tokens: float = 10.0
    call: float = 60.0


class CallClock:
    """Which limit holds for the next wait."""

    def __init__(self, limits: TimeLimits, deadline: float):
        """`deadline` is event-loop time."""
        self._limits, self._deadline = limits, deadline
        now = asyncio.get_running_loop().time()
        self._call_ends = now + limits.call
        self._next_due = now + limits.first_token

    def heard(self) -> None:
        """Text came."""
        self._next_due = asyncio.get_running_loop().time() + self._limits.between_tokens

    async def within(self, waiting: Awaitable[_Result]) -> _Result:
        """Await something under all limits. Raises `ModelFailed`."""
        until = min(self._next_due, self._call_ends, self._deadline)
        try:
            async with asyncio.timeout_at(until) as limit:
                return await waiting
        except TimeoutError as late:
            is_over = limit.expired() and until == self._deadline
            raise ModelFailed(CallOutcome.DEADLINE if is_over else CallOutcome.SLOW) from late

    async def next(self, chunks: AsyncIterator[_Result], *, ended: bool) -> _Result | None:
        """The next chunk; None at the end. After the finish reason only the token counts are waited for, shortly."""
        if not ended:
            return await self.within(anext(chunks, None))
        try:
            async with asyncio.timeout(_COUNTS_WAIT_SECONDS):
                return await anext(chunks, None)
        except TimeoutError:
            return None
