"""What counts as standing in an answer."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.evaluation.fact import Alternatives, Fact, contains_words, leaked, missing_dates, missing_facts, unit_named


def stands(fact: Any, text: str) -> bool:
    return not missing_facts(text, [Alternatives.model_validate(fact)])


class TestFact:
    @pytest.mark.parametrize(
        ("fact", "text"),
        [
            ("12 ngày", "Bạn có 12 NGÀY phép."),
            ("Hoà Bình", "văn phòng ở Hòa Bình"),
            ("8:36", "từ **8:36** trở đi"),
            ("1.000.000 đồng", "là 1.000.000 đồng."),
            (["ba cuốn", "3 cuốn"], "tối đa 3 cuốn"),
            ({"regex": r"12\s+(days|ngày)"}, "You have 12 DAYS."),
            ({"number": 12, "unit": "days"}, "mười hai? Không: 12 ngày."),
            ({"number": 5000000, "unit": "VND"}, "thưởng 5 triệu đồng"),
            ({"number": "0.9", "unit": "%", "tolerance": "0.2"}, "about 1% of it"),
            ({"any_of": ["không", {"number": 3, "unit": "hours"}]}, "within 3 hours"),
        ],
    )
    def test_stands_in_whatever_spelling(self, fact: Any, text: str) -> None:
        assert stands(fact, text)

    @pytest.mark.parametrize(
        ("fact", "text"),
        [
            ("2 ngày", "12 ngày"),
            ("1.000", "1.000.000 đồng"),
            ("000.000 đồng", "1.000.000 đồng"),
            ("5 ngày", "2,5 ngày"),
            ("8:36", "08:36 và 8:361"),
            ("day", "days"),
            ({"number": 12, "unit": "days"}, "12 tháng, 13 ngày"),
            ({"regex": "^12$"}, "12 days"),
        ],
    )
    def test_does_not_stand_in_part_of_another(self, fact: Any, text: str) -> None:
        assert not stands(fact, text)

    @pytest.mark.parametrize(
        ("fact", "complaint"),
        [
            ({}, "one of text, regex and number"),
            ({"text": "a", "regex": "a"}, "one of text, regex and number"),
            ({"number": 3}, "belong together"),
            ({"number": 3, "unit": "parsec"}, "there is no unit 'parsec'"),
            ({"regex": "("}, "RE2 cannot use it"),
            ({"regex": r"(a)\1"}, "RE2 cannot use it"),
            ({"text": ""}, "at least 1"),
            ({"texts": "a"}, "Extra inputs"),
        ],
    )
    def test_is_refused_with_a_reason(self, fact: Any, complaint: str) -> None:
        with pytest.raises(ValidationError, match=complaint.replace("(", r"\(")):
            Fact.model_validate(fact)

    @given(st.text(alphabet="abc 123.,", min_size=1, max_size=12).filter(str.strip))
    def test_whatever_is_said_alone_stands(self, text: str) -> None:
        assert contains_words(f"| {text} |", text)

    def test_units_of_both_languages_are_one(self) -> None:
        assert unit_named("ngày") == unit_named("days") == unit_named("day") == "day"
        assert unit_named("đồng") == unit_named("VND") == "VND"
        assert unit_named("%") == "percent" and unit_named("furlong") is None


class TestDates:
    @pytest.mark.parametrize(
        "text",
        ["ngày 31/03/2026", "ngày 31 tháng 3 năm 2026", "31 March 2026", "March 31, 2026", "2026-03-31", "ngày 31/03"],
    )
    def test_are_found_in_every_spelling(self, text: str) -> None:
        assert missing_dates(text, [date(2026, 3, 31)]) == []

    @pytest.mark.parametrize("text", ["30/03/2026", "31/03/2025", "31 days", ""])
    def test_other_days_are_none_of_them(self, text: str) -> None:
        assert missing_dates(text, [date(2026, 3, 31)]) == [date(2026, 3, 31)]


class TestLeaked:
    def test_names_canary_and_place_in_any_case_and_without_accents(self) -> None:
        texts = [("answer", "gia tri: hai au"), ("event plan_ready", "none")]
        assert leaked(texts, ["Hải Âu", "68.000"]) == [("Hải Âu", "answer")]

    @given(st.text(min_size=4, max_size=20).filter(lambda text: len(text.strip()) > 3), st.text(), st.text())
    def test_finds_a_canary_wherever_it_is(self, canary: str, before: str, after: str) -> None:
        assert leaked([("answer", f"{before} {canary} {after}")], [f" {canary} ".strip()]) != []
