import random

import pytest

from tests.shares import most_by_chance


@pytest.mark.parametrize(("share", "number", "most"), [(0.03, 97, 6), (0.03, 34, 3), (0.5, 2, 2), (0.0, 10, 0)])
def test_the_bound_belongs_to_the_size_of_the_sample(share: float, number: int, most: int) -> None:
    assert most_by_chance(share, number) == most


def test_nineteen_of_twenty_samples_are_within() -> None:
    chance = random.Random(17)
    met = [sum(chance.random() < 0.03 for _ in range(97)) for _ in range(2_000)]
    assert sum(count <= most_by_chance(0.03, 97) for count in met) >= 0.95 * len(met)
