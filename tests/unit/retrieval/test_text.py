"""The words a question is searched with, and the words a passage is found by."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.ranking import legs_of
from app.retrieval.text import TermStatistics, index_text, read_question, weigh


def asked_words(query: str) -> set[str]:
    return {word for term in read_question(query).terms for word in term.words}


def indexed_words(text: str, *, folded: bool = False) -> set[str]:
    return {entry.rsplit(":", 1)[0].strip("'") for entry in index_text(text, folded=folded).split()}


class TestReadQuestion:
    def test_asks_for_content_words_and_neighbours(self) -> None:
        question = read_question("Nghỉ phép năm được bao nhiêu ngày?")
        assert [term.query for term in question.terms] == [
            "'nghỉ'", "'phép'", "'năm'", "'ngày'", "'nghỉ' <-> 'phép'", "'phép' <-> 'năm'",
        ]  # fmt: skip
        assert (question.language, question.is_unaccented) == ("vi", False)

    def test_joins_no_words_across_a_function_word(self) -> None:
        assert "'lương' <-> 'thưởng'" not in [term.query for term in read_question("lương và thưởng").terms]

    def test_asks_for_function_words_when_there_is_nothing_else(self) -> None:
        assert asked_words("là gì") == {"là", "gì"}

    def test_asks_for_nothing_when_there_are_no_words(self) -> None:
        assert read_question("?! …").terms == ()

    def test_folds_what_was_typed_without_diacritics(self) -> None:
        question = read_question("nghi phep nam duoc bao nhieu ngay")
        assert question.is_unaccented
        assert asked_words("nghi phep nam duoc bao nhieu ngay") == {"nghi", "phep", "nam", "ngay"}

    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    def test_sees_one_word_in_every_spelling(self, form: str) -> None:
        spelt = unicodedata.normalize(form, "Uỷ ban hoà giải")  # type: ignore[arg-type]  # mypy wants the literal
        assert asked_words(spelt) == asked_words("ủy ban hòa giải")

    def test_asks_for_the_singular_of_english_plurals(self) -> None:
        assert asked_words("password policies, buses and bonus classes") >= {"password", "policy", "bonus", "class"}


class TestIndexText:
    def test_keeps_places_for_neighbours(self) -> None:
        assert index_text("Nghỉ phép năm, nghỉ ốm") == "'nghỉ':1,4 'phép':2 'năm':3 'ốm':5"

    def test_folds_on_request(self) -> None:
        assert indexed_words("Đường dây nóng", folded=True) == {"duong", "day", "nong"}

    def test_keeps_within_the_limits_of_a_tsvector(self) -> None:
        indexed = index_text("a" * 5000 + " b" * 400)
        assert max(len(entry) for entry in indexed_words("a" * 5000)) == 64
        assert len(indexed.split("'b':")[1].split(",")) == 255

    @given(st.text(max_size=80))
    def test_indexes_every_word_a_question_may_ask_for(self, text: str) -> None:
        assert asked_words(text) <= indexed_words(text) | indexed_words(text, folded=True)

    @given(st.text(max_size=80))
    def test_never_lets_a_quote_or_operator_through(self, text: str) -> None:
        for word in indexed_words(text):
            assert all(letter.isalnum() for letter in word)


class TestWeigh:
    def test_gives_rare_words_more_weight_than_common_ones(self) -> None:
        weights = {
            term.query: weight
            for term, weight in weigh(read_question("công ty Kestrel"), TermStatistics(100, {"công": 40, "ty": 40}))
        }
        assert weights["'kestrel'"] > 3 * weights["'công'"]

    def test_drops_words_that_are_everywhere(self) -> None:
        common = TermStatistics(500, {"công": 400, "ty": 400, "phép": 20})
        kept = [term.query for term, _ in weigh(read_question("công ty phép"), common)]
        assert kept == ["'phép'", "'ty' <-> 'phép'"]

    def test_keeps_them_when_nothing_else_was_asked(self) -> None:
        common = TermStatistics(500, {"công": 400, "ty": 400})
        assert [term.query for term, _ in weigh(read_question("công ty"), common)][:2] == ["'công'", "'ty'"]

    def test_keeps_them_in_a_small_corpus(self) -> None:
        assert len(weigh(read_question("công ty"), TermStatistics(3, {"công": 3, "ty": 3}))) == 3

    def test_bounds_what_a_long_question_asks(self) -> None:
        long = " ".join(f"từ{number}" for number in range(500))
        assert len(weigh(read_question(long), TermStatistics(10, {}))) <= 24


class TestLegs:
    def test_count_alike_for_a_question_with_diacritics(self) -> None:
        legs = legs_of(read_question("Nghỉ phép năm được bao nhiêu ngày?"))
        assert legs.named() == {"vector": 1.0, "text": 1.0}
        assert legs.other_language == "en"

    def test_count_alike_with_folded_words_without_diacritics(self) -> None:
        legs = legs_of(read_question("nghi phep nam duoc bao nhieu ngay"))
        assert legs.named() == {"vector": 1.0, "folded": 1.0}
        assert legs.other_language == "en"
