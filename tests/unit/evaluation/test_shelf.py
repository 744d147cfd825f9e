"""Evaluations that are kept: whole or not at all, a bounded number, and what of them an administrator sees."""

import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.domain.evaluations import RUN_ID
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.evaluation.page import report_page, style_sheet
from app.evaluation.report import Report
from app.evaluation.shelf import PAGE_NAME, REPORT_NAME, Shelf, Viewer, shown_to, tenants_in
from tests.factories import principal
from tests.unit.evaluation.runs import NOON, events, report

GOOD, BAD = events(), events("You have 14 days, says SECRET.")
ADMIN = principal(user="admin", department="hr", roles=("admin",))
LAN = principal()
GLOBEX = principal("globex", "admin", department="hr", roles=("admin",))
PEOPLE = {"lan": LAN}


def viewer(admin: Principal = ADMIN, **people: Principal) -> Viewer:
    return Viewer(admin, people or PEOPLE)


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
    def test_writes_report_page_and_figures_for_their_owner_alone(self, tmp_path: Path) -> None:
        found = report(GOOD, BAD)
        kept = Shelf(tmp_path / "evaluations").keep(found)
        assert RUN_ID.fullmatch(kept.name) and kept.name.startswith("20261121T120000Z-")
        assert Report.model_validate_json((kept / REPORT_NAME).read_bytes()) == found
        assert (kept / PAGE_NAME).read_text("utf-8") == report_page(found)
        for path in (kept, *kept.iterdir()):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0

    async def test_keeps_the_newest_and_lets_the_oldest_go(self, tmp_path: Path) -> None:
        shelf = Shelf(tmp_path, most=3)
        told = report(GOOD)
        names = [shelf.keep(told.model_copy(update={"made_at": NOON + timedelta(hours=n)})).name for n in range(5)]
        assert [one.run_id for one in await shelf.runs(ADMIN)] == names[:1:-1]

    async def test_an_empty_shelf_and_half_a_run_are_no_runs(self, tmp_path: Path) -> None:
        assert await Shelf(tmp_path / "nothing").runs(ADMIN) == []
        (tmp_path / ".20261121T120000Z-aaaaaa").mkdir()
        (tmp_path / "20261121T120000Z-bbbbbb").mkdir()
        (tmp_path / "notes").mkdir()
        assert await Shelf(tmp_path).runs(ADMIN) == []

    def test_the_hash_is_that_of_the_style_in_the_page(self, tmp_path: Path) -> None:
        assert f"<style>{style_sheet()}</style>" in report_page(report(GOOD))
        assert Shelf(tmp_path).page_style_hash.startswith("sha256-")


class TestSeeing:
    async def test_figures_of_runs_about_the_own_company_and_nobodys_documents(self, tmp_path: Path) -> None:
        shelf = Shelf(tmp_path)
        runs = {
            "acme": asked_by("acme/lan"), "both": asked_by("acme/lan", "globex/jane"),
            "globex": asked_by("globex/jane"), "own": asked_by({"scopes": ["public"]}),
        }  # fmt: skip
        ids = {name: shelf.keep(told).name for name, told in runs.items()}
        assert tenants_in(runs["both"]) == ("acme", "globex") and tenants_in(runs["own"]) == ()
        assert {one.run_id for one in await shelf.runs(ADMIN)} == {ids[name] for name in ("acme", "both", "own")}
        assert {one.run_id for one in await shelf.runs(GLOBEX)} == {ids[name] for name in ("globex", "both", "own")}
        for run_id in (ids["globex"], "20261121T120000Z-000000", "../20261121T120000Z-000000", ids["acme"] + "/.."):
            with pytest.raises(AppError) as refused:
                await shelf.page(viewer(), run_id)
            assert refused.value.code is ErrorCode.NOT_FOUND
        for before, run_id in ((ids["globex"], ids["acme"]), (ids["acme"], ids["globex"])):
            with pytest.raises(AppError) as refused:
                await shelf.page(viewer(), run_id, before)
            assert refused.value.code is ErrorCode.NOT_FOUND

    @pytest.mark.parametrize(
        ("asker", "is_shown"),
        [
            ("acme/lan", True), ("acme/minh", False), ("acme/gone", False), ("globex/lan", False),
            ({"tenant": "acme", "scopes": ["public"]}, False),
            ({"tenant": "acme", "department": "hr", "scopes": ["private"]}, True),
            ({"tenant": "acme", "department": "it", "scopes": ["public"]}, False), ({"scopes": ["public"]}, False),
        ],
    )  # fmt: skip
    def test_questions_of_the_own_company_within_the_own_rights(self, asker: Any, is_shown: bool) -> None:
        people = {"lan": LAN, "minh": principal(user="minh", department="it")}
        shown = shown_to(Viewer(ADMIN, people), asked_by(asker))
        assert bool(shown.asked) == is_shown
        narrow = principal(user="admin", department="hr", scopes=(), roles=("admin",))
        assert shown_to(Viewer(narrow, people), asked_by(asker)).asked == ()

    async def test_the_page_tells_what_it_leaves_out(self, tmp_path: Path) -> None:
        shelf = Shelf(tmp_path)
        run_id = shelf.keep(asked_by("acme/lan", "globex/jane", "globex/jane")).name
        page = await shelf.page(viewer(), run_id)
        assert page.count("says SECRET") and "2 questions are left out here" in page
        nobody = await shelf.page(viewer(minh=LAN), run_id)
        assert "SECRET" not in nobody and "3 questions are left out here" in nobody

    async def test_a_comparison_moves_no_question_of_others_into_sight(self, tmp_path: Path) -> None:
        shelf = Shelf(tmp_path)
        worse = asked_by("acme/lan", "globex/jane")
        better = worse.model_copy(
            update={"asked": tuple(one.model_copy(update={"right": True}) for one in worse.asked)}
        )
        ids = [shelf.keep(one).name for one in (worse, better)]
        page = await shelf.page(viewer(), ids[1], ids[0])
        assert "mine/q0" in page and "mine/q1" not in page
        none = shelf.keep(
            worse.model_copy(update={"asked": (worse.asked[0].model_copy(update={"dataset": "x"}),)})
        ).name
        with pytest.raises(AppError, match="share no question"):
            await shelf.page(viewer(), none, ids[0])
