"""Formulas of documents with the figures of the question, and what an hour or a day costs by them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.formulas import Equation, equations_in
from app.reasoning.local.deep.inquiry import subject_terms
from app.reasoning.local.deep.pieces import Piece
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import unused
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.deep.weighing import Weighed
from app.reasoning.local.formula import kind_of
from app.reasoning.local.numbers import plain
from app.reasoning.local.terms import terms_of

_FORMULA, _HOURS = 0.45, 0.35
_LEAST_NAMED = 0.25
_SALARY_YEARLY = re.compile(r"annual|yearly|năm", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Filled:
    expression: str
    given: tuple[Quantity, ...]
    rules: tuple[Stated, ...]
    missing: tuple[str, ...]
    is_found: bool
    """An operand was looked up in another rule."""


def equation_derivations(case: Case) -> Iterator[Derivation]:
    """Formulas with the question's figures, alone or as the price of an hour or a day."""
    equations = [one for piece in case.pieces for one in equations_in(piece)]
    for equation in equations:
        if equation.per:
            yield from _priced(case, equation)
        yield from _plain(case, equation)


def _plain(case: Case, equation: Equation) -> Iterator[Derivation]:
    cover = case.scales.cover_of_piece(equation.piece)
    if cover < _LEAST_NAMED:
        return
    filled = _fill(case, equation, case.inquiry.quantities, with_rules=True)
    score = cover + _FORMULA - 0.3 * equation.piece.is_example
    if filled.missing:
        if filled.given:
            yield Derivation(route="formula", score=score - 0.6, missing=filled.missing, pieces=(equation.piece,))
        return
    kinds = {operand.kind for operand in equation.formula.operands}
    unit = _result_unit(case, equation, kinds)
    wanted = case.inquiry.wanted
    if wanted in ("money", "day", "hour", "%") and ("money" in kinds) != (wanted == "money"):
        return
    if equation.per and wanted == "money":
        score -= 0.15 * bool([q for q in case.inquiry.quantities if q.kind == equation.per])
    yield Derivation(
        route="formula",
        score=score - unused(case, filled.given) - 0.1 * filled.is_found,
        expression=filled.expression,
        unit=unit,
        value=evaluated(filled.expression),
        rules=filled.rules,
        pieces=(equation.piece,),
        given=filled.given,
        notes=(equation.formula.text,),
        round_up=_rounding(equation.piece),
    )


_UP = re.compile(
    r"round(?:ed)? up to (?:the )?(?:next |nearest )?(?P<en>half|whole|full|day)|làm tròn lên (?:đến |"
    r"tới )?(?P<vi>nửa|nguyên|ngày|đơn vị|một)",
    re.IGNORECASE,
)


def _rounding(piece: Piece) -> Fraction | None:
    """The step a result is rounded up to, where the rule says so."""
    mark = _UP.search(piece.unit.text)
    if not mark:
        return None
    return Fraction(1, 2) if (mark["en"] or mark["vi"]).lower() in ("half", "nửa") else Fraction(1)


def _priced(case: Case, equation: Equation) -> Iterator[Derivation]:
    """The price of an hour or a day, times how many, times the share that is paid for them."""
    if case.inquiry.wanted not in ("money", ""):
        return
    counted = [one for one in case.inquiry.quantities if one.kind == equation.per]
    rest = [one for one in case.inquiry.quantities if one.kind != equation.per]
    filled = _fill(case, equation, rest, with_rules=False)
    asks_price = _PRICE_ASKED.search(case.inquiry.text) is not None
    if filled.missing or (not counted and not (filled.given and asks_price)):
        return
    shares = [one for one in case.ranked("%") if not one.stated.is_condition]
    count = counted[0] if counted else None
    factors = [f"({filled.expression})", *([plain(count.value)] if count else [])]
    used = (*filled.given, *((count,) if count else ()))
    unit = _result_unit(case, equation, {"money"})
    cover = case.scales.cover_of_piece(equation.piece)
    for share in shares[:3]:
        if not _is_pay_share(share.stated):
            continue
        expression = " * ".join([*factors, share.stated.factor])
        yield Derivation(
            route="formula",
            score=share.cover * 0.8 + 0.2 * cover + _HOURS - unused(case, used) + share.score - share.cover,
            expression=expression,
            unit=unit,
            value=evaluated(expression),
            rules=(share.stated, *filled.rules),
            pieces=(equation.piece,),
            given=used,
            notes=(equation.formula.text,),
        )
    if len(counted) > 1:
        yield from _each_priced(case, equation, filled, counted, unit)
    if count and cover >= _LEAST_NAMED:
        expression = " * ".join(factors)
        yield Derivation(
            route="formula",
            score=cover + 0.1 - unused(case, used),
            expression=expression,
            unit=unit,
            value=evaluated(expression),
            rules=filled.rules,
            pieces=(equation.piece,),
            given=used,
            notes=(equation.formula.text,),
        )


def _each_priced(
    case: Case, equation: Equation, filled: _Filled, counted: Sequence[Quantity], unit: str
) -> Iterator[Derivation]:
    """Several lengths of time, each with the share that its own part of the question names."""
    parts, rules, scores = list[str](), list[Stated](), list[float]()
    shares = [one for one in case.stated if one.kind == "%" and not one.is_condition and _is_pay_share(one)]
    for one in counted:
        terms = subject_terms(one.around, (one,) if one.text in one.around else (), (), is_bare=case.inquiry.is_bare)
        others = tuple(
            term
            for term in case.inquiry.terms
            if term.stems not in {own.stems for q in counted for own in terms_of(q.around)}
        )
        telling = tuple(replace(term, weight=term.weight * 2) for term in terms)
        ranked = case.scales.ranked(shares, (), (*telling, *others))
        if not ranked:
            return
        parts.append(f"({filled.expression}) * {plain(one.value)} * {ranked[0].stated.factor}")
        rules.append(ranked[0].stated)
        scores.append(ranked[0].score)
    expression = " + ".join(parts)
    used = (*filled.given, *counted)
    yield Derivation(
        route="formula",
        score=sum(scores) / len(scores) + _HOURS + 0.1 - unused(case, used),
        expression=expression,
        unit=unit,
        value=evaluated(expression),
        rules=tuple(dict.fromkeys(rules)),
        pieces=(equation.piece,),
        given=used,
    )


_PRICE_ASKED = re.compile(
    r"(?:một|mỗi|mot|moi) (?:giờ|ngày|gio|ngay)|(?:per|an?|each|every) (?:hour|day)|hourly|daily", re.IGNORECASE
)
_OVERTIME = re.compile(
    r"làm thêm|tăng ca|overtime|ngày nghỉ|ngày lễ|weekend|sunday|saturday|ban đêm|ca đêm|hourly|holiday|night",
    re.IGNORECASE,
)


def _is_pay_share(stated: Stated) -> bool:
    """Whether a share is what an hour of work is paid with."""
    return stated.value > 20 and bool(
        _OVERTIME.search(f"{stated.segment} {stated.piece.unit.text} {stated.piece.heading}")
    )


def _fill(case: Case, equation: Equation, given: Sequence[Quantity], *, with_rules: bool) -> _Filled:
    """Each name takes the quantity of its kind; one that is not given may stand in another rule."""
    left, used, rules, missing = list(given), list[Quantity](), list[Stated](), list[str]()
    values: dict[int, Decimal] = {}
    is_found = False
    for at, operand in enumerate(equation.formula.operands):
        if operand.value is not None:
            continue
        kind = operand.kind or kind_of(operand.text)
        fitting = next((one for one in left if _fits(kind, one)), None)
        if fitting:
            left.remove(fitting)
            used.append(fitting)
            values[at] = _scaled(fitting, kind, operand.text)
            continue
        looked = _looked_up(case, operand.text, kind, equation) if with_rules and kind in ("day", "hour", "%") else None
        if looked is None:
            missing.append(operand.text)
            continue
        values[at], is_found = looked.stated.value, True
        rules.append(looked.stated)
        used += looked.held
    expression = "" if missing else equation.formula.filled(values)
    return _Filled(expression, tuple(used), tuple(rules), tuple(missing), is_found)


def _fits(kind: str, quantity: Quantity) -> bool:
    return bool(kind) and (quantity.kind == kind or {quantity.kind, kind} <= {"day", "night", "week"})


def _scaled(quantity: Quantity, kind: str, name: str) -> Decimal:
    """In the formula's unit: two weeks are ten days of work, a monthly salary is a twelfth of the annual one."""
    if kind == "day" and quantity.kind == "week":
        return quantity.value * 5
    if (
        kind == "money"
        and _SALARY_YEARLY.search(name)
        and re.search(r"(?:a|per|each|every) month|monthly|tháng", quantity.around, re.I)
    ):
        return quantity.value * 12
    return quantity.value


def _looked_up(case: Case, name: str, kind: str, equation: Equation) -> Weighed | None:
    """What another rule gives for a name: the days of leave after so many years."""
    terms = (*terms_of(name), *case.inquiry.terms)
    candidates = [
        one
        for one in case.stated
        if one.kind == kind
        and not one.is_condition
        and one.piece != equation.piece
        and not one.piece.is_example
        and not (one.per and one.per not in ("year", "kỳ", "person"))
    ]
    ranked = case.scales.ranked(candidates, case.inquiry.quantities, terms)
    if not ranked or ranked[0].cover < 0.35:
        return None
    held = [one for one in ranked if one.held and one.cover >= 0.2]
    return held[0] if held else ranked[0]


def _result_unit(case: Case, equation: Equation, kinds: set[str]) -> str:
    if "money" not in kinds:
        mark = re.search(r"ngày|days?|leave|allowance", equation.left, re.IGNORECASE)
        return case.inquiry.wanted if case.inquiry.wanted not in ("text", "count", "money") else "day" if mark else ""
    said = [one.unit for one in case.inquiry.quantities if one.kind == "money" and one.unit != "money"]
    if said and said[0]:
        return said[0]
    text = equation.piece.passage.text
    for unit, mark_of in (("VND", "đồng"), ("VND", "VND"), ("GBP", "£"), ("USD", "$"), ("EUR", "€")):
        if mark_of in text:
            return unit
    return "VND" if case.inquiry.language == "vi" else ""
