import pytest

from app.domain.tasks import Message
from app.reasoning.local import LocalReasoner
from app.reasoning.local.classify import gone_back_to

LATE, LEAVE, PARKING = (
    "Đi muộn lần thứ 5 trong tháng bị xử lý thế nào?",
    "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?",
    "Who pays for parking?",
)


def asked(*questions: str) -> list[Message]:
    return [Message(role="user", content=question) for question in questions]


class TestGoingBack:
    @pytest.mark.parametrize(
        ("said", "earlier", "rest"),
        [
            ("quay lại chuyện đi muộn, còn nhân viên thử việc thì sao?", LATE, "còn nhân viên thử việc thì sao?"),
            ("quay lai chuyen di muon: con nhan vien thu viec thi sao?", LATE, "con nhan vien thu viec thi sao?"),
            ("À, trở lại câu hỏi về ngày phép năm", LEAVE, ""),
            ("back to parking: what about guests?", PARKING, "what about guests?"),
            ("let's go back to the question about parking", PARKING, ""),
        ],
    )
    def test_finds_the_question_that_is_meant(self, said: str, earlier: str, rest: str) -> None:
        assert gone_back_to(said, asked(LATE, LEAVE, PARKING, "VPN thì kết nối thế nào?")) == (earlier, rest)

    @pytest.mark.parametrize("said", ["quay lại chuyện bảo hiểm xe", "Xe quay lại bãi lúc mấy giờ?", "VPN thì sao?"])
    def test_goes_nowhere_when_nothing_like_that_was_asked(self, said: str) -> None:
        assert gone_back_to(said, asked(LATE, LEAVE)) is None

    def test_prefers_what_a_question_meant_to_what_it_said(self) -> None:
        said = Message(role="user", content="còn thử việc?", meaning="Nhân viên thử việc đi muộn thì sao?")
        assert gone_back_to("quay lại chuyện đi muộn", [said]) == ("Nhân viên thử việc đi muộn thì sao?", "")

    async def test_is_no_follow_up_of_what_was_said_last(self, reasoner: LocalReasoner) -> None:
        history = asked(LEAVE, "VPN thì kết nối thế nào?")
        said = await reasoner.classify("quay lại chuyện ngày phép năm: còn nhân viên thử việc thì sao?", history, [])
        assert said.refined_query == "Nhân viên thử việc được nghỉ bao nhiêu ngày phép năm?"
        assert not said.is_follow_up
