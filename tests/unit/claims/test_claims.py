from decimal import Decimal
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from app.claims import Claim, claims_in, likeness, subject_words
from app.text.amounts import amounts_in


def amounts(text: str) -> list[tuple[str, Decimal, str]]:
    return [(found.unit, found.value, text[found.start : found.end]) for found in amounts_in(text)]


def only(text: str, section: str = "") -> Claim:
    [claim] = claims_in(text, section)
    return claim


class TestAmounts:
    def test_are_read_in_both_languages(self) -> None:
        rows: list[tuple[str, str, str, str]] = [
            ("Nhân viên được nghỉ 14 ngày phép năm.", "day", "14", "14 ngày"),
            ("nghi 14 ngay phep", "day", "14", "14 ngay"),
            ("within two business days", "day", "2", "two business days"),
            ("phạt 50.000 đồng mỗi lần", "VND", "50000", "50.000 đồng"),
            ("thưởng 5 triệu đồng", "VND", "5000000", "5 triệu đồng"),
            ("thưởng 3 triệu", "VND", "3000000", "3 triệu"),
            ("£1,200.50 a year", "GBP", "1200.5", "£1,200.50"),
            ("about $3 million", "USD", "3000000", "$3 million"),
            ("giảm 30% lương", "percent", "30", "30%"),
            ("25 percent of pay", "percent", "25", "25 percent"),
            ("12,5 phần trăm", "percent", "12.5", "12,5 phần trăm"),
            ("ít nhất 12 ký tự", "character", "12", "12 ký tự"),
            ("bắt đầu lúc 8:30", "clock", "510", "8:30"),
            ("từ 17h05", "clock", "1025", "17h05"),
            ("trả vào ngày 5 hằng tháng", "day of the month", "5", "ngày 5"),
            ("trước ngày 31/03", "day of the year", "331", "31/03"),
            ("ngày 2 tháng 9", "day of the year", "902", "ngày 2 tháng 9"),
            ("by 5 June", "day of the year", "605", "5 June"),
            ("on 31 January 2027", "date", "20270131", "31 January 2027"),
            ("on May 5, 2026", "date", "20260505", "May 5, 2026"),
            ("ngày 15/12/2026", "date", "20261215", "15/12/2026"),
            ("on 2026-12-15", "date", "20261215", "2026-12-15"),
            ("a 180-day limit", "day", "180", "180-day"),
        ]
        for text, unit, value, written in rows:
            assert amounts(text) == [(unit, Decimal(value), written)]

    def test_of_a_range_are_both_ends(self) -> None:
        assert [value for _, value, _ in amounts("nghỉ từ 3 đến 5 ngày")] == [3, 5]

    def test_leave_out_what_counts_nothing(self) -> None:
        rows: list[str] = [
            "tháng 6 năm 2026", "Quyết định số 68/2025/QĐ-TGĐ", "hoạt động 24/7", "mẫu NS-05",
            "năm 2026 người lao động", "Điều 5 ngày nghỉ", "tầng 10 giờ mở cửa", "you may 12 times", "ngày 45/13/2026",
            "trang 12 của sổ tay",
        ]  # fmt: skip
        for text in rows:
            assert [found for found in amounts(text) if found[0] not in ("time",)] == []

    @given(st.text(alphabet="0123456789.,-/: đồngày%£hourstháMay", max_size=200))
    def test_never_fail_and_lie_where_they_say(self, text: str) -> None:
        for found in amounts_in(text):
            assert 0 <= found.start < found.end <= len(text)
            assert found.value >= 0

    def test_of_a_long_row_of_digits_are_read_at_once(self) -> None:
        assert amounts("1" * 100_000 + " ngày") == []
        assert amounts("1.111" * 50_000 + " ngày") == []


class TestClaims:
    def test_say_what_a_cell_of_a_table_is_about(self) -> None:
        table = "Thời hạn báo trước:\n\n| Số ngày nghỉ | Báo trước |\n|---|---|\n| Trên 5 ngày | 15 ngày làm việc |"
        claim = only(table)
        assert (claim.sentence, claim.amounts) == ("Trên 5 ngày: 15 ngày làm việc", ("15 ngày",))
        assert claim.conditions == {"day": frozenset({Decimal(5)})}
        assert {"bao", "truoc", "han"} <= claim.subject

    def test_stand_under_the_question_they_answer(self) -> None:
        claim = only("Bao lâu phải đổi mật khẩu một lần?\n\nSau 90 ngày.")
        assert {"doi", "mat", "khau"} <= claim.subject

    def test_are_about_their_own_clause(self) -> None:
        claim = only("Nhân viên chính thức có 12 ngày phép năm, hiển thị ở góc phải màn hình ngay khi đăng nhập.")
        assert "man" not in subject_words(claim.clause)
        assert "man" in claim.subject

    def test_leave_out_examples_calculations_and_dates_of_the_document(self) -> None:
        rows: list[str] = [
            "Ví dụ: chị Hạnh nghỉ 9 ngày. Sau đó chị còn 5 ngày.",
            "For example, a person with 27 days keeps 5 days.",
            "Tiền phép = 15.000.000 đồng × 2 ngày",
            "Ban hành theo Quyết định số 68/2025/QĐ-TGĐ ngày 10/12/2025.",
            "This page was updated on 5 June 2026.",
        ]
        for text in rows:
            assert claims_in(text) == []

    def test_exclude_each_other_when_no_amount_is_common(self) -> None:
        rows: list[tuple[str, str]] = [
            ("Nhân viên được nghỉ 12 ngày phép.", "Nhân viên được nghỉ 14 ngày phép."),
            ("Nhân viên được nghỉ 12 ngày phép.", "Employees get 14 days of leave."),
            ("Giảm 30% thưởng.", "The bonus is cut by 25 percent."),
            ("Nộp trước ngày 31/03.", "Submit it by 31 January."),
            ("Hạn chót là ngày 15/12/2026.", "Hạn chót là ngày 20/12/2026."),
            ("Làm từ xa tối đa 2 ngày một tuần.", "Làm từ xa tối đa 3 ngày một tuần."),
        ]
        for one, other in rows:
            assert only(one).excludes(only(other))
            assert only(other).excludes(only(one))

    def test_do_not_when_they_agree_or_speak_of_different_cases(self) -> None:
        rows: list[tuple[str, str]] = [
            ("Nhân viên được nghỉ 12 ngày phép.", "Employees get 12 days of leave."),
            ("Nghỉ 3 đến 5 ngày.", "Nghỉ 5 ngày."),
            ("Mật khẩu dài ít nhất 12 ký tự.", "Mật khẩu dài tối đa 64 ký tự."),
            ("Được 1 ngày phép mỗi tháng.", "Được 14 ngày phép mỗi năm."),
            ("Quỹ lương năm 2027 tăng 8%.", "Quỹ lương năm 2026 tăng 7%."),
            ("Phạt £35 mỗi lần.", "Phạt 500.000 đồng mỗi lần."),
            ("| Dưới 3 năm | 14 ngày |", "| Từ 6 năm | 16 ngày |"),
            ("| Trọng số | 40% | 12% |", "Trọng số là 40%."),
        ]
        for one, other in rows:
            assert not any(a.excludes(b) for a, b in product(claims_in(one), claims_in(other)))

    @given(st.text(max_size=200) | st.text(alphabet="0123456789 |-:?.,\nngàyđồng%/£xhvi", max_size=200))
    def test_of_any_text_do_not_exclude_themselves(self, text: str) -> None:
        assert not any(claim.excludes(claim) for claim in claims_in(text))

    def test_of_a_long_line_are_read_without_trying_everything(self) -> None:
        rows: list[str] = ["-", "| - ", "a", "a@", "12 ngày, ", "=", "1h00 ", "(", "3 đến ", "/ngày", "|", "\n5 giờ"]
        for piece in rows:
            assert len(claims_in("14 ngày " + piece * (20_000 // len(piece)) + "x")) <= 2_000


class TestLikeness:
    @given(st.sets(st.sampled_from("abcdefgh")), st.sets(st.sampled_from("abcdefgh")))
    def test_is_a_share_and_the_same_both_ways(self, one: set[str], other: set[str]) -> None:
        value = likeness(one, other, lambda _: 2.0)
        assert 0 <= value < 1
        assert value == likeness(other, one, lambda _: 2.0)
        assert (value > 0) == bool(one & other)

    def test_grows_with_what_the_shared_words_tell(self) -> None:
        common, rare = {"cong", "ty"}, {"phu", "cap"}

        def weight(word: str) -> float:
            return 5.0 if word in rare else 0.5

        assert likeness(rare | common, rare, weight) > likeness(rare | common, common, weight)
