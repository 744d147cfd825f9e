"""Questions one tool answers by itself: sums, days, measures, logs, an address, an attached file.

Decided on the question's own words, before anything is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.knowledge import Language
from app.domain.plan import FILES_TOOL, LOG_TOOL, TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.reasoning import AgentOffer
from app.reasoning.local.intents import asks_money, wants_log
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.reckoning_asked import reckoning_asked
from app.text.language import fold, normalise

_ADDRESS = re.compile(r"https?://(?P<host>[^\s/?#]+)")
_VIDEO_HOSTS = ("youtube.com", "youtu.be")
_RULES = re.compile(
    r"\b(?:quy dinh|quy che|noi quy|chinh sach|so tay|dung luat|policy|policies|company rules?|handbook|guidelines?)\b"
)
_WIKIPEDIA = re.compile(r"\bwikipedia\b")
_COUNTED = frozenset({"time", "day", "hour", "km", "person", "month", "week", "minute"})
_TOTAL = re.compile(r"\b(?:tong cong|tong so tien|tong chi phi|in total|altogether|total cost)\b")
_MOST_CHARS = 600


@dataclass(frozen=True, slots=True)
class Choice:
    """An agent and the tool of it that answers a question."""

    agent: AgentOffer
    tool: str
    is_whole: bool = True
    """False when documents have to be searched as well: an attached file is to be held against the company's rules."""


def tool_for(query: str, offers: Sequence[AgentOffer], *, files: int = 0) -> Choice | None:
    """The tool that answers the question by itself; None when documents have to be searched.

    Args:
        query: One question.
        offers: What the caller may use; nothing else is chosen.
        files: How many files were attached.
    """
    for wanted in _wanted(query, files):
        found = _offered(wanted, offers)
        if found:
            is_whole = found.tool != FILES_TOOL or not _RULES.search(fold(normalise(query)).lower())
            return replace(found, is_whole=is_whole)
    return None


def _wanted(query: str, files: int) -> Iterator[str]:
    """Agent types and tools that would do, the fittest first."""
    asked = reckoning_asked(query)
    if asked:
        yield from asked.types
    if files:
        yield FILES_TOOL
    if wants_log(query):
        yield LOG_TOOL
    yield from named_places(normalise(query))


def named_places(text: str) -> Iterator[str]:
    """Tools for the addresses and places a text names."""
    address = _ADDRESS.search(text)
    if address:
        if address["host"].lower().removeprefix("www.").removeprefix("m.") in _VIDEO_HOSTS:
            yield TRANSCRIPT_TOOL
        yield WEB_TOOL
    if _WIKIPEDIA.search(fold(text).lower()):
        yield WIKIPEDIA_TOOL


def _offered(wanted: str, offers: Sequence[AgentOffer]) -> Choice | None:
    for offer in offers:
        tool = offer.types.get(wanted, wanted)
        if tool in offer.tools:
            return Choice(offer, tool)
    return None


def needs_steps(query: str, language: Language) -> bool:
    """Whether a question gives figures and asks for an amount that rules have to be found for: it names a total, or
    counts of several kinds. A sum of its own figures is none, nor is anything about logs."""
    if len(query) > _MOST_CHARS or reckoning_asked(query) or wants_log(query):
        return False
    flat = fold(normalise(query)).lower()
    counted = {amount.unit for amount in amounts_in(query, language)} & _COUNTED
    return asks_money(flat) and (len(counted) > 1 or bool(counted and _TOTAL.search(flat)))
