"""``Retry-After`` as seconds, in either of its forms (RFC 9110 §10.2.3)."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_of(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait, never negative; None for a missing header and for one that says nothing."""
    text = (header or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text) if len(text) < 10 else float("inf")
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0)
