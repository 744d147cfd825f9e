import pytest

from app.reasoning import Summary
from app.tools.summary import SummaryTool
from tests.factories import finding, passage
from tests.unit.tools.recording import RecordingReasoner, call

ONE = finding(passage("Đi muộn bị trừ 50.000 đồng.", document="one"))
TWO = finding(passage("Tái phạm bị khiển trách.", document="two"), index=2)
NOTHING = finding(index=3)
BOTH = Summary(lines=("Tái phạm bị khiển trách.", "Đi muộn bị trừ 50.000 đồng."), sources=(1, 0))


class TestSummaryTool:
    async def test_summarises_what_was_found_for_the_whole_question(self) -> None:
        reasoner = RecordingReasoner(summary=BOTH)
        result = await SummaryTool(reasoner)(
            call("Đi muộn?", findings=(ONE, NOTHING, TWO), refined_query="Đi muộn ra sao?")
        )
        assert result.text == "- Tái phạm bị khiển trách.\n- Đi muộn bị trừ 50.000 đồng."
        assert reasoner.summarised == [("Đi muộn ra sao?", (ONE, TWO), "vi")]

    async def test_cites_the_finding_of_each_line(self) -> None:
        result = await SummaryTool(RecordingReasoner(summary=BOTH))(call("q", findings=(ONE, NOTHING, TWO)))
        assert result.value == {
            "statements": [
                {"text": "Tái phạm bị khiển trách.", "findings": [2], "urls": ["https://intra.example/two"]},
                {"text": "Đi muộn bị trừ 50.000 đồng.", "findings": [0], "urls": ["https://intra.example/one"]},
            ]
        }
        assert result.evidence == (*ONE.evidence, *TWO.evidence)

    async def test_passes_the_findings_on_as_they_came(self) -> None:
        result = await SummaryTool(RecordingReasoner(summary=BOTH))(call("q", findings=(ONE, NOTHING, TWO)))
        assert result.findings == (ONE, NOTHING, TWO)

    @pytest.mark.parametrize("findings", [(), (NOTHING,)])
    async def test_says_nothing_when_nothing_was_found(self, findings: tuple[()]) -> None:
        reasoner = RecordingReasoner(summary=BOTH)
        result = await SummaryTool(reasoner)(call("q", findings=findings))
        assert result.text == ""
        assert reasoner.summarised == []

    async def test_joins_the_answers_when_the_reasoner_has_nothing_to_say(self) -> None:
        result = await SummaryTool(RecordingReasoner())(call("q", findings=(ONE, ONE, TWO)))
        assert result.text == "Đi muộn bị trừ 50.000 đồng.\nTái phạm bị khiển trách."
