"""Quotes as readable text (table rows with their column names, lists as lists, sentences as paragraphs), the gist of
several findings, and what may be asked next."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from app.domain.knowledge import Finding, Language, Quote
from app.reasoning import Summary
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.pieces import Unit, bare_heading, headings_of, readable, units_covered
from app.reasoning.local.terms import Bag, bag_of, share_in
from app.reasoning.local.wording import lines, lower_first, sentences
from app.text.language import estimated_tokens, fold, guess_language

_DULL = frozenset(lines("further.dull"))


def render(quotes: Sequence[Quote]) -> str:
    """The quotes as one readable text: passages in order of their best quote, spans in reading order."""
    by_passage: dict[object, list[Quote]] = {}
    for quote in quotes:
        by_passage.setdefault(quote.passage.chunk_id, []).append(quote)
    return "\n\n".join(_render_passage(own) for own in by_passage.values())


def _render_passage(quotes: Sequence[Quote]) -> str:
    covered = [(quote.text, units_covered(quote.passage.text, quote.text)) for quote in quotes]
    units = sorted({unit for _, own in covered for unit in own}, key=lambda unit: unit.start)
    quoted = {unit.text for unit in units}
    blocks = [_render_block(list(block), quoted) for _, block in groupby(units, key=lambda unit: unit.block)]
    return "\n\n".join([*(text for text, own in covered if not own), *blocks])


def _render_block(units: list[Unit], quoted: set[str]) -> str:
    if units[0].kind == "sentence":
        return " ".join(unit.text for unit in units)
    lead = units[0].lead if units[0].lead not in quoted else ""
    told = [_render_line(number, unit) for number, unit in enumerate(units, 1)]
    if len(told) == 1:
        only = readable(units[0])
        return f"{lead} {only}".strip() if lead else only
    return "\n".join([lead, *told] if lead else told)


def _render_line(number: int, unit: Unit) -> str:
    return f"{number}. {unit.text}" if unit.kind == "step" else f"- {readable(unit)}"


_MORE_DOCUMENTS = 2
_MAX_WORDS = 14
_ANSWERED = 0.75


def further_questions(query: str, findings: Sequence[Finding], language: Language, limit: int) -> tuple[str, ...]:
    """At most `limit` questions made from headings near the quotes that the answer did not use.

    Of logs, attached files and pages of others nothing further is offered.
    """
    quotes = [quote for one in findings if one.found for quote in one.quotes if quote.passage.is_document]
    texts = sentences("further", language)
    found = [_as_question(heading, texts["asked"], language) for heading in _unused_headings(quotes)]
    titles = dict.fromkeys(quote.passage.title for quote in quotes if guess_language(quote.passage.title) == language)
    more = [texts["more"].format(title=title) for title in list(titles)[:_MORE_DOCUMENTS]]
    return tuple(dict.fromkeys([*(one for one in found if one and not _is_answered(one, query)), *more]))[:limit]


def _unused_headings(quotes: Sequence[Quote]) -> Iterator[str]:
    used = {bare_heading(quote.passage.section.split("›")[-1].strip()) for quote in quotes}
    used |= {bare_heading(unit.heading) for one in quotes for unit in units_covered(one.passage.text, one.text)}
    for passage in {quote.passage.chunk_id: quote.passage for quote in quotes}.values():
        outer = [part.strip() for part in passage.section.split("›")[:-1]]
        bare = (bare_heading(heading) for heading in (*headings_of(passage.text), *reversed(outer)))
        yield from (heading for heading in bare if heading and heading not in used)


def _as_question(heading: str, asked: str, language: Language) -> str:
    """The heading as a question; empty when it is in the other language or leads nowhere."""
    bare = heading.strip(" .:")
    if guess_language(bare) != language or len(bare.split()) > _MAX_WORDS or fold(bare).lower() in _DULL:
        return ""
    return bare if bare.endswith("?") else asked.format(heading=bare if language == "vi" else lower_first(bare))


def _is_answered(question: str, query: str) -> bool:
    return share_in(question, bag_of(query)) >= _ANSWERED


_MAX_POINTS, _MAX_TOKENS = 5, 400
"""Of a summary; its tokens are estimated."""
_SAME = 0.75


class _Point(NamedTuple):
    relevance: float
    text: str
    bag: Bag
    source: int
    order: int


def summarise(query: str, findings: Sequence[Finding]) -> Summary:
    """The most telling spans of the findings, in their order, one a line when there are several; nothing said twice.

    Spans are never shortened, so numbers, negations and conditions stay with what they belong to.
    """
    chosen: list[_Point] = []
    for point in sorted(_points(query, findings), key=lambda one: one[:2], reverse=True):
        fits = estimated_tokens("\n- ".join(one.text for one in (point, *chosen))) <= _MAX_TOKENS
        if fits and len(chosen) < _MAX_POINTS and not any(_repeats(point, other) for other in chosen):
            chosen.append(point)
    chosen.sort(key=lambda point: point.order)
    return Summary(lines=tuple(one.text for one in chosen), sources=tuple(one.source for one in chosen))


def _points(query: str, findings: Sequence[Finding]) -> list[_Point]:
    points: list[_Point] = []
    for source, finding in enumerate(findings):
        for text, score in _spans(finding) if finding.found else ():
            bag = bag_of(text)
            relevance = 0.5 * share_in(query, bag) + 0.5 * score * finding.confidence
            points.append(_Point(relevance, text, bag, source, len(points)))
    return points


def _spans(finding: Finding) -> Iterator[tuple[str, float]]:
    """(readable span, score) of a finding but for what only introduces others; its answer when it has no quotes."""
    if not finding.quotes:
        yield finding.answer, 1.0
    for quote in finding.quotes:
        texts = [readable(unit) for unit in units_covered(quote.passage.text, quote.text)] or [quote.text]
        yield from ((text, quote.score) for text in texts if not text.rstrip("* ").endswith(":"))


def _repeats(point: _Point, other: _Point) -> bool:
    """Nearly the same words and no number of its own."""
    shared = len(point.bag.stems & other.bag.stems) / max(1, min(len(point.bag.stems), len(other.bag.stems)))
    return shared >= _SAME and numbers_of(point.text) <= numbers_of(other.text)
