"""Sums of things that each have a rule of their own: “lương thử việc cộng phụ cấp ăn trưa”."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.reasoning.local.deep.arithmetic import evaluated
from app.reasoning.local.deep.case import Case
from app.reasoning.local.deep.derivation import Derivation
from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.terms import terms_of

_JOINT = re.compile(
    r"(?<!tổng)\s(?:cộng(?: với| thêm)?|và|lẫn|cùng(?: với)?|plus|and|as well as|"
    r"together with)\s|,\s(?:và\s|and\s)?",
    re.IGNORECASE,
)
_WORD_JOINT = re.compile(
    r"(?<!tổng)\s(?:cộng(?: với| thêm)?|lẫn|cùng với|và|plus|and|"
    r"as well as|together with)\s",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_ROUTES = frozenset({"rate", "share", "value", "formula"})
_LEAST = 0.45
_MOST, _FEWER = 4, 0.3
"""Most parts; what a sum loses where two parts rest on one rule."""


def part_derivations(case: Case, solve: Callable[[Case], Sequence[Derivation]]) -> Iterator[Derivation]:
    """Each part of what is asked for by itself, then their sum.

    Args:
        case: The whole question.
        solve: The ways of a part, the likeliest first.
    """
    inquiry = case.inquiry
    if inquiry.wanted not in ("money", "day", "hour") or inquiry.operation not in ("total", ""):
        return
    for scope, joint in _scopes(inquiry):
        parts = [part for part in joint.split(scope.rstrip(" ?.")) if terms_of(part)]
        if not 2 <= len(parts) <= _MOST:
            continue
        found = [_best(case, part, solve) for part in parts]
        chosen = _apart([one for one in found if one is not None])
        if None not in found and len(chosen) > 1:
            is_said = inquiry.operation == "total" or re.search(r"(?<!tổng)\s(?:cộng|plus)\s", scope) is not None
            whole = _sum(chosen, is_said=is_said)
            yield whole if len(chosen) == len(parts) else replace(whole, score=whole.score - _FEWER)
            return


def _scopes(inquiry: Inquiry) -> list[tuple[str, re.Pattern[str]]]:
    """The sentence that asks; the whole question where a total of things is asked for that are only named."""
    found = [(_asking(inquiry.text), _JOINT)]
    if inquiry.operation == "total" and not inquiry.quantities:
        found.append((inquiry.text, _WORD_JOINT))
    return found


def _asking(text: str) -> str:
    sentences = _SENTENCE.split(text)
    return next((one for one in reversed(sentences) if "?" in one), sentences[-1])


def _best(case: Case, part: str, solve: Callable[[Case], Sequence[Derivation]]) -> Derivation | None:
    """The likeliest way of one part with the figures of the whole question."""
    inquiry: Inquiry = replace(case.inquiry, text=part, operation="")
    ways = [one for one in solve(case.with_inquiry(inquiry)) if one.route in _ROUTES and one.value and not one.missing]
    best = next(iter(ways), None)
    return best if best is not None and best.score >= _LEAST else None


def _apart(chosen: Sequence[Derivation]) -> list[Derivation]:
    """The ways that rest on rules of their own, each once; none where they are of several units."""
    by_rule = {(one.rules[0].piece, one.rules[0].start): one for one in reversed(chosen) if one.rules}
    return list(reversed(by_rule.values())) if len({one.unit for one in chosen}) == 1 else []


def _sum(chosen: Sequence[Derivation], *, is_said: bool) -> Derivation:
    written = [one.expression or str(one.value) for one in chosen]
    expression = " + ".join(f"({one})" if " " in one else one for one in written)
    mean = sum(one.score for one in chosen) / len(chosen)
    return Derivation(
        route="total",
        score=mean + (0.2 if is_said else -0.2),
        expression=expression,
        unit=chosen[0].unit,
        value=evaluated(expression),
        rules=tuple(rule for one in chosen for rule in one.rules),
        pieces=tuple(piece for one in chosen for piece in one.pieces),
        given=tuple(dict.fromkeys(q for one in chosen for q in one.given)),
    )
