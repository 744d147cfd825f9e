"""Whether a text asks, and whether it compares."""

import pytest

from app.reasoning.local.wording import asks, compares


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Nghỉ phép năm được bao nhiêu ngày", True), ("nghi phep nam duoc bao nhieu ngay", True), ("Cảm ơn bạn", False)],
)
def test_asks(text: str, *, expected: bool) -> None:
    assert asks(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("What is the difference between sick leave and annual leave?", True), ("How many days of leave?", False)],
)
def test_compares(text: str, *, expected: bool) -> None:
    assert compares(text) is expected
