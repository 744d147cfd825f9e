"""Exact reckoning of the small expressions this mind builds, so that it can hold them against what a tool answers."""

import re
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|(\*\*|[-+*/()%]))")
_MAX_CHARS, _MAX_POWER = 300, 64


def evaluated(expression: str) -> Fraction | None:
    """The value of plain arithmetic (``+ - * / % **``, parentheses); None for anything else, or without a value."""
    if len(expression) > _MAX_CHARS:
        return None
    tokens = _tokens(expression)
    if not tokens:
        return None
    try:
        parser = _Parser(tokens)
        value = parser.sum()
    except (ArithmeticError, IndexError, ValueError, RecursionError):
        return None
    return value if parser.at == len(tokens) else None


def operands_of(expression: str) -> frozenset[Fraction]:
    """The numbers an expression is made of."""
    return frozenset(Fraction(mark[1]) for mark in _TOKEN.finditer(expression) if mark[1])


def _tokens(expression: str) -> list[str]:
    found, at = list[str](), 0
    text = expression.rstrip()
    while at < len(text):
        mark = _TOKEN.match(text, at)
        if mark is None:
            return []
        found.append(mark[1] or mark[2])
        at = mark.end()
    return found


class _Parser:
    def __init__(self, tokens: list[str]):
        self._tokens = tokens
        self.at = 0

    @property
    def _next(self) -> str:
        return self._tokens[self.at] if self.at < len(self._tokens) else ""

    def _taken(self) -> str:
        token = self._tokens[self.at]
        self.at += 1
        return token

    def sum(self) -> Fraction:
        value = self._product()
        while self._next in ("+", "-"):
            value = value + self._product() if self._taken() == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while self._next in ("*", "/", "%"):
            match self._taken():
                case "*":
                    value *= self._power()
                case "/":
                    value /= self._power()
                case _:
                    value %= self._power()
        return value

    def _power(self) -> Fraction:
        base = self._atom()
        if self._next != "**":
            return base
        self._taken()
        exponent = self._power()
        if exponent.denominator != 1 or abs(exponent) > _MAX_POWER:
            raise ValueError(exponent)
        return Fraction(base ** int(exponent))

    def _atom(self) -> Fraction:
        token = self._taken()
        if token == "(":
            value = self.sum()
            if self._taken() != ")":
                raise ValueError(token)
            return value
        return -self._atom() if token == "-" else Fraction(token)
