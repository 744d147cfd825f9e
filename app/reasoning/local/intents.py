"""What an utterance wants: the separate questions in it, and what each wants done besides looking something up:
calculating, summarising, reading logs."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from app.domain.knowledge import Language
from app.domain.plan import FILES_TOOL, LOG_TOOL, TRANSCRIPT_TOOL, WEB_TOOL, WIKIPEDIA_TOOL
from app.plugins import WANTED, entries_of
from app.reasoning import AgentOffer
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.sums import reckoning_asked
from app.reasoning.local.terms import Part, bag_of
from app.reasoning.local.wording import alternatives, tidy
from app.text.language import fold, guess_language, normalise

Intent = Literal["calculation", "summary", "log"]

_ORDERED = rf"(?:^|[,;.:]\s*|\b(?:{alternatives('intents.before_order')})\s+)"
_CALCULATE = re.compile(rf"{_ORDERED}(?:{alternatives('intents.calculate')})\b|\btinh toan\b")
_MONEY_ASKED = re.compile(alternatives("intents.money_asked"))
_SUMMARISE = re.compile(alternatives("intents.summarise"))
CURRENCIES = frozenset(("VND", "GBP", "USD", "EUR", "CAD"))


def intents_of(query: str) -> frozenset[Intent]:
    """What the query wants done; empty when it only wants to know something."""
    bare = fold(normalise(query)).lower()
    checks: tuple[tuple[Intent, bool], ...] = (
        ("calculation", _wants_calculation(query, bare)),
        ("summary", bool(_SUMMARISE.search(bare))),
        ("log", wants_tool(LOG_TOOL, query)),
    )
    return frozenset(intent for intent, wanted in checks if wanted)


def wants_tool(tool: str, query: str) -> bool:
    """Whether the query's own words ask for what `tool` does; False for tools nobody plugged a reader in for."""
    wanted = _readers().get(tool)
    return wanted is not None and wanted(query)


@cache
def _readers() -> Mapping[str, Callable[[str], bool]]:
    return {entry.name: entry.load() for entry in entries_of(WANTED)}


def _wants_calculation(query: str, bare: str) -> bool:
    """An order to calculate, or an amount asked for from stated figures of which one is money."""
    if _CALCULATE.search(bare):
        return True
    stated = amounts_in(query, guess_language(query))
    has_money = any(amount.unit in CURRENCIES or amount.value >= 1_000_000 for amount in stated)
    counted = any(amount.unit in ("day", "hour", "month", "week", "time", "%") for amount in stated)
    return has_money and counted and asks_money(bare)


def asks_money(bare: str) -> bool:
    """Whether a folded text asks for an amount of money."""
    return bool(_MONEY_ASKED.search(bare))


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
    if wants_tool(LOG_TOOL, query):
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
    if len(query) > _MOST_CHARS or reckoning_asked(query) or wants_tool(LOG_TOOL, query):
        return False
    flat = fold(normalise(query)).lower()
    counted = {amount.unit for amount in amounts_in(query, language)} & _COUNTED
    return asks_money(flat) and (len(counted) > 1 or bool(counted and _TOTAL.search(flat)))


_SENTENCE_END = re.compile(r"(?<=[?!;\n])\s+|(?<=[^\W\d_]{2}[.:])\s+(?=[^\W\d_])|\n+")
_JOINTS = re.compile(
    r"\s*,\s*(?:và|va|and|còn|con|đồng thời|also)?\s+|\s+(?:và|va|and|đồng thời|cũng như|as well as)\s+", re.IGNORECASE
)
_LEANS = re.compile(rf"\b(?:{alternatives('decompose.leans')})\b", re.IGNORECASE)
_ASKED = 0.8
"""Weight of what a question in front is about."""
_SHORT_TOPIC_WORDS = 5
_WHAT_IS_IT = " của công ty là gì"
"""Behind a Vietnamese topic that is asked about by itself, which asks nothing as it stands: the only words added."""
_LONGEST_LIST = 6
_MOST_PIECES, _LOOKED_BACK = 40, 300
"""Sentences of a query, and clauses of a sentence, that are told apart (the rest stays in one piece), and how many
characters of what stands before are read to place the next one: a question costs no more than its length."""


@lru_cache(maxsize=256)
def sub_queries_of(query: str, language: Language) -> tuple[str, ...]:
    """The questions of a query in order, at least one, in its own words; lists of nouns stay together.

    It is split where both sides ask by themselves. What it tells before the first question goes in front of each.
    """
    told, sentences = _told_and_asked(_sentences(normalise(query)))
    clauses = (clause for sentence in sentences for clause in _clauses(sentence, language))
    found: dict[str, None] = {}
    while len(found) < _LONGEST_LIST and (clause := next(clauses, None)) is not None:
        found[tidy(f"{told} {clause}".lstrip(), question=_asks(clause))] = None
    return (*found,) or (tidy(query, question=True),)


def _sentences(query: str) -> list[str]:
    """The sentences of a query; what does not ask by itself (“What now?”) belongs to the question before it."""
    found: list[str] = []
    for piece in _SENTENCE_END.split(query, _MOST_PIECES):
        if found and _belongs_to(found[-1][-_LOOKED_BACK:], piece):
            found[-1] = f"{found[-1]} {piece}"
        elif piece.strip(" ?!.;"):
            found.append(piece)
    return found


def _belongs_to(before: str, piece: str) -> bool:
    """Whether a sentence asks nothing by itself after one that asks."""
    return ("?" in before or _asks(before)) and not _stands_alone(piece)


def _told_and_asked(sentences: list[str]) -> tuple[str, list[str]]:
    """“I want to work from Spain for a week.” is told before the questions that follow it."""
    marked = any("?" in sentence for sentence in sentences)
    asking = (at for at, one in enumerate(sentences) if ("?" in one if marked else _asks(one)))
    first = next(asking, len(sentences) - 1)
    return " ".join(sentences[:first])[-_MOST_CHARS:], sentences[first:]


def _clauses(sentence: str, language: Language) -> list[str]:
    """The questions of one sentence; neighbours that do not stand alone, and what the logs are asked at once (“how many
    …, and which most often?”), are put together again."""
    if wants_tool(LOG_TOOL, sentence):
        return [sentence]
    clauses, at, before = [""], 0, ""
    for mark in (*islice(_JOINTS.finditer(sentence), _MOST_PIECES), None):
        text = sentence[at : mark.start() if mark else len(sentence)]
        if clauses[-1] and _stands_alone(text) and _is_asked(clauses[-1][-_LOOKED_BACK:], before, text):
            if language == "vi" and not _asks(clauses[-1]):
                clauses[-1] += _WHAT_IS_IT
            clauses.append(text)
        else:
            clauses[-1] += f"{before}{text}"
        at, before = (mark.end(), mark[0]) if mark else (at, "")
    return [clause for clause in clauses if clause.strip(" ?")]


def _is_asked(before: str, joint: str, question: str) -> bool:
    """Whether something asks by itself, or is a short topic that the question behind its comma names again."""
    if reckoning_asked(before):
        return True
    if _asks(before):
        return Part.of(before).weight >= _ASKED
    is_short = "," in joint and len(before.split()) <= _SHORT_TOPIC_WORDS
    return is_short and bool(bag_of(before).pairs & bag_of(question).pairs)


def _asks(text: str) -> bool:
    return Part.of(text).asks


def _stands_alone(text: str) -> bool:
    """Whether it asks and names enough to be asked by itself."""
    own = Part.of(text)
    return own.asks and own.stands_alone and not _LEANS.search(text)
