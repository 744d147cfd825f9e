"""Small talk against everything else, on sentences that nothing was fitted on."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from app.embedding import EmbeddingUnavailable, Vectors
from app.reasoning.local import LocalReasoner
from app.reasoning.local.chitchat import BUCKETS, TALKS, spelling_of, spelt_talk, stored_heads, talk_in
from bench.corpora import read_lines

ROOT = Path(__file__).parents[4]
UTTERANCES = ROOT / "training/understanding/utterances.jsonl"
LEFT_OUT = ROOT / "bench/companies/studio/questions.jsonl"
TALK = [
    "Bạn có thích chơi đàn ghi-ta không?",
    "Tôi vừa nhìn thấy cầu vồng!",
    "Bạn trông mệt mỏi thế.",
    "Kể cho tôi nghe một chuyện tiếu lâm với.",
    "Mình thích ăn kem vào mùa đông.",
    "trong ban vui ve the",
    "toi thich hoa hong hon hoa cuc",
    "b dễ thương ghê lun",
    "do you enjoy gardening",
    "my sister plays the piano wonderfully",
    "you sound rather grumpy",
    "who assembled you",
    "let me hear a limerick",
    "i would love some chocolate right now",
]
ASKED = [
    "Quy định về đồng phục ra sao?",
    "Tôi làm hỏng bàn phím, có phải đền không?",
    "Ai sáng tác bài quốc ca?",
    "Tôi vui lắm vì được thăng chức, lương mới tính từ ngày nào?",
    "Bạn cho tôi xin số của bộ phận kho",
    "Bảo hiểm tai nạn",
    "dang ky xe o dau vay ban",
    "cty có phát bánh trung thu ko b",
    "when does the gym close",
    "my monitor flickers",
    "who wrote the odyssey",
    "i feel ill, do i need a doctor's note",
    "travel insurance",
    "what is 17 times 23",
]
UNMET = [
    "Bật quạt lên giúp tôi",
    "Tìm cho tôi một quán bún chả ngon",
    "Nhà thờ nằm ở phía nào?",
    "put the kettle on",
    "find me a florist nearby",
    "will the sun shine on saturday",
]


class Broken:
    """An embedder whose service is away."""

    model, dimensions = "broken", 4

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable("away")

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise EmbeddingUnavailable("away")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [1 for _ in texts]

    async def aclose(self) -> None:
        return None


class Other(Broken):
    """An embedder of another model, which must not be asked."""

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError("asked")


class TestKinds:
    @pytest.mark.parametrize("said", TALK)
    async def test_small_talk_of_any_subject_is_small_talk(self, reasoner: LocalReasoner, said: str) -> None:
        found = await reasoner.classify(said, [], [])
        assert found.kind == "chitchat"
        assert found.chitchat_response

    @pytest.mark.parametrize("said", ASKED)
    async def test_what_asks_for_something_is_never_small_talk(self, reasoner: LocalReasoner, said: str) -> None:
        assert (await reasoner.classify(said, [], [])).kind != "chitchat"

    @pytest.mark.parametrize("said", UNMET)
    async def test_a_request_nobody_can_meet_is_searched_for_not_chatted_away(
        self, reasoner: LocalReasoner, said: str
    ) -> None:
        found = await reasoner.classify(said, [], [])
        assert found.kind != "chitchat"
        assert found.sub_queries

    def test_none_of_these_sentences_was_fitted_on(self) -> None:
        known = {row["text"].lower() for row in read_lines(UTTERANCES)}
        assert not known & {said.lower() for said in (*TALK, *ASKED, *UNMET)}

    def test_both_languages_have_utterances_of_every_kind(self) -> None:
        kinds = {(row["language"], row["kind"]) for row in read_lines(UTTERANCES)}
        assert kinds == {(language, kind) for language in ("vi", "en") for kind in ("question", *TALKS)}

    async def test_few_questions_of_a_company_left_out_are_small_talk(self, reasoner: LocalReasoner) -> None:
        asked = [wording for row in read_lines(LEFT_OUT) for wording in row["wordings"]][::7]
        taken = [said for said in asked if (await reasoner.classify(said, [], [])).kind == "chitchat"]
        assert len(taken) <= len(asked) * 0.01


class TestWithoutVectors:
    """Spelling and manner alone must carry the service when the embedding model is away."""

    @pytest.mark.parametrize("said", ASKED)
    async def test_no_question_is_small_talk(self, said: str) -> None:
        assert await talk_in(said, Broken()) is None

    async def test_most_small_talk_is_still_told(self) -> None:
        told = [await talk_in(said, Broken()) is not None for said in TALK]
        assert sum(told) >= len(told) / 2

    @pytest.mark.parametrize(
        ("said", "kind"), [("xin chào", "greeting"), ("cam on nhe", "thanks"), ("bye", "goodbye"), ("ok", "agreement")]
    )
    def test_set_phrases_are_told_by_their_kind(self, said: str, kind: str) -> None:
        assert spelt_talk(said) == kind

    async def test_vectors_of_another_model_are_not_asked_for(self) -> None:
        assert await talk_in("xin chào", Other()) == "greeting"

    async def test_a_question_is_still_classified(self) -> None:
        found = await LocalReasoner(Broken()).classify("Nghỉ phép năm được bao nhiêu ngày?", [], [])
        assert (found.kind, found.refined_query) == ("simple", "Nghỉ phép năm được bao nhiêu ngày?")


class TestSpelling:
    @pytest.mark.parametrize("text", ["", "?!", "a" * 5000, "xin chào", "\U0001f600"])
    def test_any_text_gives_a_row_and_a_verdict(self, text: str) -> None:
        assert spelling_of([text]).shape == (1, BUCKETS)
        assert spelt_talk(text) in (None, *TALKS)

    def test_diacritics_do_not_change_the_spelling(self) -> None:
        rows = spelling_of(["Bạn thế nào rồi?", "ban the nao roi"])
        assert (rows[0] == rows[1]).all()

    def test_the_weights_are_of_these_columns_and_kinds(self) -> None:
        heads = stored_heads()
        assert heads.spelt.slopes.shape == (BUCKETS + 1, len(TALKS) + 1)
        assert heads.meant.slopes.shape == (BUCKETS + 1 + len(heads.middle), len(TALKS) + 1)
