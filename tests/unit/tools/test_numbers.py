import time
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.tools.numbers import format_number, numbers_in, parse_number, read_digits

LANGUAGES = st.sampled_from(("vi", "en"))
DECIMALS = st.decimals(
    min_value=Decimal("-1e15"), max_value=Decimal("1e15"), allow_nan=False, allow_infinity=False, places=6
)


class TestParseNumber:
    @pytest.mark.parametrize(
        ("text", "vi", "en"),
        [
            ("1.000.000", "1000000", "1000000"),
            ("1,000,000", "1000000", "1000000"),
            ("15000000", "15000000", "15000000"),
            ("1.234.567,89", "1234567.89", "1234567.89"),
            ("1,234,567.89", "1234567.89", "1234567.89"),
            ("1.500", "1500", "1.5"),
            ("1,500", "1.5", "1500"),
            ("1500,5", "1500.5", "1500.5"),
            ("0.125", "0.125", "0.125"),
            ("0,125", "0.125", "0.125"),
            ("12,5", "12.5", "12.5"),
            ("12,5 %", "0.125", "0.125"),
            ("12.5%", "0.125", "0.125"),
            ("15 phần trăm", "0.15", "0.15"),
            ("15 percent", "0.15", "0.15"),
            ("5 triệu", "5000000", "5000000"),
            ("5 trieu", "5000000", "5000000"),
            ("5 tr", "5000000", "5000000"),
            ("5tr", "5000000", "5000000"),
            ("15tr5", "15500000", "15500000"),
            ("1 triệu rưỡi", "1500000", "1500000"),
            ("1,2 tỷ", "1200000000", "1200000000"),
            ("1,2 tỉ", "1200000000", "1200000000"),
            ("500 nghìn", "500000", "500000"),
            ("500 ngàn", "500000", "500000"),
            ("60k", "60000", "60000"),
            ("3 million", "3000000", "3000000"),
            ("2.5 billion", "2500000000", "2500000000"),
            ("1e6", "1000000", "1000000"),
            ("1.5E-3", "0.0015", "0.0015"),
            ("£39,000.50", "39000.50", "39000.50"),
            ("$ 12", "12", "12"),
            ("-3,5", "-3.5", "-3.5"),
            ("−3.5", "-3.5", "-3.5"),
            ("  7 ", "7", "7"),
        ],
    )
    def test_reads_both_spellings(self, text: str, vi: str, en: str) -> None:
        assert parse_number(text, "vi") == Decimal(vi)
        assert parse_number(text, "en") == Decimal(en)

    def test_reads_decomposed_letters(self) -> None:
        assert parse_number("5 tri\u00ea\u0323u", "vi") == 5_000_000

    @pytest.mark.parametrize(
        "text",
        ["", "abc", "1.2.3", "12,34,567", "1.000.00", "1,2,3.4.5", "5 triệu đồng", "1" * 31, "nan", "1e999", "--1"],
    )
    def test_refuses_what_is_not_one_number(self, text: str) -> None:
        with pytest.raises(ValueError, match="not a number"):
            parse_number(text, "vi")

    @given(value=DECIMALS, language=LANGUAGES)
    def test_reads_back_what_was_written(self, value: Decimal, language: Language) -> None:
        assert parse_number(format_number(value, language), language) == value

    @given(text=st.text(max_size=200), language=LANGUAGES)
    def test_raises_nothing_but_value_error(self, text: str, language: Language) -> None:
        with suppress(ValueError):
            parse_number(text, language)

    @given(text=st.text(alphabet="0123456789.,eE-% ktr", max_size=60), language=LANGUAGES)
    def test_raises_nothing_but_value_error_for_near_numbers(self, text: str, language: Language) -> None:
        with suppress(ValueError):
            parse_number(text, language)


class TestReadDigits:
    @pytest.mark.parametrize("digits", ["0" * 31, "1." + "0" * 40, "1,000.000,0", "1.0000.000"])
    def test_gives_none_for_rows_that_are_no_number(self, digits: str) -> None:
        assert read_digits(digits, "vi") is None


class TestNumbersIn:
    def test_gives_every_reading(self) -> None:
        found = numbers_in("Lương 15.000.000 đồng, thưởng 12,5% sau ba ngày và 1.500 điểm")
        assert {Decimal(n) for n in ("15000000", "12.5", "0.125", "3", "1500", "1.5")} <= found

    def test_does_not_cut_numbers_that_stand_before_letters(self) -> None:
        assert numbers_in("15km") == {Decimal(15)}

    def test_reads_colloquial_magnitudes_inside_text(self) -> None:
        assert Decimal(5_000_000) in numbers_in("lương 5tr, nghỉ 3 ngày")

    def test_finds_nothing_in_words(self) -> None:
        assert numbers_in("không có số nào") == frozenset()

    @given(text=st.text(max_size=300))
    def test_takes_any_text(self, text: str) -> None:
        assert all(value >= 0 for value in numbers_in(text))

    @pytest.mark.parametrize("text", ["1" * 100_000, "1." * 50_000, "1,5 tr " * 15_000, "%" * 100_000, "một " * 25_000])
    def test_is_linear(self, text: str) -> None:
        started = time.thread_time()
        numbers_in(text)
        assert time.thread_time() - started < 2


class TestFormatNumber:
    @pytest.mark.parametrize(
        ("value", "places", "vi", "en"),
        [
            ("1730769.23", 0, "1.730.769", "1,730,769"),
            ("750", 2, "750,00", "750.00"),
            ("1234567.5", None, "1.234.567,5", "1,234,567.5"),
            ("1.50", None, "1,5", "1.5"),
            ("1e6", None, "1.000.000", "1,000,000"),
            ("2.5", 0, "3", "3"),
            ("-2.5", 0, "-3", "-3"),
            ("-0.001", 2, "0,00", "0.00"),
            ("0", None, "0", "0"),
        ],
    )
    def test_groups_and_rounds(self, value: str, places: int | None, vi: str, en: str) -> None:
        assert format_number(Decimal(value), "vi", places) == vi
        assert format_number(Decimal(value), "en", places) == en
