"""Counting and shifting days, against the slow and obvious way."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.servers.calendar import sentences
from extras.servers.calendar.days import FIRST, LAST, CannotReckon, Refusal, Unit, difference, shifted, weekday_name
from extras.servers.calendar.working import add_working_days, holidays_between, working_days

DAYS = st.dates(date(1990, 1, 1), date(2060, 12, 31))
COUNTRIES = st.sampled_from(["VN", "GB", "US", "SA", "IL", "JP"])
START, END = date(2026, 2, 3), date(2026, 4, 30)


class TestWorkingDays:
    def test_the_question_of_the_house(self) -> None:
        found = working_days(START, END)
        assert (found.working_days, found.days, found.weekend_days) == (56, 87, 24)
        assert [f"{holiday.day:%d/%m} {holiday.name}" for holiday in found.left_out] == [
            "16/02 Giao thừa Tết Nguyên Đán",
            "17/02 Tết Nguyên Đán",
            "18/02 Mùng hai Tết Nguyên Đán",
            "19/02 Mùng ba Tết Nguyên Đán",
            "20/02 Mùng bốn Tết Nguyên Đán",
            "27/04 Ngày Giỗ Tổ Hùng Vương (nghỉ bù)",
            "30/04 Ngày Chiến thắng",
        ]
        assert [holiday.day for holiday in found.on_weekends] == [date(2026, 4, 26)]

    def test_tells_it_in_both_languages(self) -> None:
        assert sentences.working(working_days(START, END), "vi").startswith(
            "Từ 03/02/2026 đến 30/04/2026 có 56 ngày làm việc (87 ngày, trừ 24 ngày cuối tuần và 7 ngày nghỉ lễ: 16/02"
        )
        english = sentences.working(working_days(START, END, language="en"), "en")
        assert "there are 56 working days" in english
        assert "20/02/2026 Fourth Day of Lunar New Year" in english

    def test_national_day_has_two_days(self) -> None:
        names = [holiday.name for holiday in holidays_between(date(2026, 9, 1), date(2026, 9, 2))]
        assert names == ["Quốc khánh", "Quốc khánh"]

    def test_make_up_working_days_are_told_and_not_counted(self) -> None:
        found = working_days(date(2026, 8, 17), date(2026, 8, 23))
        assert (found.working_days, found.swapped) == (5, (date(2026, 8, 22),))
        assert sentences.working(found, "vi").endswith("Không tính ngày làm bù: 22/08/2026.")

    @given(DAYS, st.integers(0, 800), COUNTRIES)
    def test_counts_as_one_counts_day_by_day(self, start: date, length: int, country: str) -> None:
        end = start + timedelta(days=length)
        found = working_days(start, end, country, language="en")
        free = {holiday.day for holiday in holidays_between(start, end, country, language="en")}
        rest = {4, 5} if country == "SA" and start.year >= 2013 else None
        days = [start + timedelta(days=at) for at in range(length + 1)]
        assert found.days == len(days)
        assert found.working_days == found.days - found.weekend_days - len(found.left_out)
        if country in ("VN", "GB", "US", "JP"):
            assert found.working_days == sum(day.weekday() < 5 and day not in free for day in days)
        if rest:
            assert found.weekend_days == sum(day.weekday() in rest for day in days)

    @given(DAYS, DAYS)
    def test_the_ends_may_come_in_either_order(self, one: date, other: date) -> None:
        if abs(one.year - other.year) <= 40:
            assert working_days(one, other) == working_days(other, one)

    @given(DAYS, st.integers(1, 300))
    def test_adding_is_the_reverse_of_counting(self, start: date, amount: int) -> None:
        end = add_working_days(start, amount).end
        assert working_days(start + timedelta(days=1), end).working_days == amount
        before = add_working_days(start, -amount).end
        assert working_days(before, start - timedelta(days=1)).working_days == amount

    def test_refuses_a_country_it_does_not_know(self) -> None:
        rows: list[str] = ["XX", "", "vn", "__name__", "HolidayBase", "VN;", "V" * 1000]
        for country in rows:
            with pytest.raises(CannotReckon) as refused:
                working_days(START, END, country)
            assert refused.value.refusal is Refusal.UNKNOWN_COUNTRY

    def test_refuses_a_span_without_end(self) -> None:
        for start, end in ((FIRST, LAST), (date(1, 1, 1), END), (START, date(9999, 12, 31))):
            with pytest.raises(CannotReckon):
                working_days(start, end)
        with pytest.raises(CannotReckon):
            add_working_days(START, 10**9)


class TestDays:
    @given(DAYS, DAYS)
    def test_a_difference_leads_back(self, start: date, end: date) -> None:
        found = difference(start, end)
        first, last = min(start, end), max(start, end)
        assert start + timedelta(days=found.days) == end
        whole = shifted(first, found.years * 12 + found.months, "months")
        assert whole + timedelta(days=found.rest_days) == last
        assert 0 <= found.months < 12

    @given(DAYS, st.integers(-5000, 5000))
    def test_days_and_weeks_lead_back(self, start: date, amount: int) -> None:
        assert shifted(shifted(start, amount, "days"), -amount, "days") == start
        assert shifted(start, 7, "days") == shifted(start, 1, "weeks")

    def test_the_last_day_of_a_month_stays_the_last(self) -> None:
        assert shifted(date(2026, 1, 31), 1, "months") == date(2026, 2, 28)
        assert shifted(date(2028, 2, 29), 1, "years") == date(2029, 2, 28)

    def test_both_ends_counted(self) -> None:
        assert difference(START, END, inclusive=True).days == 87
        assert difference(START, START, inclusive=True).days == 1

    @pytest.mark.parametrize("unit", ["days", "weeks", "months", "years"])
    @pytest.mark.parametrize("amount", [10**6, -(10**6), 80_000, -80_000])
    def test_refuses_to_leave_the_calendar(self, unit: Unit, amount: int) -> None:
        with pytest.raises(CannotReckon):
            shifted(START, amount, unit)

    def test_names_the_weekday(self) -> None:
        assert weekday_name(date(2026, 9, 2), "vi") == "thứ Tư"
        assert weekday_name(date(2026, 9, 2), "en") == "Wednesday"
