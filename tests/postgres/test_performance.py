"""Figures over many runs: a person's own, an administrator's tenant, nobody else's."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.principal import Principal
from app.domain.tasks import TaskStatus
from app.events import FinalReport
from app.storage.database import Database
from app.tasks.reviews import Picture, RunReviews
from tests.factories import principal
from tests.postgres.running import JANE, LAN, MINH, Rooms, rooms_on

ADMIN = principal(user="admin", roles=("admin",))
OTHER_ADMIN = principal("globex", "admin", roles=("admin",))
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def figures(ms: int, calls: int, *, ratio: float = 0.0, completeness: str = "comprehensive") -> dict[str, Any]:
    return {
        "query_processing_time_ms": ms,
        "agent_execution_times": {"hr": ms // 2},
        "tool_usage_stats": {"rag_tool": {"calls": calls, "avg_time_ms": ms}},
        "conflict_resolution_time_ms": 3,
        "cache_hit_ratio": ratio,
        "content_quality_metrics": {
            "hr_agent": {"completeness": completeness, "recency": "older", "domain_match": "perfect"}
        },
    }


@pytest.fixture(scope="module")
async def rooms(database: Database) -> Rooms:
    rooms = rooms_on(database)
    await ran(rooms, LAN, figures(100, 1))
    await ran(rooms, LAN, figures(200, 3, ratio=0.5))
    await ran(rooms, LAN, figures(300, 2, ratio=0.25, completeness="none"))
    await ran(rooms, MINH, figures(1_000, 4))
    await ran(rooms, JANE, figures(9_000, 9))
    unfinished = await rooms.begin()
    await rooms.registry.cancel(LAN, unfinished.task.task_id)
    return rooms


async def ran(rooms: Rooms, who: Principal, told: dict[str, Any]) -> None:
    run = await rooms.begin(who)
    await rooms.registry.finish(
        run, status=TaskStatus.COMPLETED, result={"answer": ""}, metadata={"performance_metrics": told},
        event=FinalReport(answer={}),
    )  # fmt: skip


async def picture(database: Database, who: Principal, since: datetime = LONG_AGO) -> Picture:
    return await RunReviews(database).picture(who, since)


@pytest.mark.usefixtures("rooms")
class TestPicture:
    async def test_is_of_own_runs(self, database: Database) -> None:
        seen = await picture(database, LAN)
        metrics = seen.performance_metrics
        assert seen.runs == 3
        assert metrics.query_processing_time_ms == 200
        assert metrics.agent_execution_times == {"hr": 100}
        assert metrics.tool_usage_stats["rag_tool"].calls == 6
        assert metrics.tool_usage_stats["rag_tool"].avg_time_ms == round((100 + 3 * 200 + 2 * 300) / 6)
        assert metrics.conflict_resolution_time_ms == 3
        assert metrics.cache_hit_ratio == 0.25
        assert metrics.content_quality_metrics["hr_agent"].completeness == "comprehensive"

    async def test_is_of_the_tenant_for_its_administrator(self, database: Database) -> None:
        seen = await picture(database, ADMIN)
        assert seen.runs == 4
        assert seen.performance_metrics.query_processing_time_ms == 400
        assert seen.performance_metrics.tool_usage_stats["rag_tool"].calls == 10

    async def test_holds_nothing_of_another_tenant(self, database: Database) -> None:
        assert (await picture(database, OTHER_ADMIN)).runs == 1
        assert (await picture(database, JANE)).performance_metrics.query_processing_time_ms == 9_000

    async def test_is_empty_for_whoever_asked_nothing(self, database: Database) -> None:
        seen = await picture(database, principal(user="nobody"))
        assert seen.runs == 0
        assert seen.performance_metrics.tool_usage_stats == {}
        assert seen.performance_metrics.query_processing_time_ms == 0

    async def test_begins_when_it_is_told_to(self, database: Database) -> None:
        assert (await picture(database, ADMIN, datetime.now(UTC) + timedelta(hours=1))).runs == 0
        assert (await picture(database, ADMIN, datetime.now(UTC) - timedelta(hours=1))).runs == 4
