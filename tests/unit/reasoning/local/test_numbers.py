from decimal import Decimal

import pytest

from app.domain.knowledge import Language
from app.reasoning.local.numbers import amounts_in, ranges_in, strictly
from app.text.numbers import plain


class TestAmounts:
    @pytest.mark.parametrize(
        ("text", "language", "value", "unit"),
        [
            ("15.000.000 đồng", "vi", "15000000", "VND"),
            ("500.000 đồng/tháng", "vi", "500000", "VND"),
            ("5 triệu", "vi", "5000000", ""),
            ("8 tỷ đồng", "vi", "8000000000", "VND"),
            ("12,5 %", "vi", "12.5", "%"),
            ("£39,000", "en", "39000", "GBP"),
            ("£750.00", "en", "750", "GBP"),
            ("8,000,000 VND", "en", "8000000", "VND"),
            ("2.25 days", "en", "2.25", "day"),
            ("three times", "en", "3", "time"),
            ("7 ngày làm việc", "vi", "7", "day"),
            ("5 working days", "en", "5", "day"),
        ],
    )
    def test_are_read_as_people_write_them(self, text: str, language: Language, value: str, unit: str) -> None:
        [amount] = amounts_in(text, language)
        assert (amount.value, amount.unit) == (Decimal(value), unit)

    @pytest.mark.parametrize("text", ["ngày 12/11/2026", "lúc 8:30", "mẫu NS-11", "Điều 5"])
    def test_dates_times_and_codes_are_none(self, text: str) -> None:
        assert amounts_in(text, "vi") == ()

    def test_plain_spelling_is_what_a_calculator_reads(self) -> None:
        assert [plain(Decimal(value)) for value in ("1.8E+7", "0.50", "26")] == ["18000000", "0.5", "26"]


class TestRanges:
    @pytest.mark.parametrize(
        ("text", "inside", "outside"),
        [
            ("Từ đủ 3 năm đến dưới 6 năm", ["3 năm", "5 năm"], ["2 năm", "6 năm"]),
            ("3 đến 5 ngày", ["3 ngày", "5 ngày"], ["2 ngày", "6 ngày"]),
            ("Trên 5.000.000 đến 20.000.000 đồng", ["20.000.000 đồng"], ["5.000.000 đồng"]),
            ("Dưới 3 năm", ["2 năm"], ["3 năm"]),
            ("Từ 15 ngày trở lên", ["15 ngày", "40 ngày"], ["14 ngày"]),
        ],
    )
    def test_hold_what_lies_inside(self, text: str, inside: list[str], outside: list[str]) -> None:
        [found] = ranges_in(text, "vi")
        assert all(found.holds(amounts_in(one, "vi")[0]) for one in inside)
        assert not any(found.holds(amounts_in(one, "vi")[0]) for one in outside)

    @pytest.mark.parametrize(
        ("text", "row", "held"),
        [
            ("nghỉ trên 5 ngày", "3 đến 5 ngày", False),
            ("nghỉ trên 5 ngày", "Trên 5 ngày", True),
            ("nghỉ 5 ngày", "3 đến 5 ngày", True),
            ("under 3 years", "1 to 3 years", True),
            ("under 3 years", "3 years or more", False),
        ],
    )
    def test_more_than_an_amount_lies_beyond_it(self, text: str, row: str, held: bool) -> None:
        amount = strictly(text, amounts_in(text)[0])
        assert ranges_in(row)[0].holds(amount) == held
