from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.flow.state import Floor, successor

AGENTS = ("general", "hr", "it", "finance", "legal")
scores = st.floats(0, 1, allow_nan=False)
probes = st.dictionaries(st.sampled_from(AGENTS), scores)
turns = st.lists(probes, max_size=12)
"""What the probe says each time the floor may pass on."""


def played(first: str, most: int, seen: Sequence[Mapping[str, float]], least: float) -> Floor:
    """A turn in which nobody ever finds anything."""
    floor = Floor((first,), most)
    for probe in seen:
        best = successor(floor, probe, least)
        if best is not None:
            floor, event = floor.handover_to(best, "no_evidence")
            assert event.speaking == {event.from_agent: False, event.to_agent: True}
    return floor


class TestFloor:
    @given(st.sampled_from(AGENTS), st.integers(0, 5), turns, scores)
    def test_passes_on_at_most_so_often_and_never_back(
        self, first: str, most: int, seen: list[dict[str, float]], least: float
    ) -> None:
        floor = played(first, most, seen, least)
        assert floor.handovers <= most
        assert len(floor.held_by) == floor.handovers + 1 == len(set(floor.held_by))

    @given(st.sampled_from(AGENTS), st.integers(0, 5), turns, scores, st.randoms(use_true_random=False))
    def test_goes_the_same_way_whatever_the_order_of_the_matches(
        self, first: str, most: int, seen: list[dict[str, float]], least: float, rng: Random
    ) -> None:
        mixed = [dict(rng.sample(list(probe.items()), len(probe))) for probe in seen]
        assert played(first, most, seen, least) == played(first, most, mixed, least)

    @given(probes, scores)
    def test_passes_to_the_best_that_bears_on_the_question(self, probe: dict[str, float], least: float) -> None:
        best = successor(Floor(("hr",), 1), probe, least)
        others = {agent: relevance for agent, relevance in probe.items() if agent != "hr" and relevance >= least}
        assert (probe[best] if best else None) == max(others.values(), default=None)

    def test_cannot_be_given_back_nor_passed_on_too_often(self) -> None:
        floor, event = Floor(("hr",), 1).handover_to("it", "better_match")
        assert (event.from_agent, event.to_agent, event.reason) == ("hr", "it", "better_match")
        for agent in ("hr", "it", "general"):
            assert not floor.may_pass_to(agent)
            with pytest.raises(ValueError, match="cannot be given the floor"):
                floor.handover_to(agent, "no_evidence")
