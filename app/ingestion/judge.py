"""Which claims of neighbouring documents contradict each other: five figures of a pair, weighed as they were learnt.

Words and places alone take the steps of two procedures for one thing. What tells them apart: whether the network that
reads questions together with pieces of text finds each sentence an answer to the other, how much else two documents
give other values for (then one is a later telling of the other), and how far their days lie apart.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Sequence

from app.embedding import Embedder, EmbeddingUnavailable, TokenReader
from app.embedding.pairs import stored_net
from app.ingestion.comparison import Candidate, Judged

LIKELY = 0.3
"""Least chance of a contradiction that is reported."""
_CONSTANT = -7.078
_FACTORS = (1.289, 1.520, 1.021, 0.129, 6.072)
"""Of the logarithms of likeness, support and years apart; of the reading together; of the likeness as a share of the
best that either claim has. Fitted on 284 pairs of sixteen invented companies and the demonstration documents, labelled
by hand (decision 0014)."""
_SUPPORT = 0.05
"""Least likeness of what counts as another value of two documents."""
_UNREAD = 3.2
"""What reading a pair together gives on average, where there is no model that reads."""
_BEST_READ = 15.0
"""Hardly a pair is read together as better; what is not likely even so need not be read."""
_FIGURES = re.compile(r"\d[\d.,:/]*")


async def judge(candidates: Sequence[Candidate], embedder: Embedder | None) -> list[Judged]:
    """The candidates of one document that are likely contradictions, with their chances."""
    told = {(one.theirs.document_id, *_sentences(one)) for one in candidates if one.found.score >= _SUPPORT}
    support = Counter(document_id for document_id, *_ in told)
    best: dict[tuple[object, ...], float] = {}
    for one in candidates:
        for key in _claims(one):
            best[key] = max(best.get(key, 0.0), one.found.score)
    judged: list[Judged] = []
    for one in candidates:
        share = one.found.score / max(best[key] for key in _claims(one))
        if chance_of(one, support[one.theirs.document_id], share, _BEST_READ) < LIKELY:
            continue
        chance = chance_of(one, support[one.theirs.document_id], share, await _read_together(one, embedder))
        if chance >= LIKELY:
            judged.append((one, chance))
    return judged


def chance_of(one: Candidate, support: int, share: float, read: float) -> float:
    """How likely a pair is a contradiction, 0–1."""
    years = abs((one.mine.day - one.theirs.day).days) / 365
    figures = (math.log(one.found.score + 0.01), math.log1p(support), math.log1p(years), read, share)
    odds = _CONSTANT + sum(factor * figure for factor, figure in zip(_FACTORS, figures, strict=True))
    return 1 / (1 + math.exp(-odds))


def _sentences(one: Candidate) -> tuple[str, str]:
    return one.found.one.sentence, one.found.other.sentence


def _claims(one: Candidate) -> tuple[tuple[object, ...], tuple[object, ...]]:
    mine, theirs = _sentences(one)
    return (one.mine.chunk_id, mine, one.found.one.unit), (one.theirs.chunk_id, theirs, one.found.one.unit)


async def _read_together(one: Candidate, embedder: Embedder | None) -> float:
    """Log odds that each sentence answers the other without its figures, added."""
    if not isinstance(embedder, TokenReader):
        return _UNREAD
    mine, theirs = _sentences(one)
    above = [f"{row.title} › {row.section}" for row in (one.mine, one.theirs)]
    try:
        asked = [await embedder.read_question(_FIGURES.sub("…", text)) for text in (mine, theirs)]
        pieces = await embedder.read_pieces(list(zip(above, (mine, theirs), strict=True)))
    except EmbeddingUnavailable:
        return _UNREAD
    net = stored_net()
    scores = [
        await asyncio.to_thread(net.read, question, [piece])
        for question, piece in zip(asked, reversed(pieces), strict=True)
    ]
    return sum(_log_odds(float(score.answers[0])) for score in scores)


def _log_odds(log_probability: float) -> float:
    return log_probability - math.log(max(-math.expm1(log_probability), 1e-12))
