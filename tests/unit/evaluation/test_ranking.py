"""The formulas of ranked evidence against figures worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluation.ranking import ndcg_at, recall_at, reciprocal_rank

A, B, C = frozenset({"a"}), frozenset({"b"}), frozenset({"c"})
NAMES = st.sampled_from("abcdefgh")
RANKED = st.lists(NAMES, unique=True, max_size=8)
NEEDS = st.lists(st.frozensets(NAMES, min_size=1, max_size=3), max_size=4)


class TestRecall:
    @pytest.mark.parametrize(
        ("k", "needs", "ranked", "value"),
        [
            (5, [A], ["a"], 1.0),
            (5, [A, B], ["a", "x"], 0.5),
            (1, [A, B], ["a", "b"], 0.5),
            (2, [A], ["x", "y", "a"], 0.0),
            (5, [A | B], ["b"], 1.0),
            (5, [A | B, C], ["b", "a"], 0.5),
            (5, [A], [], 0.0),
            (5, [], ["a"], 0.0),
        ],
    )
    def test_is_the_share_of_needs_met(
        self, k: int, needs: list[frozenset[str]], ranked: list[str], value: float
    ) -> None:
        assert recall_at(k, needs, ranked) == value

    @given(NEEDS, RANKED)
    def test_grows_with_k(self, needs: list[frozenset[str]], ranked: list[str]) -> None:
        values = [recall_at(k, needs, ranked) for k in range(9)]
        assert values == sorted(values) and values[0] == 0 and values[-1] <= 1


class TestReciprocalRank:
    @pytest.mark.parametrize(
        ("needs", "ranked", "value"),
        [
            ([A], ["a"], 1.0),
            ([A, B], ["x", "b", "a"], 0.5),
            ([A], ["x", "y", "a"], 1 / 3),
            ([A], ["x"], 0.0),
            ([], ["a"], 0),
        ],
    )
    def test_is_one_over_the_first_place(self, needs: list[frozenset[str]], ranked: list[str], value: float) -> None:
        assert reciprocal_rank(needs, ranked) == value


class TestNdcg:
    def test_of_hand_worked_lists(self) -> None:
        assert ndcg_at(5, [A, B], ["a", "b"]) == 1.0
        # DCG = 1/log2(2) + 1/log2(4) = 1.5; ideal = 1/log2(2) + 1/log2(3).
        assert ndcg_at(5, [A, B], ["a", "x", "b"]) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
        assert ndcg_at(5, [A], ["x", "a"]) == pytest.approx(1 / math.log2(3))
        assert ndcg_at(1, [A, B], ["a"]) == 1.0
        assert ndcg_at(5, [], ["a"]) == 0.0

    def test_a_need_is_met_once(self) -> None:
        assert ndcg_at(5, [A | B], ["a", "b"]) == ndcg_at(5, [A | B], ["a"]) == 1.0

    @given(NEEDS, RANKED, st.integers(1, 8))
    def test_lies_between_none_and_all(self, needs: list[frozenset[str]], ranked: list[str], k: int) -> None:
        value = ndcg_at(k, needs, ranked)
        assert 0 <= value <= 1
        assert (value > 0) == (recall_at(k, needs, ranked) > 0)

    @given(RANKED.filter(lambda ranked: len(ranked) > 1), st.data())
    def test_an_earlier_place_is_never_worse(self, ranked: list[str], data: st.DataObject) -> None:
        place = data.draw(st.integers(1, len(ranked) - 1))
        needs = [frozenset({ranked[place]})]
        earlier = [*ranked[: place - 1], ranked[place], ranked[place - 1], *ranked[place + 1 :]]
        assert ndcg_at(8, needs, earlier) > ndcg_at(8, needs, ranked)
