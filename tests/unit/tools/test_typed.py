"""Typed tools: arguments by schema, checked before anything runs."""

from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from app.domain.record import Record
from app.errors import AppError, ErrorCode, ToolFailed, ToolRetry
from app.reasoning import Arguments
from app.tools.base import ToolCall, ToolResult, computed
from app.tools.typed import TypedTool, coerced, schema_of
from tests.unit.tools.recording import RecordingReasoner, call


class Booking(Record):
    """What a mind may fill in."""

    seats: int = Field(ge=1, le=20)
    price: Decimal = Decimal(0)
    day: date | None = None
    kind: Literal["bus", "train"] = "bus"
    window: bool = False


class BookingTool(TypedTool[Booking]):
    """Books seats."""

    name = "booking_tool"
    arguments = Booking

    async def run(self, call: ToolCall, index: int, query: str, arguments: Booking) -> ToolResult:
        text = f"{arguments.seats} {arguments.kind}"
        finding = computed(call, index, query, text, source_type="math", url=f"booking:{arguments.seats}")
        return ToolResult(text=text, findings=(finding,), value=arguments.model_dump(mode="json"), trace=(text,))


def tool(**values: str) -> BookingTool:
    return BookingTool(RecordingReasoner(arguments=Arguments(values=values)))


class TestTypedTool:
    async def test_fills_its_record_from_texts(self) -> None:
        made = await tool(seats="3", price="12.50", day="2026-02-03", kind="train", window="có")(call("Đặt 3 chỗ"))
        assert made.value == {"seats": 3, "price": "12.50", "day": "2026-02-03", "kind": "train", "window": True}
        assert [evidence.url for evidence in made.evidence] == ["booking:3"]

    async def test_answers_each_query_side_by_side_in_order(self) -> None:
        made = await tool(seats="2")(call("một", "hai"))
        assert [finding.query for finding in made.findings] == ["một", "hai"]
        assert [finding.index for finding in made.findings] == [1, 2]
        assert made.trace == ("2 bus", "2 bus")
        assert isinstance(made.value, list)

    async def test_hands_the_schema_to_the_mind_and_nothing_about_who_asks(self) -> None:
        schema = schema_of(Booking)
        assert list(schema["properties"]) == ["seats", "price", "day", "kind", "window"]
        assert schema["required"] == ["seats"]

    async def test_names_what_is_missing(self) -> None:
        with pytest.raises(ToolFailed, match="seats"):
            await tool(price="5")(call("Đặt chỗ"))
        told = BookingTool(RecordingReasoner(arguments=Arguments(values={}, missing=("số chỗ",))))
        with pytest.raises(ToolFailed, match="số chỗ"):
            await told(call("Đặt chỗ"))

    @pytest.mark.parametrize(
        "values", [{"seats": "0"}, {"seats": "many"}, {"seats": "3", "kind": "ship"}, {"seats": "3", "day": "soon"}]
    )
    async def test_refuses_what_does_not_fit_by_name(self, values: dict[str, str]) -> None:
        with pytest.raises(ToolFailed, match=r"seats|kind|day"):
            await tool(**values)(call("Đặt chỗ", language="en"))

    async def test_ignores_arguments_it_does_not_have(self) -> None:
        made = await tool(seats="1", user_id="root", tenant_id="other")(call("Đặt chỗ"))
        assert "user_id" not in str(made.value)

    async def test_an_unreachable_mind_is_worth_another_try(self) -> None:
        away = AppError(ErrorCode.LLM_UNAVAILABLE, "away", status=503)
        with pytest.raises(ToolRetry):
            await BookingTool(RecordingReasoner(arguments=away))(call("Đặt chỗ"))


class TestCoerced:
    def test_reads_a_text_as_its_schema_says(self) -> None:
        rows: list[tuple[str, dict[str, Any], Any]] = [
            ("3", {"type": "integer"}, 3),
            ("3.5", {"type": "number"}, 3.5),
            ("3", {"type": "number"}, 3),
            ("3.5", {"type": "integer"}, "3.5"),
            ("yes", {"type": "boolean"}, True),
            ("không", {"type": "boolean"}, False),
            ("[1, 2]", {"type": "array"}, [1, 2]),
            ('{"a": 1}', {"type": "object"}, {"a": 1}),
            ("{", {"type": "object"}, "{"),
            ("12", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 12),
            ("12", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, "12"),
            ("null", {"type": ["integer", "null"]}, "null"),
        ]
        for text, schema, value in rows:
            assert coerced({"a": text}, {"properties": {"a": schema}}) == {"a": value}

    @given(
        st.text(max_size=200), st.sampled_from(["integer", "number", "boolean", "array", "object", "string", "null"])
    )
    def test_never_raises(self, text: str, kind: str) -> None:
        assert set(coerced({"a": text, "b": text}, {"properties": {"a": {"type": kind}}})) == {"a"}

    def test_deep_nesting_stays_a_text(self) -> None:
        deep = "[" * 100_000
        assert coerced({"a": deep}, {"properties": {"a": {"type": "array"}}}) == {"a": deep}
