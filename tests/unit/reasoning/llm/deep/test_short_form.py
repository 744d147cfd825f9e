"""Bare answers for exact matching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.reasoning.llm.deep import short_form


@pytest.mark.parametrize(
    ("answer", "language", "expected"),
    [
        ("17", "en", "17"),
        ("17.", "en", "17"),
        ("Final answer: 17", "en", "17"),
        ("Đáp án: **17**", "vi", "17"),
        ("17 km", "en", "17"),
        ("$1,234.50", "en", "1234.5"),
        ("1,234", "en", "1234"),
        ("1.234", "vi", "1234"),
        ("1.234", "en", "1.234"),
        ("3,5", "vi", "3.5"),
        ("1.730.769,23 đồng", "vi", "1730769.23"),
        ("15.000.000 đồng", "vi", "15000000"),
        ("5 triệu đồng", "vi", "5000000"),
        ("12 %", "en", "12"),
        ("-5", "en", "-5"),
        ("−2,5 triệu", "vi", "−2,5 triệu"),
        ("Hà Nội.", "vi", "Hà Nội"),
        ('"Hà Nội"', "vi", "Hà Nội"),
        ("Washington D.C.", "en", "Washington D.C."),
        ("12; 14", "en", "12, 14"),
        ("1,200, 15 km", "en", "1200, 15"),
        ("apples,  pears", "en", "apples, pears"),
        ("2026-05-04", "en", "2026-05-04"),
        ("8:30", "en", "8:30"),
        ("10 năm 3 tháng", "vi", "10 năm 3 tháng"),
        ("", "vi", ""),
    ],
)
def test_is_what_scoring_compares(answer: str, language: Language, expected: str) -> None:
    assert short_form(answer, language) == expected


@pytest.mark.parametrize("wanted", ["Trả lời kèm đơn vị", "Give the answer with its units", "include the currency"])
def test_units_stay_where_they_are_asked_for(wanted: str) -> None:
    assert short_form("17 km", "en", wanted) == "17 km"


@given(st.text(max_size=80), st.sampled_from(["vi", "en"]))
def test_any_text_is_survived_and_stays_on_one_line(text: str, language: Language) -> None:
    once = short_form(text, language)
    assert "\n" not in once
    assert len(once) <= 2 * len(text) + 40
