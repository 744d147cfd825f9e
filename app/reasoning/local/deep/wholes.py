"""Rules applied to wholes they state themselves: a year of months, everybody of a team, a share of a stated total."""

import re
from collections.abc import Iterator

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.lookups import sides_of
from app.reasoning.local.deep.rates import unused
from app.reasoning.local.deep.sayings import Saying
from app.reasoning.local.deep.statements import Stated, stated_in
from app.reasoning.local.numbers import plain
from app.reasoning.local.terms import terms_of

_YEAR = Saying(
    "một năm",
    "cả năm",
    "mỗi năm",
    "hằng năm",
    "trong năm",
    "a year",
    "per year",
    "yearly",
    "in a year",
    "annually",
    "the whole year",
)
_EVERYBODY = Saying(
    "cả (?:đội|nhóm|phòng|lớp|tổ)",
    "toàn (?:đội|bộ đội|nhóm|phòng)",
    "(?:the )?whole (?:team|group)",
    "the entire (?:team|group)",
    "all (?:the )?members",
    "team as a whole",
)
_COUNTED = re.compile(r"(?:bao nhiêu|mấy|how many)\s+(?P<noun>[^\W\d_]+)", re.IGNORECASE)
_OF = re.compile(r"\s(?:chiếm|bằng|là|out of|of|trên|trong)\s(?:bao nhiêu|mấy|what)?", re.IGNORECASE)
_PERSONS = frozenset({"person", "", "time", "day", "money"})
_LEAST = 0.3
_MONTHS = 12


def whole_derivations(case: Case) -> Iterator[Derivation]:
    """What a rule gives for the whole that the question is about."""
    yield from _whole_team(case)
    yield from _share_of_stated(case)
    yield from _ratio(case)


def _whole_team(case: Case) -> Iterator[Derivation]:
    """So much a month for each of a team: for all of them, for a year."""
    if case.inquiry.wanted != "money" or case.inquiry.quantities:
        return
    is_year, is_all = case.inquiry.text in _YEAR, case.inquiry.text in _EVERYBODY
    for one in [found for found in case.ranked("money") if found.cover >= _LEAST][:3]:
        stated, factors = one.stated, [plain(one.stated.value)]
        rules: list[Stated] = [stated]
        people = [other for other in stated_in(stated.piece) if other.kind == "person" and not other.is_condition]
        if is_all and people:
            factors.insert(0, plain(people[0].value))
            rules.append(people[0])
        if is_year and stated.per == "month":
            factors.append(str(_MONTHS))
        if len(factors) == 1:
            continue
        expression = " * ".join(factors)
        yield Derivation(
            route="rate",
            score=one.score + 0.15 * (len(factors) - 1),
            expression=expression,
            unit=stated.unit,
            value=evaluated(expression),
            rules=tuple(rules),
        )


def _share_of_stated(case: Case) -> Iterator[Derivation]:
    """“Doanh thu đạt 612 tỷ, trong đó phần mềm chiếm 45%”: the part in figures; “80% of 48 TB”."""
    inquiry = case.inquiry
    if inquiry.wanted not in ("money", "count", "person") or inquiry.quantities:
        return
    mark = _COUNTED.search(inquiry.text)
    noun = mark["noun"].lower() if mark else ""
    for share in [one for one in case.ranked("%") if one.cover >= _LEAST and not one.stated.is_condition][:3]:
        for whole in case.stated:
            is_near = whole.piece.passage.document_id == share.stated.piece.passage.document_id
            if not is_near or whole.is_condition or not _is_whole(whole, inquiry.wanted, noun):
                continue
            cover = case.scales.cover(whole)
            same = whole.piece == share.stated.piece
            if cover < _LEAST and not same:
                continue
            expression = f"{plain(whole.value)} * {plain(share.stated.value)} / 100"
            yield Derivation(
                route="share",
                score=share.score + 0.2 * cover + 0.25 * same - unused(case, ()),
                expression=expression,
                unit=whole.unit,
                value=evaluated(expression),
                rules=(share.stated, whole),
            )


def _is_whole(stated: Stated, wanted: str, noun: str) -> bool:
    if wanted == "money":
        return stated.kind == "money"
    behind = stated.piece.unit.text[stated.end :].strip().lower()
    return (
        stated.kind in ("", "person") and bool(noun) and (behind.startswith(noun) or stated.text.lower().endswith(noun))
    )


def _ratio(case: Case) -> Iterator[Derivation]:
    """What share one stated number is of another: 210 of 420."""
    inquiry = case.inquiry
    if inquiry.wanted != "%":
        return
    mark = _OF.search(inquiry.text)
    sides = (inquiry.text[: mark.start()], inquiry.text[mark.end() :]) if mark else sides_of(inquiry)
    if sides is None:
        return
    counted = [one for one in case.stated if one.kind in _PERSONS and not one.is_condition and one.value > 1]
    best = [next(iter(case.scales.ranked(counted, (), terms_of(side, inquiry.is_bare))), None) for side in sides]
    part, whole = best
    if (
        part is None
        or whole is None
        or part.stated.kind != whole.stated.kind
        or part.stated.value >= whole.stated.value
    ):
        return
    expression = f"{plain(part.stated.value)} * 100 / {plain(whole.stated.value)}"
    yield Derivation(
        route="share",
        score=(part.score + whole.score) / 2 + 0.1,
        expression=expression,
        unit="%",
        value=evaluated(expression),
        rules=(part.stated, whole.stated),
    )
