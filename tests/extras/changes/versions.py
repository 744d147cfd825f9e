"""Versions of documents for tests, with sensible values where the test does not care."""

from datetime import UTC, date, datetime
from typing import Any

from extras.changes.successions import DocumentVersion
from tests.factories import stable_id

Y2024, Y2025, Y2026 = date(2024, 1, 1), date(2025, 1, 1), date(2026, 1, 1)


def version(name: str = "leave", number: int = 1, text: str = "12 ngày.", **changes: Any) -> DocumentVersion:
    """A public hr document of 2024, published then."""
    values: dict[str, Any] = {
        "document_id": stable_id(name),
        "external_id": name,
        "supersedes": None,
        "version": number,
        "title": name,
        "url": f"https://intra.example/{name}",
        "department": "hr",
        "scope": "public",
        "language": "vi",
        "authority": "policy",
        "created_at": datetime(2024, 1, 1, tzinfo=UTC),
        "effective_from": None,
        "effective_to": None,
        "published_at": datetime(2024, 1, 1, tzinfo=UTC),
        "closes": None,
        "text": text,
    }
    return DocumentVersion.model_validate(values | changes)
