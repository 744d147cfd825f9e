"""Questions that say all that is needed: words turned and counted, rows of numbers, days counted, rates, orders.

Each is recognised as a whole form and becomes a short program, a calculation or a question to the calendar. Sure or
nothing: what says anything else as well is no puzzle.
"""

from functools import lru_cache

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.calendar_questions import calendar_puzzle
from app.reasoning.local.deep.puzzles.number_puzzles import number_puzzle
from app.reasoning.local.deep.puzzles.orders import order_puzzle
from app.reasoning.local.deep.puzzles.rate_puzzles import rate_puzzle
from app.reasoning.local.deep.puzzles.solution import Solution
from app.reasoning.local.deep.puzzles.stories import story_puzzle
from app.reasoning.local.deep.puzzles.word_puzzles import word_puzzle

__all__ = ["Solution", "puzzle_of"]


@lru_cache(maxsize=512)
def puzzle_of(inquiry: Inquiry) -> Solution | None:
    """How to solve a question that says all that is needed; None for any other."""
    if inquiry.files:
        return None
    rules = (word_puzzle, order_puzzle, number_puzzle, calendar_puzzle, rate_puzzle, story_puzzle)
    return next((found for rule in rules if (found := rule(inquiry)) is not None), None)
