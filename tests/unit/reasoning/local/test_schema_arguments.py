from typing import Any

from app.reasoning.local.arguments import arguments
from extras.servers import date as date_server
from extras.servers import math as math_server
from extras.servers.serving import Operation
from extras.units.tool import Amount

OPERATIONS: dict[str, Operation[Any, Any]] = {
    f"{server}.{operation.name}": operation
    for server, operations in (("math", math_server.OPERATIONS), ("date", date_server.OPERATIONS))
    for operation in operations
}


def filled(tool: str, query: str) -> dict[str, str]:
    found = arguments(tool, query, (), "vi", OPERATIONS[tool].tool.input_schema)
    assert found.missing == ()
    return found.values


class TestArgumentsBySchema:
    def test_both_numbers_of_a_sum(self) -> None:
        assert filled("math.mcp_sum", "tính 2+4 = ??") == {"a": "2", "b": "4", "language": "vi"}

    def test_a_share_and_its_whole(self) -> None:
        found = filled("math.mcp_percent", "15% của 32 triệu là bao nhiêu?")
        assert (found["part_percent"], found["of"]) == ("15", "32000000")

    def test_a_longer_sum_is_an_expression(self) -> None:
        found = filled("math.mcp_evaluate", "450.000 * (100 - 20) / 100")
        assert found["expression"] == "450000 * ( 100 - 20 ) / 100"

    def test_days_as_the_calendar_reads_them(self) -> None:
        found = filled("date.working_days", "từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?")
        assert (found["start"], found["end"]) == ("2026-02-03", "2026-04-30")
        assert filled("date.add", "2 tuần sau 1/3/2026 là ngày nào")["unit"] == "weeks"
        assert filled("date.today", "hôm nay là thứ mấy") == {"language": "vi"}

    def test_the_server_computes_what_was_read(self) -> None:
        query = "Từ 01/01/2024 đến hết 31/12/2024 có bao nhiêu ngày?"
        values = {**filled("date.difference", query), "inclusive": True}
        result = OPERATIONS["date.difference"].answer(values).structured_content
        assert result is not None
        assert result["result"] == 366

    def test_a_measure_with_both_units(self) -> None:
        found = arguments("unit_tool", "Đổi 98,6 độ F sang độ C.", (), "vi", Amount.model_json_schema())
        assert found.values == {"value": "98,6", "from_unit": "độ F", "to_unit": "độ C"}

    def test_what_nobody_stated_is_missing(self) -> None:
        found = arguments("math.mcp_sum", "cộng hai số", (), "vi", OPERATIONS["math.mcp_sum"].tool.input_schema)
        assert found.missing == ("a", "b")
        assert "a" not in found.values

    def test_a_tool_of_strangers_gets_what_the_question_names(self) -> None:
        schema = {
            "properties": {
                "city": {"enum": ["Hue", "Da Nang"]},
                "days": {"type": "integer"},
                "query": {"type": "string"},
            },
            "required": ["city"],
        }
        found = arguments("weather.forecast", "thời tiết Đà Nẵng 3 ngày tới", (), "vi", schema)
        assert found.values == {"city": "Da Nang", "days": "3", "query": "thời tiết Đà Nẵng 3 ngày tới"}
        assert arguments("weather.forecast", "thời tiết chuẩn", (), "vi", schema).missing == ("city",)

    def test_days_to_come_and_days_gone_are_counted_from_today(self) -> None:
        for query, is_before in (
            ("còn bao nhiêu ngày nữa đến 30/4", False),
            ("từ 1/1/2025 đến nay là bao nhiêu ngày", True),
        ):
            values = filled("date.difference", query)
            result = OPERATIONS["date.difference"].answer({**values, "inclusive": False}).structured_content
            assert result is not None
            assert result["result"] >= (325 if is_before else 0)
