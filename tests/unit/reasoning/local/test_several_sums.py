import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.intents import sub_queries_of
from app.reasoning.local.sums import reckoning_asked, sums_in

SEVERAL = {
    "tính 2+4 và 9-3": ("tính 2+4", "9-3"),
    "tinh 2+4 va 9-3": ("tinh 2+4", "9-3"),
    "2+4 = ?? và 9*3 = ??": ("2+4", "9*3"),
    "hãy tính 15%*32 rồi tính 1.000.000/26": ("hãy tính 15%*32", "tính 1.000.000/26"),
    "calculate 2,5+1 and 9-3": ("calculate 2,5+1", "9-3"),
    "What is 2+4? And what is 9-3?": ("What is 2+4", "what is 9-3"),
}
NOT_SEVERAL = (
    "tính 2+4 = ??", "tính tổng của 3 và 5", "3/2 và 30/4", "8:30 và 9:45", "7-3, 8-4", "tính (2+4)*3 và 5",
    "what is 12 times 34 minus 8", "add 45 and 87", "tính 4+9 và nhân viên đi muộn bị xử lý thế nào?",
    "từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?", "", "và, và",
)  # fmt: skip


class TestSumsIn:
    @pytest.mark.parametrize("question", SEVERAL)
    def test_asks_each_sum_by_itself(self, question: str) -> None:
        assert sums_in(question) == SEVERAL[question]
        assert all(reckoning_asked(one) for one in sums_in(question))
        assert reckoning_asked(question) is None

    @pytest.mark.parametrize("question", NOT_SEVERAL)
    def test_leaves_everything_else_alone(self, question: str) -> None:
        assert sums_in(question) == ()

    @given(
        st.lists(st.tuples(st.integers(0, 999), st.sampled_from("+-*"), st.integers(1, 999)), min_size=2, max_size=6)
    )
    def test_any_sums_side_by_side(self, sums: list[tuple[int, str, int]]) -> None:
        written = list(dict.fromkeys(f"{a}{sign}{b}" for a, sign, b in sums))
        expected = (f"tính {written[0]}", *written[1:])
        assert sums_in("tính " + " và ".join(written)) == (expected if len(expected) > 1 else ())

    @given(st.text(max_size=200))
    def test_ends_on_any_text(self, text: str) -> None:
        assert len(sums_in(text)) != 1 or sub_queries_of(text, "vi")
