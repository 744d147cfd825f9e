"""What must come of the bundled documents that disagree, in any wording and for each who may read both."""

import pytest

from app.main import Services
from app.tasks.worker import Worker
from app.text.language import guess_language
from tests.acceptance.asking import Told, ask

LEAVE = (
    "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?",
    "Nhân viên chính thức có mấy ngày phép năm?",
    "Mỗi năm nhân viên chính thức được bao nhiêu ngày phép?",
    "Số ngày phép năm của nhân viên chính thức là bao nhiêu?",
    "Một nhân viên chính thức được hưởng mấy ngày phép năm?",
    "nhan vien chinh thuc duoc nghi bao nhieu ngay phep nam",
)
NOTE = {"vi": "Lưu ý:", "en": "Note:"}
SEED = "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không"


VALUES = (
    "Công ty mình có những giá trị cốt lõi nào, đi làm muộn thì có ảnh hưởng đến giá trị nào trong đó không?",
    "Cho em hỏi công ty có mấy giá trị cốt lõi ạ, và hay đi trễ thì đụng tới giá trị nào?",
    "gia tri cot loi cua cong ty la gi, di muon co anh huong den gia tri nao khong",
    "What are our core values, and does coming in late affect any of them?",
    "Which core values do we have and what happens to them if I'm often late?",
    "đi muộn ảnh hưởng tới giá trị cốt lõi nào của công ty, có bị trừ thưởng hay KPI không?",
)
"""In none of these the handbook becomes a note: it is not among the pieces that are read, or the page on core values is
surer than the rules."""
PAYDAY = (
    "Ngày trả lương hằng tháng là ngày mấy?", "luong thang chuyen khoan ngay may",
    "Which day of the month are salaries paid?", "When does my salary arrive each month?",
)  # fmt: skip
PAYDAY_MISREAD = (
    "Mấy hôm nào trong tháng thì có lương vậy?", "Công ty trả lương vào ngày bao nhiêu?",
    "Lương tháng này bao giờ về tài khoản?",
)  # fmt: skip
"""Another sentence is taken for the answer, or none is sure."""
LATE = (
    "Đi muộn có bị trừ tiền không?",
    "Nhân viên đi muộn có bị trừ phụ cấp chuyên cần không?",
)


class TestDaysOfLeave:
    """The notice of 2025 says 12 days and how they are shown; the rules of 2026 say 14."""

    @pytest.mark.parametrize("asker", ["lan", "hoa", "an"])
    @pytest.mark.parametrize("question", LEAVE)
    async def test_the_rules_answer_and_the_notice_is_a_note(
        self, services: Services, question: str, asker: str
    ) -> None:
        told = await ask(services, f"acme/{asker}", question)
        answer, note = told.answer["answer"].split("Lưu ý:", 1)
        assert "14 ngày" in answer and "12 ngày" not in answer
        assert "Thông báo đăng ký nghỉ phép trên cổng điện tử" in note and "12 ngày" in note
        assert resolved_of(told) >= 1


class TestLateness:
    """The rules of 2026 take money from an allowance; the handbook of 2023 says that nothing is taken."""

    @pytest.mark.parametrize("question", LATE)
    async def test_the_handbook_is_a_note(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question)
        answer, note = told.answer["answer"].split("Lưu ý:", 1)
        assert "Đi muộn không bị trừ tiền" not in answer
        assert "Sổ tay nhân viên" in note
        assert resolved_of(told) >= 1


class TestCoreValuesAndLateness:
    """The question of the seed: the rules of 2026 answer; the handbook of 2023 says that lateness costs nothing."""

    @pytest.mark.parametrize("question", VALUES)
    async def test_the_handbook_answers_in_no_wording(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question)
        assert "không bị trừ tiền" not in told.answer["answer"].split(NOTE[guess_language(question)])[0]

    async def test_as_much_in_a_company_of_a_few_documents(self, small_services: Services) -> None:
        rooms = small_services.rooms
        worker = Worker(small_services.database, rooms.registry, rooms.journal, {"chat": rooms.flow.run})
        await worker.start()
        try:
            self.has_the_note(await ask(small_services, "acme/lan", SEED), NOTE["vi"])
        finally:
            await worker.stop()

    def has_the_note(self, told: Told, mark: str) -> None:
        assert resolved_of(told) >= 1
        answer, note = told.answer["answer"].split(mark, 1)
        assert "không bị trừ tiền" not in answer and "Kỷ luật" in answer
        assert "Sổ tay nhân viên" in note and "không bị trừ tiền" in note and "Quy định chấm công và đi muộn" in note

    @pytest.mark.parametrize("asker", ["hoa", "an"])
    async def test_who_may_not_read_the_rules_hears_of_no_conflict(self, services: Services, asker: str) -> None:
        told = await ask(services, f"acme/{asker}", SEED)
        assert "Kỷ luật" in told.answer["answer"] and resolved_of(told) == 0
        assert "Quy định chấm công và đi muộn" not in told.text


class TestPayday:
    """The README's example: the salary rules of 2026 say the 5th, the list of questions of 2024 says the 10th."""

    @pytest.mark.parametrize("question", PAYDAY)
    async def test_the_rules_answer_and_the_questions_are_a_note(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question)
        answer, note = told.answer["answer"].split(NOTE[guess_language(question)], 1)
        assert "ngày 5 hằng tháng" in answer and "ngày 10 hằng tháng" not in answer
        assert "Câu hỏi thường gặp cho nhân viên mới" in note and "ngày 10 hằng tháng" in note
        assert resolved_of(told) >= 1

    @pytest.mark.parametrize("question", PAYDAY_MISREAD)
    async def test_the_questions_answer_in_no_wording(self, services: Services, question: str) -> None:
        told = await ask(services, "acme/lan", question)
        assert "ngày 10 hằng tháng" not in told.answer["answer"].split(NOTE["vi"])[0]

    @pytest.mark.parametrize("asker", ["hoa", "an"])
    async def test_who_may_not_read_the_rules_hears_of_no_conflict(self, services: Services, asker: str) -> None:
        told = await ask(services, f"acme/{asker}", "Ngày trả lương hằng tháng là ngày mấy?")
        assert "ngày 10 hằng tháng" in told.answer["answer"] and resolved_of(told) == 0
        assert "thang bậc lương" not in told.text


def resolved_of(told: Told) -> int:
    """How many conflicts the run says were resolved."""
    return sum(action.get("resolved_conflicts") or 0 for action in told.answer["flow_action"])
