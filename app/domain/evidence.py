"""What quotes are cited as."""

import re
from collections.abc import Sequence
from datetime import datetime

from app.domain.documents import DocumentTitle
from app.domain.knowledge import Evidence, Quote

CITATION = re.compile(r"\s*(?:\[\^?(?P<one>\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\](?!\()|【(?P<two>\d{1,4})[^】\n]{0,20}】)")


def without_citations(text: str) -> str:
    """A document's words without what would be read as citations of ours."""
    return CITATION.sub("", text)


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


def without_page(url: str) -> str:
    """The document's address in that of an evidence."""
    return url.split("#page=")[0]


def titles_by_url(evidence: Sequence[tuple[str, datetime]], documents: Sequence[DocumentTitle]) -> dict[str, str]:
    """Titles of evidence (address, day of its document) by address; the day tells versions that share an address
    apart."""
    found: dict[str, str] = {}
    for url, made in evidence:
        named = [document for document in documents if document.url == without_page(url)]
        same_day = [document for document in named if document.created_at.date() == made.date()]
        if named:
            found[url] = (same_day or named)[0].title
    return found
