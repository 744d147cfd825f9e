"""Typed arguments of tool calls, each traced to the question or to a quote."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.domain.knowledge import Finding, Language
from app.domain.plan import CHANGES_TOOL, LOG_TOOL, MATH_TOOL
from app.reasoning import Arguments
from app.reasoning.local.changes import changes_arguments, period_of
from app.reasoning.local.cues import named_patterns, word_list
from app.reasoning.local.math_arguments import math_arguments
from app.reasoning.local.numbers import amounts_in
from app.reasoning.local.sums import reckoning_asked
from app.text.language import fold, normalise, words
from app.text.numbers import plain

_HOST = re.compile(r"\b[a-z]{2,}(?:-[a-z]+)*-\d{1,3}\b", re.IGNORECASE)
_IP = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_STATUS = re.compile(r"\b(?:http\s*)?([45]\d{2})\b", re.IGNORECASE)
_USER = re.compile(r"\b(?:user|tai khoan|nguoi dung|account)\s+([a-z][a-z0-9._-]{1,30})\b")
_NOT_A_USER = word_list("log.not_a_user")
_SYSTEMS = named_patterns("log.systems")
"""How the names of machines begin, and what people call the system (folded)."""
_REGEX = re.compile(r"(?<![\w/:.])/((?:[^/\\\s]|\\.)(?:[^/\\]|\\.){0,999})/(?![\w/])")
"""``/time(d )?out/`` anywhere in the question; neither a path nor a date."""
_EVENTS = named_patterns("log.events")
"""The words systems write for an event, and what people call it (folded)."""
_LEVELS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"nghiem trong|critical|fatal"), "critical"),
    (re.compile(r"canh bao|warnings?"), "warning"),
    (re.compile(r"\bloi\b|\berrors?\b"), "error"),
)


def arguments(
    tool: str, query: str, findings: Sequence[Finding], language: Language, schema: Mapping[str, Any] | None = None
) -> Arguments:
    """Arguments for `tool`; by its schema where the rules do not know it, none without one."""
    if tool == MATH_TOOL:
        return math_arguments(query, findings, language)
    if tool == LOG_TOOL:
        return log_arguments(query)
    if tool == CHANGES_TOOL:
        return changes_arguments(query)
    return Arguments(values={}) if schema is None else schema_arguments(tool, query, language, schema)


_ASKS = frozenset(("query", "question", "q", "text", "search", "topic", "prompt"))
"""Properties that take the question as it stands."""
_ADDRESS = re.compile(r"https?://[^\s<>\"'“”]+")
_AROUND = ".,;:!?)]}"
_LANGUAGES = frozenset(("vi", "en"))


def schema_arguments(tool: str, query: str, language: Language, schema: Mapping[str, Any]) -> Arguments:
    """Each property filled by what the question wants reckoned, where the tool does that; else by its type: numbers in
    the order they are named, choices that are mentioned, an address, the question itself.

    Required ones that nothing fills are missing.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    asked = reckoning_asked(query)
    if asked and asked.fits(tool):
        values = {name: value for name, value in asked.values.items() if name in properties}
        grounds = asked.grounds
    else:
        values = dict(_filled(normalise(query), language, properties))
        grounds = tuple(values.values())
    values |= {name: language for name, of in properties.items() if name not in values and _is_language(name, of)}
    missing = tuple(name for name in schema.get("required", ()) if name not in values)
    return Arguments(values=values, missing=missing, grounds=grounds)


def _filled(text: str, language: Language, properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    numbers = iter([plain(amount.value) for amount in amounts_in(text, language)])
    for name, schema in properties.items():
        if choice := _mentioned(text, schema):
            yield name, choice
        elif address := _address(text, name, schema):
            yield name, address
        elif _is_number(schema):
            number = next(numbers, None)
            if number is not None:
                yield name, number
        elif name in _ASKS:
            yield name, text


def _is_language(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a property wants to know the language to answer in."""
    return name == "language" and set(schema.get("enum", ())) <= _LANGUAGES


def _mentioned(text: str, schema: Mapping[str, Any]) -> str:
    said = f" {' '.join(words(fold(text)))} "
    choices = (choice for choice in schema.get("enum", ()) if isinstance(choice, str) and choice)
    return next((choice for choice in choices if f" {' '.join(words(fold(choice)))} " in said), "")


def _address(text: str, name: str, schema: Mapping[str, Any]) -> str:
    if name not in ("url", "uri", "address") and schema.get("format") != "uri":
        return ""
    match = _ADDRESS.search(text)
    return match[0].rstrip(_AROUND) if match else ""


def _is_number(schema: Mapping[str, Any]) -> bool:
    """Numbers, and texts that are described as numbers."""
    kinds = {schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))}
    return bool(kinds & {"number", "integer"}) or schema.get("format") == "decimal"


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
    event = next(((words, mark[0]) for words, pattern in _EVENTS if (mark := pattern.search(rest))), None)
    user = _USER.search(rest)
    named = user[1] if user and user[1] not in _NOT_A_USER else ""
    if event:
        return f"{event[0]} {named}".strip(), event[1]
    return (named, user[0]) if named and user else ("", "")
