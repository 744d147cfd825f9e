import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.units.measures import read_measure
from extras.units.questions import measure_or_day_asked


class TestMeasureAsked:
    @pytest.mark.parametrize(
        ("query", "values"),
        [
            ("100 °F là bao nhiêu độ C", ("100", "°F", "độ C")),
            ("100 do F la bao nhieu do C", ("100", "do F", "do C")),
            ("Đổi 98,6 độ F sang độ C", ("98,6", "độ F", "độ C")),
            ("26,2 dặm bằng bao nhiêu ki-lô-mét?", ("26,2", "dặm", "ki-lô-mét")),
            ("How many square metres are in 2.5 hectares?", ("2.5", "hectares", "square metres")),
            ("3 tạ là mấy cân", ("3", "tạ", "cân")),
            ("1 sào bao nhiêu mét vuông", ("1", "sào", "mét vuông")),
            ("i need to know how many pounds are in 10 kilos", ("10", "kilos", "pounds")),
            ("20 km/giờ là bao nhiêu m/giây", ("20", "km/giờ", "m/giây")),
        ],
    )
    def test_is_read_with_both_units(self, query: str, values: tuple[str, ...]) -> None:
        found = measure_or_day_asked(query)
        assert found is not None
        assert tuple(found.values.values()) == values
        assert read_measure(values[1]) != read_measure(values[2])

    @pytest.mark.parametrize(
        "query",
        [
            "1 tuần được mấy ngày",
            "1 năm có bao nhiêu ngày phép",
            "một ngày làm bao nhiêu giờ",
            "12 ngày phép là bao nhiêu tiền",
            "Nghỉ 3 ngày được bao nhiêu tiền",
            "100 dollars in euros",
            "Bây giờ là mấy giờ?",
            "5 km là bao nhiêu kg",
            "3 tháng là bao nhiêu ngày",
        ],
    )
    def test_what_is_no_conversion_is_left_alone(self, query: str) -> None:
        assert measure_or_day_asked(query) is None

    @given(st.text(max_size=60))
    def test_any_text_is_read(self, text: str) -> None:
        measure_or_day_asked(f"5 km {text}")
        measure_or_day_asked(text)
