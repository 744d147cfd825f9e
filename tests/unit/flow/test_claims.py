from datetime import date
from typing import Any

import pytest

from app.domain.conflicts import Known
from app.domain.health import Verdict
from app.domain.knowledge import Quote
from app.flow.claims import Disagreement, disagreements
from app.flow.resolve import verdicts_on
from app.flow.state import FlowLimits
from tests.factories import finding, passage


def count(one: str, other: str, **changes: Any) -> int:
    both = finding(passage(one, document="a"), passage(other, document=changes.pop("document", "b"), **changes))
    return len(disagreements((both,)))


class TestDisagreements:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Nhân viên được nghỉ 14 ngày phép năm.", "Nhân viên chính thức được nghỉ 12 ngày phép năm."),
            ("Mật khẩu có ít nhất 12 ký tự.", "Mật khẩu phải dài ít nhất 8 ký tự."),
            ("Công tác phí trong nước là 400.000 đồng mỗi ngày.", "Mức công tác phí trong nước: 350.000 đồng/ngày."),
            ("Giờ làm việc bắt đầu lúc 8:30.", "Giờ làm việc bắt đầu từ 8h00 sáng."),
            ("Staff get 27 days of annual leave.", "Permanent staff get 25 days of annual leave."),
            ("The daily meal allowance is £35.", "Daily meal allowance: £30 per person."),
            ("Lương trả vào ngày 5 hằng tháng.", "Lương được trả vào ngày 10 hằng tháng."),
            ("| Nghỉ phép năm | 14 ngày |", "Số ngày nghỉ phép năm: 12 ngày."),
            ("Thưởng giới thiệu là 5 triệu đồng.", "Thưởng giới thiệu: 3.000.000 đồng."),
        ],
    )
    def test_different_amounts_of_the_same_thing_disagree(self, one: str, other: str) -> None:
        assert count(one, other) == 1

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Nhân viên được nghỉ 14 ngày phép năm.", "Nhân viên được nghỉ 14 ngày phép năm từ 2026."),
            ("Nhân viên được nghỉ 14 ngày phép năm.", "Báo trước khi thôi việc 30 ngày."),
            ("Thưởng giới thiệu là 3 triệu đồng.", "Thưởng giới thiệu: 3.000.000 đồng."),
            ("Mật khẩu có ít nhất 12 ký tự.", "Mật khẩu đổi sau 180 ngày."),
            ("Có hiệu lực từ ngày 5/3/2026.", "Có hiệu lực từ ngày 10 hằng tháng."),
            ("Trang 12 của sổ tay nhân viên.", "Trang 14 của sổ tay nhân viên."),
        ],
    )
    def test_equal_amounts_or_other_subjects_do_not(self, one: str, other: str) -> None:
        assert count(one, other) == 0

    def test_one_document_does_not_disagree_with_itself(self) -> None:
        assert count("Nhân viên được nghỉ 14 ngày phép.", "Nhân viên được nghỉ 12 ngày phép.", document="a") == 0

    def test_findings_of_different_agents_are_compared(self) -> None:
        one = finding(passage("Công tác phí là 400.000 đồng mỗi ngày.", document="a"), agent="hr")
        other = finding(passage("Công tác phí là 350.000 đồng mỗi ngày.", document="b"), agent="general")
        assert len(disagreements((one, other))) == 1


class TestJudgedCounterparts:
    """A counterpart that the reader took for another value is a disagreement whatever its words."""

    def sides(self, one: str, other: str, *, differs: bool = True, **changes: Any) -> set[str]:
        answer, beside = passage(one, document="a"), passage(other, document="b", **changes)
        against = Quote(passage=answer, text=answer.text, score=0.9) if differs else None
        counterpart = Quote(passage=beside, text=beside.text, score=0.9, against=against)
        both = finding(answer).model_copy(update={"counterparts": (counterpart,)})
        return {side.sentence for found in disagreements((both,)) for side in (found.one, found.other)}

    def test_only_what_was_read_as_another_value_counts(self) -> None:
        one, other = "Đi muộn không bị trừ tiền.", "Phạt theo bậc."
        assert self.sides(one, other, differs=True) == {one, other}
        assert not self.sides(one, other, differs=False)

    def test_versions_of_one_page_are_left_to_the_rules(self) -> None:
        one, other = "Văn phòng Hà Nội có bếp chung rộng rãi.", "Văn phòng Hà Nội có bếp chung yên tĩnh."
        assert self.sides(one, other) == {one, other}
        assert not self.sides(one, other, title="a")

    def test_rules_for_other_people_both_hold(self) -> None:
        assert not self.sides("Full-time staff are paid monthly.", "Part-time staff: weekly pay.")


class TestUntoldCounterparts:
    """A counterpart that differs from what the answer's document says elsewhere is a disagreement nobody told."""

    TOLD, ELSE, BESIDE = "Đi muộn làm lệch kế hoạch nhóm.", "Mỗi lần muộn trừ phụ cấp.", "Không ai bị trừ gì khi muộn."

    def found(self, *known: Known, document: str = "a", **changes: Any) -> list[Disagreement]:
        here, there = passage(self.ELSE, document=document), passage(self.BESIDE, document="b", **changes)
        against = Quote(passage=here, text=here.text, score=0)
        counterpart = Quote(passage=there, text=there.text, score=0.2, against=against)
        both = finding(passage(self.TOLD, document="a")).model_copy(update={"counterparts": (counterpart,)})
        return disagreements((both,), known)

    def test_stand_against_what_the_document_says_there(self) -> None:
        [found] = self.found()
        assert (found.one.sentence, found.other.sentence, found.is_told) == (self.ELSE, self.BESIDE, False)

    def test_say_nothing_against_another_document_nor_a_version_of_the_page(self) -> None:
        assert not self.found(document="c")
        assert not self.found(title="a")

    def test_are_told_only_where_the_answers_document_holds(self) -> None:
        [told] = verdicts_on(self.found(scope="public"), FlowLimits(), {"general"})
        assert told.decided and told.winner.sentence == self.ELSE
        for day in (date(2026, 1, 1), date(2026, 11, 10)):
            assert verdicts_on(self.found(effective_from=day), FlowLimits(), {"general"}) == []

    @pytest.mark.parametrize(("verdict", "count"), [(None, 1), ("no_contradiction", 0), ("different_cases", 0)])
    def test_are_left_alone_where_a_person_said_so(self, verdict: Verdict | None, count: int) -> None:
        here, there = passage(self.ELSE, document="a"), passage(self.BESIDE, document="b")
        ruling = Known(
            chunk_id=here.chunk_id, sentence=self.ELSE, other=there, other_sentence=self.BESIDE, verdict=verdict,
            holds=None, decided_on=verdict and date(2026, 11, 2),
        )  # fmt: skip
        assert len(self.found(ruling)) == count
