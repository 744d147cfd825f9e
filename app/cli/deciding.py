"""Asking in the terminal whether a plan is to be carried out."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console, RenderableType

_PROMPT = "Carry out this plan? y, n, or what to plan differently: "
_YES = frozenset({"y", "yes", "c", "có"})
_NO = frozenset({"n", "no", "k", "không"})


def decision_of(said: str) -> dict[str, Any] | None:
    """What was typed, as the body of a decision; None when nothing was. Whatever is neither yes nor no is feedback."""
    text = said.strip()
    match text.casefold():
        case "":
            return None
        case one if one in _YES:
            return {"approved": True}
        case one if one in _NO:
            return {"approved": False}
        case _:
            return {"approved": False, "feedback": text}


async def decide(console: Console, plan: RenderableType, waiting: Mapping[str, Any]) -> dict[str, Any]:
    """Show the plan of an `interrupt` event and ask until something is said; where nobody can be asked it is refused.
    Blocks no other work of this process."""
    console.print(plan)
    decision = None
    while decision is None:
        decision = decision_of(await asyncio.to_thread(_ask, console.input))
    return {**decision, "attempt": waiting["attempt"]}


def _ask(read: Callable[[str], str]) -> str:
    try:
        return read(_PROMPT)
    except EOFError:
        return "n"
