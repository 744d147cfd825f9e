"""What a question wants done besides looking something up: calculating, comparing, summarising, reading logs."""

import re
from typing import Literal

from app.reasoning.local.changes import asks_changes
from app.reasoning.local.cues import alternatives
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.question import read_question
from app.text.language import fold, normalise

Intent = Literal["calculation", "comparison", "summary", "log"]

_ORDERED = rf"(?:^|[,;.:]\s*|\b(?:{alternatives('intents.before_order')})\s+)"
_CALCULATE = re.compile(rf"{_ORDERED}(?:{alternatives('intents.calculate')})\b|\btinh toan\b")
_HOW_CALCULATED = re.compile(alternatives("intents.how_calculated"))
_MONEY_ASKED = re.compile(alternatives("intents.money_asked"))
_SUMMARISE = re.compile(alternatives("intents.summarise"))
_LOG_WORD = re.compile(r"\b(?:logs?|nhat ky(?: he thong| may chu| truy cap| dang nhap)?|log file|event log)\b")
_HOST = re.compile(r"\b[a-z]{2,}(?:-[a-z]+)*-\d{1,3}\b")
_EVENT = re.compile(rf"\b(?:{alternatives('intents.event')})\b")
_MACHINE = re.compile(rf"\b(?:{alternatives('intents.machine')})\b")
_PERIOD = re.compile(rf"\b(?:{alternatives('intents.period')})\b")
_POLICY = re.compile(rf"\b(?:{alternatives('intents.policy')})\b")
_RANKING = re.compile(rf"\b(?:{alternatives('intents.ranking')})\b")
_LOG_EVIDENCE = 3


def intents_of(query: str) -> frozenset[Intent]:
    """What the query wants done; empty when it only wants to know something."""
    bare = fold(normalise(query)).lower()
    checks: tuple[tuple[Intent, bool], ...] = (
        ("calculation", _wants_calculation(query, bare)),
        ("comparison", read_question(query).kind == "compare" and not asks_changes(query)),
        ("summary", bool(_SUMMARISE.search(bare))),
        ("log", wants_log(query)),
    )
    return frozenset(intent for intent, wanted in checks if wanted)


def wants_log(query: str) -> bool:
    """Whether the answer stands in the system logs rather than in a document about them."""
    bare = fold(normalise(query)).lower()
    if re.search(
        r"\b(?:according to|in|from|trong|theo) (?:the |system |our )?(?:logs?|nhat ky)\b", bare
    ) and not _POLICY.search(bare):
        return True
    if _POLICY.search(bare):
        return False
    recorded = 2 * bool(_LOG_WORD.search(bare)) + bool(_PERIOD.search(bare)) + bool(_RANKING.search(bare))
    named = bool(_HOST.search(bare)) + bool(_MACHINE.search(bare)) + bool(_EVENT.search(bare))
    return recorded >= 1 and recorded + named >= _LOG_EVIDENCE


def goes_on_about_logs(query: str, before: str) -> bool:
    """Whether `query` asks what is most frequent of what `before` asks the logs: “…, which error was most frequent?”"""
    bare = fold(normalise(query)).lower()
    return bool(_RANKING.search(bare)) and not _POLICY.search(bare) and wants_log(f"{before} {query}")


def _wants_calculation(query: str, bare: str) -> bool:
    """An order to calculate, or an amount asked for from stated figures of which one is money."""
    if _HOW_CALCULATED.search(bare):
        return False
    if _CALCULATE.search(bare):
        return True
    stated = amounts_in(query, read_question(query).language)
    has_money = any(
        amount.unit in ("VND", "GBP", "USD", "EUR", "CAD") or amount.value >= 1_000_000 for amount in stated
    )
    counted = any(amount.unit in ("day", "hour", "month", "week", "time", "%") for amount in stated)
    return has_money and counted and asks_money(bare)


def asks_money(bare: str) -> bool:
    """Whether a folded text asks for an amount of money."""
    return bool(_MONEY_ASKED.search(bare))
