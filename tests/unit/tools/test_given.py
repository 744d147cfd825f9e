"""Arguments a mind has chosen already: used as they are, checked like any others, and traced all the same."""

from typing import Any

import pytest

from app.errors import ToolFailed
from app.reasoning import Arguments
from app.tools.base import ToolCall
from app.tools.math import MathTool
from extras.units.tool import UnitTool
from tests.factories import finding, passage
from tests.unit.tools.recording import RecordingReasoner, call
from tests.unit.tools.test_typed import BookingTool

ASKED = "Lương 18 triệu, đi muộn 5 lần thì bị trừ bao nhiêu?"
FINE = passage("Mỗi lần đi muộn trừ 50.000 đồng.", document="Nội quy")


def chosen(arguments: dict[str, str], query: str = "tính tiền phạt", **more: Any) -> ToolCall:
    return call(query, findings=(finding(FINE),)).model_copy(update={"given": arguments, "asked": ASKED, **more})


class Unasked(RecordingReasoner):
    """A mind that must not be asked for arguments."""

    async def arguments(self, *_: object, **__: object) -> Arguments:
        raise AssertionError("the arguments were given")


class TestGiven:
    async def test_a_sum_is_calculated_as_it_was_chosen(self) -> None:
        made = await MathTool(Unasked())(chosen({"expression": "50000 * 5", "unit": "VND"}))
        assert made.text == "50.000 × 5 = 250.000 đồng (50.000: “Nội quy”; 5: câu hỏi)."

    async def test_figures_of_the_query_are_no_source(self) -> None:
        with pytest.raises(ToolFailed, match="không nguồn nào nêu"):
            await MathTool(Unasked())(chosen({"expression": "987654 * 5"}, query="tính 987654 * 5"))

    async def test_results_of_earlier_calls_may_be_calculated_with(self) -> None:
        made = await MathTool(Unasked())(chosen({"expression": "692307.69 * 5"}, worked_out=("692307.69",)))
        assert made.text.startswith("692.307,69 × 5 = 3.461.538,45")

    async def test_an_empty_choice_is_refused_and_not_made_up(self) -> None:
        with pytest.raises(ToolFailed):
            await MathTool(Unasked())(chosen({}))

    async def test_typed_arguments_are_checked(self) -> None:
        made = await BookingTool(Unasked())(chosen({"seats": "3"}))
        assert made.text == "3 bus"
        with pytest.raises(ToolFailed):
            await BookingTool(Unasked())(chosen({"seats": "300"}))
        with pytest.raises(ToolFailed):
            await BookingTool(Unasked())(chosen({"kind": "bus"}))

    async def test_an_amount_is_converted_only_where_it_was_stated(self) -> None:
        converted = {"value": "5", "from_unit": "km", "to_unit": "m"}
        made = await UnitTool(Unasked())(chosen(converted))
        assert "5.000" in made.text
        with pytest.raises(ToolFailed):
            await UnitTool(Unasked())(chosen(converted | {"value": "77"}, query="đổi 77 km sang m"))
