from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Passage
from app.reasoning.local.confidence import ACROSS, FOUND, OWN, Signals, confidence
from app.reasoning.local.question import read_question
from app.reasoning.local.scoring import candidates_of, scored
from tests import factories

AGAINST = {"misfits", "names_missing", "rival", "subject_missing"}


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
