"""From scored pieces to the one to four spans an answer is made of."""

import re
from collections.abc import Sequence, Set
from uuid import UUID

from app.domain.knowledge import Quote
from app.reasoning.local.cues import alternatives
from app.reasoning.local.numbers import numbers_of
from app.reasoning.local.question import Question
from app.reasoning.local.scoring import Candidate
from app.reasoning.local.sentences import Unit, bare_heading, units_of
from app.reasoning.local.terms import bag_of

_MAX_QUOTES = 4
_MAX_BLOCK_CHARS, _MAX_PARAGRAPH_CHARS = 1100, 420
_SAME_QUESTION = 0.7
"""A heading that matches this well asks what was asked: what stands under it is the answer."""
_BLOCK_KINDS = ("how_to", "list", "consequence")
_LOOKED_AT = 60
_CLOSE = 0.45
"""How far a second piece of the same document may score below the best: within this it answers one time in four where
the best does not, and nobody minds reading two sentences."""
_WHOLE_ANSWERS = (*_BLOCK_KINDS, "formula", "definition")
"""Kinds whose best piece is the answer; what comes close in the same document only adds noise."""
_PARALLEL, _ASKS_IT = 0.5, 0.4
_AS_WELL, _AS_CLEARLY, _AS_GOOD = 0.65, 0.55, 0.5
"""What another document's piece needs to confirm or contradict: share of the best one's coverage and merit."""
_SAME_WORDS = 0.7
_EXCEPTION = re.compile(rf"^(?:{alternatives('selection.exception')})\b", re.IGNORECASE)


def select(question: Question, ranked: Sequence[Candidate]) -> tuple[Quote, ...]:
    """The spans that answer the question, strongest first: the best piece, the next when it is close, and what other
    documents say on the same; empty when there are no candidates."""
    if not ranked:
        return ()
    best = ranked[0]
    others = _second_opinions(question, ranked[1:_LOOKED_AT], best)
    return tuple(_quotes(question, [best, *_close_second(question, ranked), *others]))


def _close_second(question: Question, ranked: Sequence[Candidate]) -> list[Candidate]:
    """The next best piece of the best one's document, when the choice between them is not clear."""
    if question.kind in _WHOLE_ANSWERS:
        return []
    best = ranked[0]
    near = (c for c in ranked[1:_LOOKED_AT] if c.passage.document_id == best.passage.document_id)
    return [candidate for candidate in near if candidate.score >= best.score - _CLOSE][:1]


def _second_opinions(question: Question, ranked: Sequence[Candidate], best: Candidate) -> list[Candidate]:
    """From each other document the piece that confirms or contradicts the best one, most parallel first."""
    by_document: dict[UUID, tuple[float, Candidate]] = {}
    for candidate in ranked:
        document = candidate.passage.document_id
        if document == best.passage.document_id or not _speaks_of_the_same(question, candidate, best):
            continue
        standing = candidate.merit + _PARALLEL * _overlap(candidate.own.stems, best.own.stems)
        if document not in by_document or standing > by_document[document][0]:
            by_document[document] = (standing, candidate)
    return [candidate for _, candidate in sorted(by_document.values(), key=lambda pair: -pair[0])]


def _speaks_of_the_same(question: Question, candidate: Candidate, best: Candidate) -> bool:
    """Whether a piece of another document answers the question too: as fully, or under the same heading."""
    one, other = candidate.features, best.features
    if one.fits < other.fits and question.kind != "yes_no":
        return False
    headings = [bag_of(bare_heading(c.unit.heading), question.folded).stems for c in (candidate, best)]
    if one.opens >= _ASKS_IT and all(headings) and _overlap(*headings) >= _SAME_WORDS:
        return True
    as_fully = one.share >= _AS_WELL * other.share and one.own >= _AS_CLEARLY * other.own
    return as_fully and candidate.merit >= _AS_GOOD * best.merit


def _overlap(one: Set[str], other: Set[str]) -> float:
    return len(one & other) / max(1, min(len(one), len(other)))


def _quotes(question: Question, chosen: Sequence[Candidate]) -> list[Quote]:
    """The spans of the chosen pieces without repetition, at most `_MAX_QUOTES`."""
    quotes: list[Quote] = []
    for candidate in chosen:
        quote = _quote(question, candidate, candidate.merit / max(c.merit for c in chosen))
        if len(quotes) < _MAX_QUOTES and not any(_says_the_same(quote, other) for other in quotes):
            quotes.append(quote)
    return quotes


def _quote(question: Question, candidate: Candidate, score: float) -> Quote:
    start, end = _span(question, candidate)
    text = candidate.passage.text[start:end]
    return Quote(passage=candidate.passage, text=text, score=max(0.0, min(1.0, score)))


def _span(question: Question, candidate: Candidate) -> tuple[int, int]:
    """The candidate's own span, widened to its list or paragraph when that is the answer, or by an exception."""
    unit, passage = candidate.unit, candidate.passage
    siblings = units_of(passage.text)
    block = [other for other in siblings if other.block == unit.block]
    if unit.text.rstrip("* ").endswith(":"):
        listed = [other for other in siblings if other.lead == unit.text and other.start > unit.start]
        if listed:
            return unit.start, _fitting_end(unit, listed, _MAX_BLOCK_CHARS)
    titled = candidate.features.heading >= _SAME_QUESTION and not question.measures
    if unit.kind != "sentence":
        in_steps = unit.kind == "step" and question.kind == "formula"
        wants_all = len(block) > 1 and (question.kind in _BLOCK_KINDS or titled or in_steps)
        first = block[0] if wants_all else unit
        return first.start, _fitting_end(first, block if wants_all else [unit], _MAX_BLOCK_CHARS)
    if titled:
        first = block[0] if unit.end - block[0].start <= _MAX_PARAGRAPH_CHARS else unit
        rest = [other for other in block if other.start >= first.start]
        return first.start, _fitting_end(first, rest, _MAX_PARAGRAPH_CHARS)
    following = next((other for other in block if other.start > unit.start), None)
    return unit.start, following.end if following and _EXCEPTION.match(following.text) else unit.end


def _fitting_end(first: Unit, block: Sequence[Unit], limit: int) -> int:
    fitting = [unit.end for unit in block if unit.end - first.start <= limit]
    return fitting[-1] if fitting else block[0].end


def _says_the_same(one: Quote, other: Quote) -> bool:
    """Whether two quotes overlap, or share their words and all their numbers."""
    if one.passage.chunk_id == other.passage.chunk_id and (one.text in other.text or other.text in one.text):
        return True
    shared = _overlap(bag_of(one.text).stems, bag_of(other.text).stems)
    return shared >= _SAME_WORDS and numbers_of(one.text) == numbers_of(other.text)
