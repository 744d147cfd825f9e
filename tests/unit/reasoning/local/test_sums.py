import pytest

from app.domain.plan import MATH_TOOL
from app.reasoning.local.sums import sum_asked
from app.text.arithmetic import calculate


class TestSumAsked:
    @pytest.mark.parametrize(
        ("text", "result"),
        [
            ("tính 2+4 = ??", 6),
            ("15% của 32 triệu là bao nhiêu?", 4_800_000),
            ("15 phần trăm của ba mươi hai triệu", 4_800_000),
            ("what is 12 times 34 minus 8", 400),
            ("một phần ba của 90 triệu", 30_000_000),
            ("what is half of 50", 25),
            ("hai cộng ba bằng mấy", 5),
            ("1tr5 + 500k", 2_000_000),
        ],
    )
    def test_is_the_sum_a_text_consists_of(self, text: str, result: int) -> None:
        pure = sum_asked(text)
        assert pure is not None
        assert calculate(pure.expression).value == result

    def test_percent_added_to_an_amount_are_percent_of_it(self) -> None:
        pure = sum_asked("200.000 + 10%")
        assert pure is not None
        assert calculate(pure.expression).value == 220_000

    @pytest.mark.parametrize("text", ["2 + 3 + 10%", "năm ba", "12 ngày phép", "nghỉ 2 ngày và 3 ngày thì sao"])
    def test_is_nothing_where_it_is_unclear(self, text: str) -> None:
        assert sum_asked(text) is None

    def test_knows_whether_its_numbers_stand_there_as_they_are(self) -> None:
        stated, spelt = sum_asked("15% của 32 triệu"), sum_asked("15% của ba mươi hai triệu")
        assert stated is not None
        assert spelt is not None
        assert (MATH_TOOL in stated.types, MATH_TOOL in spelt.types) == (True, False)
