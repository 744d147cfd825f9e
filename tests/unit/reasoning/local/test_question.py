"""Whether a text asks."""

import pytest

from app.reasoning.local.wording import asks


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Nghỉ phép năm được bao nhiêu ngày", True), ("nghi phep nam duoc bao nhieu ngay", True), ("Cảm ơn bạn", False)],
)
def test_asks(text: str, *, expected: bool) -> None:
    assert asks(text) is expected
