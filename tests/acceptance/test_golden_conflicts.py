"""What must come of the bundled documents that disagree, in any wording and for each who may read both."""

import pytest

from app.main import Services
from tests.acceptance.asking import Told, ask

LEAVE = (
    "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?",
    "Nhân viên chính thức có mấy ngày phép năm?",
    "Mỗi năm nhân viên chính thức được bao nhiêu ngày phép?",
    "Số ngày phép năm của nhân viên chính thức là bao nhiêu?",
    "Một nhân viên chính thức được hưởng mấy ngày phép năm?",
    "nhan vien chinh thuc duoc nghi bao nhieu ngay phep nam",
)
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


def resolved_of(told: Told) -> int:
    """How many conflicts the run says were resolved."""
    return sum(action.get("resolved_conflicts") or 0 for action in told.answer["flow_action"])
