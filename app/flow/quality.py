"""How good sources were, in the seed's words (§4.1 and §7)."""

from datetime import UTC, datetime

from app.domain.answer import Completeness, Recency


def recency_of(moment: datetime, now: datetime) -> Recency:
    """The seed's recency bucket of a source's date (§4.1)."""
    age_days = (now - moment.astimezone(UTC)).days
    return "within_30_days" if age_days <= 30 else "within_90_days" if age_days <= 90 else "older"


def completeness_of(answered: int, asked: int, *, with_context: bool) -> Completeness:
    """Of the queries that were asked, those that were answered, with sources or without."""
    if answered == 0:
        return "none"
    if answered == asked:
        return "comprehensive"
    return "partial_with_context" if with_context else "partial"
