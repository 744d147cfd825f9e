"""A conversation in a few lines, made of what its turns asked and were told; no model is needed for it."""

import re
from collections.abc import Sequence

from app.domain.tasks import RememberedTurn

MAX_SUMMARY_CHARS = 2_000
MAX_GIST_CHARS = 300
"""Of one turn's answer."""
_TOLD_TURNS = 4
"""The last turns are told with their answers, those before by their questions."""
_MAX_QUESTION_CHARS = 200
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s|$)|$)", re.DOTALL)
_DRESSING = re.compile(r"^\s*(?:[-*#>]+|\d+[.)])\s+|\*\*", re.MULTILINE)


def summary_of(turns: Sequence[RememberedTurn]) -> tuple[str, int]:
    """The summary of turns (oldest first), at most `MAX_SUMMARY_CHARS`, and how many of the last turns are in it.

    What does not fit is left out from the oldest on.
    """
    lines: list[str] = []
    left = MAX_SUMMARY_CHARS
    for age, turn in enumerate(reversed(turns)):
        line = _line(turn, with_answer=age < _TOLD_TURNS)
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
    return "\n".join(reversed(lines)), len(lines)


def _line(turn: RememberedTurn, *, with_answer: bool) -> str:
    question = shortened(turn.question, _MAX_QUESTION_CHARS)
    return f"- {question} → {turn.gist}" if with_answer and turn.gist else f"- {question}"


def gist_of(text: str) -> str:
    """The first whole sentences of an answer, on one line, at most `MAX_GIST_CHARS`."""
    return shortened(_DRESSING.sub("", text), MAX_GIST_CHARS)


def shortened(text: str, limit: int) -> str:
    """`text` on one line, cut behind a sentence; behind a word where the first sentence is longer than `limit`."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = ""
    for sentence in _SENTENCE.finditer(line):
        if sentence.end() > limit:
            break
        kept = line[: sentence.end()]
    if kept:
        return kept.rstrip()
    return f"{line[: limit - 1].rpartition(' ')[0] or line[: limit - 1]}…"
