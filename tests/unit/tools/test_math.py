import asyncio

import pytest

from app.domain.knowledge import Language
from app.errors import AppError, ErrorCode, ToolFailed, ToolRetry
from app.reasoning import Arguments
from app.tools.base import ToolResult
from app.tools.math import MathTool
from tests.factories import finding, passage
from tests.unit.tools.recording import RecordingReasoner, call

FORMULA = passage("Tiền phép = lương cơ bản / 26 ngày × số ngày nghỉ.", document="Cách tính chi phí nghỉ phép")
EXAMPLE = passage("Nghỉ 3 ngày, lương cơ bản 15.000.000 đồng.", document="Ví dụ", scope="internal")
POLICY = passage("Mỗi năm nhân viên được 14 ngày phép.", document="Chính sách nghỉ phép")
QUESTION = "Tính chi phí nghỉ phép cho 3 ngày với lương 15 triệu"


def reasoner(
    expression: str = "15000000 / 26 * 3", unit: str = "VND", missing: tuple[str, ...] = ()
) -> RecordingReasoner:
    values = {"expression": expression, "unit": unit} if expression else {}
    return RecordingReasoner(arguments=Arguments(values=values, missing=missing))


async def calculate(port: RecordingReasoner, question: str = QUESTION, language: Language = "vi") -> ToolResult:
    return await MathTool(port)(
        call(question, language=language, findings=(finding(POLICY), finding(FORMULA, index=2)))
    )


class TestMathTool:
    async def test_answers_with_formula_amount_and_sources(self) -> None:
        result = await calculate(reasoner())
        assert result.text == (
            "15.000.000 / 26 × 3 = 1.730.769 đồng (15.000.000 và 3: câu hỏi; 26: “Cách tính chi phí nghỉ phép”)."
        )

    async def test_answers_in_english(self) -> None:
        result = await MathTool(reasoner("39000 / 260 * 5", "GBP"))(
            call(
                "What do 5 days of leave cost at £39,000?",
                language="en",
                findings=(finding(passage("leave pay = annual salary / 260 × days", document="Leave pay")),),
            )
        )
        assert result.text == "39,000 / 260 × 5 = £750.00 (39,000 and 5: the question; 260: “Leave pay”)."

    async def test_asks_for_arguments_with_the_whole_question_and_all_findings(self) -> None:
        port = reasoner()
        await calculate(port)
        tool, query, findings, language = port.argued[0]
        assert (tool, query, language) == ("math_tool", QUESTION, "vi")
        assert [found.index for found in findings] == [1, 2]

    async def test_the_finding_cites_only_what_the_operands_come_from(self) -> None:
        (found,) = (await calculate(reasoner())).findings
        assert found.found
        assert [quote.passage.title for quote in found.quotes] == ["Cách tính chi phí nghỉ phép"]
        assert [evidence.url for evidence in found.evidence] == [FORMULA.url]
        assert found.evidence[0].source_type == "math"
        assert found.context == "Cách tính chi phí nghỉ phép"
        assert found.confidence == 0.8

    async def test_the_finding_answers_the_query_no_document_answered(self) -> None:
        asked = call("Chính sách nghỉ phép?", "Tính chi phí 3 ngày lương 15 triệu", findings=(finding(FORMULA),))
        (found,) = (await MathTool(reasoner())(asked)).findings
        assert (found.index, found.query) == (2, "Tính chi phí 3 ngày lương 15 triệu")

    async def test_one_evidence_for_each_document_and_its_own_scope(self) -> None:
        both = finding(FORMULA, EXAMPLE)
        (found,) = (await MathTool(reasoner())(call("Tính chi phí nghỉ phép", findings=(both,)))).findings
        assert {(evidence.url, evidence.scope) for evidence in found.evidence} == {
            (FORMULA.url, "private"),
            (EXAMPLE.url, "internal"),
        }

    async def test_the_quote_with_most_operands_is_cited_first(self) -> None:
        other = passage("Văn phòng có 26 phòng họp.", document="Phòng họp")
        formula = passage("15.000.000 / 26 × 3", document="Ví dụ tính")
        result = await MathTool(reasoner())(call("Tính chi phí nghỉ phép", findings=(finding(other, formula),)))
        assert "15.000.000, 26, 3: “Ví dụ tính”" in result.text

    async def test_numbers_everybody_knows_need_no_source(self) -> None:
        result = await MathTool(reasoner("12 / 12 * 7", "day"))(
            call("Mỗi năm 12 ngày phép, làm 7 tháng thì được mấy ngày?")
        )
        assert result.text == "12 / 12 × 7 = 7 ngày (12 và 7: câu hỏi)."
        assert result.findings[0].quotes == ()

    async def test_percentages_are_grounded_in_either_form(self) -> None:
        for expression in ("60000 * 3 * 200%", "60000 * 3 * 2", "60000 * 3 * 200 / 100"):
            result = await MathTool(reasoner(expression))(call("Lương giờ 60.000 đồng, làm thêm 3 giờ với mức 200%?"))
            assert "= 360.000 đồng" in result.text

    async def test_says_about_when_more_than_money_was_rounded(self) -> None:
        result = await MathTool(reasoner("10 / 3", "day"))(call("10 chia 3"))
        assert "10 / 3 ≈ 3,3333 ngày" in result.text

    async def test_refuses_and_names_what_is_missing(self) -> None:
        rows: list[tuple[Language, str]] = [
            ("vi", "Chưa tính được vì thiếu số liệu: lương cơ bản, số ngày nghỉ."),
            ("en", "This cannot be calculated yet; missing: lương cơ bản, số ngày nghỉ."),
        ]
        for language, sentence in rows:
            with pytest.raises(ToolFailed) as refused:
                await calculate(reasoner(missing=("lương cơ bản", "số ngày nghỉ")), language=language)
            assert str(refused.value).startswith(sentence)

    async def test_refuses_operands_that_no_source_states(self) -> None:
        with pytest.raises(ToolFailed, match=r"21\.000\.000"):
            await calculate(reasoner("21000000 / 26 * 3"))

    async def test_does_not_take_a_planners_message_for_a_source(self) -> None:
        asked = call("Tính chi phí nghỉ phép").model_copy(update={"message": "Tính 21000000 / 26 * 3"})
        with pytest.raises(ToolFailed, match=r"21\.000\.000"):
            await MathTool(reasoner("21000000 / 26 * 3"))(asked)

    async def test_refuses_when_there_is_nothing_to_calculate(self) -> None:
        with pytest.raises(ToolFailed, match="Không thấy phép tính"):
            await calculate(reasoner(""))

    async def test_refuses_bad_expressions_in_the_askers_language(self) -> None:
        rows: list[tuple[str, str]] = [
            ("1 / 0", "Phép tính chia cho 0."),
            ("9**9**9", "Phép tính cho số quá lớn hoặc quá chi tiết."),
            ("2**0.5", "Chỉ tính được lũy thừa với số mũ nguyên."),
            ("__import__('os')", "Không đọc được phép tính."),
            ("1+" * 400 + "1", "Phép tính quá dài."),
        ]
        for expression, sentence in rows:
            with pytest.raises(ToolFailed) as refused:
                await calculate(reasoner(expression))
            assert str(refused.value) == sentence

    async def test_asks_for_another_try_when_the_model_is_away(self) -> None:
        away = AppError(ErrorCode.LLM_UNAVAILABLE, "away", status=503)
        with pytest.raises(ToolRetry):
            await calculate(RecordingReasoner(arguments=away))

    async def test_lets_other_refusals_through(self) -> None:
        refusal = AppError(ErrorCode.BUDGET_EXHAUSTED, "no tokens left", status=429)
        with pytest.raises(AppError) as raised:
            await calculate(RecordingReasoner(arguments=refusal))
        assert raised.value is refusal

    async def test_many_calls_at_once_do_not_mix(self) -> None:
        questions = [f"{number} cộng 1" for number in range(100, 120)]
        results = await asyncio.gather(
            *(MathTool(reasoner(f"{number} + 1", ""))(call(text)) for number, text in enumerate(questions, 100))
        )
        assert [result.text.split(" (")[0] for result in results] == [f"{n} + 1 = {n + 1}" for n in range(100, 120)]
