import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.knowledge import Passage
from app.reasoning.local.confidence import ACROSS, DOUBTFUL, FOUND, OWN, Signals, confidence, signals_of
from app.reasoning.local.question import read_question
from app.reasoning.local.scoring import Candidate, candidates_of, scored
from tests import factories

AGAINST = {"misfits", "names_missing", "rival", "subject_missing"}
PAGE = (Path(__file__).parents[4] / "docs" / "confidence.md").read_text("utf-8")


def sure(query: str, *passages: Passage, limit: float = 0.7) -> float:
    question = read_question(query)
    return confidence(question, scored(question, candidates_of(passages, question)), limit)


def page(text: str, **changes: object) -> Passage:
    return factories.passage(text, **{"title": "", "language": "en", **changes})


class TestWhatSpeaksForAndAgainst:
    def test_every_weight_has_the_sign_its_signal_means(self) -> None:
        for weights in (OWN, ACROSS):
            signs = dict(zip(Signals._fields, weights.of, strict=True))
            assert all(value <= 0 if name in AGAINST else value >= 0 for name, value in signs.items())

    @given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
    def test_it_rises_with_the_relevance_of_the_passage(self, relevances: Sequence[float]) -> None:
        text = "The greenhouse is watered twice a day in July."
        ordered = sorted(relevances)
        told = [sure("How often is the greenhouse watered?", page(text, relevance_score=r)) for r in ordered]
        assert told == sorted(told)
        assert all(0 <= value < 1 for value in told)

    def test_a_subject_the_passage_does_not_speak_of_counts_against_it(self) -> None:
        text = "Every visitor of the office gets a badge at the reception desk."
        assert sure("Who gets a badge at the office?", page(text)) > FOUND
        assert sure("Who gets a parental leave bonus at the office?", page(text)) < FOUND

    def test_the_less_of_the_question_is_missing_the_surer(self) -> None:
        text = "The warehouse in Vinh opens at 7:15 and closes at 16:45."
        one = sure("When does the warehouse in Vinh open?", page(text))
        other = sure("When does the warehouse in Vinh pay overtime to temporary pickers?", page(text))
        assert one > other


class TestNamesBesideTheSameWord:
    def test_another_place_is_not_the_one_asked_for(self) -> None:
        text = "Kho hàng Vinh mở cửa lúc 7:15 và đóng cửa lúc 16:45 mỗi ngày làm việc."
        about = {"title": "Giờ mở cửa kho", "language": "vi"}
        assert sure("Kho hàng Vinh mở cửa lúc mấy giờ?", page(text, **about)) > FOUND
        assert sure("Kho hàng Huế mở cửa lúc mấy giờ?", page(text, **about)) < FOUND

    def test_in_english_the_name_may_stand_before_the_word(self) -> None:
        text = "The Bristol depot opens at 7:15 on working days."
        assert sure("When does the Bristol depot open?", page(text)) > FOUND
        assert sure("When does the Bristol depot open?", page(text)) > 2 * sure(
            "When does the Cardiff depot open?", page(text)
        )

    def test_a_name_of_no_rival_is_only_missing(self) -> None:
        text = "The depot opens at 7:15 on working days."
        assert sure("When does the Cardiff depot open?", page(text)) > sure(
            "When does the Cardiff depot open?", page(f"The Bristol {text[4:]}")
        )


class TestOperatorsLimit:
    def test_a_passage_far_below_it_is_doubted(self) -> None:
        text = "The greenhouse is watered twice a day in July."
        near = page(text, relevance_score=0.4)
        assert sure("How often is the greenhouse watered?", near, limit=0.9) < sure(
            "How often is the greenhouse watered?", near, limit=0.5
        )


def ranked(query: str, *passages: Passage, compared: bool = True) -> list[Candidate]:
    found = scored(read_question(query), candidates_of(passages, read_question(query)))
    return [replace(candidate, likeness=0.0 if compared else None) for candidate in found]


def stands_out(query: str, *passages: Passage, compared: bool = True) -> float:
    return signals_of(read_question(query), ranked(query, *passages, compared=compared)).stands_out


class TestStandingOut:
    QUERY, TEXT = "How often is the greenhouse watered?", "The greenhouse is watered {} a day in July."

    def version(self, often: str, **changes: object) -> Passage:
        return page(
            self.TEXT.format(often), **{"title": "Greenhouse", "document": often, "similarity": 0.25, **changes}
        )

    def test_another_page_is_what_a_page_stands_out_from(self) -> None:
        other = page("The orchard is pruned in winter.", document="other", title="Orchard", similarity=0.1)
        assert stands_out(self.QUERY, self.version("twice"), other) == pytest.approx(0.15)

    def test_a_page_found_alone_stands_out_from_unrelated_text_in_any_number_of_versions(self) -> None:
        assert stands_out(self.QUERY, self.version("twice")) == pytest.approx(0.25)
        assert stands_out(self.QUERY, self.version("twice"), self.version("once")) == pytest.approx(0.25)

    def test_further_passages_of_the_page_change_nothing(self) -> None:
        further = page("Tools are kept in the shed.", title="Greenhouse", document="twice", similarity=0.2)
        assert stands_out(self.QUERY, self.version("twice"), further, self.version("once")) == pytest.approx(0.25)

    def test_it_never_counts_for_more_than_pages_stand_out_elsewhere(self) -> None:
        assert stands_out(self.QUERY, self.version("twice", similarity=0.9)) == 0.3

    def test_it_does_not_before_its_pieces_were_compared_nor_without_a_name_that_was_asked_for(self) -> None:
        assert stands_out(self.QUERY, self.version("twice"), compared=False) == 0
        assert stands_out("How often is the greenhouse in Vinh watered?", self.version("twice")) == 0


def told(pattern: str) -> tuple[float, ...]:
    found = re.search(pattern, PAGE)
    assert found is not None, pattern
    return tuple(float(number.replace("−", "-")) for number in found.groups())


class TestPublishedFormula:
    ROWS = {
        name: (float(own), float(across))
        for name, own, across in re.findall(r"^\| (\w+) \|[^|]*\| (-?[\d.]+) \| (-?[\d.]+) \|$", PAGE, re.MULTILINE)
    }

    def test_the_page_tells_every_weight(self) -> None:
        told = {name: (own, across) for name, own, across in zip(Signals._fields, OWN.of, ACROSS.of, strict=True)}
        assert {"constant": (OWN.constant, ACROSS.constant), **told} == self.ROWS

    def test_the_page_tells_from_where_something_is_found_and_where_words_leave_it_open(self) -> None:
        assert told(r"Below ([\d.]+) a finding is \*not found\*") == (FOUND,)
        assert told(r"confidence between ([\d.]+) and ([\d.]+)\)") == DOUBTFUL

    @settings(deadline=None)
    @given(st.floats(0.36, 1), st.floats(-0.1, 0.1), st.sampled_from(["vi", "en"]))
    def test_reckoned_from_the_page_it_is_the_same(self, relevance: float, likeness: float, language: str) -> None:
        query = "How often is the greenhouse watered?"
        made = page("The greenhouse is watered twice a day in July.", relevance_score=relevance, language=language)
        pieces = [replace(piece, likeness=likeness) for piece in ranked(query, made)]
        [most], [steepness] = told(r"min\(([\d.]+), 1 /"), told(r"e\^\(−([\d.]+) × odds")
        column = 0 if language == "en" else 1
        signals = signals_of(read_question(query), pieces)._asdict() | {"constant": 1.0}
        odds = sum(weights[column] * signals[name] for name, weights in self.ROWS.items())
        reckoned = min(most, 1 / (1 + math.exp(-steepness * odds)))
        assert confidence(read_question(query), pieces, 0.7) == pytest.approx(reckoned)

    def test_a_passage_below_half_of_the_limit_costs_what_the_page_says(self) -> None:
        query, [penalty] = "How often is the greenhouse watered?", told(r"\(− ([\d.]+) where relevance is below half")
        pieces = ranked(query, page("The greenhouse is watered twice a day in July.", relevance_score=0.4))
        near, far = (confidence(read_question(query), pieces, limit) for limit in (0.7, 0.9))
        odds = [math.log(value / (1 - value)) for value in (near, far)]
        assert odds[0] - odds[1] == pytest.approx(penalty * told(r"e\^\(−([\d.]+) × odds")[0])
