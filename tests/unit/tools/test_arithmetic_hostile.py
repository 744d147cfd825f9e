"""Arithmetic written to cost more than it should: a result or a typed refusal, and the event loop goes on."""

import asyncio
import time
from fractions import Fraction

import pytest

from app.text.arithmetic import MAX_BITS, CannotCalculate, Refusal, calculate
from tests.limits import limit
from tests.measured import measured
from tests.unit.tools.lag import LoopLag

pytestmark = pytest.mark.usefixtures("settled_heap")

RESULTS: dict[str, int | Fraction] = {
    "2**10": 1024,
    "-2**2": -4,
    "2**-1*2": 1,
    "--------1": 1,
    "(" * 20 + "1" + ")" * 20: 1,
    "1**1000": 1,
    "0**1000": 0,
    "0**0": 1,
    "(-1)**999": -1,
    "10**23": 10**23,
    "10**100/10**99": 10,
    "2**1000 % 1000007": 2**1000 % 1000007,
    "(2**1000)**4/2**1000/2**1000/2**1000/2**999": 2,
    "1e30/1e29": 10,
    "1/3*3": 1,
    "200% * 3": 6,
    "+".join(f"1/{number}" for number in range(2, 60)): sum(Fraction(1, number) for number in range(2, 60)),
    "17 % 5": 2,
    "+".join("1" * 150): 150,
    "*".join("1" * 150): 1,
}
REFUSED: dict[str, Refusal] = {
    "9**9**9": Refusal.TOO_BIG,
    "9**9**9**9**9": Refusal.TOO_BIG,
    "9^9^9^9": Refusal.TOO_BIG,
    "10**1000000": Refusal.TOO_BIG,
    "10**-1000000": Refusal.TOO_BIG,
    "2**4097": Refusal.TOO_BIG,
    "(2**1000)**1000": Refusal.TOO_BIG,
    "((9**99)**99)**99": Refusal.TOO_BIG,
    "1.000000001**1000": Refusal.TOO_BIG,
    "1e30**1000": Refusal.TOO_BIG,
    "99999999999999999999**999": Refusal.TOO_BIG,
    "10**24": Refusal.TOO_BIG,
    "-10**24": Refusal.TOO_BIG,
    "9" * 31: Refusal.TOO_BIG,
    "0." + "3" * 40: Refusal.TOO_BIG,
    "1e31": Refusal.TOO_BIG,
    "1e-31": Refusal.TOO_BIG,
    "1e999": Refusal.TOO_BIG,
    "*".join(["9" * 29] * 9): Refusal.TOO_BIG,
    "*".join(["1e30"] * 60): Refusal.TOO_BIG,
    "+".join(f"1/{number}" for number in range(2, 99)): Refusal.TOO_LONG,
    "1/0": Refusal.DIVISION_BY_ZERO,
    "1%0": Refusal.DIVISION_BY_ZERO,
    "1 % 0 * 1": Refusal.DIVISION_BY_ZERO,
    "0**-1": Refusal.DIVISION_BY_ZERO,
    "1/(2-2)": Refusal.DIVISION_BY_ZERO,
    "5 % (3-3)": Refusal.DIVISION_BY_ZERO,
    "2**0.5": Refusal.EXPONENT,
    "2**(1/3)": Refusal.EXPONENT,
    "(-8)**(1/3)": Refusal.EXPONENT,
    "2**1e-9": Refusal.EXPONENT,
    "(" * 30 + "1" + ")" * 30: Refusal.TOO_LONG,
    "-" * 40 + "1": Refusal.TOO_LONG,
    "2**" * 30 + "1": Refusal.TOO_LONG,
    "-(" * 20 + "1" + ")" * 20: Refusal.TOO_LONG,
    "1+" * 10_000 + "1": Refusal.TOO_LONG,
    "(" * 100_000: Refusal.TOO_LONG,
    "9" * 1_000_000: Refusal.TOO_LONG,
    " " * 301: Refusal.TOO_LONG,
    "": Refusal.SYNTAX,
    " " * 300: Refusal.SYNTAX,
    "()": Refusal.SYNTAX,
    ")(": Refusal.SYNTAX,
    "((((": Refusal.SYNTAX,
    "1 +": Refusal.SYNTAX,
    "1 1": Refusal.SYNTAX,
    "1//2": Refusal.SYNTAX,
    "1<<99999": Refusal.SYNTAX,
    "inf": Refusal.SYNTAX,
    "nan": Refusal.SYNTAX,
    "1j**9": Refusal.SYNTAX,
    "0x" + "f" * 200: Refusal.SYNTAX,
    "1_000": Refusal.SYNTAX,
    "9!": Refusal.SYNTAX,
    "9!!!!!": Refusal.SYNTAX,
    "factorial(99999)": Refusal.SYNTAX,
    "__import__('os').system('id')": Refusal.SYNTAX,
    "(lambda: 0)()": Refusal.SYNTAX,
    "[0]*10**9": Refusal.SYNTAX,
    "'a'*10**9": Refusal.SYNTAX,
    "1 if 1 else 2": Refusal.SYNTAX,
    "{1: 2}": Refusal.SYNTAX,
    "1;2": Refusal.SYNTAX,
    "1\x002": Refusal.SYNTAX,
    "١+١": Refusal.SYNTAX,
    "²**²": Refusal.SYNTAX,
    "\u202e1+1": Refusal.SYNTAX,
    "\ud800": Refusal.SYNTAX,
    "1..2": Refusal.SYNTAX,
    "1.2.3": Refusal.SYNTAX,
    "1e": Refusal.SYNTAX,
    "1e+": Refusal.SYNTAX,
    "%%%%": Refusal.SYNTAX,
    "10%%": Refusal.SYNTAX,
    "10% - 3": Refusal.SYNTAX,
    "," * 300: Refusal.SYNTAX,
    "1," * 150: Refusal.SYNTAX,
    "." * 300: Refusal.SYNTAX,
}


def test_there_are_at_least_60() -> None:
    assert len(RESULTS) + len(REFUSED) >= 60


async def test_each_ends_at_once_and_the_loop_goes_on() -> None:
    async with LoopLag() as lag:
        for expression in (*RESULTS, *REFUSED):
            began = time.perf_counter()
            try:
                value = calculate(expression).value
                assert max(value.numerator.bit_length(), value.denominator.bit_length()) <= MAX_BITS
            except CannotCalculate:
                assert expression in REFUSED, expression
            assert time.perf_counter() - began < limit(1), expression[:80]
            await asyncio.sleep(0)
    assert lag.longest_seconds < limit(0.1)
    measured(14, expressions=len(RESULTS) + len(REFUSED))


def test_what_only_looks_hostile_is_computed() -> None:
    for expression in RESULTS:
        assert calculate(expression).value == RESULTS[expression]


def test_what_is_hostile_is_refused_by_type() -> None:
    for expression in REFUSED:
        with pytest.raises(CannotCalculate) as refused:
            calculate(expression)
        assert refused.value.refusal is REFUSED[expression]
