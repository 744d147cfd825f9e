from fractions import Fraction

from app.tools.math import is_money, is_shown_exactly, write_amount


class TestWriteAmount:
    def test_rounds_and_names_the_unit_as_the_language_does(self) -> None:
        rows: list[tuple[Fraction, str, str, str]] = [
            (Fraction(45_000_000, 26), "VND", "1.730.769 đồng", "1,730,769 VND"),
            (Fraction(3, 2), "đồng", "2 đồng", "2 VND"),
            (Fraction(750), "GBP", "£750,00", "£750.00"),
            (Fraction(750), "£", "£750,00", "£750.00"),
            (Fraction(-1, 3), "USD", "-$0,33", "-$0.33"),
            (Fraction(1234), "EUR", "€1.234,00", "€1,234.00"),
            (Fraction(5), "CAD", "C$5,00", "C$5.00"),
            (Fraction(25, 2), "%", "12,5%", "12.5%"),
            (Fraction(100, 3), "percent", "33,33%", "33.33%"),
            (Fraction(1), "day", "1 ngày", "1 day"),
            (Fraction(5, 2), "day", "2,5 ngày", "2.5 days"),
            (Fraction(7), "ngày", "7 ngày", "7 days"),
            (Fraction(2), "person", "2 người", "2 people"),
            (Fraction(1, 3), "km", "0,3333 km", "0.3333 km"),
            (Fraction(1234), "", "1.234", "1,234"),
            (Fraction(3), "x" * 60, "3", "3"),
        ]
        for value, unit, vi, en in rows:
            assert write_amount(value, unit, "vi") == vi
            assert write_amount(value, unit, "en") == en


class TestIsShownExactly:
    def test_knows_what_rounding_loses(self) -> None:
        rows: list[tuple[Fraction, str, bool]] = [
            (Fraction(3, 2), "VND", False),
            (Fraction(2), "VND", True),
            (Fraction(1, 4), "GBP", True),
            (Fraction(1, 8), "GBP", False),
            (Fraction(1, 8), "day", True),
            (Fraction(1, 3), "day", False),
        ]
        for value, unit, exact in rows:
            assert is_shown_exactly(value, unit) is exact


class TestIsMoney:
    def test_tells_currencies_from_other_units(self) -> None:
        assert all(map(is_money, ("VND", "đồng", "GBP", "£", "usd")))
        assert not any(map(is_money, ("%", "day", "", "km")))
