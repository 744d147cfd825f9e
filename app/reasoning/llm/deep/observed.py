"""What tools gave, as a model is shown it: bounded, the newest and those closest to the task whole, the rest named."""

from collections.abc import Iterator, Sequence
from typing import Any

from app.domain.deep import Observation
from app.domain.knowledge import Finding
from app.text.language import clean, content_words, fold

_MOST_CHARS = 7_000
"""Of all observations together."""
_ONE_CHARS = 2_400
_NEWEST = 2
"""Always shown, whatever they are about."""
_NAMED = 12
"""Calls that are named although what they gave is left out."""
_QUERY_CHARS, _FAILURE_CHARS, _QUOTE_CHARS, _TITLE_CHARS = 240, 300, 700, 160
_FINDINGS, _QUOTES = 6, 2


def findings_of(observations: Sequence[Observation]) -> tuple[Finding, ...]:
    """The findings of all observations in order: their places are what a reply's sources count."""
    return tuple(finding for one in observations for finding in one.findings)


def told_observations(task: str, observations: Sequence[Observation], first: int = 1) -> list[dict[str, Any]]:
    """One object a call, oldest first. Findings are numbered through from `first`, shown or not."""
    numbers = list(_numbers(observations, first))
    shown = _chosen(task, observations)
    named = [place for place in range(len(observations)) if place not in shown][-_NAMED:]
    return [
        _shown(observations[place], numbers[place]) if place in shown else _named(observations[place])
        for place in sorted({*shown, *named})
    ]


def told_finding(number: int, finding: Finding, most: int = _QUOTE_CHARS) -> dict[str, Any]:
    """A finding with its strongest quotes in their surroundings; every text of at most `most` characters."""
    quotes = [
        {"title": cut(quote.passage.title, _TITLE_CHARS), "section": cut(quote.passage.section, _TITLE_CHARS),
         "text": _around(quote.passage.text, quote.text, most),
         "relevance": round(quote.passage.relevance_score, 2)}
        for quote in finding.quotes[:_QUOTES]
    ]  # fmt: skip
    return {"n": number, "found": finding.found, "answer": cut(finding.answer, most), "quotes": quotes}


def cut(text: str, most: int) -> str:
    """A text that may be long, without anything invisible; what is missing at its end is marked."""
    text = clean(text[: 2 * most])  # what is composed gets shorter
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _around(text: str, quoted: str, most: int) -> str:
    """A passage cut around what is quoted of it."""
    start = max(text.find(quoted) - max(most - len(quoted), 0) // 2, 0)
    start = max(min(start, len(text) - most), 0)
    return clean(text[start : start + most])


def _numbers(observations: Sequence[Observation], first: int) -> Iterator[int]:
    """The number of each observation's first finding."""
    for one in observations:
        yield first
        first += len(one.findings)


def _chosen(task: str, observations: Sequence[Observation]) -> frozenset[int]:
    """Places of those that are shown: the newest, then the closest to the task as long as there is room."""
    wanted = {fold(word) for word in content_words(task)}
    newest = range(max(0, len(observations) - _NEWEST), len(observations))
    older = sorted(
        range(max(0, len(observations) - _NEWEST)), key=lambda place: (-_closeness(wanted, observations[place]), -place)
    )
    chosen: list[int] = []
    left = _MOST_CHARS
    for place in (*reversed(newest), *older):
        size = min(_size(observations[place]), _ONE_CHARS)
        if place in newest or size <= left:
            chosen.append(place)
            left -= size
    return frozenset(chosen)


def _closeness(wanted: set[str], one: Observation) -> float:
    if one.failed or not wanted:
        return 0.0
    texts = [one.query, one.text[:_ONE_CHARS], *(finding.answer[:_QUOTE_CHARS] for finding in one.findings[:_FINDINGS])]
    return len(wanted & {fold(word) for word in content_words(" ".join(texts))}) / len(wanted)


def _size(one: Observation) -> int:
    quotes = (quote for finding in one.findings[:_FINDINGS] for quote in finding.quotes[:_QUOTES])
    return len(one.text) + sum(min(len(quote.passage.text), _QUOTE_CHARS) for quote in quotes)


def _named(one: Observation) -> dict[str, Any]:
    return {"tool": one.tool, "query": cut(one.query, _QUERY_CHARS), "left_out": True}


def _shown(one: Observation, number: int) -> dict[str, Any]:
    told: dict[str, Any] = {"tool": one.tool, "query": cut(one.query, _QUERY_CHARS)}
    if one.failed:
        return {**told, "failed": cut(one.text, _FAILURE_CHARS)}
    findings: list[dict[str, Any]] = []
    left = _ONE_CHARS
    for place, finding in enumerate(one.findings[:_FINDINGS]):
        shown = told_finding(number + place, finding)
        left -= sum(len(quote["text"]) for quote in shown["quotes"]) + len(shown["answer"])
        if left < 0 and findings:
            break
        findings.append(shown)
    told["gave"] = cut(one.text, max(min(_ONE_CHARS, left), _FAILURE_CHARS) if findings else _ONE_CHARS)
    if one.value:
        told["value"] = cut(one.value, _FAILURE_CHARS)
    return {**told, "findings": findings} if findings else told
