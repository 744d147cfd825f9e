"""The table of guards fits the code: what `make mutate-guards` takes away is there, and so are the tests."""

import ast
from functools import cache

import pytest

from tests.mutation import ROOT, Guard, guards

LEAST = 60


@cache
def _tests_in(file: str) -> set[str]:
    found = set[str]()
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else []
        for one in (node, *inside):
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(one.name if one is node else f"{getattr(node, 'name', '')}::{one.name}")
    return found


class TestTable:
    def test_has_every_guard_once_and_its_test(self) -> None:
        table = guards()
        assert len(table) >= LEAST and len({one.name for one in table}) == len(table)
        for one in table:
            without = one.taken_from((ROOT / one.file).read_text("utf-8"))
            assert one.text != one.becomes and without, one.name
            file, _, test = one.test.partition("::")
            assert test in _tests_in(file), f"{one.name}: there is no {one.test}"
            if one.file.endswith(".py"):
                ast.parse(without)  # what cannot be read fails every test, and shows nothing

    def test_refuses_a_text_that_stands_nowhere_or_twice(self) -> None:
        for text in ("z", "a"):
            with pytest.raises(ValueError, match="stands there"):
                Guard("one", "file.py", text, "", "").taken_from("a a b")
