"""JSON that PostgreSQL can store."""

import json
import math

import pytest

from app.storage.database import dump


class TestDump:
    @pytest.mark.parametrize("value", [{"a": [1, "đ", None, True]}, "x", 3.5, [], {"quoted": 'a "b" \\ c'}])
    def test_keeps_what_is_json(self, value: object) -> None:
        assert json.loads(dump(value)) == value

    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            ("a\x00b", "ab"),
            ("\x00\x00", ""),
            ("\\u0000", "\\u0000"),
            ("\\\x00", "\\"),
            ("half \ud83d", "half ?"),
            ("NaN", "NaN"),
            ({"score": math.nan, "text": "Infinity"}, {"score": None, "text": "Infinity"}),
            ([-math.inf, math.inf], [None, None]),
        ],
    )
    def test_drops_what_postgresql_refuses(self, value: object, stored: object) -> None:
        assert json.loads(dump(value)) == stored
