"""What a price, or each of several, is above its limit."""

from collections.abc import Iterator

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.goals import ASKS_EXCESS
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import fit_of, unused
from app.reasoning.local.numbers import plain


def excess_derivations(case: Case) -> Iterator[Derivation]:
    """What a price is above its limit, times how often it was paid."""
    inquiry = case.inquiry
    if inquiry.wanted != "money" or inquiry.text not in ASKS_EXCESS:
        return
    yield from _excess_of_several(case)
    for price in inquiry.of_kind("money"):
        rest = [one for one in inquiry.quantities if one != price]
        below = [one for one in case.ranked("money") if not one.stated.is_condition and one.stated.value < price.value]
        limits = [one for one in below if one.stated.bound == "max"] or below
        for limit in limits[:3]:
            times = next((q for q in rest if fit_of(limit.stated, q) >= 0.9), None)
            expression = f"{plain(price.value)} - {plain(limit.stated.value)}"
            used: tuple[Quantity, ...] = (price, *limit.held)
            if times and times.value != 1:
                expression, used = f"({expression}) * {plain(times.value)}", (*used, times)
            yield Derivation(
                route="sum",
                score=limit.score + 0.35 - unused(case, used),
                expression=expression,
                unit=limit.stated.unit,
                value=evaluated(expression),
                rules=(limit.stated,),
                given=used,
            )


def _excess_of_several(case: Case) -> Iterator[Derivation]:
    """Of several prices, what each is above the limit."""
    prices = case.inquiry.of_kind("money")
    if len(prices) < 2:
        return
    limits = [one for one in case.ranked("money") if not one.stated.is_condition and one.stated.bound == "max"]
    for limit in limits[:3]:
        above = [one for one in prices if one.value > limit.stated.value]
        if not above:
            continue
        expression = " + ".join(f"({plain(one.value)} - {plain(limit.stated.value)})" for one in above)
        yield Derivation(
            route="sum",
            score=limit.score + 0.6 - unused(case, prices),
            expression=expression,
            unit=limit.stated.unit,
            value=evaluated(expression),
            rules=(limit.stated,),
            given=prices,
        )
