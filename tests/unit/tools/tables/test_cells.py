"""Reading cells: what a number or a day is depends on its column."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.numbers import format_number
from app.tools.tables.cells import When, read_numbers, read_whens


class TestReadNumbers:
    @pytest.mark.parametrize(
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
        ],
    )
    def test_reads_both_spellings(self, cells: list[str | int | float], values: list[str]) -> None:
        assert read_numbers(cells, "vi").values == tuple(map(Decimal, values))

    @pytest.mark.parametrize("cell", ["chưa rõ", "1.2.3", "IT-15", "12/04/2026", "1,00,000", "=1+1", "9" * 50])
    def test_what_is_no_number_is_none(self, cell: str) -> None:
        column = read_numbers([cell, "5"], "vi")
        assert column.values == (None, Decimal(5))
        assert 0 not in column.blanks

    def test_the_column_decides_what_a_point_is(self) -> None:
        assert read_numbers(["1.500", "2,5"], "vi").values == (Decimal(1500), Decimal("2.5"))
        assert read_numbers(["1.500", "2.5"], "vi").values == (Decimal("1.500"), Decimal("2.5"))
        assert read_numbers(["1.500", "2,000,000"], "vi").values == (Decimal("1.500"), Decimal(2000000))

    def test_a_column_written_in_both_ways_leaves_open_cells_unread(self) -> None:
        assert read_numbers(["1.500", "2,5", "2.5"], "vi").values == (None, Decimal("2.5"), Decimal("2.5"))

    def test_where_nothing_decides_the_language_does_and_it_is_told(self) -> None:
        vi, en = read_numbers(["1.500"], "vi"), read_numbers(["1.500"], "en")
        assert (vi.values, vi.assumed) == ((Decimal(1500),), True)
        assert (en.values, en.assumed) == ((Decimal("1.500"),), True)

    def test_blanks_are_no_faults(self) -> None:
        column = read_numbers(["", "-", "n/a", "5"], "vi")
        assert (column.blanks, column.readable) == (frozenset({0, 1, 2}), 1)

    def test_names_every_unit(self) -> None:
        assert read_numbers(["5 đ", "6 ₫", "$7"], "vi").units == ("đ", "$")

    @given(st.lists(st.decimals(min_value=-(10**12), max_value=10**12, places=2), min_size=1, max_size=20))
    def test_reads_what_is_written_in_either_language(self, numbers: list[Decimal]) -> None:
        for language in ("vi", "en"):
            cells = [format_number(number, "vi" if language == "vi" else "en", 2) for number in numbers]
            assert read_numbers(cells, "vi" if language == "vi" else "en").values == tuple(numbers)

    @given(st.lists(st.text(max_size=30), max_size=20))
    def test_never_fails(self, cells: list[str]) -> None:
        assert len(read_numbers(cells, "vi").values) == len(read_whens(cells, "Ngày")) == len(cells)


class TestReadWhens:
    @pytest.mark.parametrize(
        ("cell", "name", "when"),
        [
            ("2026-04-03", "x", When(2026, None, 4, 3)),
            ("3/4/2026", "x", When(2026, None, 4, 3)),
            ("03.04.2026 08:30", "x", When(2026, None, 4, 3)),
            ("04/2026", "x", When(2026, None, 4)),
            ("Tháng 4/2026", "x", When(2026, None, 4)),
            ("T4", "x", When(month=4)),
            ("April 2026", "x", When(2026, None, 4)),
            ("3 Apr 2026", "x", When(2026, None, 4, 3)),
            ("Quý II/2026", "x", When(2026, 2)),
            ("Q2 2026", "x", When(2026, 2)),
            ("2026-Q2", "x", When(2026, 2)),
            ("4", "Tháng", When(month=4)),
            ("II", "Quý", When(quarter=2)),
            ("2026", "Năm", When(2026)),
            ("4", "Số lượng", None),
            ("31/13/2026", "x", None),
            ("hello", "Ngày", None),
        ],
    )
    def test_reads_days_months_quarters_and_years(self, cell: str, name: str, when: When | None) -> None:
        assert read_whens([cell], name) == (when,)

    def test_one_day_over_twelve_tells_that_months_come_first(self) -> None:
        assert read_whens(["3/4/2026", "3/25/2026"], "Date")[0] == When(2026, None, 3, 4)
        assert read_whens(["3/4/2026", "25/3/2026"], "Date")[0] == When(2026, None, 4, 3)
