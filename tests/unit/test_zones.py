"""Time zones by name."""

from datetime import UTC, datetime

import pytest

from app.text.dates import HOME, VIETNAM, Period, period_in, read_moment, zone_named

LATE = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
"""Friday in London, Saturday in Vietnam."""


class TestZoneNamed:
    @pytest.mark.parametrize("name", ["", HOME])
    def test_home_needs_no_database_of_zones(self, name: str) -> None:
        assert zone_named(name) is VIETNAM

    def test_knows_the_world(self) -> None:
        assert LATE.astimezone(zone_named("Europe/London")).hour == 23
        assert LATE.astimezone(zone_named("America/New_York")).hour == 18
        assert zone_named("UTC") is UTC

    @pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "\0", "x" * 5_000, "/etc/localtime"])
    def test_refuses_what_is_none_and_says_how_names_look(self, name: str) -> None:
        with pytest.raises(ValueError, match="written like Europe/London"):
            zone_named(name)


class TestPeriodsInAZone:
    def test_today_is_where_the_asker_works(self) -> None:
        london = zone_named("Europe/London")
        assert period_in("today", LATE, "en", london) == Period(
            datetime(2026, 11, 20, tzinfo=london), datetime(2026, 11, 21, tzinfo=london)
        )
        assert period_in("today", LATE, "en", VIETNAM) == Period(
            datetime(2026, 11, 21, tzinfo=VIETNAM), datetime(2026, 11, 22, tzinfo=VIETNAM)
        )

    def test_a_bare_time_is_meant_there(self) -> None:
        assert read_moment("2026-11-12", "vi", zone=UTC) == datetime(2026, 11, 12, tzinfo=UTC)
