"""Watch the loops of a worker: a silent one is started anew, then the process is said to be beyond help.

Silence is counted in own looks, not by a clock: a machine that slept is not taken for one whose loops hang.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

import structlog

Loop = Callable[[Callable[[], None]], Coroutine[None, None, None]]
"""Runs for ever, calling what it is given as a sign of life whenever it has done something, or has failed to: to begin
is none."""
LONGEST_PAUSE_SECONDS = 5.0
"""Between two signs of life of a loop that is well."""
_LOOKS = 8
"""In the time a loop may be silent."""
_RESTARTS = 1
"""Of a silent loop, before the process is beyond help."""
_FAREWELL_SECONDS = 1.0
_log = structlog.get_logger(__name__)


@dataclass
class _Watched:
    name: str
    loop: Loop
    beats: int = 0
    seen: int = 0
    quiet: int = 0
    """Looks without a beat."""
    restarts: int = 0
    running: "asyncio.Task[None] | None" = None
    abandoned: "list[asyncio.Task[None]]" = field(default_factory=list)

    def beat(self) -> None:
        self.beats += 1
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # what it called failed while it ended, and hid that it was told to
            raise asyncio.CancelledError

    def start(self) -> None:
        if self.running is not None:
            self.running.cancel()
            self.abandoned = [*(task for task in self.abandoned if not task.done()), self.running]
        self.quiet = 0
        self.running = asyncio.create_task(self.loop(self.beat), name=self.name)


class Watchdog:
    """Keeps loops going."""

    def __init__(self, loops: Mapping[str, Loop], silence_seconds: float):
        """`silence_seconds`: well above the pauses the loops make."""
        self._watched = [_Watched(name, loop) for name, loop in loops.items()]
        self._pause = silence_seconds / _LOOKS
        self._watching: asyncio.Task[None] | None = None
        self.beyond_help = asyncio.Event()
        """Set when a loop stays silent although it was started anew."""

    @property
    def is_well(self) -> bool:
        """Whether every loop gives signs of life."""
        return self._watching is not None and all(one.restarts == 0 for one in self._watched)

    def start(self) -> None:
        """Begin all loops."""
        for one in self._watched:
            one.start()
        self._watching = asyncio.create_task(self._watch())

    async def stop(self, patience_seconds: float = _FAREWELL_SECONDS) -> None:
        """End all loops; those that do not end are left behind."""
        ending = [task for one in self._watched for task in (one.running, *one.abandoned) if task is not None]
        if self._watching is not None:
            ending.append(self._watching)
        for task in ending:
            task.cancel()
        if ending:
            done, _ = await asyncio.wait(ending, timeout=patience_seconds)
            for task in done:
                _forget(task)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._pause)
            self.look()

    def look(self) -> None:
        """Look at every loop once; the watchdog does so eight times in the time a loop may be silent."""
        for one in self._watched:
            self._look(one)

    def _look(self, one: _Watched) -> None:
        if one.running is not None and one.running.done():
            _log.error("loop_ended", state=one.name)
            _forget(one.running)
            one.start()
        elif one.beats != one.seen:
            one.seen, one.quiet, one.restarts = one.beats, 0, 0
        else:
            one.quiet += 1
            if one.quiet >= _LOOKS:
                self._start_anew(one)

    def _start_anew(self, one: _Watched) -> None:
        if one.restarts >= _RESTARTS:
            self.beyond_help.set()
        one.restarts += 1
        _log.error("loop_silent", state=one.name, count=one.restarts)
        one.start()


def _forget(task: "asyncio.Task[None]") -> None:
    """Tell what a loop died of."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("loop_failed", state=task.get_name(), exc_info=error)
