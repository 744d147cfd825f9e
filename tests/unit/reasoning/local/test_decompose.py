import pytest

from app.domain.knowledge import Language
from app.reasoning.local.decompose import sub_queries_of


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
                "What are the core values and does lateness affect any of them?",
                "en",
                ["What are the core values?", "Does lateness affect any of the core values?"],
            ),
            (
                "How are visitors announced and where is the reception?",
                "en",
                ["How are visitors announced?", "Where is the reception?"],
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
        ],
    )
    def test_lists_of_nouns_and_leaning_parts_stay_together(self, query: str, language: Language) -> None:
        assert len(sub_queries_of(query, language)) == 1

    def test_there_is_always_one(self) -> None:
        assert len(sub_queries_of("?!", "vi")) == 1
