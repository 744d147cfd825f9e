import pytest

from app.reasoning.local.sums import stated_relation
from app.text.arithmetic import calculate


class TestStatedRelation:
    @pytest.mark.parametrize(
        ("text", "result", "unit"),
        [
            ("Lương giờ 60.000 đồng. Làm thêm 3 giờ vào ngày nghỉ với mức 200% thì được bao nhiêu?", 360_000, "VND"),
            ("Lương giờ 50.000 đồng, làm 10 giờ, hệ số 150% được bao nhiêu?", 750_000, "VND"),
            ("Hourly pay is £20. What is the pay for 5 hours?", 100, "GBP"),
            ("Lương ngày 500.000 đồng, làm 22 ngày được bao nhiêu?", 11_000_000, "VND"),
            ("Mỗi năm 12 ngày phép, làm 7 tháng thì được bao nhiêu ngày phép theo tỷ lệ?", 7, "day"),
        ],
    )
    def test_is_computed_with_every_amount(self, text: str, result: int, unit: str) -> None:
        found = stated_relation(text)
        assert found is not None
        assert calculate(found.expression).value == result
        assert found.values["unit"] == unit

    @pytest.mark.parametrize(
        "text",
        [
            "Lương giờ 60.000 đồng, làm thêm 3 giờ ngày nghỉ được bao nhiêu?",
            "Hourly pay is £20. What is the overtime pay for 5 hours?",
            "Lương giờ 60.000 đồng, làm 3 giờ mỗi ngày trong 5 ngày được bao nhiêu?",
            "Nhân viên được giảm giá 10% cho hóa đơn 900.000 đồng thì phải trả bao nhiêu?",
            "12 days of leave a year: how many days pro rata?",
            "Lương giờ 50.000 đồng, làm 10 giờ, hệ số 1,5 được bao nhiêu?",
        ],
    )
    def test_is_nothing_where_an_amount_or_a_rate_is_lacking_or_left_over(self, text: str) -> None:
        assert stated_relation(text) is None
