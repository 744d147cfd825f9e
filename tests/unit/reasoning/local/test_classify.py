import json
from pathlib import Path

import pytest

from app.domain.knowledge import Language
from app.domain.tasks import Message
from app.reasoning import AgentOffer
from app.reasoning.local import LocalReasoner
from tests.shares import most_by_chance

INTENT = Path(__file__).parents[5] / "shared" / "eval" / "intent"


class TestSmallTalk:
    @pytest.mark.parametrize(
        ("said", "language", "words"),
        [
            ("xin chào", "vi", "Xin chào"),
            ("chao ban", "vi", "Xin chào"),
            ("hello there", "en", "Hello"),
            ("cảm ơn nhé", "vi", "Không có gì"),
            ("cam on nhe", "vi", "Không có gì"),
            ("thanks a lot!", "en", "welcome"),
            ("tạm biệt", "vi", "Tạm biệt"),
            ("bạn là ai", "vi", "trợ lý"),
            ("what can you do?", "en", "source"),
            ("you are useless", "en", "sorry"),
            ("kể chuyện cười đi", "vi", "công ty"),
            ("bạn khỏe không?", "vi", "hỏi thăm"),
        ],
    )
    async def test_is_answered_in_kind_and_in_the_askers_language(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...], said: str, language: Language, words: str
    ) -> None:
        found = await reasoner.classify(said, [], offers)
        assert (found.kind, found.language) == ("chitchat", language)
        assert words in found.chitchat_response
        assert found.sub_queries == ()

    @pytest.mark.parametrize(
        "said",
        [
            "chào bạn, cho mình hỏi nghỉ phép năm bao nhiêu ngày",
            "thanks! how long is probation?",
            "alo, quên mật khẩu thì sao",
        ],
    )
    async def test_a_greeting_in_front_does_not_hide_the_question(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...], said: str
    ) -> None:
        assert (await reasoner.classify(said, [], offers)).kind == "simple"

    @pytest.mark.parametrize("said", ["", "???", "😀", "\ud800", "a" * 4000])
    async def test_odd_input_never_raises(self, reasoner: LocalReasoner, said: str) -> None:
        assert (await reasoner.classify(said, [], [])).kind in ("chitchat", "simple", "task")

    @pytest.mark.skipif(not INTENT.is_dir(), reason="the development data of ../shared/eval is not here")
    @pytest.mark.parametrize(("label", "limit"), [("task", 0.03), ("chitchat", 0.15), ("oos", 0.2)])
    async def test_questions_of_strangers_are_not_taken_for_small_talk(
        self, reasoner: LocalReasoner, label: str, limit: float
    ) -> None:
        """The limit is one of the whole set. A language has so few rows that a single one decides: there no more are
        wrong than chance explains."""
        wrong: dict[str, list[str]] = {}
        numbers: dict[str, int] = {}
        for language in ("en", "vi"):
            lines = (INTENT / f"intent_{language}.jsonl").read_text("utf-8").splitlines()
            texts = [row["text"] for row in map(json.loads, lines) if row["label"] == label]
            kinds = [(await reasoner.classify(text, [], [])).kind for text in texts]
            wrong[language] = [
                text for text, kind in zip(texts, kinds, strict=True) if (kind == "chitchat") != (label == "chitchat")
            ]
            numbers[language] = len(texts)
            assert len(wrong[language]) <= most_by_chance(limit, numbers[language]), (numbers, wrong)
        assert sum(map(len, wrong.values())) <= limit * sum(numbers.values()), (numbers, wrong)


class TestQuestions:
    @pytest.mark.parametrize(
        ("said", "kind"),
        [
            ("Nghỉ phép năm được bao nhiêu ngày?", "simple"),
            ("How long must my password be?", "simple"),
            ("nghi phep nam duoc bao nhieu ngay", "simple"),
            ("giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không", "task"),
            ("Tính toán chi phí nghỉ phép và so sánh với chính sách công ty", "task"),
            ("Tóm tắt chính sách làm việc từ xa", "task"),
            ("Hôm qua máy chủ nào lỗi đăng nhập nhiều nhất?", "task"),
            ("2+4 = ?", "task"),
            ("Nhật ký VPN được lưu bao lâu?", "simple"),
        ],
    )
    async def test_only_one_plain_question_is_simple(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...], said: str, kind: str
    ) -> None:
        found = await reasoner.classify(said, [], offers)
        assert found.kind == kind
        assert found.sub_queries

    async def test_a_follow_up_is_understood_from_the_history(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...]
    ) -> None:
        history = [
            Message(role="user", content="Nhân viên chính thức được nghỉ bao nhiêu ngày phép năm?"),
            Message(role="assistant", content="14 ngày."),
        ]
        found = await reasoner.classify("còn nhân viên thử việc thì sao?", history, offers)
        assert found.is_follow_up
        assert found.refined_query == "Nhân viên thử việc được nghỉ bao nhiêu ngày phép năm?"
