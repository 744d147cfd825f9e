"""What quotes are cited as."""

from collections.abc import Sequence

from app.domain.knowledge import Evidence, Quote


def evidence_of(quotes: Sequence[Quote]) -> tuple[Evidence, ...]:
    """One evidence a document, or page of a paged one, in order of its first quote, as relevant as its best passage."""
    by_url: dict[str, Evidence] = {}
    for quote in quotes:
        passage = quote.passage
        known = by_url.get(passage.address)
        relevance = max(passage.relevance_score, known.relevance_score if known else 0.0)
        by_url[passage.address] = Evidence(
            url=passage.address, created_at=passage.created_at, source_type="rag", scope=passage.scope,
            relevance_score=round(relevance, 4),
        )  # fmt: skip
    return tuple(by_url.values())
