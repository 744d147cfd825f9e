"""Say which words of an answer are which source's, where no model numbered them: such an answer quotes documents."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.api.deps import AppServices
from app.api.runs import StartedRun
from app.errors import AppError
from app.events import Event, Progress

_LINE = re.compile(r"[^\n]+")
_SENTENCE = re.compile(r".+?(?:[.!?…](?=\s|$)|$)")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*$)")
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+")
_ATTRIBUTION = re.compile(r"[^“”:\n]{0,20}“[^”\n]+”:\s*")
"""Theo “…”: According to “…”:"""
Quotes = dict[str, str]
"""By address, everything that agents took from there."""


def note_quotes(event: Event, quotes: Quotes) -> None:
    """Add what agents report in an event."""
    for response in event.output.get("agent_responses") or () if isinstance(event, Progress) else ():
        for query in response.get("queries", ()):
            for url in {str(source["url"]) for source in query.get("evidence", ())}:
                quotes[url] = f"{quotes.get(url, '')}\n{_plain(str(query.get('answer', '')))}"


async def quotes_of(services: AppServices, run: StartedRun) -> Quotes:
    """What agents took from each source in a run that has ended; reads its journal. None while the database is away."""
    quotes: Quotes = {}
    with suppress(AppError):
        for entry in await services.journal.read(run.principal, run.task_id):
            note_quotes(entry.event, quotes)
    return quotes


def spans_of(text: str, evidence: Sequence[Mapping[str, Any]], quotes: Quotes) -> dict[int, list[tuple[int, int]]]:
    """Begin and end of each run of lines that one source alone says, by its number in `evidence` (from 1)."""
    said = [quotes.get(str(source["url"]), "") for source in evidence]
    spans: dict[int, list[tuple[int, int]]] = {}
    last = 0
    for line in _LINE.finditer(text):
        begin = line.start() + sum(len(found[0]) for found in _dressing(line[0]))
        sentences = [_plain(one[0]).strip() for one in _SENTENCE.finditer(text[begin : line.end()]) if one[0].strip()]
        holding = [] if _HEADING.match(line[0]) else [
            number for number, one in enumerate(said, 1) if sentences and all(part in one for part in sentences)
        ]  # fmt: skip
        number = holding[0] if len(holding) == 1 else 0
        if number and number == last:
            spans[number][-1] = (spans[number][-1][0], line.end())
        elif number:
            spans.setdefault(number, []).append((begin, line.end()))
        last = number
    return spans


def _dressing(line: str) -> Iterable[re.Match[str]]:
    """What stands before a line's own words: the sign of a list, and whom it is attributed to."""
    if item := _ITEM.match(line):
        yield item
        line = line[item.end() :]
    if attribution := _ATTRIBUTION.match(line):
        yield attribution


def _plain(text: str) -> str:
    return text.replace("**", "")
