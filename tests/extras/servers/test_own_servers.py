"""What our servers answer, without the protocol around it."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from mcp.types import TextContent

from app.tools.mcp.result import check_schema, wrong_places
from extras.servers import date, math
from extras.servers.serving import Operation

OPERATIONS: dict[str, Operation[Any, Any]] = {one.name: one for one in (*math.OPERATIONS, *date.OPERATIONS)}
DECIMALS = st.decimals(-(10**9), 10**9, places=4).map(lambda number: f"{number:f}")


def ask(name: str, **arguments: Any) -> tuple[bool, str, Any]:
    """(failed, sentence, value)."""
    result = OPERATIONS[name].answer(arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return result.is_error, content.text, result.structured_content


class TestMath:
    def test_computes(self) -> None:
        rows: list[tuple[str, dict[str, Any], Any, str]] = [
            ("mcp_sum", {"a": "2", "b": "4"}, {"result": "6"}, "2 + 4 = 6"),
            ("mcp_sum", {"a": 2, "b": 4}, {"result": "6"}, "2 + 4 = 6"),
            ("mcp_subtract", {"a": "2", "b": "-4.5"}, {"result": "6.5"}, "2 - (-4,5) = 6,5"),
            ("mcp_multiply", {"a": "0.1", "b": "3e2"}, {"result": "30"}, "0,1 × 300 = 30"),
            ("mcp_power", {"a": "-2", "b": "10"}, {"result": "1024"}, "(-2)^10 = 1.024"),
            (
                "mcp_percent",
                {"part_percent": "15", "of": "32000000"},
                {"result": "4800000"},
                "15% × 32.000.000 = 4.800.000",
            ),
            ("mcp_evaluate", {"expression": "15000000/26*3"}, None, "15.000.000 / 26 × 3 ≈ 1.730.769,230769"),
        ]
        for name, arguments, value, told in rows:
            failed, text, found = ask(name, **arguments)
            assert (failed, text) == (False, told)
            assert value is None or found == value

    def test_says_when_it_rounded(self) -> None:
        assert ask("mcp_divide", a="1", b="3")[2] == {"result": "0.33333333333333333333", "is_rounded": True}
        assert ask("mcp_divide", a="1", b="4")[2] == {"result": "0.25"}

    @given(DECIMALS, DECIMALS)
    def test_is_exact(self, a: str, b: str) -> None:
        assert Decimal(ask("mcp_sum", a=a, b=b)[2]["result"]) == Decimal(a) + Decimal(b)
        assert Decimal(ask("mcp_multiply", a=a, b=b)[2]["result"]) == Decimal(a) * Decimal(b)

    def test_refuses(self) -> None:
        rows: list[tuple[str, dict[str, Any], str]] = [
            ("mcp_divide", {"a": "1", "b": "0"}, "division_by_zero"),
            ("mcp_power", {"a": "9", "b": "999999"}, "too_big"),
            ("mcp_power", {"a": "10", "b": "-300"}, "too_big"),
            ("mcp_power", {"a": "2", "b": "0.5"}, "exponent"),
            ("mcp_evaluate", {"expression": "9**9**9"}, "too_big"),
            ("mcp_evaluate", {"expression": "(" * 200}, "too_long"),
            ("mcp_evaluate", {"expression": "__import__('os')"}, "syntax"),
            ("mcp_evaluate", {"expression": "1+" * 400}, "invalid arguments"),
            ("mcp_sum", {"a": "2) * (3", "b": "1"}, "invalid arguments: a"),
            ("mcp_sum", {"a": "nan", "b": True}, "invalid arguments: a"),
            ("mcp_sum", {"a": "1"}, "invalid arguments: b"),
            ("mcp_sum", {"a": "1", "b": "2", "user": "x"}, "invalid arguments: user"),
        ]
        for name, arguments, told in rows:
            failed, text, value = ask(name, **arguments)
            assert failed
            assert told in text
            assert value is None


class TestDate:
    def test_counts_working_days_with_a_year_said_once(self) -> None:
        failed, text, value = ask("working_days", start="3/2", end="30/4/2026")
        assert not failed
        assert value["result"] == 56
        assert text.startswith("Từ 03/02/2026 đến 30/04/2026 có 56 ngày làm việc")

    def test_tells(self) -> None:
        rows: list[tuple[str, dict[str, Any], str]] = [
            (
                "difference",
                {"start": "2026-02-03", "end": "2026-04-30"},
                "Từ 03/02/2026 đến 30/04/2026: 86 ngày (2 tháng, 27 ngày).",
            ),
            ("weekday", {"date": "2/9/2026", "language": "en"}, "Wednesday, 02/09/2026"),
            ("add", {"start": "31/1/2026", "amount": 1, "unit": "months"}, "thứ Bảy, 28/02/2026"),
            ("parse", {"text": "thứ hai tuần sau", "today": "2026-11-18"}, "thứ Hai, 23/11/2026"),
        ]
        for name, arguments, told in rows:
            assert ask(name, **arguments)[:2] == (False, told)

    def test_adds_working_days_over_a_holiday(self) -> None:
        failed, text, value = ask("add_working_days", start="13/2/2026", days=1, language="en")
        assert not failed
        assert value["result"] == "2026-02-23"
        assert text.startswith("1 working day after 13/02/2026 is Monday, 23/02/2026; public holidays passed over")

    def test_knows_today_in_a_zone(self) -> None:
        assert not ask("today")[0]
        assert not ask("today", zone="UTC")[0]

    def test_refuses(self) -> None:
        rows: list[tuple[str, dict[str, Any], str]] = [
            ("today", {"zone": "../../etc/passwd"}, "unknown_zone"),
            ("today", {"zone": "Mars/Olympus"}, "unknown_zone"),
            ("working_days", {"start": "x", "end": "30/4/2026"}, "not_a_date"),
            ("working_days", {"start": "3/2/2026", "end": "30/4/2026", "country": "XX"}, "unknown_country"),
            ("working_days", {"start": "1/1/1901", "end": "1/1/2100"}, "out_of_range"),
            ("add", {"start": "1/1/2026", "amount": 80_000, "unit": "years"}, "out_of_range"),
            ("add", {"start": "1/1/2026", "amount": 10**12}, "invalid arguments"),
            ("parse", {"text": "mùng 2 Tết"}, "lunar_calendar"),
        ]
        for name, arguments, told in rows:
            failed, text, _ = ask(name, **arguments)
            assert failed
            assert told in text


def test_schemas_can_be_used_by_others() -> None:
    for name in sorted(OPERATIONS):
        tool = OPERATIONS[name].tool
        check_schema(tool.input_schema)
        assert tool.output_schema is not None
        check_schema(tool.output_schema)
        assert wrong_places({"nonsense": 1}, tool.input_schema)
