import pytest

from app.reasoning.local import LocalReasoner
from app.tools.sandbox import Sandbox
from tests.unit.reasoning.local.deep.driving import Driver

LATENESS, LEAVE, COST = "acme/hr/punctuality-2026", "acme/hr/annual-leave-2026", "acme/hr/leave-cost-2026"
OVERTIME, TRAVEL, BUYING = (
    "acme/hr/overtime-allowances-2026",
    "acme/general/travel-expenses",
    "acme/general/purchasing-limits",
)
CONTRACTS, SALARIES, PARKING = (
    "acme/hr/contracts-resignation-2025",
    "acme/hr/salary-grades-2026",
    "acme/general/parking",
)
G_LEAVE, G_TIME, G_EXPENSES = (
    "globex/hr/annual-leave-2026",
    "globex/hr/working-time-overtime-remote",
    "globex/hr/expenses-2026",
)
G_PAY, G_ON_CALL = "globex/hr/leave-pay-calculation", "globex/it/on-call-rota"

VIETNAMESE: dict[str, tuple[tuple[str, ...], str]] = {
    "Nhân viên lương 18 triệu đi muộn 5 lần tháng này bị trừ tổng cộng bao nhiêu?": ((LATENESS,), "150000"),
    "nhan vien di muon 7 lan trong thang thi bi khau tru bao nhieu tien": ((LATENESS,), "250000"),
    "Đi muộn 8 lần trong tháng thì phụ cấp chuyên cần còn được nhận bao nhiêu đồng?": ((LATENESS,), "200000"),
    "Tôi có thâm niên 7 năm, năm nay đã nghỉ 5 ngày phép, còn lại bao nhiêu ngày?": ((LEAVE,), "11"),
    "Lương cơ bản 26 triệu, nghỉ phép 4 ngày thì chi phí nghỉ phép là bao nhiêu đồng?": ((LEAVE, COST), "4000000"),
    "Người được tuyển với lương cơ bản 12 triệu thì lương thử việc là bao nhiêu đồng?": ((SALARIES,), "10800000"),
    "Khách đến làm việc gửi ô tô 5 giờ thì phải trả bao nhiêu đồng?": ((PARKING,), "105000"),
    "Tổng phụ cấp ăn trưa, điện thoại và gửi xe mỗi tháng của nhân viên kinh "
        "doanh là bao nhiêu đồng?": ((OVERTIME,), "1250000"),
    "Hợp đồng không xác định thời hạn nộp đơn thôi việc ngày 01/03/2027 thì hết thời hạn báo trước "
        "ngày nào? (dd/mm/yyyy)": (
        (CONTRACTS,), "15/04/2027",
    ),
    "Đơn mua hàng trị giá 300 triệu đồng do ai phê duyệt?": ((BUYING,), "Tổng giám đốc"),
    "Đi công tác bằng ô tô cá nhân 240 km, phí cầu đường 70.000 đồng có vé. Được hoàn tổng cộng bao nhiêu đồng?": (
        (TRAVEL,), "1150000",
    ),
}  # fmt: skip
ENGLISH: dict[str, tuple[tuple[str, ...], str]] = {
    "How much can I claim in pounds for driving 120 miles in my own car?": ((G_EXPENSES,), "54"),
    "I drove 12,000 miles in my private car this year. How many pounds can I claim?": ((G_EXPENSES,), "5000"),
    "An engineer earns £44,200 a year and takes 6 days of annual leave. What is the "
        "leave pay, in pounds?": ((G_PAY,), "1020"),
    "I work 30 hours a week. How many days of annual leave do I get per leave year?": ((G_LEAVE,), "22"),
    "I earn £39,000 and worked 6 hours of overtime on a Sunday. How much overtime pay do I get?": ((G_TIME,), "240"),
    "I was called out on a Sunday for 3 hours while on call. How much is the "
        "call-out pay in pounds?": ((G_ON_CALL,), "195"),
    "My trip is expected to cost £2,000. What is the largest advance I can get, in pounds?": ((G_EXPENSES,), "1250"),
}  # fmt: skip
OWN: dict[str, str] = {
    "How many Fridays are there in November 2026?": "4",
    "Which number comes next: 2, 6, 12, 20, 30, ?": "42",
    "How many times does the letter r appear in the word strawberry?": "3",
    ".ylno rewsna eht sa \"ruobrah\" drow eht etirW": "harbour",
    "A van drives at 90 km/h. What is that in miles per hour, rounded to one decimal?": "55.9",
    "A jacket costs $80. It is reduced by 15%, and then 10% tax is added to the reduced price. What "
        "do I pay, in dollars?": "74.8",
    "Alice is taller than Bob. Carol is shorter than Bob. Who is the tallest?": "Alice",
    "What is the median of 3, 8, 1, 9 and 4?": "4",
    "Three workers build a wall in 12 days. How many days do four workers need at the same pace?": "9",
}  # fmt: skip


class TestPolicies:
    @pytest.mark.parametrize("question", VIETNAMESE)
    async def test_are_calculated_with_in_vietnamese(
        self, question: str, reasoner: LocalReasoner, sandbox: Sandbox
    ) -> None:
        documents, expected = VIETNAMESE[question]
        report = await Driver(reasoner, sandbox, documents).ask(question)
        assert (report.answer, report.solved) == (expected, True)

    @pytest.mark.parametrize("question", ENGLISH)
    async def test_are_calculated_with_in_english(
        self, question: str, reasoner: LocalReasoner, sandbox: Sandbox
    ) -> None:
        documents, expected = ENGLISH[question]
        report = await Driver(reasoner, sandbox, documents).ask(question, "en")
        assert (report.answer, report.solved) == (expected, True)

    async def test_tell_the_working_and_the_rule_in_a_sentence(self, reasoner: LocalReasoner, sandbox: Sandbox) -> None:
        question = "Nhân viên lương 18 triệu đi muộn 5 lần tháng này bị trừ tổng cộng bao nhiêu?"
        report = await Driver(reasoner, sandbox, (LATENESS,)).ask(question, style="sentence")
        assert "150.000 đồng" in report.answer
        assert "kể từ lần thứ 3" in report.reasoning

    @pytest.mark.parametrize(
        "question",
        [
            "Công ty hỗ trợ bao nhiêu tiền cho 3 tháng tập gym?",
            "Nhân viên nộp 5 sáng chế thì được thưởng bao nhiêu tiền?",
        ],
    )
    async def test_what_no_rule_states_is_not_guessed(
        self, question: str, reasoner: LocalReasoner, sandbox: Sandbox
    ) -> None:
        report = await Driver(reasoner, sandbox, (LATENESS, LEAVE, OVERTIME)).ask(question)
        assert not report.solved
        assert not any(map(str.isdigit, report.answer))


class TestQuestionsThatSayAll:
    @pytest.mark.parametrize("question", OWN)
    async def test_are_solved_without_research(self, question: str, reasoner: LocalReasoner, sandbox: Sandbox) -> None:
        report = await Driver(reasoner, sandbox, (LATENESS,)).ask(question, "en")
        assert (report.answer, report.solved) == (OWN[question], True)
        assert "No research is needed." in report.reasoning
