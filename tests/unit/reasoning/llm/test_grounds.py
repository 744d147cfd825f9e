"""What may be stated: known figures in other spellings, and no others."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.deep import Observation
from app.reasoning.llm.grounds import Grounds, texts_of


class TestFigures:
    @pytest.mark.parametrize(
        ("stated", "told"),
        [
            ("1730769.2307", "1.730.769,23 đồng"),
            ("1730769.2307", "khoảng 1.730.769"),
            ("15000000", "15 triệu đồng"),
            ("5 triệu đồng", "5.000.000"),
            ("0.125", "12,5 %"),
            ("2.5", "3"),
            ("three days of leave", "3 days"),
            ("2026-05-04", "ngày 4/5/2026"),
            ("", "1. trước hết\n2. sau đó"),
            ("", "theo [3]"),
        ],
    )
    def test_known_ones_may_be_told_in_other_ways(self, stated: str, told: str) -> None:
        assert Grounds([stated]).unknown(told) == []

    @pytest.mark.parametrize(
        ("stated", "told", "unknown"),
        [
            ("12 ngày", "13 ngày", ["13"]),
            ("12.34", "12,4", ["12,4"]),
            ("2.5", "2", ["2"]),
            ("17000", "17", ["17"]),
            ("0.125", "12,5", ["12,5"]),
            ("12.5", "125 và 1,25", ["125", "1,25"]),
            ("4.5.2026", "4.6.2026", ["4.6.2026"]),
            ("", "9" * 60, ["9" * 60]),
        ],
    )
    def test_others_are_named(self, stated: str, told: str, unknown: list[str]) -> None:
        assert Grounds([stated]).unknown(told) == unknown

    def test_the_question_says_in_what_scale(self) -> None:
        assert Grounds(["17000"], "How many thousand hours?").unknown("17") == []
        assert Grounds(["1730769"], "làm tròn đến nghìn đồng").unknown("1.731.000") == []
        assert Grounds(["17000"], "Công ty có bao nhiêu giờ?").unknown("17") == ["17"]

    @given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=60), st.text(max_size=120))
    def test_any_text_is_survived(self, stated: list[str], question: str, told: str) -> None:
        grounds = Grounds(stated, question)
        assert all(any(map(str.isdigit, number)) for number in grounds.unknown(told))
        assert grounds.states_one_of(told) in (True, False)

    @given(st.decimals(allow_nan=False, allow_infinity=False, min_value=0, max_value=10**9, places=4))
    def test_a_figure_is_known_as_it_stands(self, figure: Decimal) -> None:
        assert Grounds([f"kết quả {figure}"]).unknown(f"là {figure}") == []


class TestTexts:
    def test_the_newest_texts_come_first(self) -> None:
        calls = [Observation(tool="t", query="q", text=f"kết quả {n}") for n in range(3)]
        assert [text for text in texts_of(calls) if text] == ["kết quả 2", "kết quả 1", "kết quả 0"]

    def test_what_is_read_is_bounded(self) -> None:
        texts = ["mới 4242", *(f"{n} " * 12_000 for n in range(100, 130)), "cũ 987654"]
        grounds = Grounds(texts)
        assert grounds.unknown("4242") == []
        assert grounds.unknown("987654") == ["987654"]
