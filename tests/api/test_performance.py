"""``GET /performance``: what the runs' monitors left, over HTTP."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from app.domain.answer import PerformanceMetrics


class TestPerformance:
    async def test_grows_by_the_callers_runs_and_holds_the_tools_that_were_heard(self, lan: httpx.AsyncClient) -> None:
        before = (await lan.get("/performance")).json()
        answer = (await lan.post("/chat", json={"query": f"tính {before['runs'] + 2}+40"})).json()
        after = (await lan.get("/performance")).json()
        assert after["runs"] == before["runs"] + 1
        metrics = PerformanceMetrics.model_validate(after["performance_metrics"])
        assert metrics.tool_usage_stats["math.mcp_sum"].calls >= 1
        task = (await lan.get(f"/tasks/{answer['task_id']}")).json()
        assert task["metadata"]["performance_metrics"]["tool_usage_stats"]["math.mcp_sum"]["calls"] == 1

    async def test_begins_thirty_days_ago_or_when_it_is_told(self, lan: httpx.AsyncClient) -> None:
        later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        told = (await lan.get("/performance", params={"since": later})).json()
        assert told["runs"] == 0
        assert datetime.fromisoformat(told["since"]) == datetime.fromisoformat(later)
        default = datetime.fromisoformat((await lan.get("/performance")).json()["since"])
        assert timedelta(days=29) < datetime.now(UTC) - default < timedelta(days=31)

    async def test_refuses_times_without_a_zone_or_sense(
        self, lan: httpx.AsyncClient, subtests: pytest.Subtests
    ) -> None:
        for since in ["yesterday", "2026-11-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]:
            with subtests.test(ascii(since)[:80]):
                assert (await lan.get("/performance", params={"since": since})).status_code == 422
