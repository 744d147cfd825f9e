"""Accents are restored where they are missing, and nothing else is touched."""

import hashlib
import json
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.text import diacritics
from app.text.diacritics import DIGEST, PATH, packed, restored
from app.text.language import (
    ENGLISH_STOP_WORDS,
    fold,
    guess_language,
    is_syllable,
    is_unaccented_vietnamese,
    normalise,
    words,
)
from training.text import diacritics as counting

COMPANIES = Path("bench/companies")
COMPANY_NAMES = ("bank", "factory", "school", "shops", "studio")

TYPED = [
    "nghi", "phep", "nam", "duoc", "bao", "nhieu", "ngay", "PHONG", "Ke", "toan", "ở", "12h", "VPN-01", "ko", "email?",
    "|", ",", "hoa", "đơn", "staging", "\n",
]  # fmt: skip
typed = st.lists(st.sampled_from(TYPED), max_size=12).map(" ".join)


def questions(company: str, language: str) -> list[str]:
    lines = (COMPANIES / company / "questions.jsonl").read_text("utf-8").splitlines()
    return [text for row in map(json.loads, lines) if row["language"] == language for text in row["wordings"]]


class TestRestored:
    @pytest.mark.parametrize(
        "text",
        [
            "Nghỉ phép năm được bao nhiêu ngày?",
            "Nhân viên mới được cấp máy tính khi nào?",
            "Lương tháng 13 tính thế nào?",
            "Quy trình xin nghỉ ốm ra sao?",
            "Ai phê duyệt đề nghị thanh toán?",
        ],
    )
    def test_common_questions_get_their_accents(self, text: str) -> None:
        assert restored(fold(text)) == text

    @pytest.mark.parametrize("text", ["", " ", "?", "12h30", "VPN-01", "\ud800", "a\u0301", "a" * 5000, "đ"])
    def test_odd_text_is_no_obstacle(self, text: str) -> None:
        assert fold(restored(text)) == fold(text)

    def test_capitals_codes_numbers_and_foreign_words_stay(self) -> None:
        found = restored("Mat khau VPN-01 cua phong HR het han sau 90 ngay, gui email cho IT duoc khong?")
        assert found.startswith("Mật khẩu VPN-01 của phòng HR hết hạn sau 90 ngày")
        assert "gửi email cho IT được không?" in found

    def test_what_has_accents_already_stays(self) -> None:
        assert "đơn" in restored("lam don xin nghi phep nam gui đơn cho ai")

    def test_english_is_not_touched(self) -> None:
        # Some rows that are answered in English are asked in both languages.
        function_words = {word for word in ENGLISH_STOP_WORDS if len(word) > 1 and not is_syllable(word)}
        asked = [text for company in COMPANY_NAMES for text in questions(company, "en")]
        english = [text for text in asked if function_words & set(words(text))]
        assert len(english) > 1000
        assert [text for text in english if restored(text) != text] == ["van at cho xep during tet?"]

    def test_accented_questions_are_not_touched(self) -> None:
        for text in questions("studio", "vi"):
            if not is_unaccented_vietnamese(text):
                assert restored(text) == text

    @given(st.text() | typed)
    @example("nghi phep\u0301 nam")
    def test_only_accents_are_added(self, text: str) -> None:
        found = restored(text)
        assert fold(found) == fold(text)
        if guess_language(text) == "en":
            assert found == text

    @given(typed)
    def test_twice_is_once(self, text: str) -> None:
        once = restored(text)
        if not is_unaccented_vietnamese(once):
            assert restored(once) == once

    def test_a_company_that_was_never_read_is_restored(self) -> None:
        """Held out of the counts: studio. Nine syllables of ten are right."""
        right = total = 0
        for text in questions("studio", "vi"):
            if is_unaccented_vietnamese(text):
                continue
            pairs = list(zip(normalise(text).split(), restored(fold(normalise(text))).split(), strict=True))
            right, total = right + sum(one == other for one, other in pairs), total + len(pairs)
        assert right / total > 0.88

    def test_a_question_takes_milliseconds(self) -> None:
        text = "nhan vien thu viec co duoc nghi phep nam khong va phai bao truoc cho quan ly bao nhieu ngay"
        restored(text)
        started = time.process_time()
        for _ in range(20):
            restored(text)
        assert (time.process_time() - started) / 20 < 0.015


class TestFile:
    def test_the_file_is_the_one_that_was_made(self) -> None:
        content = PATH.read_bytes()
        assert hashlib.sha256(content).hexdigest() == DIGEST
        assert len(content) < 3_000_000

    def test_keys_come_back_as_they_went_in(self) -> None:
        keys = [0, 5, 300, 2**40]
        assert diacritics._unpacked(packed(np.array(keys))).tolist() == keys


def test_decomposed_letters_are_read() -> None:
    text = unicodedata.normalize("NFD", "nghi phep nam được bao nhieu ngay lam viec cua nhan vien")
    assert "được" in restored(text)


def test_what_was_counted_is_still_there() -> None:
    documents, questions = counting.own_sources([])
    assert len(documents.lines) > 500
    assert "tôi làm mất ví" in questions.lines
