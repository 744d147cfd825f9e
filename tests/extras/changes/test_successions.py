"""What became of documents between two days."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from extras.changes.successions import DocumentVersion, Succession, standings, successions
from tests.extras.changes.versions import Y2024, Y2025, Y2026, version

DAY = timedelta(days=1)
NOW = date(2026, 11, 22)
OLD = version("leave-2024", effective_from=Y2024, closes=Y2026 - DAY)
NEW = version("leave-2026", effective_from=Y2026, supersedes="leave-2024")


def told(found: list[Succession]) -> list[tuple[str, str | None, str | None]]:
    """(kind, old title, new title) of each."""
    return [
        (one.kind, one.old.version.title if one.old else None, one.new.version.title if one.new else None)
        for one in found
    ]


class TestSuccessions:
    def test_a_document_that_names_another_replaces_it(self) -> None:
        assert told(successions([OLD, NEW], Y2025, NOW)) == [("replaced", "leave-2024", "leave-2026")]

    def test_nothing_happened_before_the_day_is_no_change(self) -> None:
        assert told(successions([OLD, NEW], Y2026, NOW)) == [("unchanged", "leave-2026", "leave-2026")]

    def test_the_day_a_document_begins_is_the_first_of_the_change(self) -> None:
        assert told(successions([OLD, NEW], Y2026 - DAY, Y2026)) == [("replaced", "leave-2024", "leave-2026")]

    def test_one_that_began_since_and_replaces_none_is_added(self) -> None:
        assert told(successions([version("new", effective_from=Y2026)], Y2025, NOW)) == [("added", None, "new")]

    def test_one_that_is_over_has_ended(self) -> None:
        gone = version("trial", effective_from=Y2024, effective_to=Y2025, closes=Y2025)
        [found] = successions([gone], Y2024, NOW)
        assert told([found]) == [("ended", "trial", None)]
        assert found.since == Y2025 + DAY

    def test_a_replaced_document_is_not_told_as_ended_too(self) -> None:
        assert [one.kind for one in successions([NEW, OLD], Y2025, NOW)] == ["replaced"]

    def test_a_successor_nobody_knows_leaves_an_end(self) -> None:
        assert told(successions([OLD], Y2025, NOW)) == [("ended", "leave-2024", None)]

    def test_a_chain_is_followed_to_what_stood_on_the_day(self) -> None:
        middle = version("leave-2025", effective_from=Y2025, supersedes="leave-2024", closes=Y2026 - DAY)
        newest = version("leave-2026", effective_from=Y2026, supersedes="leave-2025")
        first = OLD.model_copy(update={"closes": Y2025 - DAY})
        assert told(successions([newest, middle, first], Y2024, NOW)) == [("replaced", "leave-2024", "leave-2026")]
        assert told(successions([newest, middle, first], Y2025, NOW)) == [("replaced", "leave-2025", "leave-2026")]

    def test_documents_that_replace_one_another_end_somewhere(self) -> None:
        one, other = version("a", supersedes="b", effective_from=Y2026), version("b", supersedes="a")
        assert ("replaced", "b", "a") in told(successions([one, other], Y2025, NOW))

    def test_without_a_day_each_document_is_held_against_what_it_replaced(self) -> None:
        assert told(successions([OLD, NEW], None, NOW)) == [("replaced", "leave-2024", "leave-2026")]

    def test_without_a_day_a_document_is_new_for_a_year(self) -> None:
        kinds = [successions([version("one", effective_from=day)], None, NOW)[0].kind for day in (Y2024, Y2026)]
        assert kinds == ["unchanged", "added"]

    def test_one_that_begins_later_is_not_there_yet(self) -> None:
        assert successions([version("next", effective_from=NOW + DAY)], Y2025, NOW) == []

    def test_the_order_of_what_is_known_changes_nothing(self) -> None:
        every = [OLD, NEW, version("new", effective_from=Y2026), version("still")]
        assert told(successions(every, Y2025, NOW)) == told(successions(every[::-1], Y2025, NOW))


def rows(*published: date, begins: tuple[date | None, ...] = ()) -> list[DocumentVersion]:
    """Versions of one document, published on these days."""
    return [
        version(
            "a", number, f"{number}",
            published_at=datetime.combine(day, datetime.min.time(), UTC),
            created_at=datetime(2024, 1, 1, tzinfo=UTC),
            effective_from=begins[number - 1] if begins else None,
        )
        for number, day in enumerate(published, 1)
    ]  # fmt: skip


class TestStandings:
    def test_a_version_without_days_of_its_own_counts_from_its_publication(self) -> None:
        first, second = standings(rows(Y2024, Y2026))
        assert (first.begins, first.ends) == (Y2024, Y2026 - DAY)
        assert (second.begins, second.ends) == (Y2026, None)

    def test_a_version_with_later_days_counts_from_them(self) -> None:
        first, second = standings(rows(Y2024, Y2024, begins=(Y2024, Y2026)))
        assert (first.ends, second.begins) == (Y2026 - DAY, Y2026)

    def test_its_own_versions_replace_one_another(self) -> None:
        assert told(successions(rows(Y2024, Y2026), Y2025, NOW)) == [("replaced", "a", "a")]

    @given(st.lists(st.tuples(st.dates(Y2024, NOW), st.none() | st.dates(Y2024, NOW)), min_size=1, max_size=6))
    def test_no_two_versions_stand_on_one_day(self, days: list[tuple[date, date | None]]) -> None:
        published = sorted(day for day, _ in days)
        found = standings(rows(*published, begins=tuple(begins for _, begins in days)))
        assert [one.version.version for one in found] == list(range(1, len(days) + 1))
        for one, other in pairwise(found):
            assert one.begins <= other.begins
            assert one.ends is not None
            assert one.ends < other.begins
