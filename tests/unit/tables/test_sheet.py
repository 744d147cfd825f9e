"""Reading cells: what a number or a day is depends on its column."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from app.domain.attachments import AttachedTable
from app.tables import Sheet
from app.tables.sheet import Period, read_numbers, read_period
from app.text.numbers import format_number
from tests.cases import each_case


class TestReadNumbers:
    @each_case(
        ("cells", "values"),
        [
            (["1.000.000 đ", "2.500 đ"], ["1000000", "2500"]),
            (["1,000,000", "2,500", "3.5"], ["1000000", "2500", "3.5"]),
            (["12,5 %", "7 %"], ["12.5", "7"]),
            (["(1.200)", "-300", "1.000.000", "500-"], ["-1200", "-300", "1000000", "-500"]),
            (["$1,200.50", "$3"], ["1200.50", "3"]),
            (["5 triệu", "1,5 tỷ"], ["5000000", "1500000000"]),
            (["1 000 000", "20"], ["1000000", "20"]),
            (["0,125", "1,5"], ["0.125", "1.5"]),
            (["12 ngày", "3 ngày"], ["12", "3"]),
            ([7, 0.1, "3"], ["7", "0.1", "3"]),
            (["1.500", "2,5"], ["1500", "2.5"]),
            (["1.500", "2.5"], ["1.500", "2.5"]),
            (["1.500", "2,000,000"], ["1.500", "2000000"]),
        ],
    )
    def test_the_column_decides_how_it_is_written(self, cells: list[str | int | float], values: list[str]) -> None:
        assert read_numbers(cells, "vi")[0] == tuple(map(Decimal, values))

    @each_case("cell", ["chưa rõ", "1.2.3", "IT-15", "12/04/2026", "1,00,000", "=1+1", "9" * 50, "@cmd"])
    def test_what_is_no_number_is_none(self, cell: str) -> None:
        assert read_numbers([cell, "5"], "vi")[0] == (None, Decimal(5))

    def test_a_column_written_in_both_ways_leaves_open_cells_unread(self) -> None:
        assert read_numbers(["1.500", "2,5", "2.5"], "vi")[0] == (None, Decimal("2.5"), Decimal("2.5"))

    def test_where_nothing_decides_the_language_does_and_it_is_told(self) -> None:
        assert read_numbers(["1.500"], "vi") == ((Decimal(1500),), True, ())
        assert read_numbers(["1.500"], "en") == ((Decimal("1.500"),), True, ())

    def test_names_every_unit(self) -> None:
        assert read_numbers(["5 đ", "6 ₫", "$7"], "vi")[2] == ("đ", "$")

    @given(st.lists(st.decimals(min_value=-(10**12), max_value=10**12, places=2), min_size=1, max_size=20))
    def test_reads_what_is_written_in_either_language(self, numbers: list[Decimal]) -> None:
        assert read_numbers([format_number(number, "vi", 2) for number in numbers], "vi")[0] == tuple(numbers)
        assert read_numbers([format_number(number, "en", 2) for number in numbers], "en")[0] == tuple(numbers)

    @given(st.lists(st.text(max_size=30), max_size=20))
    def test_never_fails(self, cells: list[str]) -> None:
        table = AttachedTable(name="", header=("Ngày",), rows=tuple((cell,) for cell in cells))
        assert len(Sheet(table, "vi").columns[0].values) == len(Sheet(table, "vi").kept)
        assert len(read_numbers(cells, "vi")[0]) == len(cells)


class TestSheet:
    @each_case(
        ("cell", "kind", "first", "number"),
        [
            ("2026-04-03", "day", date(2026, 4, 3), 0),
            ("3/4/2026", "day", date(2026, 4, 3), 0),
            ("03.04.2026 08:30", "day", date(2026, 4, 3), 0),
            ("3 Apr 2026", "day", date(2026, 4, 3), 0),
            ("3-Apr-26", "day", date(2026, 4, 3), 0),
            ("04/2026", "month", date(2026, 4, 1), 4),
            ("Tháng 4/2026", "month", date(2026, 4, 1), 4),
            ("T4", "month", None, 4),
            ("April 2026", "month", date(2026, 4, 1), 4),
            ("2026-04", "month", date(2026, 4, 1), 4),
            ("Quý II/2026", "quarter", date(2026, 4, 1), 2),
            ("Q2 2026", "quarter", date(2026, 4, 1), 2),
        ],
    )
    def test_reads_days_months_and_quarters(self, cell: str, kind: str, first: date | None, number: int) -> None:
        assert read_period(cell) == Period(kind, first, number)  # type: ignore[arg-type]

    @each_case("cell", ["31/13/2026", "hello", "4", ""])
    def test_other_texts_tell_no_time(self, cell: str) -> None:
        assert read_period(cell) is None

    def test_one_day_over_twelve_tells_that_months_come_first(self) -> None:
        table = AttachedTable(name="", header=("Date",), rows=(("3/4/2026",), ("3/25/2026",)))
        assert Sheet(table, "en").columns[0].values == (date(2026, 3, 4), date(2026, 3, 25))

    def test_rows_that_add_others_up_are_left_out(self) -> None:
        table = AttachedTable(name="", header=("Mục", "Tiền"), rows=(("a", 1), ("", ""), ("Tổng cộng:", 1)))
        assert (Sheet(table, "vi").kept, Sheet(table, "vi").totals) == ((0,), 1)

    def test_columns_of_one_name_are_told_apart_by_their_place(self) -> None:
        table = AttachedTable(name="", header=("Chi phí", "chi phí", ""), rows=((1, 2, 3),))
        assert [column.name for column in Sheet(table, "vi").columns] == ["Chi phí", "chi phí (#2)", "(3)"]

    def test_names_of_classes_are_no_numbers_with_units(self) -> None:
        classes = AttachedTable(name="", header=("Lớp",), rows=(("9A",), ("9B",), ("10A",)))
        (column,) = Sheet(classes, "vi").columns
        assert (column.kind, column.values) == ("text", ("9A", "9B", "10A"))

    def test_codes_are_no_numbers(self) -> None:
        table = AttachedTable(name="", header=("Mã số", "Số lượng"), rows=((100, 1), (101, 2)))
        assert [column.kind for column in Sheet(table, "vi").columns] == ["text", "number"]
