"""Reading replies strictly, and the schema that is sent for them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.llm.shapes import AnswerShape, ArgumentsShape, CritiqueShape, PlanShape
from app.reasoning.llm.structured import Shape, parse, schema_of

SHAPES = (AnswerShape, ArgumentsShape, CritiqueShape, PlanShape)


class TestParse:
    @pytest.mark.parametrize(
        "text",
        [
            '{"a": 1}', '```json\n{"a": 1}\n```', 'Here it is:\n{"a": 1}\nThat is all.', '\ufeff {"a": 1}',
            '<think>hmm</think>{"a": 1}',
        ],
    )  # fmt: skip
    def test_finds_the_object_whatever_stands_around_it(self, text: str) -> None:
        assert parse(text) == {"a": 1}

    @pytest.mark.parametrize(
        "text",
        [
            "", "no object", "[1, 2]", '{"a": 1', '{"a": 1}{"b": 2}', '{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}',
            '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": }', "{" * 100_000, '{"a":' * 50_000,
            '{"a": ' + "9" * 5_000 + "}",
        ],
    )  # fmt: skip
    def test_refuses_what_is_not_one_clean_object(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"."):
            parse(text)

    @given(st.dictionaries(st.text(), st.text() | st.integers(-(10**9), 10**9) | st.booleans() | st.none(), min_size=1))
    def test_reads_what_json_writes(self, value: dict[str, object]) -> None:
        assert parse(json.dumps(value)) == value

    @given(st.text())
    def test_raises_nothing_else(self, text: str) -> None:
        try:
            parse(text)
        except ValueError:
            return


class TestSchema:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_is_of_the_strict_form(self, shape: type[Shape]) -> None:
        def check(node: object) -> None:
            if isinstance(node, dict):
                if "properties" in node:
                    assert set(node["required"]) == set(node["properties"])
                    assert node["additionalProperties"] is False
                assert not node.keys() & {"default", "maxLength", "maxItems", "minimum", "maximum"}
                for value in node.values():
                    check(value)
            elif isinstance(node, list):
                for item in node:
                    check(item)

        check(schema_of(shape))

    def test_fields_nobody_asked_for_are_ignored(self) -> None:
        read = CritiqueShape.model_validate({"approved": True, "feedback": "", "error_code": "INTERNAL", "priority": 9})
        assert not hasattr(read, "error_code")
