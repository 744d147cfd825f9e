import pytest

from app.errors import AppError, ErrorCode
from app.tools.summary import SummaryTool
from tests.factories import finding, passage
from tests.unit.tools.recording import RecordingReasoner, call

ONE = finding(passage("Đi muộn bị trừ 50.000 đồng.", document="one"))
TWO = finding(passage("Tái phạm bị khiển trách.", document="two"), index=2)
NOTHING = finding(index=3)


class TestSummaryTool:
    async def test_summarises_what_was_found_for_the_whole_question(self) -> None:
        reasoner = RecordingReasoner(summary="Đi muộn bị trừ 50.000 đồng. Tái phạm bị khiển trách.")
        result = await SummaryTool(reasoner)(
            call("Đi muộn?", findings=(ONE, NOTHING, TWO), refined_query="Đi muộn ra sao?")
        )
        assert result.text == "Đi muộn bị trừ 50.000 đồng. Tái phạm bị khiển trách."
        assert reasoner.summarised == [("Đi muộn ra sao?", (ONE, TWO), "vi")]

    async def test_cites_the_findings_of_each_statement(self) -> None:
        reasoner = RecordingReasoner(summary="Tái phạm bị khiển trách. Đi muộn bị trừ 50.000 đồng.")
        result = await SummaryTool(reasoner)(call("q", findings=(ONE, NOTHING, TWO)))
        assert result.value == {
            "statements": [
                {"text": "Tái phạm bị khiển trách.", "findings": [2], "urls": ["https://intra.example/two"]},
                {"text": "Đi muộn bị trừ 50.000 đồng.", "findings": [0], "urls": ["https://intra.example/one"]},
            ]
        }
        assert result.evidence == (*ONE.evidence, *TWO.evidence)

    @pytest.mark.parametrize(
        "wrong",
        [
            "Đi muộn bị trừ 500.000 đồng.",
            "Đi muộn không bị trừ 50.000 đồng.",
            "Đi muộn bị trừ tiền.",
            "Đi muộn thì sao?",
        ],
    )
    async def test_a_statement_that_says_something_else_gives_way_to_the_sentence_itself(self, wrong: str) -> None:
        result = await SummaryTool(RecordingReasoner(summary=wrong))(call("q", findings=(ONE,)))
        assert result.text == "Đi muộn bị trừ 50.000 đồng."

    async def test_stays_within_its_tokens(self) -> None:
        result = await SummaryTool(RecordingReasoner(summary=""), max_tokens=14)(call("q", findings=(ONE, TWO)))
        assert result.text == "Đi muộn bị trừ 50.000 đồng."

    async def test_passes_the_findings_on_as_they_came(self) -> None:
        result = await SummaryTool(RecordingReasoner(summary="s"))(call("q", findings=(ONE, NOTHING)))
        assert result.findings == (ONE, NOTHING)

    @pytest.mark.parametrize("findings", [(), (NOTHING,)])
    async def test_says_nothing_when_nothing_was_found(self, findings: tuple[()]) -> None:
        reasoner = RecordingReasoner(summary="should not be asked")
        result = await SummaryTool(reasoner)(call("q", findings=findings))
        assert result.text == ""
        assert reasoner.summarised == []

    async def test_joins_the_answers_when_the_reasoner_has_nothing_to_say(self) -> None:
        result = await SummaryTool(RecordingReasoner(summary="  "))(call("q", findings=(ONE, ONE, TWO)))
        assert result.text == "Đi muộn bị trừ 50.000 đồng.\nTái phạm bị khiển trách."

    @pytest.mark.parametrize("code", [ErrorCode.LLM_UNAVAILABLE, ErrorCode.BUDGET_EXHAUSTED])
    async def test_joins_the_answers_when_the_reasoner_is_away(self, code: ErrorCode) -> None:
        reasoner = RecordingReasoner(summary=AppError(code, "away", status=503))
        result = await SummaryTool(reasoner)(call("q", findings=(ONE, TWO)))
        assert result.text == "Đi muộn bị trừ 50.000 đồng.\nTái phạm bị khiển trách."

    async def test_does_not_hide_other_refusals(self) -> None:
        reasoner = RecordingReasoner(summary=AppError(ErrorCode.PERMISSION_DENIED, "no", status=403))
        with pytest.raises(AppError):
            await SummaryTool(reasoner)(call("q", findings=(ONE,)))
