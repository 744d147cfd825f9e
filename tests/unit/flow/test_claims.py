from typing import Any

import pytest

from app.domain.knowledge import Quote
from app.flow.claims import disagreements
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
        counterpart = Quote(passage=beside, text=beside.text, score=0.9, differs=differs)
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
