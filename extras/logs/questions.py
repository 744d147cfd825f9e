"""What a question for log lines asks: words, level, source and time, where no model reads it."""

import re

from app.reasoning import Arguments
from app.reasoning.local.wording import alternatives, lines, named_patterns
from app.text.language import fold, normalise

_HOST = re.compile(r"\b[a-z]{2,}(?:-[a-z]+)*-\d{1,3}\b", re.IGNORECASE)
_IP = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_STATUS = re.compile(r"\b(?:http\s*)?([45]\d{2})\b", re.IGNORECASE)
_SYSTEMS = named_patterns("log.systems", __package__)
"""How the names of machines begin, and what people call the system (folded)."""
_REGEX = re.compile(r"(?<![\w/:.])/((?:[^/\\\s]|\\.)(?:[^/\\]|\\.){0,999})/(?![\w/])")
"""``/time(d )?out/`` anywhere in the question; neither a path nor a date."""
_EVENTS = named_patterns("log.events", __package__)
"""The words systems write for an event, and what people call it (folded)."""
_LEVELS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"nghiem trong|critical|fatal"), "critical"),
    (re.compile(r"canh bao|warnings?"), "warning"),
    (re.compile(r"\bloi\b|\berrors?\b"), "error"),
)


_UNIT, _DATE = rf"(?:{alternatives('log.unit', __package__)})", rf"(?:{alternatives('log.date', __package__)})"
_MONTHS = "jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec"
_PERIODS = tuple(
    re.compile(pattern.format(unit=_UNIT, date=_DATE, month=_MONTHS), re.IGNORECASE)
    for pattern in lines("log.periods", __package__)
)
"""Tried in this order: the first phrase found is the span asked for."""


def period_of(text: str) -> str:
    """The first phrase of a text that names a span of time; empty when none does."""
    return next((mark[0].strip() for pattern in _PERIODS if (mark := pattern.search(text))), "")


def log_arguments(query: str) -> Arguments:
    """Terms or ``regex``, level, source and ``period`` (the literal phrase; the tool knows the clock). Only what the
    query says."""
    regex = _REGEX.search(query)
    text = normalise(query.replace(regex[0], " ") if regex else query)
    host, period = _HOST.search(text), period_of(text)
    source = (host[0].lower(), host[0]) if host else _system_of(text)
    rest = fold(text.replace(host[0] if host else "\0", " ").replace(period or "\0", " ")).lower()
    terms = _terms_of(rest) if not regex else ("", "")
    level = "" if terms[0] else next((name for pattern, name in _LEVELS if pattern.search(rest)), "")
    said = {
        "regex": (regex[1], regex[0]) if regex else ("", ""),
        "source": source,
        "period": (period, period),
        "terms": terms,
        "level": (level, ""),
    }
    values = {name: value for name, (value, _) in said.items() if value}
    return Arguments(values=values, grounds=tuple(words for value, words in said.values() if value and words))


def _system_of(text: str) -> tuple[str, str]:
    """(beginning of a source's name, what in the question stands for it)."""
    folded = fold(text).lower()
    return next(((name, mark[0]) for name, pattern in _SYSTEMS if (mark := pattern.search(folded))), ("", ""))


def _terms_of(rest: str) -> tuple[str, str]:
    """(words to look for, what in the question stands for them)."""
    for pattern in (_IP, _STATUS):
        mark = pattern.search(rest)
        if mark:
            return mark[mark.lastindex or 0], mark[0]
    return next(((words, mark[0]) for words, pattern in _EVENTS if (mark := pattern.search(rest))), ("", ""))
