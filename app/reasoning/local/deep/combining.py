"""Rules put together: what charges leave of an allowance, what exceeds a limit, a share of a tier, several factors."""

import re
from collections.abc import Iterator
from fractions import Fraction

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.excess import excess_derivations
from app.reasoning.local.deep.goals import ASKS_EXCESS
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.deep.rates import charges, fit_of, unused
from app.reasoning.local.deep.shares import share_derivations
from app.reasoning.local.deep.statements import Stated
from app.reasoning.local.numbers import plain
from app.reasoning.local.terms import bag_of, terms_of

_PROPORTION = re.compile(
    r"in proportion|pro rata|proportionate|theo tỷ lệ|theo tỉ lệ|tương ứng|theo thời gian còn|missing months|số tháng",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"missing|còn thiếu|remaining|còn lại|pays? back|paid back|hoàn trả|bồi hoàn|hoàn lại|repay", re.IGNORECASE
)
_EXPENSE = re.compile(
    r"phí|vé|hóa đơn|taxi|toll|fee|ticket|invoice|receipt|parking|bill|phòng|khách sạn|hotel", re.IGNORECASE
)
_EXTRA = re.compile(r"\b(?:extra|additional|on top|plus|thêm|cộng thêm|ngoài ra)\b", re.IGNORECASE)
_EACH = re.compile(r"(?:cứ|mỗi|every|for each|each) ", re.IGNORECASE)
_FACTOR = re.compile(r"(?:tỷ lệ|tỉ lệ|hệ số|factor|ratio|multiplier|coefficient|rate)[^.,;?]{0,60}$", re.IGNORECASE)
_REDUCED = re.compile(r"giảm|trừ|reduc|lower|less|deduct", re.IGNORECASE)
_TIMES_OF = re.compile(r"nhân|multipl|tỷ lệ hoàn thành|×", re.IGNORECASE)


def combined_derivations(case: Case) -> Iterator[Derivation]:
    """Every way that needs more than one rule."""
    yield from _left_after_charges(case)
    yield from excess_derivations(case)
    yield from _proportion(case)
    yield from _with_expense(case)
    yield from _with_extra(case)
    yield from _factors(case)


def _left_after_charges(case: Case) -> Iterator[Derivation]:
    """An allowance less what is deducted from it: 500.000 − 6 × 50.000."""
    if case.inquiry.operation != "left" or case.inquiry.wanted != "money":
        return
    for charge in charges(case)[:3]:
        rate = charge.rate.stated
        whole = [
            one
            for one in case.ranked("money")
            if one.stated != rate
            and not one.stated.is_condition
            and not one.stated.piece.is_example
            and one.stated.piece.passage.document_id == rate.piece.passage.document_id
            and one.stated.value > rate.value
            and one.stated.unit == rate.unit
            and fit_of(one.stated, charge.quantity) < 0.5
        ]
        given = case.inquiry.of_kind("money")
        if not whole and not given:
            continue
        if whole:
            rules: tuple[Stated, ...] = (whole[0].stated, rate)
            base = plain(whole[0].stated.value)
            score = (charge.score + whole[0].score) / 2
        else:
            base, rules, score = plain(given[0].value), (rate,), charge.score - 0.1
        expression = f"{base} - ({charge.expression})"
        yield Derivation(
            route="left",
            score=score + 0.35 - unused(case, (charge.quantity,)),
            expression=expression,
            unit=rate.unit,
            value=evaluated(expression),
            rules=rules,
            given=(charge.quantity,),
            floor=Fraction(0),
        )


def _proportion(case: Case) -> Iterator[Derivation]:
    """A cost in proportion to a time: what is paid back for the missing months of a commitment."""
    inquiry = case.inquiry
    money = inquiry.of_kind("money")
    times = inquiry.of_kind("month", "year")
    if inquiry.wanted != "money" or not money or not times:
        return
    pieces = [piece for piece in case.pieces if _PROPORTION.search(piece.unit.text)]
    if not pieces:
        return
    piece = max(pieces, key=case.scales.cover_of_piece)
    spans = [
        one
        for one in case.ranked("month", "year")
        if not one.stated.is_condition
        and one.stated.piece.passage.document_id == piece.passage.document_id
        and one.stated.value not in (q.value for q in times)
        and not one.stated.piece.is_example
    ]
    for span in spans[:3]:
        served = times[0]
        whole, done = plain(span.stated.value), plain(served.value)
        if span.stated.kind != served.kind:
            whole = f"{whole} * 12" if span.stated.kind == "year" else whole
            done = f"{done} * 12" if served.kind == "year" else done
        missing = f"({whole} - {done})" if _MISSING.search(f"{inquiry.text} {piece.unit.text}") else done
        expression = f"{plain(money[0].value)} * {missing} / ({whole})"
        value = evaluated(expression)
        if value is None or value < 0:
            continue
        used = (money[0], served)
        yield Derivation(
            route="share",
            score=span.score * 0.5 + case.scales.cover_of_piece(piece) * 0.5 + 0.4 - unused(case, used),
            expression=expression.replace(f"({whole})", whole) if " " not in whole else expression,
            unit=money[0].unit if money[0].unit != "money" else span_unit(span.stated),
            value=value,
            rules=(span.stated,),
            pieces=(piece,),
            given=used,
            floor=Fraction(0),
        )


def span_unit(stated: Stated) -> str:
    """The currency its passage speaks of."""
    text = stated.piece.passage.text
    return "GBP" if "£" in text else "VND"


def _with_expense(case: Case) -> Iterator[Derivation]:
    """A rate for one quantity and an expense that was paid as well."""
    inquiry = case.inquiry
    if inquiry.wanted != "money":
        return
    expenses = [q for q in inquiry.of_kind("money") if _EXPENSE.search(q.around)]
    if not expenses or inquiry.operation not in ("total", "") or inquiry.text in ASKS_EXCESS:
        return
    for charge in charges(case)[:3]:
        expression = " + ".join([f"({charge.expression})", *(plain(q.value) for q in expenses)])
        used = (charge.quantity, *expenses)
        yield Derivation(
            route="total",
            score=charge.score + 0.1 + 0.1 * (inquiry.operation == "total") - unused(case, used),
            expression=expression,
            unit=charge.rate.stated.unit,
            value=evaluated(expression),
            rules=(charge.rate.stated,),
            given=used,
        )


def _with_extra(case: Case) -> Iterator[Derivation]:
    """A value and what comes on top of it in the case of the question."""
    inquiry = case.inquiry
    if inquiry.wanted in ("date", "text", "count", "%"):
        return
    ranked = [
        one for one in case.ranked(inquiry.wanted) if not one.stated.is_condition and not one.stated.piece.is_example
    ]
    extras = [
        one
        for one in ranked
        if _EXTRA.search(one.stated.piece.unit.text[max(0, one.stated.start - 40) : one.stated.end + 20])
        and not one.stated.per
    ]
    asked = bag_of(inquiry.text, inquiry.is_bare)
    for extra in extras[:2]:
        telling = [t for t in terms_of(extra.stated.piece.unit.text) if t.is_name or t.weight >= 0.6]
        said = [t for t in telling if t.found_in(asked) >= 1]
        base = next(
            (
                one
                for one in ranked
                if one.stated.piece != extra.stated.piece and one not in extras and one.stated.unit == extra.stated.unit
            ),
            None,
        )
        own = bag_of(f"{base.stated.segment} {base.stated.piece.unit.text}") if base else None
        apart = [t for t in said if own is not None and t.found_in(own) < 1]
        share = sum(t.weight for t in said) / (sum(t.weight for t in telling) or 1)
        if base is None or not apart or share < 0.5 or _EACH.search(extra.stated.piece.unit.text):
            continue
        expression = f"{plain(base.stated.value)} + {plain(extra.stated.value)}"
        used = (*base.held, *extra.held)
        yield Derivation(
            route="total",
            score=base.score + 0.1 + 0.15 * (inquiry.operation == "total") - unused(case, used),
            expression=expression,
            unit=base.stated.unit,
            value=evaluated(expression),
            rules=(base.stated, extra.stated),
            given=used,
        )


def _factors(case: Case) -> Iterator[Derivation]:
    """A share of a salary times a rate of the question, less reductions that apply."""
    inquiry = case.inquiry
    bare = [q for q in inquiry.quantities if q.kind in ("", "%") and _FACTOR.search(inquiry.text[: q.start])]
    bases = sorted((one for one in share_derivations(case) if one.expression), key=lambda one: -one.score)
    for base in bases[:6]:
        factors, used, rules = list[str](), list[Quantity](base.given), list[Stated](base.rules)
        for q in bare:
            if q not in used and any(_TIMES_OF.search(piece.unit.text) for piece in case.pieces):
                factors.append(f"* {plain(q.value)}" + (" / 100" if q.kind == "%" else ""))
                used.append(q)
        for cut in _reductions(case, base):
            factors.append(f"* (100 - {plain(cut.value)}) / 100")
            rules.append(cut)
        if not factors:
            continue
        expression = " ".join([base.expression, *factors])
        yield Derivation(
            route="share",
            score=base.score + 0.12 * len(factors) - unused(case, tuple(used)) + unused(case, base.given),
            expression=expression,
            unit=base.unit,
            value=evaluated(expression),
            rules=tuple(rules),
            given=tuple(used),
        )


def _reductions(case: Case, base: Derivation) -> list[Stated]:
    """Reductions whose own words the question says: “một văn bản khiển trách vì đi muộn”."""
    asked = bag_of(case.inquiry.text, case.inquiry.is_bare)
    found: list[Stated] = []
    for one in case.ranked("%"):
        stated = one.stated
        before = stated.piece.unit.text[: stated.start]
        if stated in base.rules or stated.is_condition or stated.piece.is_example or not _REDUCED.search(before[-60:]):
            continue
        cut = [mark.start() for mark in _REDUCED.finditer(before)]
        terms = [t for t in terms_of(before[: cut[-1]]) if t.weight >= 0.5]
        share = sum(t.weight * t.found_in(asked) for t in terms) / (sum(t.weight for t in terms) or 1)
        if share >= 0.7 and all(stated.value != other.value or stated.segment == other.segment for other in found):
            found.append(stated)
    return found[:1]
