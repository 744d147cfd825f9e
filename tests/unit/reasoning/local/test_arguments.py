from decimal import Decimal

import pytest

from app.domain.knowledge import Finding, Language, Quote
from app.reasoning import Arguments
from app.reasoning.local.arguments import arguments
from app.text.arithmetic import calculate
from tests import factories
from tests.unit.reasoning.local.conftest import seed_passages

COST = "acme/hr/leave-cost-2026"


def quoting(document: str, *texts: str) -> Finding:
    """A finding that quotes the given spans of a demonstration document."""
    passages = seed_passages(document)
    held = [(next(p for p in passages if text in p.text), text) for text in texts]
    quotes = tuple(Quote(passage=passage, text=text, score=0.9) for passage, text in held)
    return factories.finding(*(quote.passage for quote in quotes)).model_copy(update={"quotes": quotes})


@pytest.fixture(scope="module")
def formula() -> Finding:
    return quoting(COST, "`tiền phép = lương cơ bản / 26 ngày × số ngày nghỉ`")


def for_sum(query: str, *findings: Finding, language: Language = "vi") -> Arguments:
    return arguments("math_tool", query, findings, language)


def value(found: Arguments) -> Decimal:
    return Decimal(str(round(float(calculate(found.values["expression"]).value), 2)))


class TestFormulaOfADocument:
    def test_the_askers_figures_take_the_places_of_its_operands(self, formula: Finding) -> None:
        found = for_sum("Tính tiền phép khi lương 18 triệu nghỉ 5 ngày", formula)
        assert found.values["expression"].replace(" ", "") == "18000000/26*5"
        assert found.values["unit"] == "VND"
        assert {"18 triệu", "5 ngày"} <= set(found.grounds)

    def test_figures_are_read_in_any_spelling_and_order(self, formula: Finding) -> None:
        for query in (
            "Tính tiền phép 5 ngày với lương cơ bản 18.000.000 đồng",
            "tinh tien phep luong 18 trieu nghi 5 ngay",
        ):
            assert value(for_sum(query, formula)) == Decimal("3461538.46")

    def test_without_figures_they_are_missing_though_an_example_has_some(self, formula: Finding) -> None:
        shown = quoting(COST, formula.quotes[0].text, "15.000.000 / 26 × 3 = 1.730.769 đồng.")
        found = for_sum("Tính toán chi phí nghỉ phép và so sánh với chính sách công ty", shown)
        assert found.values == {} and found.missing == ("lương cơ bản", "số ngày nghỉ")

    def test_a_figure_nobody_stated_is_missing_and_never_made_up(self, formula: Finding) -> None:
        found = for_sum("Lương 18 triệu thì tính tiền phép thế nào?", formula)
        assert found.values == {}
        assert found.missing == ("số ngày nghỉ",)

    def test_a_worked_example_alone_is_no_formula_for_other_figures(self) -> None:
        text = (
            "Ví dụ: lương cơ bản 15.000.000 đồng, nghỉ 3 ngày: 15.000.000 / 26 × 3 = 1.730.769 đồng chi phí nghỉ phép."
        )
        found = for_sum(
            "Tính chi phí nghỉ phép: lương 20,8 triệu, nghỉ 2 ngày", factories.finding(factories.passage(text))
        )
        assert found.values == {}

    def test_english_text_and_pounds(self) -> None:
        text = "Holiday pay = annual salary / 260 × days of leave."
        passage = factories.passage(text, language="en", title="Leave pay", section="Formula")
        query = "Calculate the holiday pay for 5 days of leave with a salary of £39,000"
        found = for_sum(query, factories.finding(passage), language="en")
        assert value(found) == Decimal("750.00")
        assert found.values["unit"] == "GBP"

    def test_formulas_about_something_else_are_left_alone(self) -> None:
        other = factories.passage("Điểm KPI = số mục tiêu đạt / 10 × 100.", title="Đánh giá")
        assert for_sum("Tính tiền gửi xe lương 18 triệu nghỉ 5 ngày", factories.finding(other)).values == {}


class TestSumsOfTheQuestion:
    @pytest.mark.parametrize(
        ("query", "result"),
        [
            ("2+4 = ?", "6"),
            ("tính 15% của 20 triệu", "3000000"),
            ("what is 12.5% of 1 million", "125000"),
            ("15.000.000 / 26 × 3", "1730769.23"),
            ("87 plus 54", "141"),
            ("(12 + 3) * 4 bằng bao nhiêu", "60"),
        ],
    )
    def test_need_no_document(self, query: str, result: str) -> None:
        language: Language = "en" if query.startswith(("what", "87")) else "vi"
        assert value(for_sum(query, language=language)) == Decimal(result)

    def test_every_operand_stands_in_the_question(self) -> None:
        found = for_sum("tính 15% của 20 triệu")
        assert "20 triệu" in " ".join(found.grounds)

    def test_nothing_to_compute_gives_no_expression(self) -> None:
        assert for_sum("Nghỉ phép năm được bao nhiêu ngày?").values == {}


class TestLogArguments:
    @pytest.mark.parametrize(
        ("query", "values"),
        [
            ("Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?", {"period": "Hôm qua"}),
            ("Có bao nhiêu cảnh báo trên vpn-01 tuần trước?", {"period": "tuần trước", "source": "vpn-01"}),
            ("Log cảnh báo của cổng VPN", {"level": "warning"}),
            ("Log lỗi ngày 12/11/2026 của may chu web-02", {"period": "ngày 12/11/2026", "level": "error"}),
            ("Which servers had errors in the last 7 days?", {"period": "last 7 days", "level": "error"}),
            ("How many failed logins yesterday?", {"period": "yesterday"}),
        ],
    )  # fmt: skip
    def test_time_machine_and_level_come_as_the_question_says_them(self, query: str, values: dict[str, str]) -> None:
        found = arguments("log_tool", query, (), "vi").values
        assert found.items() >= values.items()

    def test_an_event_is_named_as_systems_write_it(self) -> None:
        for query in ("Hôm qua máy chủ nào đăng nhập thất bại nhiều nhất?", "How many failed logins yesterday?"):
            assert "login" in arguments("log_tool", query, (), "vi").values["terms"]

    def test_what_the_question_does_not_say_is_left_out(self) -> None:
        assert arguments("log_tool", "Tổng hợp log hệ thống", (), "vi").values == {}

    def test_other_tools_get_nothing(self) -> None:
        assert arguments("mail_tool", "2+4", (), "vi") == Arguments(values={})
