from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.language import fold
from extras.units.questions import measure_or_day_asked

_DAYS = st.dates(date(1950, 1, 1), date(2090, 1, 1))


class TestDateAsked:
    @pytest.mark.parametrize(
        ("query", "kind", "values"),
        [
            ("từ 3/2 đến 30/4/2026 có bao nhiêu ngày làm việc?", "working_days", ("2026-02-03", "2026-04-30")),
            ("tu 20/12 den 5/1/2027 co may ngay cong", "working_days", ("2026-12-20", "2027-01-05")),
            ("How many business days are in September 2026?", "working_days", ("2026-09-01", "2026-09-30")),
            ("Ngày 2/9/2026 là thứ mấy?", "weekday", ("2026-09-02",)),
            ("On which weekday does 2 September 2026 fall?", "weekday", ("2026-09-02",)),
            ("hôm nay là thứ mấy", "today", ()),
            ("what's today's date?", "today", ()),
            ("còn bao nhiêu ngày nữa đến 30/4", "difference", ("hôm nay", "30/4")),
            ("10 ngày làm việc sau 27/4/2026 là ngày nào", "add_working_days", ("2026-04-27", "10")),
            ("what is 30 working days before 2026-05-10", "add_working_days", ("2026-05-10", "-30")),
            ("what date is 90 days after 1 March 2026", "add", ("2026-03-01", "90", "days")),
            ("let me know what date it will be in 3 days", "add", ("hôm nay", "3", "days")),
            ("30 days from today is what date", "add", ("today", "30", "days")),
            ("thứ hai tuần sau là ngày mấy", "parse", ("thu hai tuan sau",)),
        ],
    )
    def test_is_read_with_its_days(self, query: str, kind: str, values: tuple[str, ...]) -> None:
        found = measure_or_day_asked(query)
        assert found is not None
        assert found.types == (kind,)
        assert tuple(value for name, value in found.values.items() if name != "inclusive") == values

    @pytest.mark.parametrize(
        ("query", "is_inclusive"),
        [
            ("How many days are there from 2024-01-01 to 2024-12-31, counting both?", "true"),
            ("Từ 01/01/2024 đến hết 31/12/2024 có bao nhiêu ngày?", "true"),
            ("từ 3/2/2026 đến 5/2/2026 tính cả hai ngày là bao nhiêu ngày?", "true"),
            ("Từ 01/01/2024 đến 31/12/2024 có bao nhiêu ngày?", "false"),
        ],
    )
    def test_both_ends_count_when_the_question_says_so(self, query: str, is_inclusive: str) -> None:
        found = measure_or_day_asked(query)
        assert found is not None
        assert found.values["inclusive"] == is_inclusive

    @pytest.mark.parametrize(
        "query",
        [
            "nghỉ phép được bao nhiêu ngày",
            "từ ngày 1/3/2025 quy định đi muộn thế nào",
            "từ 1/5 đến 10/5/2026 được nghỉ bao nhiêu ngày phép?",
            "Nghỉ từ 3/2 đến 30/4/2026 thì bị trừ bao nhiêu ngày phép?",
            "how many days of leave do I have from 1 January 2026?",
            "hôm nay có được nghỉ không",
        ],
    )
    def test_policies_are_asked_of_documents(self, query: str) -> None:
        assert measure_or_day_asked(query) is None

    @given(_DAYS, st.integers(0, 3000), st.booleans())
    def test_spans_are_read_in_any_spelling(self, start: date, days: int, is_bare: bool) -> None:
        end = start + timedelta(days=days)
        query = f"từ ngày {start.day}/{start.month}/{start.year} đến {end:%d/%m/%Y} có bao nhiêu ngày làm việc?"
        found = measure_or_day_asked(fold(query) if is_bare else query)
        assert found is not None
        assert found.values == {"start": start.isoformat(), "end": end.isoformat()}

    def test_an_impossible_day_is_left_to_the_calendar_to_refuse(self) -> None:
        found = measure_or_day_asked("31/2/2026 là thứ mấy")
        assert found is not None
        assert found.values == {"date": "31/2/2026"}
