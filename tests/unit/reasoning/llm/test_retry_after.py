"""``Retry-After`` in all its forms."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.llm.endpoint import seconds_of

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None), ("", None), ("soon", None), ("-3", None), ("1.5", None), ("٣", None), ("0", 0), (" 7 ", 7),
        ("120", 120), ("9" * 400, float("inf")), ("Sat, 21 Nov 2026 09:00:30 GMT", 30),
        ("Sat, 21 Nov 2026 08:00:00 GMT", 0), ("Sat, 99 Nov 2026 08:00:00 GMT", None),
    ],
)  # fmt: skip
def test_is_seconds_or_nothing(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header, NOW) == seconds


@given(st.text(max_size=40))
def test_reads_or_ignores_any_header(header: str) -> None:
    read = seconds_of(header, NOW)
    assert read is None or read >= 0
