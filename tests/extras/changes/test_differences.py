"""Two versions of a text laid side by side, and which of their differences are told."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.changes.differences import Comparison, compared, statements_of
from extras.changes.telling import focus_of, selected

SEED = Path(__file__).parents[3] / "seed_data"
OLD = """# Chính sách nghỉ phép 2024

Ban hành ngày 12/12/2023.

## Điều 1. Số ngày phép

Nhân viên chính thức được nghỉ 12 ngày phép năm. Phép được tính theo tháng.

| Thâm niên | Số ngày |
|---|---|
| Dưới 5 năm | 12 ngày |

## Điều 2. Chuyển phép

Ngày phép chưa dùng được chuyển sang năm sau, tối đa 3 ngày.

## Điều 3. Đơn

Đơn giấy NS-05 nộp tại tầng 10.
"""
NEW = """# Chính sách nghỉ phép 2026

Có hiệu lực từ 01/01/2026, thay thế chính sách 2024.

## Điều 1. Số ngày phép

Nhân viên chính thức được nghỉ 14 ngày phép năm. Phép được tính theo tháng.

| Thâm niên | Số ngày |
|---|---|
| Dưới 3 năm | 14 ngày |

## Điều 2. Chuyển phép

Ngày phép chưa dùng không được chuyển sang năm sau.

## Điều 3. Nghỉ nửa ngày

Được nghỉ nửa ngày khi báo trước hai giờ làm việc.
"""


def told(comparison: Comparison) -> list[tuple[str, str, str]]:
    return [
        (one.kind, one.old.text if one.old else "", one.new.text if one.new else "") for one in comparison.differences
    ]


class TestCompared:
    def test_pairs_what_took_the_place_of_what(self) -> None:
        assert told(compared(OLD, NEW, "vi")) == [
            (
                "value",
                "Nhân viên chính thức được nghỉ 12 ngày phép năm.",
                "Nhân viên chính thức được nghỉ 14 ngày phép năm.",
            ),
            ("value", "Dưới 5 năm: 12 ngày", "Dưới 3 năm: 14 ngày"),
            (
                "value",
                "Ngày phép chưa dùng được chuyển sang năm sau, tối đa 3 ngày.",
                "Ngày phép chưa dùng không được chuyển sang năm sau.",
            ),
            ("added", "", "Được nghỉ nửa ngày khi báo trước hai giờ làm việc."),
            ("removed", "Đơn giấy NS-05 nộp tại tầng 10.", ""),
        ]

    def test_knows_what_both_say(self) -> None:
        assert [one.text for one in compared(OLD, NEW, "vi").kept] == ["Phép được tính theo tháng."]

    def test_layout_and_headings_are_no_difference(self) -> None:
        other = OLD.replace("Điều 2. ", "Mục II. ").replace("Nhân viên chính thức", "-  Nhân  viên chính thức")
        assert compared(OLD, other, "vi").differences == ()

    def test_in_english(self) -> None:
        [one] = compared(
            "## Carry-over\n\nUp to 3 days may be carried over.", "## Carry-over\n\nUp to 5 days may be carried over."
        ).differences
        assert one.kind == "value"

    def test_other_words_for_the_same_are_no_changed_value(self) -> None:
        [one] = compared(
            "Agree dates with your project lead.", "Agree the dates with your project lead, please."
        ).differences
        assert one.kind == "wording"

    @pytest.mark.parametrize("name", ["acme/hr/annual-leave", "globex/hr/annual-leave"])
    def test_finds_the_allowance_that_changed_in_the_demo_policies(self, name: str) -> None:
        old, new = ((SEED / f"{name}-{year}.md").read_text("utf-8").split("---\n", 2)[2] for year in ("2024", "2026"))
        pairs = {(one[1], one[2]) for one in told(compared(old, new)) if one[0] == "value"}
        days = {"acme": ("12 ngày phép", "14 ngày phép"), "globex": ("25 days of paid", "27 days of paid")}
        before, now = days[name.partition("/")[0]]
        assert any(before in one and now in other for one, other in pairs)

    @given(st.text(alphabet="ab 1234.\n#|-–đ:;", max_size=200), st.text(alphabet="ab 1234.\n#|-–đ:;", max_size=200))
    def test_any_text_may_come(self, old: str, new: str) -> None:
        found = compared(old, new)
        for statement in [side for one in found.differences for side in (one.old, one.new) if side]:
            assert statement.literal in old or statement.literal in new
        assert compared(new, new).differences == ()


class TestStatements:
    def test_stand_literally_in_the_text_under_their_headings(self) -> None:
        found = statements_of(NEW, "vi")
        assert all(one.literal in NEW for one in found)
        assert [one.heading for one in found] == [*(["Số ngày phép"] * 3), "Chuyển phép", "Nghỉ nửa ngày"]

    def test_what_a_document_says_of_itself_and_examples_are_none(self) -> None:
        text = (
            "# A\n\nCó hiệu lực từ 01/01/2026.\n\n## B\n\nMức là 5 ngày phép. Ví dụ: chị Hà có 3 ngày. Chị nghỉ 2 ngày."
        )
        assert [one.text for one in statements_of(text)] == ["Mức là 5 ngày phép."]


class TestSelected:
    def test_only_what_bears_on_the_part_that_is_asked_about(self) -> None:
        focus = focus_of("mức chuyển phép", ["Chính sách nghỉ phép 2024", "Chính sách nghỉ phép 2026"])
        found = selected(compared(OLD, NEW, "vi"), focus)
        assert [one.new.text for one in found.told if one.new] == [
            "Ngày phép chưa dùng không được chuyển sang năm sau."
        ]
        assert found.left_out == 4

    def test_everything_where_the_whole_is_asked_about(self) -> None:
        assert focus_of("quy định nghỉ phép", ["Chính sách nghỉ phép 2026"]) == frozenset()
        assert len(selected(compared(OLD, NEW, "vi"), frozenset()).told) == 5

    def test_everything_where_nothing_bears_on_it(self) -> None:
        assert len(selected(compared(OLD, NEW, "vi"), frozenset({"luong"})).told) == 5

    def test_a_part_that_stayed_is_told_as_such(self) -> None:
        found = selected(compared(OLD, NEW, "vi"), frozenset({"tinh", "thang"}))
        assert (found.told, found.unchanged and found.unchanged.text) == ((), "Phép được tính theo tháng.")

    def test_a_long_list_is_cut_and_counted(self) -> None:
        old = "\n\n".join(f"## M{at}\n\nMức hỗ trợ loại {chr(97 + at)} là {at + 1} ngày." for at in range(26))
        new = old.replace(" ngày.", " tuần.").replace("là 1", "là 7")
        found = selected(compared(old, new, "vi"), frozenset())
        assert len(found.told) == 10
        assert found.left_out == 16
