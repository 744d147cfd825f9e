from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from extras.servers.calendar.days import CannotReckon, Refusal, read_date

TODAY = date(2026, 11, 18)
"""A Wednesday."""


class TestReadDate:
    def test_vietnamese(self) -> None:
        rows: list[tuple[str, date]] = [
            ("3/2", date(2026, 2, 3)),
            ("03-02-2026", date(2026, 2, 3)),
            ("30.4.26", date(2026, 4, 30)),
            ("2026-04-30", date(2026, 4, 30)),
            ("mùng 3 tháng 2", date(2026, 2, 3)),
            ("mồng 5 tháng giêng", date(2026, 1, 5)),
            ("ngày 30 tháng 4 năm 2026", date(2026, 4, 30)),
            ("30 tháng tư", date(2026, 4, 30)),
            ("15 tháng mười hai năm 2025", date(2025, 12, 15)),
            ("hôm nay", TODAY),
            ("Hôm qua", date(2026, 11, 17)),
            ("hôm kia", date(2026, 11, 16)),
            ("ngày mai", date(2026, 11, 19)),
            ("ngày kia", date(2026, 11, 20)),
            ("thứ hai tuần sau", date(2026, 11, 23)),
            ("thứ 6 tuần này", date(2026, 11, 20)),
            ("chủ nhật tuần trước", date(2026, 11, 15)),
            ("thứ năm", date(2026, 11, 19)),
            ("3 ngày nữa", date(2026, 11, 21)),
            ("2 tuần trước", date(2026, 11, 4)),
            ("thu hai tuan sau", date(2026, 11, 23)),
        ]
        for text, day in rows:
            assert read_date(text, "vi", TODAY).day == day

    def test_english(self) -> None:
        rows: list[tuple[str, date]] = [
            ("2 September 2026", date(2026, 9, 2)),
            ("September 2nd, 2026", date(2026, 9, 2)),
            ("the 2nd of March", date(2026, 3, 2)),
            ("next Friday", date(2026, 11, 27)),
            ("this Friday", date(2026, 11, 20)),
            ("Friday", date(2026, 11, 20)),
            ("last Monday", date(2026, 11, 16)),
            ("today", TODAY),
            ("day after tomorrow", date(2026, 11, 20)),
            ("in 3 days", date(2026, 11, 21)),
            ("2 months ago", date(2026, 9, 18)),
            ("2026-09-02", date(2026, 9, 2)),
            ("2/13", date(2026, 2, 13)),
        ]
        for text, day in rows:
            assert read_date(text, "en", TODAY).day == day

    def test_tells_what_else_it_may_mean(self) -> None:
        assert read_date("3/2/2026", "en", TODAY).alternatives == (date(2026, 3, 2),)
        assert read_date("3/2/2026", "vi", TODAY).alternatives == ()
        assert read_date("next Friday", "en", TODAY).alternatives == (date(2026, 11, 20),)
        assert read_date("last Monday", "en", TODAY).alternatives == (date(2026, 11, 9),)
        assert read_date("3/2", "vi", TODAY).note == "hiểu là năm 2026"
        assert "dương lịch" in read_date("mùng 3 tháng 2", "vi", TODAY).note

    def test_refuses_the_lunar_calendar(self) -> None:
        rows: list[str] = ["mùng 2 Tết", "3/2 âm lịch", "the lunar new year"]
        for text in rows:
            with pytest.raises(CannotReckon) as refused:
                read_date(text, "vi", TODAY)
            assert refused.value.refusal is Refusal.LUNAR

    def test_refuses_what_is_no_date(self) -> None:
        rows: list[str] = ["", "31/2", "30 tháng 2", "sunk", "99/99/9999", "1/1/0000", "may", "9" * 500]
        for text in rows:
            with pytest.raises(CannotReckon):
                read_date(text, "vi", TODAY)

    @given(st.dates(date(1902, 1, 1), date(2099, 12, 31)), st.sampled_from(["vi", "en"]))
    def test_reads_every_day_it_can_write(self, day: date, language: Language) -> None:
        for text in (
            f"{day:%Y-%m-%d}",
            f"{day.day}/{day.month}/{day.year}",
            f"ngày {day.day} tháng {day.month} năm {day.year}",
        ):
            assert read_date(text, language, TODAY).day == day

    @given(st.text(max_size=120), st.sampled_from(["vi", "en"]))
    def test_any_text_is_read_or_refused(self, text: str, language: Language) -> None:
        try:
            read_date(text, language, TODAY)
        except CannotReckon:
            return
