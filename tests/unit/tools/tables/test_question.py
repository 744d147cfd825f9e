"""Questions to a table of expenses, in both languages, with and without diacritics."""

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.attachments import AttachedTable
from app.tools.tables.filters import Asked
from app.tools.tables.query import TableAnswer, TableQuery, run
from app.tools.tables.question import Unclear, read_question
from app.tools.tables.sheet import Sheet
from app.tools.tables.wording import sentence, unclear

EXPENSES = AttachedTable(
    name="Quý II",
    header=("Ngày", "Phòng", "Hạng mục", "Chi phí (đ)", "Trạng thái"),
    rows=(
        ("05/01/2026", "IT", "Máy chủ", "12.000.000", "Đã trả"),
        ("12/02/2026", "Kế toán", "Phần mềm", "3.500.000", "Quá hạn"),
        ("03/04/2026", "IT", "Laptop", "25.000.000", "Đã trả"),
        ("20/05/2026", "Nhân sự", "Đào tạo", "8.250.500", "Quá hạn"),
        ("30/06/2026", "IT", "Bản quyền", "chưa rõ", "Đã trả"),
        ("15/06/2026", "Kế toán", "Kiểm toán", "(1.250.000)", "Đã trả"),
        ("01/07/2026", "Nhân sự", "Tuyển dụng", "6.000.000 đ", "Quá hạn"),
        ("Tổng cộng", "", "", "53.500.500", ""),
    ),
)


def asked(question: str = "") -> Asked:
    del question
    days = (date(2026, 4, 1), date(2026, 7, 1))
    return Asked("vi", lambda phrase: days, ("chi_phi.csv",), ("chi_phi", "Quý II"))


def read(question: str, table: AttachedTable = EXPENSES) -> TableQuery | Unclear | None:
    return read_question(Sheet(table, "vi"), question, asked())


def answer(question: str, table: AttachedTable = EXPENSES) -> TableAnswer:
    query = read(question, table)
    assert isinstance(query, TableQuery), query
    return run(Sheet(table, "vi"), query)


class TestReadQuestion:
    @pytest.mark.parametrize(
        ("question", "value"),
        [
            ("tổng cột chi phí quý 2", 32_000_500),
            ("Tổng chi phí quý II là bao nhiêu?", 32_000_500),
            ("tong chi phi quy 2", 32_000_500),
            ("total of the cost column for Q2", 32_000_500),
            ("What is the sum of costs in the second quarter of 2026?", 32_000_500),
            ("tổng chi phí tháng 4/2026", 25_000_000),
            ("tổng chi phí từ tháng 1 đến tháng 3", 15_500_000),
            ("tổng chi phí từ 1/4/2026 đến 30/6/2026", 32_000_500),
            ("tổng chi phí phòng IT", 37_000_000),
            ("tong chi phi phong ke toan", 2_250_000),
            ("tổng chi phí của phòng IT và Kế toán", 39_250_000),
            ("tổng chi phí không thuộc phòng IT", 16_500_500),
            ("tổng chi phí trừ phòng IT và Kế toán", 14_250_500),
            ("total cost except IT", 16_500_500),
            ("trung bình chi phí phòng IT", 18_500_000),
            ("average cost of the IT department", 18_500_000),
            ("có bao nhiêu dòng trạng thái Quá hạn", 3),
            ("how many rows have status Quá hạn", 3),
            ("có bao nhiêu dòng chi phí trên 5 triệu", 4),
            ("đếm số dòng chi phí từ 5 đến 10 triệu", 2),
            ("có bao nhiêu dòng?", 7),
            ("tổng số dòng là bao nhiêu", 7),
            ("có bao nhiêu phòng?", 3),
            ("how many departments are there?", 3),
            ("có bao nhiêu khoản của phòng IT", 3),
            ("tổng chi phí quý 1 và quý 3", 21_500_000),
            ("chi phí lớn nhất", 25_000_000),
            ("chi phí thấp nhất của phòng Kế toán", -1_250_000),
            ("tổng chi phí trong tệp chi_phi.csv", 53_500_500),
            ("tổng chi phí quá hạn quý 2", 8_250_500),
        ],
    )
    def test_computes_exactly_what_is_asked(self, question: str, value: int) -> None:
        assert answer(question).value == value

    @pytest.mark.parametrize(
        ("question", "rows"),
        [
            ("dòng nào chi phí lớn nhất", (2,)),
            ("top 2 khoản chi phí cao nhất", (2, 0)),
            ("3 khoản chi phí thấp nhất", (5, 1, 6)),
            ("chi phí của Laptop là bao nhiêu", (2,)),
            ("which row has the highest cost", (2,)),
        ],
    )
    def test_picks_rows(self, question: str, rows: tuple[int, ...]) -> None:
        assert answer(question).rows == rows

    @pytest.mark.parametrize(
        ("question", "groups"),
        [
            ("tổng chi phí theo phòng", {"IT": 37_000_000, "Kế toán": 2_250_000, "Nhân sự": 14_250_500}),
            ("average cost by department", {"IT": 18_500_000, "Kế toán": 1_125_000, "Nhân sự": 7_125_250}),
            ("đếm số dòng theo trạng thái", {"Đã trả": 4, "Quá hạn": 3}),
            ("tổng chi phí theo quý", {"2026-Q1": 15_500_000, "2026-Q2": 32_000_500, "2026-Q3": 6_000_000}),
            ("tổng chi phí theo từng tháng của phòng IT", {"2026-01": 12_000_000, "2026-04": 25_000_000}),
        ],
    )
    def test_puts_rows_together(self, question: str, groups: dict[str, int]) -> None:
        assert {group.label: group.value for group in answer(question).groups} == groups

    def test_finds_the_greatest_group(self) -> None:
        assert answer("phòng nào có tổng chi phí lớn nhất").groups[0].label == "IT"
        assert answer("phòng nào có tổng chi phí nhỏ nhất").groups[0].label == "Kế toán"

    def test_lists_different_values(self) -> None:
        assert answer("có những phòng nào").labels == ("IT", "Kế toán", "Nhân sự")

    @pytest.mark.parametrize(
        ("question", "reason"),
        [
            ("tổng doanh thu", "no_column"),
            ("tổng chi phí phòng Marketing", "words"),
            ("tổng chi phí trước thuế", "words"),
            ("tổng chi phí chưa quá hạn", "words"),
            ("tổng trạng thái", "not_numbers"),
            ("tổng chi phí chiếm bao nhiêu phần trăm", "words"),
            ("tổng chi phí đến tháng 3", "words"),
            ("tổng chi phí từ tháng 4", "words"),
            ("tổng chi phí sau quý 1", "words"),
            ("tổng chi phí ngoài phòng IT", "words"),
            ("tổng chi phí phòng Kế toán trưởng", "words"),
            ("tổng chi phí không quá hạn", "words"),
        ],
    )
    def test_refuses_what_it_does_not_understand_whole(self, question: str, reason: str) -> None:
        found = read(question)
        assert isinstance(found, Unclear)
        assert found.reason == reason
        assert unclear(found, "vi") and unclear(found, "en")

    @pytest.mark.parametrize("question", ["Nội quy nói gì về bảo mật?", "Ai phê duyệt?", "", "chi phí tăng vì sao"])
    def test_leaves_other_questions_alone(self, question: str) -> None:
        assert read(question) is None

    def test_names_the_columns_that_fit(self) -> None:
        table = AttachedTable(name="", header=("Phòng", "Chi phí dự kiến", "Chi phí thực tế"), rows=(("IT", 1, 2),))
        assert read("tổng chi phí", table) == Unclear("ambiguous", ("Chi phí dự kiến", "Chi phí thực tế"))
        assert answer("tổng chi phí thực tế", table).value == 2

    def test_marks_tell_words_apart_that_look_alike_without_them(self) -> None:
        table = AttachedTable(
            name="",
            header=("Cấp bậc", "Khách sạn mỗi đêm"),
            rows=(("Nhân viên", "800.000"), ("Trưởng phòng", "1.200.000")),
        )
        found = read("khách sạn của trưởng phòng bao nhiêu một đêm?", table)
        assert isinstance(found, TableQuery) and (found.aggregate, found.column) == ("list", 1)
        assert answer("đếm số dòng", table).value == 2

    def test_asks_for_the_year_where_there_are_several(self) -> None:
        table = AttachedTable(name="", header=("Ngày", "Chi phí"), rows=(("1/4/2025", 1), ("1/4/2026", 2)))
        assert read("tổng chi phí quý 2", table) == Unclear("years", ("2025", "2026"))
        assert answer("tổng chi phí quý 2 năm 2026", table).value == 2

    def test_says_that_no_column_tells_the_time(self) -> None:
        table = AttachedTable(name="", header=("Phòng", "Chi phí"), rows=(("IT", 1),))
        found = read("tổng chi phí quý 2", table)
        assert isinstance(found, Unclear) and found.reason == "no_period"

    def test_a_column_may_carry_the_quarter_in_its_name(self) -> None:
        table = AttachedTable(
            name="", header=("Phòng", "Chi phí Q1", "Chi phí Q2"), rows=(("IT", 1, 20), ("HR", 2, 30))
        )
        assert answer("tổng chi phí quý 2", table).value == 50

    def test_leaves_out_totals_and_tells_what_it_skipped(self) -> None:
        found = answer("tổng chi phí")
        assert found.value == 53_500_500
        assert (found.used, found.unreadable, found.totals) == (6, ("chưa rõ",), 1)
        query = read("tổng chi phí")
        assert isinstance(query, TableQuery)
        told = sentence(Sheet(EXPENSES, "vi"), query, found, "vi")
        assert "53.500.500 đ" in told and "6 dòng" in told and "“chưa rõ”" in told and "1 dòng tổng" in told

    def test_says_that_no_row_fits(self) -> None:
        query = read("tổng chi phí quý 2 năm 2025")
        assert isinstance(query, TableQuery)
        assert sentence(Sheet(EXPENSES, "vi"), query, run(Sheet(EXPENSES, "vi"), query), "en").startswith("There is no")

    @given(
        st.sampled_from(["tổng chi phí quý 2", "có bao nhiêu dòng trạng thái Quá hạn", "average cost by department"]),
        st.sampled_from(["Marketing", "lãi", "không", "never", "trước", "gộp", "99", "VAT", "dự-kiến"]),
        st.integers(0, 8),
    )
    def test_one_word_more_that_nothing_explains_is_never_passed_over(self, question: str, word: str, at: int) -> None:
        words = question.split()
        asked_so = " ".join([*words[:at], word, *words[at:]])
        found, plain = read(asked_so), read(question)
        is_particle = word == "không" and at >= len(words)
        assert is_particle or not isinstance(found, TableQuery) or found != plain

    @given(st.text(max_size=80))
    def test_never_fails(self, question: str) -> None:
        read(question)

    @given(
        st.lists(
            st.tuples(st.sampled_from(["IT", "Kế toán"]), st.decimals(-(10**9), 10**9, places=3)),
            min_size=1,
            max_size=30,
        )
    )
    def test_sums_and_averages_are_exact(self, rows: list[tuple[str, Decimal]]) -> None:
        cells: Any = tuple((name, f"{number:f}".replace(".", ",")) for name, number in rows)
        table = AttachedTable(name="", header=("Phòng", "Chi phí"), rows=(*cells, ("IT", "0,5")))
        numbers = [*(number for _, number in rows), Decimal("0.5")]
        assert answer("tổng chi phí", table).value == sum(numbers)
        mean = answer("trung bình chi phí", table).value
        assert mean is not None
        assert abs(Fraction(mean) - sum(map(Fraction, numbers), Fraction(0)) / len(numbers)) < Fraction(1, 10**11)
