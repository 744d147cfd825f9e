"""A plan that waits is shown in the terminal, and what is typed decides."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from app.cli.questions import decide, decision_of


class Desk(Console):
    """A terminal where somebody types these lines and leaves."""

    def __init__(self, *lines: str):
        super().__init__(file=io.StringIO(), width=100)
        self._lines: Iterator[str] = iter(lines)

    def input(self, prompt: Any = "", **_: Any) -> str:
        self.print(prompt, end="")
        try:
            return next(self._lines)
        except StopIteration:
            raise EOFError from None

    @property
    def shown(self) -> str:
        assert isinstance(self.file, io.StringIO)
        return self.file.getvalue()


class TestWhatIsTyped:
    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ("y", {"approved": True}), (" YES ", {"approved": True}), ("Có", {"approved": True}),
            ("n", {"approved": False}), ("không", {"approved": False}),
            ("by month, please", {"approved": False, "feedback": "by month, please"}), (" ", None),
        ],
    )  # fmt: skip
    def test_is_yes_or_no_or_feedback(self, said: str, meant: dict[str, Any] | None) -> None:
        assert decision_of(said) == meant


class TestDecide:
    async def test_shows_the_plan_and_asks_until_something_is_said(self) -> None:
        desk = Desk("", "  ", "y")
        assert await decide(desk, "1. look it up", {"attempt": 3}) == {"approved": True, "attempt": 3}
        assert desk.shown.startswith("1. look it up") and desk.shown.count("Carry out this plan?") == 3

    async def test_refuses_where_nobody_can_be_asked(self) -> None:
        assert await decide(Desk(), "the plan", {"attempt": 1}) == {"approved": False, "attempt": 1}
