"""Shares that are limited: what a sample may show where the limit is one of the whole."""

import math

_RARE = 0.05


def most_by_chance(share: float, number: int) -> int:
    """Of a sample of `number` cases, how many are met where `share` of the whole are: in 19 of 20 samples no more.

    A limit of the whole is too narrow for a sample of it: 3 of 97 are more than .03.
    """
    rest, most = 1.0, -1
    while rest > _RARE:
        most += 1
        rest -= math.comb(number, most) * share**most * (1 - share) ** (number - most)
    return most
