"""Values that rules state: one of them, what is left of it, the difference of two, the sum of several."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.inquiry import Inquiry, subject_terms
from app.reasoning.local.deep.narratives import times_told
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import fit_of, unused
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.weighing import Weighed
from app.reasoning.local.numbers import plain
from app.reasoning.local.terms import terms_of

_TIME = frozenset({"day", "night", "week", "month", "year", "hour", "minute"})
_BETWEEN = Saying(
    r"\s(?:và|với|so với|hơn so với|hay|hoặc|"
    r"hơn|kém)\s",
    r"\s(?:and|than|versus|vs\.?|compared (?:to|with)|or)\s",
    starts=False,
    ends=False,
)
_PARTS = Saying(
    r"\s*,\s*(?:và\s|and\s)?", r"\s(?:và|cùng|cộng(?: với)?|lẫn)\s", r"\s(?:and|plus)\s", starts=False, ends=False
)
_TAKEN = Saying(
    "đã (?:nghỉ|dùng|sử dụng|lấy|tiêu|chi|làm|ứng|đi|nhận)",
    "nghỉ (?:mất|hết)",
    "dùng (?:mất|hết)",
    "mới (?:nghỉ|dùng)",
    "(?:have |has |already |having )?(?:taken|used|spent|had|booked|took|claimed)",
    "(?:uses?|takes?) up",
)
_LEAST = 0.32
_LEAST_SIDE = 0.25
_LEAST_HELD = 0.2
_OTHER_SIDE = 0.4
_PLAIN_WANTED = frozenset({"count", "text", ""})


def lookup_derivations(case: Case) -> Iterator[Derivation]:
    """Everything that only looks up."""
    operation = case.inquiry.operation
    if operation == "left":
        yield from _left(case)
    if operation == "difference":
        yield from _difference(case)
    if operation in ("total", "difference", "") and len(_parts(case.inquiry)) > 1:
        yield from _total(case)
    yield from _value(case)


def fitting(case: Case, inquiry: Inquiry | None = None) -> list[Weighed]:
    """Values of the wanted kind, the likeliest first; conditions are no values."""
    wanted = (inquiry or case.inquiry).wanted
    if wanted in _PLAIN_WANTED:
        kinds: frozenset[str] = frozenset({"", "person", "time", "character", "point", "km"})
    else:
        kinds = _TIME - {"hour", "minute"} if wanted in ("day", "night") else frozenset({wanted})
    asked = inquiry or case.inquiry
    candidates = [one for one in case.stated if one.kind in kinds and not one.is_condition]
    ranked = case.scales.ranked(candidates, asked.quantities, asked.terms)
    if wanted in ("day", "night"):
        ranked = [one if one.stated.kind == wanted else replace(one, score=one.score - 0.1) for one in ranked]
    return sorted(ranked, key=lambda one: -one.score)


def _value(case: Case) -> Iterator[Derivation]:
    """The value itself."""
    for one in [
        found for found in fitting(case) if found.cover >= _LEAST or (found.held and found.cover >= _LEAST_HELD)
    ][:4]:
        stated = one.stated
        used = tuple(one.held)
        rest = [q for q in case.inquiry.quantities if q not in used and q.kind != "money"]
        is_rate_wanted = any(fit_of(stated, q) for q in rest)
        is_compared = case.inquiry.operation in ("difference", "left")
        yield Derivation(
            route="value",
            score=one.score - unused(case, used) - 0.25 * is_rate_wanted - 0.25 * is_compared,
            unit=stated.unit or stated.kind,
            value=Fraction(stated.value),
            rules=(stated,),
            given=used,
            notes=(stated.segment.strip(),),
        )


def _left(case: Case) -> Iterator[Derivation]:
    """An allowance less what was used of it."""
    wanted = case.inquiry.wanted
    taken = [q for q in case.inquiry.quantities if q.kind == wanted or {q.kind, wanted} <= {"day", "night"}]
    used_up = [q for q in taken if q.around in _TAKEN] or taken
    if not used_up:
        return
    others = tuple(q for q in case.inquiry.quantities if q not in used_up)
    ranked = case.scales.ranked(
        [one for one in case.stated if one.kind == wanted and not one.is_condition], others, case.inquiry.terms
    )
    for one in [found for found in ranked if found.cover >= _LEAST][:3]:
        expression = " - ".join([plain(one.stated.value), *(plain(q.value) for q in used_up)])
        used = (*used_up, *one.held)
        value = evaluated(expression)
        if value is None or value < 0:
            continue
        yield Derivation(
            route="left",
            score=one.score + 0.25 - unused(case, used),
            expression=expression,
            unit=one.stated.unit or one.stated.kind,
            value=value,
            rules=(one.stated,),
            given=used,
        )


def sides_of(inquiry: Inquiry) -> tuple[str, str] | None:
    """The two things that are compared, in the question's words."""
    text = inquiry.text.rstrip(" ?.!")
    marks = list(_BETWEEN.finditer(text))
    if not marks:
        return None
    preferred = [m for m in marks if re.search(r"hơn|kém|so với|than|versus|vs|với|compared", m[0], re.IGNORECASE)]
    mark = (preferred or marks)[-1]
    return text[: mark.start()], text[mark.end() :]


def _difference(case: Case) -> Iterator[Derivation]:
    """The larger of two values less the smaller."""
    for split in _splits(case.inquiry):
        found = [_side(case, side, other) for side, other in (split, split[::-1])]
        first, second = found
        if first is None or second is None or first.stated == second.stated:
            continue
        high, low = sorted((first, second), key=lambda one: -one.stated.value)
        if high.stated.kind != low.stated.kind:
            continue
        expression = f"{plain(high.stated.value)} - {plain(low.stated.value)}"
        used = (*first.held, *second.held)
        yield Derivation(
            route="difference",
            score=(first.score + second.score) / 2 + 0.3 - unused(case, used),
            expression=expression,
            unit=high.stated.unit or high.stated.kind,
            value=evaluated(expression),
            rules=(first.stated, second.stated),
            given=used,
        )


def _splits(inquiry: Inquiry) -> Iterator[tuple[str, str]]:
    text = inquiry.text.rstrip(" ?.!")
    for mark in reversed(list(_BETWEEN.finditer(text))):
        before, after = text[: mark.start()], text[mark.end() :]
        if terms_of(before) and terms_of(after):
            yield before, after


def _side(case: Case, side: str, other: str) -> Weighed | None:
    """The value of one of two sides: its own words count most, what is common to both stands in either."""
    inquiry = case.inquiry
    given = tuple(q for q in inquiry.quantities if q.text in side and (q.text not in other or q.start < len(side)))
    own = subject_terms(side, (), (), is_bare=inquiry.is_bare)
    theirs = {term.stems for term in subject_terms(other, (), (), is_bare=inquiry.is_bare)}
    telling = tuple(replace(term, weight=term.weight * 2) for term in own if term.stems not in theirs)
    known = {one.stems for one in telling}
    common = tuple(
        replace(term, weight=term.weight * (_OTHER_SIDE if term.stems in theirs else 1.0))
        for term in inquiry.terms
        if term.stems not in known
    )
    terms = (*telling, *common)
    wanted = inquiry.wanted
    kinds = (
        frozenset({wanted})
        if wanted not in _PLAIN_WANTED | {"day"}
        else frozenset({"day", "week", "month"})
        if wanted == "day"
        else frozenset({"", "person", "time", "character", "point"})
    )
    candidates = [one for one in case.stated if one.kind in kinds and not one.is_condition]
    ranked = [
        one
        for one in case.scales.ranked(candidates, given, terms)
        if not (given and not one.held and one.stated.conditions)
    ]
    best = next(iter(ranked), None)
    return best if best and best.cover >= _LEAST_SIDE else None


def _parts(inquiry: Inquiry) -> list[str]:
    return [part for part in _split_parts(inquiry.text.rstrip(" ?.!")) if terms_of(part)]


def _split_parts(text: str) -> list[str]:
    found, at = list[str](), 0
    for mark in _PARTS.finditer(text):
        found.append(text[at : mark.start()])
        at = mark.end()
    return [*found, text[at:]]


def _total(case: Case) -> Iterator[Derivation]:
    """Each part of an enumeration looked up and added: “phụ cấp ăn trưa, điện thoại và chuyên cần”."""
    inquiry = case.inquiry
    parts = _parts(inquiry)
    all_terms = [subject_terms(part, (), (), is_bare=inquiry.is_bare) for part in parts]
    chosen: list[Weighed] = []
    for at, own in enumerate(all_terms):
        theirs = {term.stems for place, terms in enumerate(all_terms) if place != at for term in terms}
        telling = [replace(term, weight=term.weight * 2) for term in own if term.stems not in theirs]
        if not telling:
            continue
        common = [term for term in inquiry.terms if term.stems not in theirs and term not in own]
        candidates = [
            one
            for one in case.stated
            if one.kind == inquiry.wanted and not one.is_condition and not one.piece.is_example
        ]
        ranked = case.scales.ranked(candidates, inquiry.quantities, (*telling, *common))
        best = next((one for one in ranked if one.stated not in [c.stated for c in chosen]), None)
        if best is None or case.scales.cover(best.stated, telling) < 0.4:
            continue
        chosen.append(best)
    units, pers = {one.stated.unit for one in chosen}, {one.stated.per for one in chosen if one.stated.per}
    is_loose = inquiry.wanted != "money" and len(chosen) < len(parts)
    if len(chosen) < 2 or len(units) > 1 or len(pers) > 1 or is_loose or inquiry.operation == "difference":
        return
    expression = " + ".join(times_told(one.stated) for one in chosen)
    given: tuple[Quantity, ...] = tuple(q for one in chosen for q in one.held)
    mean = sum(one.score for one in chosen) / len(chosen)
    bonus = 0.15 if inquiry.operation == "total" else -0.2
    yield Derivation(
        route="total",
        score=mean + bonus - unused(case, given) - 0.15 * (len(chosen) < len(parts) - 1),
        expression=expression,
        unit=chosen[0].stated.unit,
        value=evaluated(expression),
        rules=tuple(one.stated for one in chosen),
        given=given,
    )
