"""Asking a house GAIA questions: as whom, with which file, what is kept, and nothing left behind."""

from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError
from extras.gaia.kept import kept_answers, submission_lines
from extras.gaia.question import GaiaSet
from extras.gaia.report import GaiaAnswer
from extras.gaia.running import GaiaRun
from tests.extras.gaia.runs import PaperDeepHouse, asked_set, events, question, report
from tests.factories import principal


def silent(done: int, of: int, title: str) -> None:
    pass


async def run(house: PaperDeepHouse, asked: GaiaSet) -> list[GaiaAnswer]:
    kept: list[GaiaAnswer] = []
    one = GaiaRun(house, asked, asker="acme/lan")
    await one.prepare()
    answers = await one.run(2, silent, kept.append)
    assert sorted(kept, key=lambda found: found.task_id) == sorted(answers, key=lambda found: found.task_id)
    assert house.left == set()
    return answers


class TestGaiaRun:
    async def test_asks_as_the_asker_under_a_user_of_its_own(self) -> None:
        house = PaperDeepHouse({"How many?": events()})
        [one] = await run(house, asked_set(question()))
        assert (one.right, one.answer, one.steps, one.tool_calls, one.mode) == (True, "17", 3, 1, "deep")
        assert one.trace[2] == "3. critic#1 rejected: note <b>vague</b>" and one.reasoning == "8 + 9 = 17"
        [(asker, _, mode)] = house.asked
        lan = principal()
        assert asker.user_id != lan.user_id and asker.model_copy(update={"user_id": lan.user_id}) == lan
        assert mode == "deep"

    async def test_the_file_is_attached(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_bytes(b"a,b")
        house = PaperDeepHouse({"How many?": events()})
        [one] = await run(house, asked_set(question(file_name="a.csv"), files=tmp_path))
        assert one.right and house.read == [("a.csv", b"a,b")]

    async def test_failures_are_wrong_and_told(self, tmp_path: Path) -> None:
        (tmp_path / "big.csv").write_bytes(bytes(101))
        asked = asked_set(
            question(task_id="a", Question="Away?"), question(task_id="b", file_name="big.csv"),
            question(task_id="c", Question="Open?", **{"Final answer": "?"}), files=tmp_path,
        )  # fmt: skip
        house = PaperDeepHouse({"How many?": events(), "Open?": events("maybe")})
        away, big, unknown = await run(house, asked)
        assert (away.right, away.error) == (False, "LLM_UNAVAILABLE: No model answers.")
        assert big.right is False and "big.csv: has more than 100 bytes" in big.error
        assert unknown.right is None and unknown.answer == "maybe"

    async def test_a_fallback_answer_is_no_answer(self) -> None:
        failed: dict[str, Any] = {
            "error": True,
            "error_code": "RUN_DEADLINE_EXCEEDED",
            "error_message": "late",
            "fallback_answer": "17",
        }
        [one] = await run(PaperDeepHouse({"How many?": events(**failed)}), asked_set(question()))
        assert (one.right, one.answer, one.error) == (False, "", "RUN_DEADLINE_EXCEEDED: late")

    async def test_unknown_askers_are_refused_before_anything_is_asked(self) -> None:
        house = PaperDeepHouse({})
        with pytest.raises(AppError, match="mine: There is no user 'acme/nobody'"):
            await run(house, asked_set(question(asker="acme/nobody")))
        assert house.asked == []


class TestKeptAnswers:
    def test_are_taken_up_again_where_they_hold(self, tmp_path: Path) -> None:
        asked = [question(task_id=name) for name in "abcd"]
        done = report((asked[0], events()), (asked[1], events(error=True)), (asked[2], events("18"))).answers
        path = tmp_path / "answers.jsonl"
        path.write_text("".join(one.model_dump_json() + "\n" for one in done) + '{"task_id": "d", "lev', "utf-8")
        changed = question(task_id="c", **{"Final answer": "18"})
        found = kept_answers(path, [asked[0], asked[1], changed, asked[3]], "deep")
        assert {name: one.right for name, one in found.items()} == {"a": True, "c": True}
        assert kept_answers(path, [question(task_id="a", Question="Another?")], "deep") == {}
        assert kept_answers(path, asked, "auto") == {} == kept_answers(tmp_path / "none", asked, "deep")

    def test_a_submission_has_what_the_leaderboard_reads(self) -> None:
        line = submission_lines(report((question(), events("17 <é>"))).answers)
        assert line == '{"task_id": "q", "model_answer": "17 <é>", "reasoning_trace": "8 + 9 = 17"}\n'
