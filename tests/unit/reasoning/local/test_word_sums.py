import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.word_sums import word_sum
from app.text.language import fold
from app.tools.arithmetic import calculate


class TestWordSum:
    @pytest.mark.parametrize(
        ("query", "result"),
        [
            ("giảm 20% của 450.000 còn bao nhiêu", 360_000),
            ("450.000 đồng giảm 20% còn bao nhiêu tiền?", 360_000),
            ("20% off 450,000", 360_000),
            ("tăng lương 8% từ 15 triệu lên bao nhiêu", 16_200_000),
            ("lương 15 triệu tăng 8% thì được bao nhiêu", 16_200_000),
            ("increase 200 by 15%", 230),
            ("chia 7 triệu cho 4 người", 1_750_000),
            ("chia đều 6 triệu cho 3 người thì mỗi người được bao nhiêu?", 2_000_000),
            ("split 90 dollars among 4 people", 22.5),
            ("từ 80 lên 100 tăng bao nhiêu phần trăm", 25),
            ("what is the percentage increase from 80 to 100?", 25),
            ("15 triệu là bao nhiêu phần trăm của 60 triệu", 25),
            ("what percent of 80 is 20?", 25),
            ("trung bình của 7, 8 và 9", 8),
            ("what is the average of 4, 8 and 9?", 7),
            ("what is 12 squared", 144),
            ("căn bậc hai của 144 là bao nhiêu", 12),
            ("what is the sum of 4 and 5", 9),
            ("giảm hai mươi phần trăm của 450 nghìn còn bao nhiêu", 360_000),
        ],
    )
    def test_is_computed_as_it_is_put(self, query: str, result: float) -> None:
        found = word_sum(query)
        assert found is not None
        assert float(calculate(found.expression).value) == result
        assert found.grounds

    @pytest.mark.parametrize(
        "query",
        [
            "nghỉ phép được bao nhiêu ngày",
            "được giảm 20% học phí không",
            "thưởng 15% lương có phải đóng thuế không",
            "square root of 2",
            "từ 80 lên 100 nhân viên thì quy định gì thay đổi",
            "giảm 20% của 450.000 là chính sách nào",
        ],
    )
    def test_what_says_more_is_left_to_documents(self, query: str) -> None:
        assert word_sum(query) is None

    @given(st.integers(1, 10**9), st.integers(1, 99), st.booleans())
    def test_numbers_come_out_as_they_went_in(self, whole: int, share: int, is_bare: bool) -> None:
        query = f"giảm {share}% của {whole} còn bao nhiêu"
        found = word_sum(fold(query) if is_bare else query)
        assert found is not None
        assert calculate(found.expression).value * 100 == whole * (100 - share)

    @given(st.text(max_size=80))
    def test_any_text_is_read(self, text: str) -> None:
        word_sum(text)
        word_sum(f"trung bình của 3, {text}")
