import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ToolFailed, ToolRetry
from app.text.arithmetic import MAX_BITS, MAX_CHARS, CannotCalculate, Refusal, calculate, rounded

HOSTILE = [
    "", " ", "\n", "\x00", "()", "(", ")", "((1)", "1)", "+", "-", "*", "1 +", "1 1", "* 2", "2 * * 3",
    "1 // 2", "1 +* 2", "abc", "x = 1", "import os", "__import__('os').system('id')", "().__class__",
    "lambda: 1", "[1]*10", "'a'*10", "print(1)", "1 if 1 else 2", "1 == 1", "1 and 1", "~1", "1 << 9999",
    "1 | 2", "@", "1;2", "1_000", "0x10", "1j", "1e", "1e5000", "1e-5000", "9" * 31, "1." + "1" * 40, "9**9**9",
    "9**9**9**9", "2**100000", "2**-100000", "(2**999)**999", "((9**99)**99)**99", "10**24", "1e30", "1/0",
    "1 % 0", "0**-1", "1/(3-3)", "2**0.5", "2**(1/3)", "(-8)**(1/3)", "1,000", "1.2.3", "1..2", "1,2,3", "5.",
    "10% - 3", "% 5", "%", "5 %% 2", "(" * 100 + "1" + ")" * 100, "-" * 200 + "1", "2**" * 90 + "2",
    "1" + "+1" * 200, "1+" * 149 + "1" + " " * 400, "1\u200b+\u200b1", "１＋１", "π", "∞", "nan", "inf",
    "1 + \ud800", "drop table tasks", "$(id)", "`id`", "{{7*7}}", "%s%s%s", "1 mod 2", "5!", "sqrt(4)", "1:2",
    "1=1",
]  # fmt: skip


class TestCalculate:
    def test_is_exact(self) -> None:
        rows: list[tuple[str, Fraction | int]] = [
            ("15000000 / 26 * 3", Fraction(15_000_000, 26) * 3),
            ("39,000.00 / 260 * 5", 750),
            ("1,000,000 + 1.000.000", 2_000_000),
            ("1.000,5 * 2", 2001),
            ("200% * 3", 6),
            ("(12)% * 50", 6),
            ("60000 * 150%", 90_000),
            ("17 % 5", 2),
            ("-7 % 3", 2),
            ("-2**2", -4),
            ("2**-1", Fraction(1, 2)),
            ("2**3**2", 512),
            ("2 ^ 10", 1024),
            ("1/3*3", 1),
            ("0.1 + 0.2", Fraction(3, 10)),
            ("2 - -3", 5),
            ("--3", 3),
            ("15.000.000 ÷ 26 × 3", Fraction(15_000_000, 26) * 3),
            ("5 − 2", 3),
            ("1.5e3 + .5", Fraction(3001, 2)),
            ("0**0", 1),
            ("(((((1)))))", 1),
        ]
        for expression, value in rows:
            assert calculate(expression).value == value

    def test_can_follow_a_loan_over_thirty_years(self) -> None:
        assert rounded(calculate("(1 + 0.05/12)**360").value, 6) == Decimal("4.467744")

    def test_refuses_hostile_text_at_once(self) -> None:
        for expression in HOSTILE:
            started = time.thread_time()
            with pytest.raises(ToolFailed):
                calculate(expression)
            assert time.thread_time() - started < 0.1

    def test_knows_more_than_sixty_hostile_texts(self) -> None:
        assert len(set(HOSTILE)) >= 60

    def test_says_why(self) -> None:
        rows: list[tuple[str, Refusal]] = [
            ("1/0", Refusal.DIVISION_BY_ZERO),
            ("1 % 0", Refusal.DIVISION_BY_ZERO),
            ("0**-1", Refusal.DIVISION_BY_ZERO),
            ("9**9**9", Refusal.TOO_BIG),
            ("9" * 31, Refusal.TOO_BIG),
            ("1e999", Refusal.TOO_BIG),
            ("2**0.5", Refusal.EXPONENT),
            ("1+" * MAX_CHARS, Refusal.TOO_LONG),
            ("(" * 100 + "1" + ")" * 100, Refusal.TOO_LONG),
            ("1 +", Refusal.SYNTAX),
            ("10% - 3", Refusal.SYNTAX),
        ]
        for expression, refusal in rows:
            with pytest.raises(CannotCalculate) as refused:
                calculate(expression)
            assert refused.value.refusal is refusal

    def test_keeps_every_intermediate_result_small_enough_to_be_fast(self) -> None:
        rows: list[str] = [
            "+".join(f"(1/{prime})**99" for prime in range(11, 37)),
            "*".join(["(99/98)**500"] * 22),
            "/".join(["(1+1/7)**300"] * 22),
            "%".join(f"(1/{prime})**99" for prime in range(11, 37)),
            "+".join(f"1/{10**12 + step}" for step in range(17)),
            "+".join(f"1/{prime}" for prime in range(101, 160)),
        ]
        for expression in rows:
            started = time.thread_time()
            with suppress(ToolFailed):
                calculate(expression[:MAX_CHARS])
            assert time.thread_time() - started < 1

    @given(st.text(max_size=400))
    def test_raises_nothing_but_tool_errors_for_any_text(self, text: str) -> None:
        with suppress(ToolFailed, ToolRetry):
            calculate(text)

    @given(st.text(alphabet="0123456789.,eE+-*/%()^ ", max_size=300))
    def test_raises_nothing_but_tool_errors_and_is_fast_for_near_arithmetic(self, text: str) -> None:
        started = time.thread_time()
        with suppress(ToolFailed, ToolRetry):
            calculate(text)
        assert time.thread_time() - started < 1

    @given(st.data())
    def test_agrees_with_exact_fractions(self, data: st.DataObject) -> None:
        text, expected = data.draw(EXPRESSIONS)
        assert calculate(text).value == expected


class TestWritten:
    def test_is_for_people(self) -> None:
        rows: list[tuple[str, str, str]] = [
            ("15000000/26*3", "15.000.000 / 26 × 3", "15,000,000 / 26 × 3"),
            ("(1+0.05/12)**360", "(1 + 0,05 / 12)^360", "(1 + 0.05 / 12)^360"),
            ("60000*3*200%", "60.000 × 3 × 200%", "60,000 × 3 × 200%"),
            ("17%5", "17 % 5", "17 % 5"),
            ("-3 + -(2) - 1", "-3 + -(2) - 1", "-3 + -(2) - 1"),
            ("2**-1", "2^-1", "2^-1"),
            ("(5)-(2)", "(5) - (2)", "(5) - (2)"),
            ("50% + 1", "50% + 1", "50% + 1"),
        ]
        for expression, vi, en in rows:
            assert calculate(expression).written("vi") == vi
            assert calculate(expression).written("en") == en

    def test_operands_come_once_and_as_written(self) -> None:
        assert calculate("200% * 3 + 3").operands == (Decimal(200), Decimal(3))


class TestRounded:
    def test_rounds_half_away_from_zero(self) -> None:
        rows: list[tuple[Fraction, int, str]] = [
            (Fraction(1, 2), 0, "1"),
            (Fraction(-1, 2), 0, "-1"),
            (Fraction(2, 3), 4, "0.6667"),
            (Fraction(10**23 + 1, 3), 4, "33333333333333333333333.6667"),
            (Fraction(0), 2, "0.00"),
        ]
        for value, places, expected in rows:
            assert rounded(value, places) == Decimal(expected)


def _joined(parts: tuple[tuple[str, Fraction], str, tuple[str, Fraction]]) -> tuple[str, Fraction]:
    (left, first), operator, (right, second) = parts
    if operator in "/%" and second == 0:
        operator = "+"
    results = {
        "+": lambda: first + second, "-": lambda: first - second, "*": lambda: first * second,
        "/": lambda: first / second, "%": lambda: first % second,
    }  # fmt: skip
    return f"({left}) {operator} ({right})", results[operator]()


EXPRESSIONS = st.recursive(
    st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n)))
    | st.decimals(0, 10**4, places=3).map(lambda d: (f"{d:f}", Fraction(d))),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/%"), inner).map(_joined),
    max_leaves=6,
).filter(
    lambda pair: len(pair[0]) <= MAX_CHARS and abs(pair[1]) < 10**20 and pair[1].denominator.bit_length() < MAX_BITS
)
