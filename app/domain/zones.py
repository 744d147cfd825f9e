"""Time zones by their IANA names."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

HOME = "Asia/Ho_Chi_Minh"
VIETNAM = timezone(timedelta(hours=7), HOME)
"""A fixed offset: Vietnam has known no other since 1975, and it needs no time zone database."""


def zone_named(name: str) -> tzinfo:
    """The zone of that name. Raises `ValueError` when there is none."""
    if name in ("", HOME):
        return VIETNAM
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as unknown:
        raise ValueError(f"there is no time zone {name[:60]!r}; names are written like Europe/London") from unknown


def today_in(zone: tzinfo) -> date:
    """The day it is now in a time zone."""
    return datetime.now(zone).date()
