import pytest

from app.domain.tasks import Message
from app.reasoning.local.follow_up import own_words, resolve, standing_question


def asked(*questions: str) -> list[Message]:
    return [Message(role="user", content=question) for question in questions]


class TestResolve:
    @pytest.mark.parametrize(
        ("standing", "said", "meant"),
        [
            (
                "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?",
                "còn nhân viên thử việc thì sao?",
                "Nhân viên thử việc được nghỉ bao nhiêu ngày phép năm?",
            ),
            (
                "How many days of annual leave do permanent staff get?",
                "and what about people on probation?",
                "How many days of annual leave do people on probation get?",
            ),
            ("What is the hotel limit for London?", "And in Toronto?", "What is the hotel limit for Toronto?"),
            (
                "What is the overtime rate on weekdays?",
                "And on public holidays?",
                "What is the overtime rate on public holidays?",
            ),
            (
                "Does study leave reduce my annual leave?",
                "how do I ask for it?",
                "Does study leave reduce my annual leave: how do I ask for it?",
            ),
            ("Who may use the quiet room?", "what about the music room?", "Who may use the music room?"),
            ("Cửa số 2 mở lúc mấy giờ?", "cửa số 4 thì sao?", "Cửa số 4 mở lúc mấy giờ?"),
            ("Can I swap shifts on Tuesdays?", "what about Thursdays?", "Can I swap shifts on Thursdays?"),
            ("What is the warranty for scooters?", "and for helmets?", "What is the warranty for helmets?"),
            (
                "Is parking free for guests?",
                "after the first hour?",
                "Is parking free for guests after the first hour?",
            ),
            ("Hà Nội có mấy trụ sạc?", "Còn ở TP.HCM thì mấy trụ?", "TP.HCM có mấy trụ sạc?"),
        ],
    )
    def test_what_is_left_out_comes_from_the_question_before(self, standing: str, said: str, meant: str) -> None:
        assert resolve(said, standing) == meant

    def test_a_pronoun_stands_behind_the_question_it_leans_on(self) -> None:
        resolved = resolve("nó có áp dụng cho thứ bảy không?", "Giờ làm việc bắt đầu lúc mấy giờ?")
        assert resolved == "Giờ làm việc bắt đầu lúc mấy giờ: nó có áp dụng cho thứ bảy không?"
        assert resolve("ai duyệt nó?", resolved) == "Giờ làm việc bắt đầu lúc mấy giờ: ai duyệt nó?"

    @pytest.mark.parametrize(
        "said",
        [
            "Quên mật khẩu thì làm thế nào?",
            "How do I book a meeting room?",
            "Ai duyệt chuyến công tác nước ngoài?",
            "Công ty có mấy kho?",
            "Does our company have a canteen?",
        ],
    )
    def test_a_question_that_says_everything_is_left_alone(self, said: str) -> None:
        assert resolve(said, "Nghỉ phép năm được bao nhiêu ngày?") is None

    def test_nothing_is_taken_from_a_question_that_names_nothing(self) -> None:
        assert resolve("What are the core values?", "How much does it cost?") == "What are the core values?"


class TestStandingQuestion:
    def test_follow_ups_in_the_history_are_resolved_one_after_another(self) -> None:
        history = asked("Làm thêm giờ ngày thường được trả bao nhiêu phần trăm?", "Thế ngày Chủ nhật thì sao?")
        assert "Làm thêm giờ" in standing_question(history)
        assert "Chủ nhật" in standing_question(history)

    @pytest.mark.parametrize("said", ["ok", "cảm ơn nhé", "vâng ạ", "bạn là ai?"])
    def test_small_talk_does_not_replace_the_question(self, said: str) -> None:
        assert standing_question(asked("Phụ cấp ăn trưa bao nhiêu?", said)) == "Phụ cấp ăn trưa bao nhiêu?"

    def test_nothing_asked_is_nothing(self) -> None:
        assert standing_question([]) == ""

    def test_what_a_question_was_understood_as_counts(self) -> None:
        said = Message(role="user", content="còn VPN thì sao?", meaning="VPN?")
        assert standing_question([*asked("Nghỉ phép năm mấy ngày?"), said]) == "VPN?"

    def test_recalled_questions_count_only_when_nothing_else_was_asked(self) -> None:
        recalled = Message(role="user", content="Phụ cấp ăn trưa bao nhiêu?", is_recalled=True)
        assert standing_question([recalled, *asked("Ngày công chuẩn là mấy?")]) == "Ngày công chuẩn là mấy?"
        assert standing_question([recalled, *asked("ok")]) == "Phụ cấp ăn trưa bao nhiêu?"


LEAVE, ANNUAL = (
    "Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?",
    "How many days of annual leave do permanent staff get?",
)


class TestOwnWords:
    @pytest.mark.parametrize(
        ("said", "standing", "own"),
        [
            ("còn VPN thì sao?", LEAVE, "VPN?"),
            ("con VPN thi sao?", LEAVE, "VPN?"),
            ("thế VPN thì kết nối thế nào?", LEAVE, "VPN thì kết nối thế nào?"),
            ("what about VPN?", ANNUAL, "VPN?"),
            ("and passwords?", ANNUAL, "Passwords?"),
        ],
    )
    def test_may_be_a_matter_of_its_own(self, said: str, standing: str, own: str) -> None:
        assert own_words(said, standing) == own

    @pytest.mark.parametrize(
        ("said", "standing"),
        [
            ("còn nhân viên thử việc thì sao?", LEAVE),
            ("what about people on probation?", ANNUAL),
            ("and sick leave?", ANNUAL),
            ("còn ở Đà Lạt thì sao?", LEAVE),
            ("and during probation?", ANNUAL),
            ("nó có được chuyển sang năm sau không?", LEAVE),
            ("cửa số 4 thì sao?", "Cửa số 2 mở lúc mấy giờ?"),
        ],
    )
    def test_are_none_where_the_question_is_only_varied(self, said: str, standing: str) -> None:
        assert own_words(said, standing) == ""
