"""One column computed over the rows of one or more conditions, as people ask for it."""

from datetime import date

import pytest

from app.domain.attachments import AttachedTable
from app.domain.knowledge import Language
from app.tools.tables.filters import Asked
from app.tools.tables.query import TableAnswer, TableQuery, run
from app.tools.tables.question import Unclear, read_question
from app.tools.tables.sheet import Sheet
from app.tools.tables.wording import sentence, unclear

QUARTERS = AttachedTable(
    name="", header=("tháng", "quý", "chi phí"), rows=tuple((n, (n + 2) // 3, n * 100) for n in range(1, 7))
)
ORDERS = AttachedTable(
    name="",
    header=("Order ID", "City", "Status", "Total Cost", "Year"),
    rows=(
        ("A1", "Hanoi", "paid", "1,000,000", 2025), ("A2", "Hanoi", "unpaid", "2,000,000", 2025),
        ("A3", "Saigon", "paid", "500,000.00", 2026), ("A4", "Hanoi", "paid", "250,000", 2026),
    ),
)  # fmt: skip
BRANCHES = AttachedTable(
    name="",
    header=("Phòng ban", "Thành phố", "Năm", "Doanh thu", "Chi phí"),
    rows=(
        ("IT", "Hà Nội", 2024, "1.000.000", 10), ("IT", "Đà Nẵng", 2025, "3.000.000", 20),
        ("Kế toán", "Hà Nội", 2025, "2.500.000", 30), ("Nhân sự", "Huế", 2025, "4.000.000", 40),
    ),
)  # fmt: skip
TRIPS = AttachedTable(
    name="",
    header=("Nơi đi", "Nơi đến", "Thành tiền", "Trạng thái", "Đơn giá"),
    rows=(
        ("Hà Nội", "Huế", 100, "Đã thanh toán", "10.000"), ("Huế", "Hà Nội", 200, "Chưa thanh toán", "20.000"),
        ("Vinh", "Huế", 300, "Đã thanh toán", "10.000"),
    ),
)  # fmt: skip
PAID = AttachedTable(name="", header=("Họ tên", "Lương"), rows=(("Lê Văn An", 5), ("Lê An", 7), ("Trần Nam", 9)))
PLACES = ("Hà Nội", "Đà Nẵng", "Huế", "Cần Thơ")
THIS_QUARTER = date(2026, 10, 1), date(2027, 1, 1)


def read(table: AttachedTable, question: str, language: Language = "vi") -> TableQuery | Unclear | None:
    return read_question(Sheet(table, language), question, Asked(language, lambda phrase: THIS_QUARTER))


def answer(table: AttachedTable, question: str, language: Language = "vi") -> TableAnswer:
    query = read(table, question, language)
    assert isinstance(query, TableQuery), (question, query)
    return run(Sheet(table, language), query)


def told(table: AttachedTable, question: str, language: Language = "vi") -> str:
    query = read(table, question, language)
    if isinstance(query, Unclear):
        return unclear(query, language)
    assert isinstance(query, TableQuery)
    return sentence(Sheet(table, language), query, run(Sheet(table, language), query), language)


class TestConditions:
    @pytest.mark.parametrize(
        ("question", "value"),
        [
            ("tổng cột chi phí quý 2", 1500),
            ("tong chi phi quy 2", 1500),
            ("tổng chi phí của quý II giúp tôi", 1500),
            ("tổng chi phí có quý là 2", 1500),
            ("tổng chi phí khi quý = 2", 1500),
            ("tổng chi phí quý tư", None),
            ("total cost in the second quarter", 1500),
            ("tổng cột chi phí của tháng 3", 300),
            ("tổng chi phí tháng ba", 300),
            ("tổng chi phí các tháng 1, 2 và 3", 600),
            ("tổng chi phí tháng 4 và 5", 900),
            ("tổng chi phí tháng 2 đến 4", 900),
            ("tổng chi phí tháng 2-4", 900),
            ("tổng chi phí quý 2 tháng 4", 400),
            ("tổng chi phí 6 tháng đầu năm", 2100),
            ("tổng chi phí nửa đầu năm", 2100),
            ("chi phí trung bình quý 1", 200),
        ],
    )
    def test_a_column_that_states_the_time_goes_before_one_it_follows_from(
        self, question: str, value: int | None
    ) -> None:
        assert answer(QUARTERS, question).value == value

    @pytest.mark.parametrize(
        ("question", "value"),
        [
            ("how many orders in Hanoi", 3),
            ("how many orders were placed in Hanoi?", 3),
            ("how many cities are there", 2),
            ("how many orders from Saigon", 1),
            ("total cost where status is paid", 1_750_000),
            ("total cost where city = Hanoi and status = paid", 1_250_000),
            ("total cost of paid orders", 1_750_000),
            ("total cost for orders above 300,000", 3_500_000),
            ("total cost of orders of 1,000,000 or more", 3_000_000),
            ("total cost not in Hanoi", 500_000),
            ("average total cost in Saigon", 500_000),
            ("highest total cost in 2025", 2_000_000),
            ("how many orders with a total cost of at most 500,000", 2),
            ("tổng chi phí Hanoi", 3_250_000),
        ],
    )
    def test_orders(self, question: str, value: int) -> None:
        language: Language = "en" if question.isascii() else "vi"
        assert answer(ORDERS, question, language).value == value

    @pytest.mark.parametrize(
        ("question", "value"),
        [
            ("doanh thu lớn nhất năm 2025", 4_000_000),
            ("tổng chi phí Hà Nội", 40),
            ("tong chi phi ha noi", 40),
            ("tổng doanh thu năm 2025 tại Hà Nội", 2_500_000),
            ("chi phí trung bình phòng IT", 15),
            ("tong chi phi it", 30),
            ("mức chi phí trung bình của phòng IT", 15),
            ("tổng doanh thu của các phòng có chi phí trên 15", 9_500_000),
            ("tổng doanh thu trên 2.000.000", 9_500_000),
            ("tổng doanh thu trên 2,000,000", 9_500_000),
            ("tổng doanh thu từ 3 triệu trở lên", 7_000_000),
            ("tổng doanh thu toàn công ty", 10_500_000),
        ],
    )
    def test_branches(self, question: str, value: int) -> None:
        assert answer(BRANCHES, question).value == value

    @pytest.mark.parametrize(
        ("question", "value"),
        [
            ("tổng tiền các đơn đã thanh toán", 400),
            ("tổng tiền trạng thái không phải là Đã thanh toán", 200),
            ("hãy cộng thành tiền của các đơn chưa thanh toán", 200),
            ("số đơn hàng chưa thanh toán", 1),
            ("tổng thành tiền nơi đi Hà Nội", 100),
            ("tổng thành tiền Vinh", 300),
            ("tổng thành tiền đơn giá 10.000", 400),
            ("tổng thành tiền đơn giá bằng 10000", 400),
            ("thành tiền trung bình mỗi đơn", 200),
        ],
    )
    def test_words_of_a_value_are_not_taken_for_a_column(self, question: str, value: int) -> None:
        assert answer(TRIPS, question).value == value

    @pytest.mark.parametrize(
        ("table", "question", "said"),
        [
            (QUARTERS, "tổng cột chi phí quý 2", "Tổng cột “chi phí” (quý: quý 2): 1.500 (tính trên 3 dòng)."),
            (QUARTERS, "chi phí quý 2 là bao nhiêu", "tổng cột “chi phí” của 3 dòng này: 1.500"),
            (QUARTERS, "tổng chi phí quý 2 năm 2026", "Bảng không có cột nào cho biết “năm”. Các cột: “tháng”"),
            (QUARTERS, "tổng quý 2", "Không rõ cần tính cột nào"),
            (QUARTERS, "tổng và trung bình chi phí", "nhiều phép tính cùng lúc: “tổng”, “trung bình”"),
            (BRANCHES, "tổng doanh thu và chi phí năm 2025", "Có nhiều cột phù hợp: “Doanh thu”, “Chi phí”"),
            (BRANCHES, "tổng chi phí Đà Lạt", "Không tìm thấy trong bảng: “Đà”, “Lạt”"),
            (BRANCHES, "có bao nhiêu phòng có doanh thu lớn nhất", "“đếm”, “lớn nhất”"),
            (QUARTERS, "tổng chi phí quý này", "Bảng không có cột nào cho biết “quý này”"),
            (PAID, "tổng lương của An", "Không tìm thấy trong bảng: “An”"),
            (PAID, "tổng lương của Nam", "Không tìm thấy trong bảng: “Nam”"),
            (TRIPS, "tổng thành tiền Hà Nội", "“Hà Nội” có ở nhiều cột: “Nơi đi”, “Nơi đến”"),
        ],
    )
    def test_tells_the_rows_or_the_choices(self, table: AttachedTable, question: str, said: str) -> None:
        assert said in told(table, question)

    def test_columns_of_one_name_are_told_apart_by_their_place(self) -> None:
        twins = AttachedTable(name="", header=("Chi phí", "Chi phí", "Phòng"), rows=((1, 2, "IT"), (3, 4, "HR")))
        assert "“Chi phí (#1)”, “Chi phí (#2)”" in told(twins, "tổng chi phí phòng IT")

    def test_a_name_that_begins_with_total_and_one_without_are_two(self) -> None:
        both = AttachedTable(name="", header=("Phòng", "Tổng chi phí", "Chi phí"), rows=(("IT", 5, 1),))
        assert read(both, "tổng chi phí phòng IT") == Unclear("ambiguous", ("Tổng chi phí", "Chi phí"))

    def test_rows_are_not_added_up_where_they_were_to_be_put_together(self) -> None:
        named = AttachedTable(name="", header=("Mã phòng", "Tên phòng", "Chi phí"), rows=(("P1", "IT", 1),))
        assert read(named, "tổng chi phí theo phòng") == Unclear("ambiguous", ("Mã phòng", "Tên phòng"))

    def test_whole_quarters_stand_for_their_months_and_no_others(self) -> None:
        table = AttachedTable(name="", header=("Quý", "Chi phí"), rows=(("Q1", 1), ("Q2", 3), ("Q3", 5)))
        assert answer(table, "tổng chi phí 6 tháng đầu năm").value == 4
        assert answer(table, "tổng chi phí tháng 4 đến tháng 6").value == 3
        found = read(table, "tổng chi phí tháng 4")
        assert isinstance(found, Unclear) and found.reason == "no_period"

    def test_a_number_that_the_column_writes_in_another_way_is_asked_back(self) -> None:
        table = AttachedTable(
            name="", header=("Mục", "Giá"), rows=(("a", "1,234.50"), ("b", "1.50"), ("c", "1,500.00"))
        )
        assert read(table, "tổng giá trên 1.500") == Unclear("number", ("1.500", "Giá"))
        assert answer(table, "tổng giá từ 1500 trở lên").value == 1500

    @pytest.mark.parametrize("cell", ["=SUM(A1:A9)", "=1+1", "@cmd", "", "chưa rõ", "12 người 3", "#REF!", "1.2.3,4,5"])
    def test_cells_that_are_no_numbers_are_told_never_run(self, cell: str) -> None:
        table = AttachedTable(
            name="", header=("quý", "chi phí"), rows=((1, 5), (2, 10), (2, 20), (2, cell), (2, 30), (2, 40))
        )
        found = answer(table, "tổng chi phí quý 2")
        assert found.value == 100
        assert (found.used, len(found.unreadable) + found.blank) == (4, 1)

    def test_thousands_of_rows(self) -> None:
        rows = tuple((n % 12 + 1, n % 12 // 3 + 1, PLACES[n % 5 % 4], n) for n in range(20_000))
        table = AttachedTable(name="", header=("Tháng", "Quý", "Nơi", "Chi phí"), rows=rows)
        found = answer(table, "tổng chi phí quý 2 nơi Huế")
        assert found.value == sum(row[3] for row in rows if row[1] == 2 and row[2] == "Huế")
