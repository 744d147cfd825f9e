"""The loop that removes what is too old: only where something is to be removed, and alive whatever happens."""

import asyncio
from functools import partial

import pytest

from app.errors import AppError, ErrorCode
from app.main.working import retention_loops
from app.settings import Settings
from app.storage.database import Database
from app.trust.retention import Days, keep_sweeping


async def away() -> Database:
    raise AppError(ErrorCode.DATABASE_UNAVAILABLE, "away", status=503)


class TestLoop:
    def test_runs_where_the_operator_keeps_something_for_a_time(self) -> None:
        assert retention_loops(Settings(_env_file=None), away) == {}
        loops = retention_loops(Settings(_env_file=None, retention_files_days=3, retention_audit_days=7), away)
        assert isinstance(loops["remove"], partial) and loops["remove"].keywords["days"] == Days(files=3, audit=7)

    async def test_gives_signs_of_life_while_the_database_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("app.trust.retention._BEAT_SECONDS", 0.001)
        beats, told = asyncio.Event(), list[str]()

        def tell(event: str, **_: object) -> None:
            told.append(event)

        loop = asyncio.create_task(keep_sweeping(beats.set, open_operator=away, days=Days(audit=1), tell=tell))
        await asyncio.wait_for(beats.wait(), 5)
        assert told == ["retention_failed"] and not loop.done()
        loop.cancel()
