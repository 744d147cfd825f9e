"""Which way a search takes, by what its caller may see."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.ranking import telling_clauses, vector_leg
from app.retrieval.text import Term, TermStatistics
from app.storage.search.statements import MATCHES_RANKED

COUNTS = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(0, 500), min_size=1, max_size=12)


def weighed(counts: dict[str, int]) -> tuple[list[tuple[Term, float]], TermStatistics]:
    """Each word as a term, heaviest first, as `weigh` gives them; 500 chunks were looked at."""
    statistics = TermStatistics(500, counts)
    terms = [Term(f"'{word}'", (word,)) for word in counts]
    pairs = [Term(f"'{one}' <-> '{two}'", (one, two)) for one, two in pairwise(counts)]
    both = [(term, statistics.weight(term)) for term in (*terms, *pairs)]
    return sorted(both, key=lambda pair: -pair[1]), statistics


class TestVectorLeg:
    def test_compares_one_by_one_without_an_index_or_without_anything_to_see(self) -> None:
        assert vector_leg(1_000_000, None, 50) == "exact"
        assert vector_leg(0, 1_000_000, 50) == "exact"

    def test_walks_where_most_of_many_chunks_may_be_seen(self) -> None:
        assert vector_leg(64_000, 70_000, 50) == "ann"
        assert vector_leg(9_500, 10_000, 50) == "ann"

    def test_compares_where_few_of_many_may_be_seen(self) -> None:
        assert vector_leg(2_000, 70_000, 50) == "exact"
        assert vector_leg(900, 1_000, 50) == "exact"
        assert vector_leg(12_000, 1_000_000, 50) == "exact"

    @given(st.integers(1, 10**7), st.integers(1, 10**7), st.integers(1, 1_000))
    def test_goes_on_walking_when_more_may_be_seen(self, visible: int, more: int, candidates: int) -> None:
        if vector_leg(visible, 10**7, candidates) == "ann":
            assert vector_leg(min(visible + more, 10**7), 10**7, candidates) == "ann"


class TestTellingClauses:
    @given(COUNTS, st.integers(0, MATCHES_RANKED))
    def test_are_all_words_of_a_small_corpus(self, counts: dict[str, int], visible: int) -> None:
        terms, statistics = weighed(counts)
        assert {word for (word,) in telling_clauses(terms, statistics, visible)} == set(counts)

    def test_are_all_words_where_they_are_rare(self) -> None:
        terms, statistics = weighed({"red": 1, "green": 2})
        assert sorted(telling_clauses(terms, statistics, 60_000)) == [("green",), ("red",)]

    def test_are_pairs_of_frequent_words(self) -> None:
        terms, statistics = weighed({"red": 20, "green": 25, "blue": 30})
        clauses = telling_clauses(terms, statistics, 60_000)
        assert clauses == [("red", "green"), ("red", "blue"), ("green", "blue")]

    def test_hold_the_rarest_word_and_pairs_of_the_others(self) -> None:
        terms, statistics = weighed({"rare": 0, "green": 25, "blue": 30})
        clauses = telling_clauses(terms, statistics, 60_000)
        assert ("rare",) in clauses or ("rare", "green") in clauses
        assert ("green",) not in clauses

    @given(COUNTS, st.integers(0, 10**6))
    def test_are_never_none_and_name_only_words_that_were_asked(self, counts: dict[str, int], visible: int) -> None:
        terms, statistics = weighed(counts)
        clauses = telling_clauses(terms, statistics, visible)
        assert clauses
        assert {word for clause in clauses for word in clause} <= set(counts)

    @given(COUNTS, st.integers(1, 10**6))
    def test_beyond_the_first_are_expected_in_few_chunks(self, counts: dict[str, int], visible: int) -> None:
        terms, statistics = weighed(counts)
        clauses = telling_clauses(terms, statistics, visible)
        if visible > MATCHES_RANKED and len(clauses) > 1:
            expected = [
                statistics.share(clause[0]) * statistics.share(clause[-1]) ** (len(clause) - 1) for clause in clauses
            ]
            assert visible * sum(expected) <= 501

    def test_of_no_words_are_none(self) -> None:
        assert telling_clauses([], TermStatistics(500, {}), 60_000) == []
