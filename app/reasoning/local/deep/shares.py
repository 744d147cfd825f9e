"""Shares and multiples of what is given: “90% lương cơ bản”, “0,8 tháng lương”, “at most 80 % of the cost”."""

import re
from collections.abc import Iterator
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import fit_of, unused
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.deep.weighing import Weighed
from app.reasoning.local.numbers import plain
from app.reasoning.local.terms import bag_of, terms_of

_WHOLE = 100
_SHARE, _MULTIPLE = 0.22, 0.3
_OFF = re.compile(
    r"(?:giảm|bớt|giảm còn|trừ|khấu trừ|reduc\w+(?: by)?|lower\w*|less|deduct\w*|cut|"
    r"lose\w*)[^\d.;|]{0,40}$|^[^.;|]{0,12}\b(?:off|discount)\b",
    re.IGNORECASE,
)
_SALARY = re.compile(r"lương|salary|pay\b|wage", re.IGNORECASE)
_HOURS = re.compile(r"làm thêm|overtime|tiền lương giờ|lương giờ|hourly", re.IGNORECASE)
_OFF_ASKED = re.compile(r"giảm|bị trừ|khấu trừ|deduct|reduc|lose|cut|less", re.IGNORECASE)
_LEFT_ASKED = re.compile(r"còn|nhận được|được nhận|thực nhận|left|after|remain|receive", re.IGNORECASE)


def share_derivations(case: Case) -> Iterator[Derivation]:
    """A share or multiple of an amount of money that the question gives."""
    if case.inquiry.wanted not in ("money", ""):
        return
    money = case.inquiry.of_kind("money")
    if not money:
        return
    for weighed in case.ranked("%")[:6]:
        yield from _shares(case, weighed, money)
    for weighed in case.ranked("month")[:6]:
        yield from _multiples(case, weighed, money)


def _shares(case: Case, weighed: Weighed, money: tuple[Quantity, ...]) -> Iterator[Derivation]:
    stated = weighed.stated
    if stated.is_condition or stated.value == _WHOLE or _HOURS.search(f"{stated.piece.heading} {stated.segment}"):
        return
    yield from _of_sum(case, weighed, money)
    for base in money:
        given: tuple[Quantity, ...] = (base, *weighed.held)
        is_off = _is_off(stated)
        keeps = (
            is_off and bool(_LEFT_ASKED.search(case.inquiry.text)) and case.inquiry.operation in ("left", "", "total")
        )
        factor = f"(100 - {plain(stated.value)})" if keeps else plain(stated.value)
        expression = f"{plain(base.value)} * {factor} / 100"
        counted = _counted(case, stated)
        if counted:
            times = f"{plain(stated.value)} * {plain(counted.value)}"
            expression = f"{plain(base.value)} * ({f'100 - {times}' if keeps else times}) / 100"
            given = (*given, counted)
        yield Derivation(
            route="share",
            score=weighed.score
            + _SHARE
            - unused(case, given)
            + 0.05 * bool(_same_base(stated, base))
            - 0.3 * (is_off and not keeps and not _OFF_ASKED.search(case.inquiry.text)),
            expression=expression,
            unit=_unit(base, stated, case),
            value=evaluated(expression),
            rules=(stated,),
            given=given,
            cap=_cap(case, stated),
            notes=(stated.segment.strip(),),
        )


_OF_SEVERAL = re.compile(
    r"(?:tính trên|dựa trên|trên cơ sở|căn cứ(?: vào)?|based on|calculated (?:on|from)|"
    r"worked out on)\s(?P<names>[^.;]{5,120})",
    re.IGNORECASE,
)


def _of_sum(case: Case, weighed: Weighed, money: tuple[Quantity, ...]) -> Iterator[Derivation]:
    """A share of several amounts, one given, the others looked up: “tính trên lương cơ bản và phụ cấp …”."""
    own = weighed.stated.piece.passage.document_id
    rules = [
        (mark, piece)
        for piece in case.pieces
        if piece.passage.document_id == own and (mark := _OF_SEVERAL.search(piece.unit.text))
    ]
    asked = bag_of(case.inquiry.text, case.inquiry.is_bare)
    for mark, piece in rules[:2]:
        added: list[Stated] = []
        for name in re.split(r"\s(?:và|and|cộng|plus)\s|,\s", mark["names"]):
            terms = [term for term in terms_of(name) if term.weight >= 0.5]
            lacking = re.search(
                rf"(?:không có|chưa có|without|"
                rf"no)\s(?:\w+\s)?{re.escape(name.split()[0])}",
                case.inquiry.text,
                re.I,
            )
            if (
                not terms
                or lacking
                or _SALARY.search(name)
                or sum(term.found_in(asked) >= 1 for term in terms) < len(terms)
            ):
                continue
            ranked = case.scales.ranked(
                [one for one in case.stated if one.kind == "money" and not one.is_condition],
                case.inquiry.quantities,
                terms,
            )
            if ranked and ranked[0].cover >= 0.6 and ranked[0].stated.value not in [q.value for q in money]:
                added.append(ranked[0].stated)
        if not added:
            continue
        base = " + ".join([plain(money[0].value), *(plain(one.value) for one in added)])
        expression = f"({base}) * {plain(weighed.stated.value)} / 100"
        yield Derivation(
            route="share",
            score=weighed.score + _SHARE + 0.15 - unused(case, money[:1]),
            expression=expression,
            unit=_unit(money[0], weighed.stated, case),
            value=evaluated(expression),
            rules=(weighed.stated, *added),
            pieces=(piece,),
            given=money[:1],
        )


def _is_off(stated: Stated) -> bool:
    text = stated.piece.unit.text
    return bool(_OFF.search(text[: stated.start]) or _OFF.search(text[stated.end : stated.end + 20]))


def _counted(case: Case, stated: Stated) -> Quantity | None:
    """How many times a share is taken: “mỗi văn bản khiển trách” with two of them."""
    if not stated.per:
        return None
    return next(
        (one for one in case.inquiry.quantities if fit_of(stated, one) >= 0.5 and one.kind not in ("year",)), None
    )


def _same_base(stated: Stated, base: Quantity) -> bool:
    """Whether the share is of what the amount is: a salary, a price, an estimate."""
    return bool(_SALARY.search(f"{stated.base} {stated.segment}")) == bool(_SALARY.search(base.around))


def _cap(case: Case, stated: Stated) -> Fraction | None:
    """“at most 80 % of the cost and not more than £1,250”."""
    same = [one for one in case.stated if one.piece == stated.piece and one.kind == "money" and one.bound == "max"]
    return Fraction(same[0].value) if same and stated.piece.unit.kind != "row" else None


def _multiples(case: Case, weighed: Weighed, money: tuple[Quantity, ...]) -> Iterator[Derivation]:
    """“1,2 tháng lương cơ bản”, “nửa tháng lương cho mỗi năm làm việc”."""
    stated = weighed.stated
    near = f"{stated.base} {stated.piece.unit.text[stated.end : stated.end + 24]} {stated.column}"
    if stated.is_condition or not _SALARY.search(near):
        return
    for base in money:
        expression, given = f"{plain(base.value)} * {plain(stated.value)}", (base, *weighed.held)
        counted = next((one for one in case.inquiry.quantities if fit_of(stated, one) >= 0.9), None)
        if counted:
            expression, given = f"{expression} * {plain(counted.value)}", (*given, counted)
        yield Derivation(
            route="share",
            score=weighed.score + _MULTIPLE - unused(case, given),
            expression=expression,
            unit=_unit(base, stated, case),
            value=evaluated(expression),
            rules=(stated,),
            given=given,
            notes=(stated.segment.strip(),),
        )


def _unit(base: Quantity, stated: Stated, case: Case) -> str:
    if base.unit and base.unit != "money":
        return base.unit
    text = stated.piece.passage.text
    return (
        "VND"
        if "đồng" in text or "VND" in text
        else "GBP"
        if "£" in text
        else "VND"
        if case.inquiry.language == "vi"
        else ""
    )
