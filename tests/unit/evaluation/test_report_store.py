"""Evaluations that are kept: whole or not at all, a bounded number, and what of them an administrator sees."""

import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.domain.oversight import RUN_ID
from app.evaluation.report import Report
from app.evaluation.report_store import REPORT_NAME, ReportStore
from tests.factories import principal
from tests.unit.evaluation.runs import NOON, events, report

GOOD, BAD = events(), events("You have 14 days, says SECRET.")
ADMIN = principal(user="admin", department="hr", roles=("admin",))
GLOBEX = principal("globex", "admin", department="hr", roles=("admin",))


def asked_by(*askers: Any) -> Report:
    """A run with a wrong question of each asker, named after its place."""
    found = report(*(BAD for _ in askers))
    told = [
        one.model_copy(
            update={"question": type(one.question).model_validate({**one.question.model_dump(), "asker": asker})}
        )
        for one, asker in zip(found.asked, askers, strict=True)
    ]
    return found.model_copy(update={"asked": tuple(told)})


class TestKeeping:
    def test_writes_report_and_figures_for_their_owner_alone(self, tmp_path: Path) -> None:
        found = report(GOOD, BAD)
        kept = ReportStore(tmp_path / "evaluations").keep(found)
        assert RUN_ID.fullmatch(kept.name) and kept.name.startswith("20261121T120000Z-")
        assert Report.model_validate_json((kept / REPORT_NAME).read_bytes()) == found
        for path in (kept, *kept.iterdir()):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0

    async def test_keeps_the_newest_and_lets_the_oldest_go(self, tmp_path: Path) -> None:
        store = ReportStore(tmp_path, most=3)
        told = report(GOOD)
        names = [store.keep(told.model_copy(update={"made_at": NOON + timedelta(hours=n)})).name for n in range(5)]
        assert [one.run_id for one in await store.runs(ADMIN)] == names[:1:-1]

    async def test_an_empty_store_and_half_a_run_are_no_runs(self, tmp_path: Path) -> None:
        assert await ReportStore(tmp_path / "nothing").runs(ADMIN) == []
        (tmp_path / ".20261121T120000Z-aaaaaa").mkdir()
        (tmp_path / "20261121T120000Z-bbbbbb").mkdir()
        (tmp_path / "notes").mkdir()
        assert await ReportStore(tmp_path).runs(ADMIN) == []


class TestSeeing:
    async def test_figures_of_runs_about_the_own_company_and_nobodys_documents(self, tmp_path: Path) -> None:
        store = ReportStore(tmp_path)
        runs = {
            "acme": asked_by("acme/lan"), "both": asked_by("acme/lan", "globex/jane"),
            "globex": asked_by("globex/jane"), "own": asked_by({"scopes": ["public"]}),
        }  # fmt: skip
        ids = {name: store.keep(told).name for name, told in runs.items()}
        assert {one.run_id for one in await store.runs(ADMIN)} == {ids[name] for name in ("acme", "both", "own")}
        assert {one.run_id for one in await store.runs(GLOBEX)} == {ids[name] for name in ("globex", "both", "own")}
