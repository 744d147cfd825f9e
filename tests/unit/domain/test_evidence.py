"""What evidence is called."""

from datetime import UTC, datetime, timedelta

from app.domain.documents import DocumentTitle
from app.domain.knowledge import titles_by_url

URL = "https://intra.acme.example/leave"
NEW, OLD = datetime(2026, 1, 5, 2, tzinfo=UTC), datetime(2024, 1, 5, 2, tzinfo=UTC)
DOCUMENTS = [
    DocumentTitle(url=URL, title="Leave 2026", created_at=NEW),
    DocumentTitle(url=URL, title="Leave 2024", created_at=OLD),
]


class TestTitles:
    def test_are_those_of_the_version_of_that_day(self) -> None:
        assert titles_by_url([(URL, OLD + timedelta(milliseconds=5))], DOCUMENTS) == {URL: "Leave 2024"}

    def test_are_those_of_the_latest_version_when_no_day_fits(self) -> None:
        assert titles_by_url([(URL, OLD - timedelta(days=30))], DOCUMENTS) == {URL: "Leave 2026"}

    def test_are_told_for_pages_too(self) -> None:
        assert titles_by_url([(f"{URL}#page=4", NEW)], DOCUMENTS) == {f"{URL}#page=4": "Leave 2026"}

    def test_of_unknown_addresses_are_left_out(self) -> None:
        assert titles_by_url([("file:x.csv", NEW), (f"{URL}/2", NEW)], DOCUMENTS) == {}
