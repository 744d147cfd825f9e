import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.reasoning.local.intents import sub_queries_of
from app.text.language import normalise


class TestSubQueries:
    @pytest.mark.parametrize(
        ("query", "language", "parts"),
        [
            (
                "giá trị cốt lõi, muộn có ảnh hưởng đến giá trị nào không",
                "vi",
                ["Giá trị cốt lõi của công ty là gì?", "Đi muộn có ảnh hưởng đến giá trị nào không?"],
            ),
            (
                "Ai mở kho buổi sáng, còn hạn mức xuất kho là bao nhiêu?",
                "vi",
                ["Ai mở kho buổi sáng?", "Hạn mức xuất kho là bao nhiêu?"],
            ),
            (
                "Quên mật khẩu thì làm sao, và laptop mất thì báo ai?",
                "vi",
                ["Quên mật khẩu thì làm sao?", "Laptop mất thì báo ai?"],
            ),
            (
                "I am going to Japan. Can I get an advance? Who books the flight?",
                "en",
                [
                    "I am going to Japan. Can I get an advance?",
                    "I am going to Japan. Who books the flight?",
                ],
            ),
            (
                "nghi phep nam duoc bao nhieu ngay va quen mat khau thi lam sao",
                "vi",
                ["Nghi phep nam duoc bao nhieu ngay?", "Quen mat khau thi lam sao?"],
            ),
            (
                "Somebody is leaving: when is the account closed, and what happens to unused leave?",
                "en",
                [
                    "Somebody is leaving: when is the account closed?",
                    "Somebody is leaving: what happens to unused leave?",
                ],
            ),
        ],
    )
    def test_separate_questions_are_told_apart_and_stand_alone(
        self, query: str, language: Language, parts: list[str]
    ) -> None:
        assert list(sub_queries_of(query, language)) == parts

    @pytest.mark.parametrize(
        ("query", "language"),
        [
            ("lương, thưởng và phụ cấp của nhân viên kinh doanh là bao nhiêu?", "vi"),
            ("Nghỉ thai sản được mấy tháng, lương tính thế nào?", "vi"),
            ("Quy trình tuyển dụng, đào tạo và thử việc gồm những bước nào?", "vi"),
            ("How long is the internship and can it be extended?", "en"),
            ("nghỉ thai sản, được mấy tháng?", "vi"),
            ("Nhân viên thử việc, nghỉ ốm có được hưởng lương không?", "vi"),
            ("Văn phòng nào đông nhân viên hơn, Đà Nẵng hay TP.HCM?", "vi"),
            ("What are the RPO and RTO of the database?", "en"),
            ("How many days can I carry over, and until when?", "en"),
            ("I lost my phone and can't sign in. What now?", "en"),
            ("What are the core values and does lateness affect any of them?", "en"),
            ("The team was in a bar; most of the bill is beer. Will somebody pay all of it?", "en"),
            ("Nghỉ hè, nhân viên có được trả lương mấy ngày đóng cửa không?", "vi"),
            ("di xe may dien, gui o toa nha co sac duoc khong", "vi"),
            ("bao hiem suc khoe ben Hue va ben Vinh bat dau luc nao", "vi"),
            ("Dinner for the guests? (Hue)", "en"),
            ("training room: what access", "en"),
        ],
    )
    def test_lists_of_nouns_and_leaning_parts_stay_together(self, query: str, language: Language) -> None:
        assert len(sub_queries_of(query, language)) == 1

    @given(st.text(alphabet="abị nào? và,.:;\nwhat is the", max_size=80), st.sampled_from(["vi", "en"]))
    def test_every_word_of_a_part_stands_in_the_query(self, query: str, language: Language) -> None:
        said = normalise(query).lower().split()
        for part in sub_queries_of(query, language):
            assert all(word.rstrip("?") in " ".join(said) for word in part.lower().split())

    def test_there_is_always_one(self) -> None:
        assert len(sub_queries_of("?!", "vi")) == 1
