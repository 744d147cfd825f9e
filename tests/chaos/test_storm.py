"""A short storm; ``python -m tests.chaos`` plays a long one (`make chaos`).

``CONCLAVE_CHAOS_SEED`` repeats one.
"""

import pytest
from rich.progress import Progress

from tests.chaos.__main__ import play
from tests.chaos.faults import LONG, SHORT, Kind, schedule
from tests.chaos.house import House
from tests.samples import story_seed

SEED = story_seed("CONCLAVE_CHAOS_SEED")


class TestSchedule:
    def test_is_the_same_for_the_same_seed(self) -> None:
        assert schedule(LONG, 7, 2) == schedule(LONG, 7, 2) != schedule(LONG, 8, 2)

    def test_of_the_long_storm_is_what_was_promised(self) -> None:
        kinds = [blow.kind for blow in schedule(LONG, 1, 2)]
        machines = {Kind.KILL_WORKER, Kind.PAUSE_WORKER, Kind.KILL_API, Kind.PAUSE_API}
        assert sum(kind in machines for kind in kinds) >= 50 and kinds.count(Kind.CRASH_POSTGRES) >= 10
        assert LONG.chats >= 25 and {Kind.KILL_REDIS, Kind.PAUSE_REDIS} <= set(kinds)
        pauses = [blow.seconds for blow in schedule(LONG, 1, 2) if blow.kind is Kind.PAUSE_WORKER]
        assert min(pauses) > 2


class TestAStorm:
    @pytest.mark.timeout(300)
    async def test_loses_and_doubles_nothing(self, house: House) -> None:
        verdict = await play(house, SHORT, SEED, Progress(disable=True), in_time=False)
        assert verdict.wrong == [], f"CONCLAVE_CHAOS_SEED={SEED}"
