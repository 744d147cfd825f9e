import json
from pathlib import Path

import pytest

from app.domain.knowledge import Language
from app.domain.tasks import Message
from app.reasoning import AgentOffer
from app.reasoning.local import LocalReasoner

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
        ("said", "meant"),
        [
            ("chào bạn, cho mình hỏi nghỉ phép năm bao nhiêu ngày", "Cho mình hỏi nghỉ phép năm bao nhiêu ngày?"),
            ("thanks! how long is probation?", "How long is probation?"),
            ("alo, quên mật khẩu thì sao", "Quên mật khẩu thì sao?"),
        ],
    )
    async def test_a_greeting_in_front_does_not_hide_the_question(
        self, reasoner: LocalReasoner, offers: tuple[AgentOffer, ...], said: str, meant: str
    ) -> None:
        found = await reasoner.classify(said, [], offers)
        assert (found.kind, found.refined_query) == ("simple", meant)

    @pytest.mark.parametrize("said", ["", "???", "😀", "\ud800", "a" * 4000])
    async def test_odd_input_never_raises(self, reasoner: LocalReasoner, said: str) -> None:
        assert (await reasoner.classify(said, [], [])).kind in ("chitchat", "simple", "task")

    @pytest.mark.skipif(not INTENT.is_dir(), reason="the development data of ../shared/eval is not here")
    @pytest.mark.parametrize("name", ["intent_en", "intent_vi"])
    async def test_questions_of_strangers_are_not_taken_for_small_talk(
        self, reasoner: LocalReasoner, name: str
    ) -> None:
        rows = [json.loads(line) for line in (INTENT / f"{name}.jsonl").read_text("utf-8").splitlines()]
        kinds = [(row["label"], (await reasoner.classify(row["text"], [], [])).kind) for row in rows]
        talk = [kind == "chitchat" for label, kind in kinds if label == "chitchat"]
        mistaken = [kind == "chitchat" for label, kind in kinds if label == "task"]
        refused = [kind != "chitchat" for label, kind in kinds if label == "oos"]
        assert sum(mistaken) / len(mistaken) <= 0.03
        assert sum(talk) / len(talk) >= 0.85
        assert sum(refused) / len(refused) >= 0.8


class TestQuestions:
    @pytest.mark.parametrize(
        ("said", "kind"),
        [
            ("Nghỉ phép năm được bao nhiêu ngày?", "simple"),
            ("How long must my password be?", "simple"),
            ("nghi phep nam duoc bao nhieu ngay", "simple"),
            ("giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không", "task"),
            ("Tính toán chi phí nghỉ phép và so sánh với chính sách công ty", "task"),
            ("So sánh mức thưởng giữa loại A và loại C", "task"),
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
