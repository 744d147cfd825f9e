"""Spelling, folding and telling the two languages apart."""

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.language import (
    clean,
    content_words,
    fold,
    guess_language,
    is_unaccented_vietnamese,
    normalise,
    words,
)

SHARED = Path(__file__).parents[4] / "shared" / "eval"
FILES = ("xquad/queries.jsonl", "intent/intent_vi.jsonl", "intent/intent_en.jsonl")
ANY_TEXT = st.text(st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF), max_size=60)


def real_questions() -> dict[str, list[str]]:
    rows = [json.loads(line) for name in FILES for line in (SHARED / name).read_text("utf-8").splitlines()]
    asked: dict[str, list[str]] = {"vi": [], "en": []}
    for row in rows:
        asked[row["lang"]].append(row.get("question") or row["text"])
    return asked


class TestClean:
    def test_leaves_what_can_be_seen(self) -> None:
        rows: list[tuple[str, str]] = [
            ("a\x00b\x07c", "abc"),
            ("nghỉ\u200b phép\ufeff\u202e", "nghỉ phép"),
            ("hết \ud83d", "hết "),
            ("t\U000e0041\U000e007fag", "tag"),
            ("một\r\nhai\rba\u2028bốn\x0cnăm", "một\nhai\nba\nbốn\nnăm"),
            (unicodedata.normalize("NFD", "Nghỉ phép"), "Nghỉ phép"),
            ("e\u200b\u0301", "é"),
            ("cột\tmột", "cột\tmột"),
        ]
        for written, left in rows:
            assert clean(written) == left

    @given(ANY_TEXT)
    def test_gives_text_every_database_takes_and_does_nothing_twice(self, text: str) -> None:
        once = clean(text)
        assert "\x00" not in once.encode().decode()
        assert clean(once) == once


class TestNormalise:
    def test_puts_the_tone_where_it_belongs(self) -> None:
        rows: list[tuple[str, str]] = [
            ("hoà", "hòa"),
            ("khoẻ", "khỏe"),
            ("thuỷ", "thủy"),
            ("UỶ BAN HOÀ GIẢI", "ỦY BAN HÒA GIẢI"),
            ("hòan thành", "hoàn thành"),
            ("ngòai", "ngoài"),
            ("hùynh", "huỳnh"),
            ("qúy", "quý"),
        ]
        for written, canonical in rows:
            assert normalise(written) == canonical
            assert normalise(unicodedata.normalize("NFD", written)) == canonical

    def test_leaves_right_spellings_alone(self) -> None:
        rows: list[str] = ["hòa", "hoàn", "quý", "quá", "giá", "già", "toán", "khuỷu", "café", "của", "mía"]
        for word in rows:
            assert normalise(word) == word

    def test_makes_white_space_single(self) -> None:
        assert normalise("  một \u00a0 hai\n\tba ") == "một hai ba"

    @given(ANY_TEXT)
    def test_does_nothing_twice(self, text: str) -> None:
        assert normalise(normalise(text)) == normalise(text)


class TestFold:
    def test_takes_every_vietnamese_diacritic_away(self) -> None:
        assert fold("Đường Nguyễn Thị Ấm, ủy ban, ưu đãi") == "Duong Nguyen Thi Am, uy ban, uu dai"

    def test_is_the_same_for_both_tone_placements_and_forms(self) -> None:
        assert fold(unicodedata.normalize("NFD", "hoà")) == fold("hòa") == "hoa"


class TestWords:
    def test_are_lower_case_and_in_order(self) -> None:
        assert words("Nghỉ phép: 14 ngày/năm (IT-VPN-01)") == ["nghỉ", "phép", "14", "ngày", "năm", "it", "vpn", "01"]

    def test_of_content_leave_function_words_of_both_languages_out(self) -> None:
        assert content_words("Công ty có bao nhiêu giá trị cốt lõi?") == ["công", "ty", "giá", "trị", "cốt", "lõi"]
        assert content_words("How many days of annual leave do I get?") == ["days", "annual", "leave"]
        assert content_words("nghi phep nam duoc bao nhieu ngay") == ["nghi", "phep", "nam", "ngay"]


class TestUnaccentedVietnamese:
    def test_is_recognised(self) -> None:
        rows: list[str] = [
            "nghi phep nam duoc bao nhieu ngay",
            "luong thang 13 tinh nhu the nao",
            "reset mat khau email",
            "VPN bi loi",
            "nghi phep",
            "di muon",
            "gia tri cot loi cua cong ty la gì",
        ]
        for text in rows:
            assert is_unaccented_vietnamese(text)
            assert guess_language(text) == "vi"

    def test_is_not_seen_elsewhere(self) -> None:
        rows: list[str] = [
            "",
            "123 / 456",
            "VPN",
            "laptop policy",
            "sick leave",
            "Can a man in the team get on the bus?",
            "thank you",
            "to do list",
            "Nghỉ phép năm được bao nhiêu ngày?",
            "Who is Nguyễn Văn An?",
        ]
        for text in rows:
            assert not is_unaccented_vietnamese(text)


class TestGuessLanguage:
    def test_sees_vietnamese_among_english_words(self) -> None:
        rows: list[str] = ["Đi muộn có bị phạt không?", "reset password thế nào", "VPN bị lỗi", "Hà Nội"]
        for text in rows:
            assert guess_language(text) == "vi"

    def test_sees_english_around_vietnamese_names(self) -> None:
        rows: list[str] = [
            "Who is Nguyễn Văn An's manager at the Hà Nội office?",
            "annual leave",
            "",
            "café near the office",
        ]
        for text in rows:
            assert guess_language(text) == "en"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared development data is not beside the project")
class TestOnRealQuestions:
    def test_languages_are_told_apart(self) -> None:
        for language, asked in real_questions().items():
            wrong = [text for text in asked if guess_language(text) != language]
            assert len(wrong) <= len(asked) // 100

    def test_missing_diacritics_are_noticed(self) -> None:
        questions = real_questions()
        unseen = [text for text in questions["vi"] if not is_unaccented_vietnamese(fold(text))]
        mistaken = [text for asked in questions.values() for text in asked if is_unaccented_vietnamese(text)]
        assert len(unseen) <= len(questions["vi"]) // 50
        assert len(mistaken) <= 2
