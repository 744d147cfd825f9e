"""Weighing: deterministic, the same in whatever order, fair to every weight, and repeatable from the record alone."""

import json
import math
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.answer import ResolutionRules
from app.domain.conflicts import FACTORS, Conflict, Side, Weighing, by_score, normalised
from app.domain.principal import SCOPES
from tests.factories import stable_id

NOISE = 2.1e-4
"""Scores are told to four decimals."""
shares = st.floats(0, 1)
weights = st.fixed_dictionaries({name: st.floats(0, 10) for name in FACTORS}).filter(lambda given: any(given.values()))
recencies = st.sampled_from(["within_30_days", "within_90_days", "older"])
days = st.dates(date(2015, 1, 1), date(2027, 1, 1))


@st.composite
def sides(draw: st.DrawFn, name: str) -> Side:
    return Side(
        document_id=stable_id(name), kind="document", url=f"https://x.example/{name}", title=name, department="hr",
        scope=draw(st.sampled_from(SCOPES)), effective=datetime.combine(draw(days), datetime.min.time(), UTC),
        recency=draw(recencies), claim=name, score=0.0,
        factors={"domain": draw(st.sampled_from([0.5, 1.0])), "scope": 0, "recency": 0, "relevance": draw(shares)},
    )  # fmt: skip


@st.composite
def weighings(draw: st.DrawFn) -> Weighing:
    steps = st.fixed_dictionaries(dict.fromkeys(SCOPES, shares))
    rules = ResolutionRules(priority_by_scope=draw(steps)) if draw(st.booleans()) else ResolutionRules()
    return Weighing(weights=normalised(draw(weights)), threshold=draw(shares), rules=rules)


def weighed(one: Side, other: Side, by: Weighing, rule: Any = "weighted_scoring") -> Conflict:
    winner, loser = by_score(by.side(one), by.side(other))
    return Conflict(
        subject="?", winner=winner, loser=loser, conflict_type="contradiction", reason="equal_standing", rule=rule,
        weighing=by,
    )  # fmt: skip


def lead_of(name: str, conflict: Conflict) -> float:
    scores = {side.title: side.score for side in (conflict.winner, conflict.loser)}
    return scores[name] - sum(score for title, score in scores.items() if title != name)


class TestWeighing:
    @given(sides("a"), sides("b"), weighings())
    def test_is_the_same_each_time_and_whichever_side_comes_first(self, one: Side, other: Side, by: Weighing) -> None:
        assert weighed(one, other, by) == weighed(other, one, by) == weighed(one, other, by)

    @given(sides("a"), sides("b"), weighings())
    def test_the_runs_own_weights_give_the_runs_own_verdict(self, one: Side, other: Side, by: Weighing) -> None:
        before = weighed(one, other, by)
        kept = Conflict.of_entry(json.loads(json.dumps(before.entry())))
        assert kept == before
        assert kept.weighed_by(by) == before

    @given(sides("a"), sides("b"), weighings(), weighings())
    def test_the_way_to_the_weights_does_not_matter(
        self, one: Side, other: Side, first: Weighing, then: Weighing
    ) -> None:
        assert weighed(one, other, first).weighed_by(then) == weighed(one, other, then)

    @given(sides("a"), sides("b"), weighings(), st.sampled_from(FACTORS), st.floats(0.01, 5))
    def test_more_weight_moves_the_lead_towards_the_lead_in_that_factor(
        self, one: Side, other: Side, by: Weighing, name: str, more: float
    ) -> None:
        raised = by.model_copy(update={"weights": by.weights | {name: by.weights[name] + more}})
        before, after = weighed(one, other, by), weighed(one, other, raised)
        in_factor = raised.side(one).factors[name] - raised.side(other).factors[name]
        lead, now = lead_of("a", before), lead_of("a", after)
        low, high = sorted((lead, in_factor))
        assert low - NOISE <= now <= high + NOISE

    @given(sides("a"), sides("b"), weighings(), st.sampled_from(FACTORS), st.floats(0.01, 5))
    def test_more_weight_where_a_side_leads_never_costs_it_anything(
        self, one: Side, other: Side, by: Weighing, name: str, more: float
    ) -> None:
        """The lead in weight, before it is divided by the sum of the weights, never falls; so the winner stays."""
        a, b = by.side(one), by.side(other)
        assume(a.factors[name] >= b.factors[name])
        lead = [
            math.fsum(given[factor] * (a.factors[factor] - b.factors[factor]) for factor in FACTORS)
            for given in (by.weights, by.weights | {name: by.weights[name] + more})
        ]
        assert lead[1] >= lead[0] - 1e-12
        raised = by.model_copy(update={"weights": by.weights | {name: by.weights[name] + more}})
        if lead_of("a", weighed(one, other, by)) > NOISE:
            assert lead_of("a", weighed(one, other, raised)) >= -NOISE

    @given(sides("a"), sides("b"), weighings(), weighings(), st.sampled_from(["later_version", "validity"]))
    def test_what_a_rule_decided_no_weight_overturns(
        self, one: Side, other: Side, first: Weighing, then: Weighing, rule: str
    ) -> None:
        before = weighed(one, other, first, rule)
        after = before.weighed_by(then)
        assert after.winner.document_id == before.winner.document_id and after.decided
        assert after.winner.score == then.side(before.winner).score

    @given(sides("a"), sides("b"), weighings())
    def test_decided_means_the_threshold_is_reached_by_scores_of_one(
        self, one: Side, other: Side, by: Weighing
    ) -> None:
        found = weighed(one, other, by)
        assert found.decided == (found.margin >= by.threshold)
        assert 0 <= found.loser.score <= found.winner.score <= 1


class TestWeights:
    @given(st.fixed_dictionaries({name: st.floats(0, allow_infinity=False) for name in FACTORS}))
    def test_sum_to_one_whatever_their_size(self, given_weights: dict[str, float]) -> None:
        assume(any(given_weights.values()))
        found = normalised(given_weights)
        assert list(found) == list(FACTORS)
        assert math.isclose(math.fsum(found.values()), 1)
        assert all(0 <= weight <= 1 for weight in found.values())

    @given(weights)
    def test_are_left_as_they_are_once_they_sum_to_one(self, given_weights: dict[str, float]) -> None:
        once = normalised(given_weights)
        assert normalised(once) == once

    def test_of_the_settings_are_not_touched(self) -> None:
        told = {"domain": 0.35, "scope": 0.25, "recency": 0.25, "relevance": 0.15}
        assert normalised(told) == told

    @pytest.mark.parametrize(
        "wrong",
        [
            {}, {"domain": 1.0}, dict.fromkeys(FACTORS, 0.0), dict.fromkeys((*FACTORS, "age"), 1.0),
            dict.fromkeys(FACTORS, 1.0) | {"scope": -0.1}, dict.fromkeys(FACTORS, 1.0) | {"scope": math.nan},
            dict.fromkeys(FACTORS, 1.0) | {"scope": math.inf},
        ],
    )  # fmt: skip
    def test_that_are_none_are_refused(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ValueError, match="weight"):
            normalised(wrong)
