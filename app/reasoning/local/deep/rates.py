"""So much for each: “50.000 đồng mỗi lần từ lần thứ 3”, “£35 a day”, “10.000 đồng một giờ, hai giờ đầu miễn phí”."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.goals import ASKS_EXCESS
from app.reasoning.local.deep.inquiry import subject_terms
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.sayings import words_of
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.deep.weighing import Weighed, holds
from app.reasoning.local.glossary import stemmed
from app.reasoning.local.numbers import plain, ranges_in
from app.reasoning.local.terms import bag_of

_SAME, _NEAR, _NOUN = 1.0, 0.45, 0.7
_FACTORS: dict[tuple[str, str], tuple[int, int]] = {
    ("year", "month"): (12, 1), ("month", "year"): (1, 12), ("minute", "hour"): (1, 60), ("hour", "minute"): (60, 1),
    ("week", "day"): (7, 1), ("month", "quarter"): (1, 3), ("year", "quarter"): (4, 1),
}  # fmt: skip
"""From the unit given to the unit a rate is for: times the first, divided by the second."""
_STARTED = re.compile(r"\bstarted\b|\bbắt đầu\b|làm tròn lên|part thereof|or part", re.IGNORECASE)
_PEOPLE = frozenset({"person", "nhân viên", "người"})
_GENERIC = words_of("late new full paid working of the a đi làm bị ngày day")
_OWN_PART, _WHOLE = 0.7, 0.3
_LEAST = 0.3
_UNUSED, _UNUSED_MONEY = 0.13, 0.03
_BASE = 0.25
_OTHERWISE = 0.2
"""Lost by a mere product where what is left, or a difference, is asked for."""
_THEN = re.compile(
    r"(?:up to|for the first|đến|tới|cho)\s+(?P<n>\d[\d.,]*)\s?(?P<unit>[^\W\d]+)[^.;]{0,20}?(?:then|"
    r"thereafter|after that|"
    r"above that|sau đó|vượt quá|trên mức đó)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Charge:
    """A rate applied to what the question gives."""

    rate: Weighed
    quantity: Quantity
    expression: str
    value: Fraction
    score: float
    note: str
    cap: Stated | None = None

    @property
    def result(self) -> Fraction:
        """Not more than its cap."""
        return self.value if self.cap is None else min(self.value, Fraction(self.cap.value))


def charges(case: Case) -> list[Charge]:
    """Every rate of the wanted kind applied to every quantity it fits, the likeliest first."""
    wanted = case.inquiry.wanted
    kinds = ("money",) if wanted in ("money", "") else ("day", "night") if wanted == "day" else (wanted,)
    ranked = [one for one in case.ranked(*kinds) if one.stated.per and not one.stated.is_condition]
    free = [one for one in ranked if not (one.stated.per == "year" and _YEARLY.search(case.inquiry.text))]
    found = [
        charge
        for rate in free
        for q in case.inquiry.quantities
        if not any(_same_place(q, held) for held in rate.held) and (charge := _charge(case, rate, q))
    ]
    return sorted(found, key=lambda one: -one.score)


_YEARLY = re.compile(
    r"mỗi năm|một năm|hằng năm|hàng năm|moi nam|mot nam|per year|a year|each year|every year|"
    r"per leave year|this year|năm nay",
    re.IGNORECASE,
)


def _same_place(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities were read from the same words: the months and the years since a day."""
    return one.start < other.end and other.start < one.end


def fit_of(stated: Stated, quantity: Quantity) -> float:
    """How well a quantity is what a rate is for, 0–1."""
    per = stated.per
    if not per or quantity.kind in ("money", "%") or any(quantity.text == text for text in (stated.text,)):
        return 0.0
    if per == quantity.kind or ((per, quantity.kind) == ("person", "") and quantity.noun.split(" ")[0] in _PEOPLE):
        return _SAME
    if (quantity.kind, per) in _FACTORS:
        return _SAME if {quantity.kind, per} != {"week", "day"} else _NEAR
    if {per, quantity.kind} == {"day", "night"}:
        return _NEAR
    named = set(stemmed(f"{quantity.noun} {quantity.kind if quantity.kind == 'time' else ''}")) - _GENERIC
    wanted = set(stemmed(per)) - _GENERIC
    shared = named & wanted
    concepts = bag_of(per).concepts & bag_of(quantity.noun).concepts
    if shared or concepts:
        return _NOUN
    labelled = set(stemmed(quantity.noun)) - _GENERIC
    return _NOUN if stated.row and labelled and labelled <= set(stemmed(stated.row)) and not quantity.kind else 0.0


def _charge(case: Case, rate: Weighed, quantity: Quantity) -> Charge | None:
    fit = fit_of(rate.stated, quantity)
    if not fit:
        return None
    own = subject_terms(quantity.around, (), (), is_bare=case.inquiry.is_bare)
    about = case.scales.cover(rate.stated, own)
    base = rate.score - rate.cover + _WHOLE * rate.cover + _OWN_PART * about
    if max(rate.cover, about) < _LEAST:
        return None
    expression, note = _counted(rate.stated, quantity)
    value = evaluated(expression)
    if value is None or value < 0:
        expression, value = "0", Fraction(0)
    score = base + _BASE * fit
    return Charge(rate, quantity, expression, value, score, note, _cap(case, rate.stated))


def _counted(stated: Stated, quantity: Quantity) -> tuple[str, str]:
    """The rate times what counts of a quantity, and what was left out."""
    amount = f"{plain(stated.value * 100)} / 100" if stated.text.endswith("p") else plain(stated.value)
    given = plain(quantity.value)
    factor = _FACTORS.get((quantity.kind, stated.per))
    if factor and quantity.kind != stated.per:
        times, by = factor
        given = f"{given} * {times}" if by == 1 else f"{given} / {by}"
    if _STARTED.search(stated.piece.unit.text) and "/" in given:
        whole = evaluated(given) or Fraction(0)
        given = str(-(-whole.numerator // whole.denominator))
    split = _then(stated)
    if split and quantity.value > split[0]:
        low, later = split
        rest = f"{plain(later * 100)} / 100" if stated.text.endswith("p") else plain(later)
        return f"{plain(low)} * {amount} + ({given} - {plain(low)}) * {rest}", ""
    if stated.first > 1:
        if quantity.value < stated.first:
            return "0", f"{given} < {stated.first}"
        return f"({given} - {stated.first} + 1) * {amount}", f"{stated.first}"
    if stated.free and not split:
        if quantity.value <= stated.free:
            return "0", f"{given} ≤ {plain(stated.free)}"
        return f"({given} - {plain(stated.free)}) * {amount}", f"{plain(stated.free)}"
    if stated.per_count != 1:
        return f"{given} * {amount} / {plain(stated.per_count)}", ""
    return f"{given} * {amount}", ""


def _then(stated: Stated) -> tuple[Decimal, Decimal] | None:
    """Two rates one after the other: “45p a mile up to 10,000 miles, then 25p”: where, and the second."""
    text = stated.piece.unit.text
    mark = _THEN.search(text, stated.end) if stated.piece.unit.kind != "row" else _THEN.search(text)
    if not mark:
        return None
    later = list(_amounts_behind(stated, mark.end(), text))
    digits = re.sub(r"[.,](?=\d{3}\b)", "", mark["n"].rstrip(".,")).replace(",", ".")
    return (Decimal(digits), later[0]) if later and later[0] != stated.value else None


def _amounts_behind(stated: Stated, at: int, text: str) -> Iterator[Decimal]:
    pence = re.search(r"(\d{1,3})p\b", text[at:])
    if pence:
        yield Decimal(pence[1]) / 100
        return
    money = re.search(r"[£$]?(\d[\d.,]*)\s?(?:đồng|VND|USD)?", text[at:])
    if money:
        yield Decimal(re.sub(r"[.,](?=\d{3}\b)", "", money[1].rstrip(".,")).replace(",", "."))


def _cap(case: Case, stated: Stated) -> Stated | None:
    """The most a rate may come to, where the same sentence or cell says so."""
    same = [one for one in case.stated if one.piece == stated.piece and one.bound == "max" and one.kind == stated.kind]
    return next((one for one in same if one != stated and one.value > stated.value and one.per != stated.per), None)


def rate_derivations(case: Case) -> Iterator[Derivation]:
    """One rate for one quantity, or each quantity with its own rate."""
    found = charges(case)
    yield from (_single(case, one) for one in found[:6])
    several = _assigned(case, found)
    if len(several) > 1:
        yield _several(case, several)


def _single(case: Case, one: Charge) -> Derivation:
    multiplied = _people(case, one)
    expression = f"{_bracketed(one.expression)} * {plain(multiplied.value)}" if multiplied else one.expression
    used = (one.quantity, *((multiplied,) if multiplied else ()), *one.rate.held)
    discount = _discount(case, one)
    if discount:
        expression = f"{_bracketed(expression)} * (100 - {plain(discount.value)}) / 100"
    value = evaluated(expression)
    return Derivation(
        route="rate",
        score=one.score
        - unused(case, used)
        - _OTHERWISE * (case.inquiry.operation in ("left", "difference") or case.inquiry.text in ASKS_EXCESS),
        expression=expression,
        unit=one.rate.stated.unit,
        value=value,
        rules=(one.rate.stated, *((one.cap,) if one.cap else ()), *((discount,) if discount else ())),
        given=used,
        notes=(one.note,) if one.note else (),
        cap=Fraction(one.cap.value) if one.cap else None,
    )


_DISCOUNT = re.compile(r"giảm|discount|off|reduc|rebate|ưu đãi", re.IGNORECASE)


def _discount(case: Case, one: Charge) -> Stated | None:
    """A reduction of the same passage for so many, where the quantity is as many."""
    for stated in case.stated:
        is_same = stated.piece.passage.chunk_id == one.rate.stated.piece.passage.chunk_id
        if stated.kind != "%" or not is_same or not _DISCOUNT.search(stated.piece.unit.text):
            continue
        verdicts = [
            holds(condition, one.quantity) for condition in ranges_in(stated.piece.unit.text, stated.piece.language)
        ]
        if any(verdict is True for verdict in verdicts) and False not in verdicts:
            return stated
    return None


def _bracketed(expression: str) -> str:
    return f"({expression})" if " + " in expression or " - " in expression else expression


def _people(case: Case, one: Charge) -> Quantity | None:
    """A second quantity the rate holds for: so many people, each of them."""
    if one.rate.stated.per == "person":
        return None
    others = [
        q
        for q in case.inquiry.quantities
        if q != one.quantity
        and (q.kind == "person" or (not q.kind and bag_of(q.noun).concepts & bag_of("nhân viên khách").concepts))
    ]
    return others[0] if len(others) == 1 and others[0].value > 1 else None


def unused(case: Case, used: Sequence[Quantity]) -> float:
    """What a way loses by leaving something of the question aside; a salary is often named without need."""
    left = [one for one in case.inquiry.quantities if not any(_same_place(one, other) for other in used)]
    left = [one for at, one in enumerate(left) if not any(_same_place(one, other) for other in left[:at])]
    return sum(_UNUSED_MONEY if one.kind == "money" else _UNUSED for one in left)


def _assigned(case: Case, found: Sequence[Charge]) -> list[Charge]:
    """For each quantity its likeliest rate; no rate twice."""
    chosen: list[Charge] = []
    for one in found:
        is_new = all(one.quantity != other.quantity and one.rate.stated != other.rate.stated for other in chosen)
        is_sure = case.scales.cover(one.rate.stated, _own_terms(case, one.quantity)) >= _LEAST
        if (
            is_new
            and is_sure
            and one.rate.stated.unit
            in {other.rate.stated.unit for other in chosen} | (set() if chosen else {one.rate.stated.unit})
        ):
            chosen.append(one)
    return sorted(chosen, key=lambda one: one.quantity.start)


def _own_terms(case: Case, quantity: Quantity) -> tuple:  # type: ignore[type-arg]
    return subject_terms(quantity.around, (), (), is_bare=case.inquiry.is_bare)


def _several(case: Case, chosen: Sequence[Charge]) -> Derivation:
    expression = " + ".join(f"({one.expression})" for one in chosen)
    used = tuple(one.quantity for one in chosen)
    mean = sum(one.score for one in chosen) / len(chosen)
    bonus = 0.1 if case.inquiry.operation == "total" else -0.1
    return Derivation(
        route="rates",
        score=mean + bonus - unused(case, used),
        expression=expression,
        unit=chosen[0].rate.stated.unit,
        value=evaluated(expression),
        rules=tuple(one.rate.stated for one in chosen),
        given=used,
    )
