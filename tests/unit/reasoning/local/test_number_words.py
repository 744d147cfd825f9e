import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.reasoning.local.number_words import spelt_numbers
from app.text.language import fold

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


class TestSpeltNumbers:
    @pytest.mark.parametrize(
        ("text", "language", "written"),
        [
            ("ba mươi hai triệu", "vi", ["32000000"]),
            ("ba muoi hai trieu va muoi lam", "vi", ["32000000", "15"]),
            ("hai triệu ba trăm nghìn", "vi", ["2300000"]),
            ("hai triệu ba", "vi", ["2300000"]),
            ("15 triệu rưỡi", "vi", ["15500000"]),
            ("1tr5", "vi", ["1500000"]),
            ("2 tỷ 500 triệu", "vi", ["2500000000"]),
            ("một phần ba của 90", "vi", ["(1 / 3)"]),
            ("hai rưỡi", "vi", ["2.5"]),
            ("twenty-five times four", "en", ["25", "4"]),
            ("one hundred and five and a dozen", "en", ["105", "12"]),
            ("two and a half million", "en", ["2500000"]),
            ("three quarters of 80", "en", ["(3 / 4)"]),
        ],
    )
    def test_are_read_with_their_scales(self, text: str, language: Language, written: list[str]) -> None:
        assert [number.written for number in spelt_numbers(text, language)] == written

    @given(st.integers(1, 999_999_999), st.booleans())
    def test_what_is_read_aloud_is_understood(self, number: int, is_bare: bool) -> None:
        text = in_words(number)
        [found] = spelt_numbers(fold(text) + " dong duoc khong" if is_bare else text, "vi")[:1]
        assert found.written == str(number), text

    @given(st.text(max_size=80), st.sampled_from(["vi", "en"]))
    def test_any_text_is_read(self, text: str, language: Language) -> None:
        for number in spelt_numbers(text, language):
            assert 0 <= number.start < number.end <= len(text)
