"""In which order passages are shown: relevance and places together."""

from datetime import UTC, datetime
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.ranking import Legs, best_first
from app.storage.search import Hit

OWN = Legs(1.0, 1.0, "en", is_folded=False)
FOLDED = Legs(0.1, 1.0, None, is_folded=True)


MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
HIT = Hit(
    chunk_id=uuid4(), document_id=uuid4(), external_id="a", title="A", section="", text="a", page=None, url="u",
    department="hr", scope="public", language="vi", created_at=MOMENT, effective_from=None, effective_to=None,
    authority="policy", similarity=0.0, text_rank=0.0, coverage=0.0, fused_score=0.0, candidates=1, nearest=1,
)  # fmt: skip


def found(similarity: float, text_rank: float, coverage: float, language: str = "vi") -> Hit:
    return HIT._replace(similarity=similarity, text_rank=text_rank, coverage=coverage, language=language)


UNIT = st.floats(0, 1)
FOUND = st.builds(found, UNIT, UNIT, UNIT, st.sampled_from(["vi", "en"]))


class TestBestFirst:
    @given(st.lists(st.tuples(FOUND, UNIT), max_size=30), st.sampled_from([OWN, FOLDED]))
    def test_keeps_every_candidate_once(self, rows: list[tuple[Hit, float]], legs: Legs) -> None:
        order = best_first([hit for hit, _ in rows], [relevance for _, relevance in rows], legs)
        assert sorted(order) == list(range(len(rows)))

    def test_puts_the_first_of_both_legs_first_among_equals(self) -> None:
        near, said, both = found(0.7, 0.1, 0.5), found(0.4, 0.7, 0.5), found(0.8, 0.8, 0.5)
        assert best_first([near, said, both], [0.9, 0.9, 0.9], OWN)[0] == 2

    def test_lets_a_much_more_relevant_passage_pass_a_better_place(self) -> None:
        assert best_first([found(0.5, 0.5, 0.5), found(0.4, 0.4, 0.5)], [0.1, 0.99], OWN) == [1, 0]

    def test_trusts_words_the_less_the_fewer_of_the_question_were_found(self) -> None:
        few, many = found(0.5, 0.9, 0.1), found(0.5, 0.8, 0.9)
        assert best_first([few, many], [0.8, 0.8], OWN) == [1, 0]

    def test_leans_on_words_without_diacritics(self) -> None:
        near, said = found(0.9, 0.1, 0.2), found(0.1, 0.9, 0.9)
        assert best_first([near, said], [0.8, 0.8], FOLDED) == [1, 0]

    def test_does_not_ask_for_words_across_languages(self) -> None:
        across, own = found(0.9, 0.0, 0.0, "en"), found(0.5, 0.9, 0.3)
        assert best_first([own, across], [0.8, 0.8], OWN) == [1, 0]
