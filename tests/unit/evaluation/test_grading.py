"""Grades of answers, sentences that do not belong, superseded values that are told as current."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluation.fact import overlap, split_answer
from app.evaluation.judging import BELONGS, extra_sentences, stale_told
from app.evaluation.question import Expected
from tests.unit.evaluation.runs import events, judged, question

GIVEN = ["answered", "partial", "conflict"]
ROW = "| Trưởng phòng | Hà Nội, TP.HCM | 1.300.000 đồng | 1.000.000 đồng |"
RULE = "Nhân viên chính thức được nghỉ 14 ngày phép năm hưởng nguyên lương, chưa kể ngày lễ và Tết."
OTHER = "Nhân viên thử việc xin nghỉ không lương bằng mẫu NS-06, tối đa 2 ngày trong cả kỳ thử việc."


def expected(**values: Any) -> Expected:
    return Expected.model_validate({"outcome": GIVEN, **values})


class TestSplitting:
    @pytest.mark.parametrize(
        ("answer", "sentences"),
        [
            ("You have 12 days. Ask your manager first.", ["You have 12 days.", "Ask your manager first."]),
            ("Yes. You have 12 days.", ["You have 12 days."]),
            ("14", ["14"]),
            ("Theo “Chính sách nghỉ phép”: Được nghỉ 14 ngày.", ["Được nghỉ 14 ngày."]),
            ("According to “Leave” and “Pay”:\n- Keep 5 days.\n2. Ask HR first.", ["Keep 5 days.", "Ask HR first."]),
            ("**How many days?**\n\nYou have **12 days**.", ["You have 12 days."]),
            ("Các bước như sau:\n- Nộp mẫu NS-06.", ["Nộp mẫu NS-06."]),
            ("| Bậc | Mức |\n|---|---|\n| Trưởng phòng | 900 |", ["| Trưởng phòng | 900 |"]),
            ("Chào bạn Lan! Hi there.\nLàm việc từ 8:30 đến 17:30.", ["Làm việc từ 8:30 đến 17:30."]),
            ("Not found in the documents you may read: the fee.\nChưa tìm thấy trong tài liệu: phí.", []),
            ("", []),
        ],
    )
    def test_leaves_out_what_tells_nothing(self, answer: str, sentences: list[str]) -> None:
        assert list(split_answer(answer).sentences) == sentences

    def test_a_note_reaches_to_the_next_empty_line(self) -> None:
        parts = split_answer("It is 14 days.\n\nNote: “Old” disagrees (12 days).\nPlease check.\n\nKeep 5 days too.")
        assert parts.sentences == ("It is 14 days.", "Keep 5 days too.")
        assert "12 days" in parts.notes and "Please check." in parts.notes
        assert split_answer("Là 14 ngày. Lưu ý: bản cũ ghi 12 ngày.").notes == "bản cũ ghi 12 ngày."


class TestOverlap:
    @pytest.mark.parametrize(
        ("sentence", "passage", "belongs"),
        [
            (RULE, RULE, True),
            ("Được nghỉ 14 ngày phép năm hưởng nguyên lương.", RULE, True),
            (f"Bạn cứ yên tâm, {RULE.lower()}", RULE, True),
            ("Trưởng phòng — Hà Nội, TP.HCM: 1.300.000 đồng; Tỉnh khác: 1.000.000 đồng", ROW, True),
            (OTHER, RULE, False),
            ("Nhân viên chính thức ký biên bản bàn giao trước khi nghỉ việc 30 ngày.", RULE, False),
            ("", RULE, False),
        ],
    )
    def test_tells_quotations_from_others(self, sentence: str, passage: str, belongs: bool) -> None:
        assert (overlap(sentence, passage) >= BELONGS) is belongs

    @given(st.text(max_size=80), st.text(max_size=80))
    def test_is_a_share(self, one: str, other: str) -> None:
        assert 0 <= overlap(one, other) <= 1

    @given(st.lists(st.sampled_from(["leave", "days", "manager", "approves", "form"]), min_size=1, max_size=12))
    def test_of_a_piece_is_1(self, chosen: list[str]) -> None:
        text = " ".join(chosen)
        assert overlap(text, f"{text} and more than that") == 1


class TestExtraSentences:
    def extra(self, answer: str, language: str = "vi", **values: Any) -> list[str]:
        return extra_sentences(split_answer(answer), expected(**values), language)

    def test_are_those_of_no_passage_and_no_fact(self) -> None:
        answer = f"Theo “Chính sách”: {RULE} {OTHER} Phòng Nhân sự trả lời trong 3 ngày làm việc."
        found = self.extra(answer, belongs=[RULE], facts=[["3 ngày làm việc"]])
        assert found == [OTHER]

    def test_a_translation_for_the_asker_is_let_pass(self) -> None:
        answer = f"Full-time employees have fourteen days of leave. {OTHER}"
        assert self.extra(answer, "en", belongs=[RULE]) == [OTHER]
        assert len(self.extra(answer, "vi", belongs=[RULE])) == 2


class TestStale:
    STALE, FACTS = [["12 ngày", "12 days"]], [["14 ngày"]]

    @pytest.mark.parametrize(
        ("answer", "outcome", "told"),
        [
            ("Bạn có 12 ngày phép.", "answered", True),
            ("Bạn có 14 ngày phép. Bạn có 12 ngày phép.", "answered", True),
            ("Bạn có 14 ngày phép.", "answered", False),
            ("Bạn có 112 ngày phép.", "answered", False),
            ("Bạn có 12 ngày phép.", "conflict", False),
            ("Bạn có 14 ngày phép.\n\nLưu ý: “Bản cũ” nói khác (12 ngày).", "answered", False),
            ("Bạn có 12 ngày phép.\n\nNote: “New” says otherwise (14 days), not 12 days.", "answered", False),
        ],
    )
    def test_is_a_value_told_without_a_note(self, answer: str, outcome: str, told: bool) -> None:
        wanted = expected(stale=self.STALE, facts=self.FACTS)
        assert bool(stale_told(split_answer(answer), outcome, wanted)) is told

    def test_a_passage_that_names_what_it_replaces_may_be_quoted(self) -> None:
        passage = "Từ năm 2026 số ngày phép tăng từ 12 ngày lên 14 ngày cho mọi nhân viên."
        wanted = expected(stale=self.STALE, facts=self.FACTS, belongs=[passage])
        assert not stale_told(split_answer(passage), "answered", wanted)

    def test_a_part_of_a_fact_is_not_stale(self) -> None:
        wanted = expected(stale=[["5 days"]], facts=[["1.5 days and 5 days"]])
        assert not stale_told(split_answer("It is 1.5 days and 5 days."), "answered", wanted)


class TestGrades:
    FACTS = [["12 days"], ["manager"]]

    @pytest.mark.parametrize(
        ("wanted", "answer", "outcome", "grade"),
        [
            ({"facts": FACTS}, "12 days, says the manager.", "answered", "right"),
            ({"facts": FACTS}, "12 days, says the manager.", "partial", "right"),
            ({"facts": FACTS, "outcome": "answered"}, "12 days, says the manager.", "conflict", "partly"),
            ({"facts": FACTS, "stale": [["9 days"]]}, "12 days, or 9 days; the manager.", "answered", "partly"),
            ({"facts": FACTS}, "12 days.", "answered", "partly"),
            ({"facts": FACTS}, "Thirty of them.", "answered", "wrong_answered"),
            ({"facts": FACTS}, "Thirty of them.", "partial", "wrong_hedged"),
            ({"facts": FACTS}, "Nothing found.", "not_found", "wrongly_refused"),
            ({"facts": FACTS}, "No.", "refused", "wrongly_refused"),
            ({"facts": FACTS}, "12 days, says the manager.", "failed", "failed"),
            ({"outcome": "not_found"}, "Nothing found.", "not_found", "rightly_refused"),
            ({"outcome": "not_found"}, "12 days.", "answered", "wrong_answered"),
            ({"outcome": "not_found"}, "12 days.", "conflict", "wrong_hedged"),
            ({"outcome": GIVEN, "dates": ["2026-03-31"]}, "Until 31/03.", "answered", "right"),
            ({"evidence": ["leave"], "outcome": GIVEN}, "As written.", "answered", "right"),
            ({"evidence": ["salary"], "outcome": GIVEN}, "As written.", "answered", "wrong_answered"),
            ({"must_not_contain": ["secret"]}, "As written.", "answered", None),
        ],
    )
    def test_of_an_answer(self, wanted: dict[str, Any], answer: str, outcome: str, grade: str | None) -> None:
        values = {"outcome": GIVEN, **wanted} if "facts" in wanted else wanted
        verdict = judged(question(expected=values), events(answer, outcome=outcome))
        assert verdict.grade == grade
        assert verdict.measures.get("wrong_answered") == (None if grade is None else (grade == "wrong_answered", 1))

    def test_what_waits_for_review_has_none(self) -> None:
        verdict = judged(question(to_review=True), events())
        assert verdict.grade is None and not verdict.measures

    def test_a_stale_value_is_a_fault(self) -> None:
        verdict = judged(question(expected={"facts": ["12 days"], "stale": ["9 days"]}), events("12 days, not 9 days."))
        assert [fault.check for fault in verdict.faults] == ["stale"] and not verdict.right
        assert verdict.measures["stale"] == (1, 1)
