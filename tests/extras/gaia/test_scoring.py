"""Quasi-exact match: what counts as the expected answer, in both languages."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.gaia.scoring import bare_words, is_match, number_in

NUMBERS = st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=2)
WORDS = st.text(st.characters(codec="utf-8"), max_size=40)


def in_vietnamese(value: Decimal | int) -> str:
    """``1234567.5`` as ``1.234.567,50``."""
    return f"{value:,}".translate(str.maketrans(",.", ".,"))


class TestPublishedRule:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("17", "17"),
            (" 17.0 ", "17"),
            ("$1,234.50", "1234.5"),
            ("15%", "15"),
            (".5", "0.5"),
            ("1e3", "1000"),
            ("The Castle", "the castle"),
            ("St. Petersburg", "st petersburg"),
            ("sea gull", "seagull"),
            ("a, b; c", "a,b,c"),
            ("Lyon,  12.0", "lyon, 12"),
            ("1,234", "1,234"),
            ("Việt Nam", "Việt Nam"),
        ],
    )
    def test_counts(self, answer: str, expected: str) -> None:
        assert is_match(answer, expected)

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("", "17"),
            ("17 apples", "17"),
            ("seventeen", "17"),
            ("17.01", "17"),
            ("the castle", "castle"),
            ("a, b", "a, b, c"),
            ("b, a", "a, b"),
            ("St. Ives, Lyon", "St Ives, Lyon"),
            ("nan", "nano"),
            ("hoà", "hòa"),
        ],
    )
    def test_does_not_count(self, answer: str, expected: str) -> None:
        assert not is_match(answer, expected)

    @given(NUMBERS)
    def test_numbers_count_however_they_are_grouped_or_priced(self, value: Decimal | int) -> None:
        for spelling in (f"{value}", f"{value:,}", f"${value:,}", f"{value}%", f"  {value} "):
            assert is_match(spelling, str(value))

    @given(NUMBERS, NUMBERS)
    def test_another_number_never_counts(self, value: Decimal | int, other: Decimal | int) -> None:
        assert is_match(str(other), str(value)) == (float(value) == float(other))

    @given(WORDS)
    def test_whatever_is_expected_counts_as_itself(self, text: str) -> None:
        assert is_match(text, text) and is_match(text.strip(), text)

    @given(WORDS, WORDS)
    def test_nothing_raises_and_lists_need_their_length(self, answer: str, expected: str) -> None:
        is_match(answer, expected, "en")
        is_match(answer, expected, "vi")
        assert not is_match(f"{answer},", "one,two,three,four") or answer.count(",") + answer.count(";") == 2

    @given(st.lists(st.from_regex(r"[a-zA-Z]{1,6}", fullmatch=True) | st.integers(0, 999).map(str), min_size=2))
    def test_elements_are_compared_one_by_one(self, elements: list[str]) -> None:
        assert is_match("; ".join(elements).upper(), ", ".join(elements))
        assert not is_match(", ".join([*elements, "x"]), ", ".join(elements))


class TestVietnamese:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("150.000", "150000"),
            ("150.000 đồng", "150000"),
            ("150000đ", "150000"),
            ("₫1.730.769", "1730769"),
            ("1.730.769 VND", "1730769"),
            ("1,730,769", "1730769"),
            ("13,5", "13.5"),
            ("13.5", "13,5"),
            ("74.80", "74.8"),
            ("17,6 triệu đồng", "17600000"),
            ("2 tỷ", "2000000000"),
            ("500 nghìn", "500.000"),
            ("1.234,5", "1234.5"),
            ("Giám đốc Khối", "giám đốc khối"),
            ("An, Bình", "An; bình"),
        ],
    )
    def test_counts(self, answer: str, expected: str) -> None:
        assert is_match(answer, expected, "vi")

    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("150.000", "150"),
            ("1,5", "15"),
            ("1,500", "1500"),
            ("150.000 ngày", "150000"),
            ("1.50.000", "150000"),
            ("đồng", "0"),
            ("", "0"),
        ],
    )
    def test_does_not_count(self, answer: str, expected: str) -> None:
        assert not is_match(answer, expected, "vi")

    @given(NUMBERS)
    def test_reads_what_people_write(self, value: Decimal | int) -> None:
        assert number_in(in_vietnamese(value), "vi") == value
        assert number_in(f"{in_vietnamese(value)} đồng", "vi") == value
        assert is_match(in_vietnamese(value), str(value) if isinstance(value, int) else in_vietnamese(value), "vi")

    def test_a_dot_is_a_decimal_sign_in_english(self) -> None:
        assert not is_match("150.000", "150000") and is_match("150.000", "150")


@given(WORDS)
def test_bare_words_are_stable(text: str) -> None:
    bare = bare_words(text)
    assert bare_words(bare) == bare and bare_words(f"  {text}\n") == bare
