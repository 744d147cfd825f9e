"""Answering one query from its passages, in their own words, or saying that they do not hold the answer."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

from app.domain.evidence import evidence_of
from app.domain.knowledge import Finding
from app.embedding import Embedder, EmbeddingUnavailable
from app.reasoning import AnswerRequest
from app.reasoning.local.confidence import DOUBTFUL, FOUND, confidence
from app.reasoning.local.cues import sentences
from app.reasoning.local.phrases import titles_of
from app.reasoning.local.question import Question, read_question
from app.reasoning.local.rendering import readable, render
from app.reasoning.local.scoring import Candidate, candidates_of, is_foreign, scored
from app.reasoning.local.selection import select


async def answer(request: AnswerRequest, embedder: Embedder) -> Finding:
    """The finding of one query; embeds pieces of passages only across languages or when words tell too little."""
    question, ranked = await best_pieces(request, embedder)
    sure = confidence(question, ranked, request.min_relevance_score)
    quotes = select(question, ranked) if sure >= FOUND else ()
    titles = list(dict.fromkeys(quote.passage.title for quote in quotes))
    texts = sentences("composed", request.language)
    told = texts["taken_from"].format(titles=titles_of(titles, request.language))
    return Finding(
        agent=request.agent,
        index=request.index,
        query=request.query,
        context=told if quotes else texts["nothing_from"],
        answer=render(quotes),
        found=bool(quotes),
        confidence=round(sure, 3),
        quotes=quotes,
        evidence=evidence_of(quotes),
    )


async def best_pieces(request: AnswerRequest, embedder: Embedder) -> tuple[Question, list[Candidate]]:
    """The question as it was read, and the pieces of its passages, best first."""
    question = read_question(request.query, request.language)
    ranked = scored(question, candidates_of(request.passages, question))
    if may_be_foreign(question, ranked) or _words_tell_too_little(question, ranked, request.min_relevance_score):
        ranked = await compared(question, request.query, ranked, embedder)
    return question, ranked


def _words_tell_too_little(question: Question, ranked: Sequence[Candidate], min_relevance_score: float) -> bool:
    """Whether it is open that the best piece answers; vectors do not see whether a range holds the asker's amount."""
    if not ranked or ranked[0].features.holds:
        return False
    return DOUBTFUL[0] < confidence(question, ranked, min_relevance_score) < DOUBTFUL[1]


_NEAR = 3
"""A passage of the other language among the first so many may hold the answer …"""
_WELL_COVERED = 0.85
"""… unless a piece in the question's own language mentions this much of it."""
_OWN, _OWN_BESIDE_FOREIGN, _FOREIGN = 5, 3, 6
"""Pieces compared; across languages words rank them worse, so more are needed."""
_WEIGHT, _WEIGHT_ACROSS = 2.0, 4.0
"""What a cosine counts beside a score, in the question's language and when the other one is among the pieces: those of
one passage lie within 0.1 of each other."""
_ACROSS = 0.05
"""By how much the cosine of a piece in the other language comes out lower than in the question's own."""
_LIFT, _NEARER = 0.2, 4.0
_LEAST_LIFT, _MOST_LIFT = -0.3, 0.8
"""Words that cannot meet are made up for: a constant, and how much nearer the passage is than any in the question's
language, as retrieval measured it with both languages centred."""


def may_be_foreign(question: Question, ranked: Sequence[Candidate]) -> bool:
    """Whether the answer may stand in the other language: a passage of it is near, and no own piece says enough."""
    if question.folded or not any(is_foreign(question, c) and c.rank < _NEAR for c in ranked):
        return False
    own = (c.features.share for c in ranked if not is_foreign(question, c) and not c.features.misfits)
    return max(own, default=0.0) < _WELL_COVERED


async def compared(question: Question, query: str, ranked: Sequence[Candidate], embedder: Embedder) -> list[Candidate]:
    """The candidates, the most promising ones compared and first; as they are while the model is away.

    Nothing is compared for a question without diacritics: its vector points anywhere.
    """
    if question.folded or not ranked:
        return list(ranked)
    across = may_be_foreign(question, ranked)
    known = _lifted(question, ranked) if across else list(ranked)
    chosen = _chosen(question, known, across=across)
    try:
        vector = (await embedder.embed_queries([query]))[0]
        vectors = await embedder.embed_passages([readable(candidate.unit) for candidate in chosen])
    except EmbeddingUnavailable:
        return list(ranked)
    weight = _WEIGHT_ACROSS if across else _WEIGHT
    nearest = _weighed(question, chosen, [float(value) for value in vectors @ vector], weight)
    taken = {id(candidate) for candidate in chosen}
    return [*nearest, *(candidate for candidate in known if id(candidate) not in taken)]


def _lifted(question: Question, ranked: Sequence[Candidate]) -> list[Candidate]:
    nearest_own = max((c.passage.similarity for c in ranked if not is_foreign(question, c)), default=0.0)

    def lifted(candidate: Candidate) -> Candidate:
        lift = _LIFT + _NEARER * (candidate.passage.similarity - nearest_own)
        return replace(candidate, score=candidate.score + min(max(lift, _LEAST_LIFT), _MOST_LIFT))

    known = [lifted(candidate) if is_foreign(question, candidate) else candidate for candidate in ranked]
    return sorted(known, key=lambda candidate: -candidate.score)


def _chosen(question: Question, ranked: Sequence[Candidate], *, across: bool) -> list[Candidate]:
    own = [candidate for candidate in ranked if not is_foreign(question, candidate)]
    if not across:
        return own[:_OWN] or list(ranked[:_OWN])
    return [*own[:_OWN_BESIDE_FOREIGN], *[c for c in ranked if is_foreign(question, c)][:_FOREIGN]]


def _weighed(
    question: Question, chosen: Sequence[Candidate], cosines: Sequence[float], weight: float
) -> list[Candidate]:
    """The compared pieces with what their cosines add, best first."""
    even = [
        value + (_ACROSS if is_foreign(question, candidate) else 0.0)
        for candidate, value in zip(chosen, cosines, strict=True)
    ]
    lowest, mean = min(even), fmean(even)
    judged = [
        replace(candidate, likeness=value - mean, score=candidate.score + weight * (value - lowest))
        for candidate, value in zip(chosen, even, strict=True)
    ]
    return sorted(judged, key=lambda candidate: -candidate.score)
