"""What comes next in a row of numbers, by the commonest rules."""

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from app.reasoning.local.deep.puzzles.solution import Solution, sum_for

_NUMBER = r"-?\d+(?:[.,]\d+)?"
_ROW = re.compile(
    rf"(?P<row>{_NUMBER}(?:\s*[,;]\s*{_NUMBER}){{2,}})\s*[,;]?\s*(?:\?|…|\.\.\.|_+|x\b|$|và)", re.IGNORECASE
)
_NEXT = re.compile(
    r"(?:comes next|next (?:number|term)|số (?:tiếp theo|kế tiếp|nào tiếp theo)|tiếp theo là|"
    r"continue the|missing number|số còn thiếu|dãy số|"
    r"sequence|số thứ \d+)",
    re.IGNORECASE,
)


def sequence_puzzle(text: str) -> Solution | None:
    """The next member of a row that a question writes."""
    mark = _ROW.search(text)
    if not mark or not _NEXT.search(text):
        return None
    parts = re.split(r"\s*;\s*|,\s+" if ", " in mark["row"] or ";" in mark["row"] else ",", mark["row"].strip(" ,;"))
    expression = following([Fraction(one.strip().replace(",", ".")) for one in parts if one.strip()])
    return sum_for(expression) if expression else None


def following(row: Sequence[Fraction]) -> str:
    """What comes next in a row of numbers by the commonest rules, as arithmetic; empty when none is sure."""
    return _by_differences(row) or _by_ratio(row) or _by_neighbours(row) or _alternating(row)


def _by_differences(row: Sequence[Fraction]) -> str:
    """The last member, the last step, the last change of the step …, where one of them is always the same."""
    rows, written = [list(row)], [[_shown(one) for one in row]]
    while len(rows[-1]) > 2 and len(set(rows[-1])) > 1 and len(rows) < 4:
        before, names = rows[-1], written[-1]
        rows.append([b - a for a, b in pairwise(before)])
        written.append([f"({b} - {a})" for a, b in pairwise(names)])
    if len(set(rows[-1])) == 1 and len(rows[-1]) > 1:
        return " + ".join(names[-1] for names in written)
    return ""


def _by_ratio(row: Sequence[Fraction]) -> str:
    """Each the one before times the same; or each step so."""
    a, b, last = _shown(row[0]), _shown(row[1]), _shown(row[-1])
    if 0 not in row and _is_constant(row):
        return f"{last} * {b} / {a}"
    steps = [two - one for one, two in pairwise(row)]
    if len(row) > 3 and 0 not in steps and _is_constant(steps):
        return f"{last} + ({last} - {_shown(row[-2])}) * ({_shown(row[2])} - {b}) / ({b} - {a})"
    for k in (2, 3, 4, 5, 10):
        if len(row) > 3 and len({two - k * one for one, two in pairwise(row)}) == 1:
            return f"{k} * {last} + ({b} - {k} * {a})"
    return ""


def _by_neighbours(row: Sequence[Fraction]) -> str:
    """Each the sum or the product of the two before it; prime numbers in a row."""
    triples = list(zip(row, row[1:], row[2:], strict=False))
    last, before = _shown(row[-1]), _shown(row[-2])
    if len(row) > 3 and all(c == a + b for a, b, c in triples):
        return f"{last} + {before}"
    if len(row) > 3 and all(c == a * b for a, b, c in triples):
        return f"{last} * {before}"
    return _next_prime(row)


def _alternating(row: Sequence[Fraction]) -> str:
    """Two rows in turn, each with steps of its own."""
    own = row[-2::-2][::-1]
    steps = {b - a for a, b in pairwise(own)}
    others = {b - a for a, b in pairwise(row[-1::-2][::-1])}
    if len(row) >= 5 and len(steps) == 1 and len(others) == 1 and len(own) >= 2:
        return f"{_shown(own[-1])} + ({_shown(own[-1])} - {_shown(own[-2])})"
    return ""


def _is_constant(row: Sequence[Fraction]) -> bool:
    return len({b / a for a, b in pairwise(row)}) == 1


def _next_prime(row: Sequence[Fraction]) -> str:
    primes = [n for n in range(2, 200) if all(n % d for d in range(2, n))]
    if row[0] not in primes:
        return ""
    at = primes.index(int(row[0]))
    is_run = [int(one) for one in row] == primes[at : at + len(row)] and at + len(row) < len(primes)
    return f"{_shown(row[-1])} + {primes[at + len(row)] - int(row[-1])}" if is_run else ""


def _shown(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else str(float(value))
