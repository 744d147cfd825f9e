from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.deep import Asked
from app.domain.knowledge import Language
from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.formats import bare_number, read_form, split_form
from app.reasoning.local.deep.inquiry import read_inquiry

TODAY = date(2026, 11, 22)


class TestQuantities:
    @pytest.mark.parametrize(
        ("text", "language", "expected"),
        [
            ("Nhân viên lương 18 triệu đi muộn 5 lần tháng "
                "này bị trừ bao nhiêu?", "vi", [("18000000", "money"), ("5", "time")]),
            ("làm 7 năm, nghỉ 2 tuần thì còn mấy ngày phép?", "vi", [("7", "year"), ("2", "week")]),
            ("She worked 4 agreed hours on Saturday and 2 on Sunday. How much?", "en", [("4", "hour"), ("2", "hour")]),
            ("A call-out of 2 hours and 20 minutes: how much?", "en", [("140", "minute")]),
            ("Làm thêm từ 18:00 đến 21:00 được bao nhiêu tiền?", "vi", [("3", "hour")]),
            ("Chính sách năm 2026 áp dụng từ 1/3/2026 ra sao?", "vi", []),
            ("Hình chữ nhật này dài 12 m", "vi", [("12", "m")]),
        ],
    )  # fmt: skip
    def test_are_read_with_what_they_count(
        self, text: str, language: Language, expected: list[tuple[str, str]]
    ) -> None:
        found = read_inquiry(Asked(question=text, language=language), TODAY).quantities
        assert [(one.value, one.kind) for one in found] == [(Decimal(value), kind) for value, kind in expected]


class TestForms:
    @pytest.mark.parametrize(
        ("question", "core", "words"),
        [
            ("Bị trừ bao nhiêu? Chỉ ghi số.", "Bị trừ bao nhiêu?", "Chỉ ghi số"),
            ("How much is it? Give only the number in VND.", "How much is it?", "Give only the number in VND"),
            ("Ngày cuối là ngày nào? (định dạng dd/mm/yyyy)", "Ngày cuối là ngày nào?", "định dạng dd/mm/yyyy"),
        ],
    )
    def test_are_told_from_the_question(self, question: str, core: str, words: str) -> None:
        text, form = split_form(question)
        assert (text, form.words) == (core, words)

    @pytest.mark.parametrize(
        ("words", "value", "expected"),
        [
            ("làm tròn 2 chữ số thập phân", Fraction(10, 3), "3.33"),
            ("rounded to one decimal", Fraction(559234, 10000), "55.9"),
            ("in thousands of dong", Fraction(150_000), "150"),
            ("as an integer", Fraction(7, 2), "4"),
            ("", Fraction(150_000), "150000"),
        ],
    )
    def test_decide_how_a_number_is_written(self, words: str, value: Fraction, expected: str) -> None:
        assert bare_number(value, read_form(words), "") == expected


class TestArithmetic:
    @given(st.integers(0, 10**9), st.integers(1, 10**6), st.integers(0, 10**6))
    def test_is_exact(self, a: int, b: int, c: int) -> None:
        assert evaluated(f"({a} + {c}) / {b} - {c} * 2") == Fraction(a + c, b) - c * 2

    @pytest.mark.parametrize("text", ["", "1 +", "1 / 0", "a + 1", "2 ** 9999", "((1)"])
    def test_gives_nothing_for_what_is_no_sum(self, text: str) -> None:
        assert evaluated(text) is None
