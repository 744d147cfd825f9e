"""How long the event loop was kept from its work."""

import asyncio
import time
from pathlib import Path
from types import TracebackType

_TICK_SECONDS = 0.005
_SCHEDULER = Path("/proc/thread-self/schedstat")


class LoopLag:
    """Measures, while it is entered, the longest time for which a ready callback was not called.

    Time in which the machine gave this thread no processor is no fault of the loop and is taken off, where the kernel
    tells it.
    """

    def __init__(self) -> None:
        self.longest_seconds = 0.0

    async def __aenter__(self) -> "LoopLag":
        self._task = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: "type[BaseException] | BaseException | TracebackType | None") -> None:
        await asyncio.sleep(2 * _TICK_SECONDS)
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            began, starved = time.perf_counter(), _starved_seconds()
            await asyncio.sleep(_TICK_SECONDS)
            late = time.perf_counter() - began - _TICK_SECONDS - (_starved_seconds() - starved)
            self.longest_seconds = max(self.longest_seconds, late)


def _starved_seconds() -> float:
    """How long this thread has waited for a processor so far."""
    try:
        return int(_SCHEDULER.read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
