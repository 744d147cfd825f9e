import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reasoning.local.wording import spelt_out


class TestSpeltOut:
    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("cty có thưởng ko ạ", "công ty có thưởng không ạ"),
            ("nghỉ ốm đc mấy ngày z", "nghỉ ốm được mấy ngày vậy"),
            ("nv thu viec dc nghi may ngay", "nhan vien thu viec duoc nghi may ngay"),
            ("thưởng tết bn, tính ntn", "thưởng tết bao nhiêu, tính như thế nào"),
        ],
    )
    def test_shorthand_of_vietnamese_is_written_in_full(self, written: str, meant: str) -> None:
        assert spelt_out(written) == meant

    @pytest.mark.parametrize(
        "text",
        [
            "Who may pass the gate?",
            "thanks for the bn report",
            "Mức K và mức Z khác nhau thế nào?",
            "Gửi thư tới hr@cty.vn được không?",
            "Máy chủ bn-01 bị lỗi",
            "bh suc khoe vs tai nan tu khi nao",
            "may hong goi ai",
            "Phí giao hàng dưới 10 k là bao nhiêu?",
            "",
        ],
    )
    def test_english_names_codes_and_figures_stay(self, text: str) -> None:
        assert spelt_out(text) == text

    @given(st.text(max_size=80))
    def test_a_second_reading_changes_nothing(self, text: str) -> None:
        assert spelt_out(spelt_out(text)) == spelt_out(text)
