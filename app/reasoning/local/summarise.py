"""The gist of several findings: their best spans, spread over what was asked, nothing said twice.

Spans are never shortened, so numbers, negations and conditions stay with what they belong to. Which spans are chosen
does not depend on the order of the findings, only where they stand does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.knowledge import Finding, Language
from app.reasoning import Summary
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.pieces import readable, units_covered
from app.reasoning.local.terms import Bag, bag_of, share_in
from app.text.language import estimated_tokens

_MAX_POINTS = 5
MAX_TOKENS = 400
"""Of the text, estimated."""
_SAME = 0.75


@dataclass(frozen=True, slots=True)
class _Point:
    text: str
    bag: Bag
    relevance: float
    source: int
    order: int


def summarise(query: str, findings: Sequence[Finding], language: Language, *, max_tokens: int = MAX_TOKENS) -> Summary:
    """The chosen points in the order they were found, one a line when there are several; at most `max_tokens`.

    A point that does not fit is left out whole.
    """
    del language  # the points are quotes: they keep the language of their documents
    points = _points(query, findings)
    chosen = sorted(_most_telling(points, max_tokens), key=lambda point: point.order)
    text = _text([point.text for point in chosen])
    return Summary(text=text, sources=tuple(sorted({point.source for point in chosen})))


def _text(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else "".join(lines)


def _points(query: str, findings: Sequence[Finding]) -> list[_Point]:
    points: list[_Point] = []
    for source, finding in enumerate(findings):
        for text, score in _told(finding) if finding.found else ():
            bag = bag_of(text)
            relevance = 0.5 * share_in(query, bag) + 0.5 * score * finding.confidence
            points.append(_Point(text, bag, relevance, source, len(points)))
    return points


def _told(finding: Finding) -> list[tuple[str, float]]:
    """(readable span, score) of a finding; its answer when it has no quotes."""
    if not finding.quotes:
        return [(finding.answer, 1.0)]
    told: list[tuple[str, float]] = []
    for quote in finding.quotes:
        units = units_covered(quote.passage.text, quote.text)
        told += [(readable(unit), quote.score) for unit in units] or [(quote.text, quote.score)]
    return [(text, score) for text, score in told if not text.rstrip("* ").endswith(":")]


def _most_telling(points: Sequence[_Point], max_tokens: int) -> list[_Point]:
    """The most relevant points that repeat none before them; of equal ones the text decides, not the place."""
    chosen: list[_Point] = []
    for point in sorted(points, key=lambda one: (one.relevance, one.text), reverse=True):
        fits = estimated_tokens(_text([point.text, *(one.text for one in chosen)])) <= max_tokens
        if fits and len(chosen) < _MAX_POINTS and not any(_repeats(point, other) for other in chosen):
            chosen.append(point)
    return chosen


def _repeats(point: _Point, other: _Point) -> bool:
    """Nearly the same words and no number of its own."""
    shared = len(point.bag.stems & other.bag.stems) / max(1, min(len(point.bag.stems), len(other.bag.stems)))
    return shared >= _SAME and numbers_of(point.text) <= numbers_of(other.text)
