"""The watchdog: silence is noticed, noise is not, and a pause of the whole process is no silence."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from app.tasks.watchdog import Watchdog

LOOKS = 8
"""In the time a loop may be silent."""


class Loop:
    """A loop that says nothing by itself."""

    def __init__(self) -> None:
        self.starts = 0
        self.beat: Callable[[], None]
        self.error: Exception | None = None

    async def __call__(self, beat: Callable[[], None]) -> None:
        self.starts += 1
        self.beat = beat
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()


@pytest.fixture
async def loop() -> Loop:
    return Loop()


async def watching(loop: Loop) -> Watchdog:
    """Its own looks come an hour apart: the test looks."""
    watchdog = Watchdog({"loop": loop}, silence_seconds=3600 * LOOKS)
    watchdog.start()
    await asyncio.sleep(0)
    return watchdog


async def look(watchdog: Watchdog, times: int = LOOKS) -> None:
    for _ in range(times):
        watchdog.look()
    for _ in range(3):
        await asyncio.sleep(0)


class TestWatchdog:
    async def test_lets_a_loop_be_that_gives_signs_of_life(self, loop: Loop) -> None:
        watchdog = await watching(loop)
        for _ in range(LOOKS * 3):
            loop.beat()
            await look(watchdog, LOOKS - 1)
        assert (loop.starts, watchdog.is_well, watchdog.beyond_help.is_set()) == (1, True, False)
        await watchdog.stop()

    async def test_starts_a_silent_loop_anew_and_then_gives_up(self, loop: Loop) -> None:
        watchdog = await watching(loop)
        await look(watchdog)
        assert (loop.starts, watchdog.is_well, watchdog.beyond_help.is_set()) == (2, False, False)
        await look(watchdog)
        assert (loop.starts, watchdog.is_well, watchdog.beyond_help.is_set()) == (3, False, True)
        await watchdog.stop()

    async def test_forgives_a_loop_that_speaks_again(self, loop: Loop) -> None:
        watchdog = await watching(loop)
        for _ in range(3):
            await look(watchdog)
            loop.beat()
            await look(watchdog, 1)
        assert (loop.starts, watchdog.is_well, watchdog.beyond_help.is_set()) == (4, True, False)
        await watchdog.stop()

    async def test_takes_a_pause_of_the_process_for_no_silence(self, loop: Loop) -> None:
        """However long it was by the clock: it is one look."""
        watchdog = await watching(loop)
        await look(watchdog, 1)
        assert watchdog.is_well
        await watchdog.stop()

    async def test_starts_a_loop_anew_that_died(self, loop: Loop) -> None:
        loop.error = ValueError("a bug")
        watchdog = await watching(loop)
        loop.error = None
        await look(watchdog, 1)
        assert loop.starts == 2
        await watchdog.stop()

    async def test_is_not_well_before_it_starts(self, loop: Loop) -> None:
        assert not Watchdog({"loop": loop}, 1).is_well

    async def test_leaves_a_loop_behind_that_does_not_end(self, loop: Loop) -> None:
        async def stubborn(beat: Callable[[], None]) -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        let_go = asyncio.Event()
        watchdog = Watchdog({"loop": stubborn}, 3600)
        watchdog.start()
        await asyncio.sleep(0)
        await watchdog.stop(patience_seconds=0.01)
        let_go.set()
        await asyncio.sleep(0)

    async def test_ends_a_loop_whose_cancellation_got_lost_in_an_error(self) -> None:
        async def loses_it(beat: Callable[[], None]) -> None:
            while True:
                with suppress(ConnectionError):
                    try:
                        await asyncio.sleep(0.001)
                    finally:
                        raise ConnectionError("the database went away")
                beat()

        watchdog = Watchdog({"loop": loses_it}, 3600)
        watchdog.start()
        await asyncio.sleep(0)
        running = {task for task in asyncio.all_tasks() if task.get_name() == "loop"}
        await watchdog.stop()
        assert running and all(task.cancelled() for task in running)
