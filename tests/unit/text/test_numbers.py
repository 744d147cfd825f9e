import time
from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.text.language import fold
from app.text.numbers import all_readings, format_number, numbers_in, read_digits, read_number
from app.text.numerals import WORD_CLASSES

LANGUAGES = st.sampled_from(("vi", "en"))
DECIMALS = st.decimals(
    min_value=Decimal("-1e15"), max_value=Decimal("1e15"), allow_nan=False, allow_infinity=False, places=6
)


_DIGITS = ("không", "một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín")


def in_words(number: int) -> str:
    """A number below a billion as it is read aloud in Vietnamese."""
    if number >= 1000:
        scale, word = (10**6, "triệu") if number >= 10**6 else (1000, "nghìn")
        rest = number % scale
        return " ".join(filter(None, [in_words(number // scale), word, _after(rest, scale) if rest else ""]))
    if number >= 100:
        rest = number % 100
        tail = "" if not rest else f" linh {_DIGITS[rest]}" if rest < 10 else f" {in_words(rest)}"
        return f"{_DIGITS[number // 100]} trăm{tail}"
    tens, ones = divmod(number, 10)
    if not tens:
        return _DIGITS[ones]
    last = {0: "", 5: " lăm"}.get(ones, f" {_DIGITS[ones]}")
    return f"{'mười' if tens == 1 else f'{_DIGITS[tens]} mươi'}{last}"


def _after(rest: int, scale: int) -> str:
    """What follows a scale word is read with all its hundreds."""
    if rest >= 1000:
        return in_words(rest) if rest >= 100_000 else f"không trăm {'linh ' if rest < 10_000 else ''}{in_words(rest)}"
    if rest >= 100:
        return in_words(rest)
    return f"không trăm {'linh ' if rest < 10 else ''}{in_words(rest)}"


SPELLINGS = [
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
]
"""What is written, its value for a Vietnamese and for an English reader."""
NOT_ONE_NUMBER = (
    "",
    "abc",
    "1.2.3",
    "12,34,567",
    "1.000.00",
    "1,2,3.4.5",
    "5 triệu đồng",
    "1" * 31,
    "nan",
    "1e999",
    "--1",
)


class TestReadNumber:
    def test_reads_both_spellings(self) -> None:
        wrong = [
            text
            for text, vi, en in SPELLINGS
            if (read_number(text, "vi"), read_number(text, "en")) != (Decimal(vi), Decimal(en))
        ]
        assert not wrong

    def test_reads_decomposed_letters(self) -> None:
        assert read_number("5 tri\u00ea\u0323u", "vi") == 5_000_000

    def test_refuses_what_is_not_one_number(self) -> None:
        assert [text for text in NOT_ONE_NUMBER if read_number(text, "vi") is not None] == []

    @given(value=DECIMALS, language=LANGUAGES)
    def test_reads_back_what_was_written(self, value: Decimal, language: Language) -> None:
        assert read_number(format_number(value, language), language) == value

    @given(text=st.text(max_size=200) | st.text(alphabet="0123456789.,eE-% ktr", max_size=60), language=LANGUAGES)
    def test_any_text_is_read_or_refused(self, text: str, language: Language) -> None:
        read_number(text, language)
        for number in numbers_in(text, language):
            assert 0 <= number.start < number.end <= len(text)

    @given(st.lists(st.sampled_from([*WORD_CLASSES, "5", "20", "1.500", ",", "-"]), max_size=12), LANGUAGES)
    def test_any_row_of_its_own_words_is_read(self, words: list[str], language: Language) -> None:
        text = " ".join(words)
        for number in numbers_in(text, language):
            assert text[number.start : number.end]

    @given(st.integers(1, 999_999_999), st.booleans())
    @example(5, False)
    def test_what_is_read_aloud_is_understood(self, number: int, is_bare: bool) -> None:
        text = f"{in_words(number)} đồng được không"  # “năm” with nothing behind it is a year
        [found] = numbers_in(fold(text) if is_bare else text, "vi")[:1]
        assert found.value == number, text


class TestReadDigits:
    def test_gives_none_for_rows_that_are_no_number(self) -> None:
        rows = ("0" * 31, "1." + "0" * 40, "1,000.000,0", "1.0000.000")
        assert [digits for digits in rows if read_digits(digits, "vi") is not None] == []


class TestAllReadings:
    def test_gives_every_reading(self) -> None:
        found = all_readings("Lương 15.000.000 đồng, thưởng 12,5% sau ba ngày và 1.500 điểm")
        assert {Decimal(n) for n in ("15000000", "12.5", "0.125", "3", "1500", "1.5")} <= found

    def test_does_not_cut_numbers_that_stand_before_letters(self) -> None:
        assert all_readings("15km") == {Decimal(15)}

    def test_reads_colloquial_magnitudes_inside_text(self) -> None:
        assert Decimal(5_000_000) in all_readings("lương 5tr, nghỉ 3 ngày")

    def test_finds_nothing_in_words(self) -> None:
        assert all_readings("không có số nào") == frozenset()

    @given(text=st.text(max_size=300))
    def test_takes_any_text(self, text: str) -> None:
        assert all(value >= 0 for value in all_readings(text))

    def test_is_linear(self) -> None:
        for text in ("1" * 50_000, "1." * 25_000, "1,5 tr " * 7_500, "%" * 50_000, "một " * 12_500):
            started = time.thread_time()
            all_readings(text)
            assert time.thread_time() - started < 2, text[:10]


class TestFormatNumber:
    def test_groups_and_rounds(self) -> None:
        for value, places, vi, en in (
            ("1730769.23", 0, "1.730.769", "1,730,769"),
            ("750", 2, "750,00", "750.00"),
            ("1234567.5", None, "1.234.567,5", "1,234,567.5"),
            ("1.50", None, "1,5", "1.5"),
            ("1e6", None, "1.000.000", "1,000,000"),
            ("2.5", 0, "3", "3"),
            ("-2.5", 0, "-3", "-3"),
            ("-0.001", 2, "0,00", "0.00"),
            ("0", None, "0", "0"),
        ):
            assert format_number(Decimal(value), "vi", places) == vi
            assert format_number(Decimal(value), "en", places) == en
