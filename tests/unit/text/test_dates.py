from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from app.domain.knowledge import Language
from app.text.dates import VIETNAM, Period, dates_in, period_in, read_moment, zone_of
from app.text.language import fold
from tests.unit.tools.recording import SATURDAY

LANGUAGES = st.sampled_from(("vi", "en"))
WORDS = (
    "từ", "đến", "hôm", "qua", "nay", "ngày", "tháng", "tuần", "trước", "12", "11", "2026", "12/11", "9h", "last",
    "week", "ago", "3", "from", "to", "since", "until", "and",
)  # fmt: skip
VIETNAMESE = [
    ("hôm nay", "2026-11-21 00:00", "2026-11-22 00:00"),
    ("hôm qua", "2026-11-20 00:00", "2026-11-21 00:00"),
    ("trong ngày hôm qua", "2026-11-20 00:00", "2026-11-21 00:00"),
    ("hôm kia", "2026-11-19 00:00", "2026-11-20 00:00"),
    ("sáng nay", "2026-11-21 05:00", "2026-11-21 12:00"),
    ("chiều hôm qua", "2026-11-20 12:00", "2026-11-20 18:00"),
    ("tối qua", "2026-11-20 18:00", "2026-11-21 00:00"),
    ("đêm qua", "2026-11-20 18:00", "2026-11-21 06:00"),
    ("chiều ngày 12/11", "2026-11-12 12:00", "2026-11-12 18:00"),
    ("đêm 12/11/2026", "2026-11-12 18:00", "2026-11-13 06:00"),
    ("sáng thứ hai", "2026-11-16 05:00", "2026-11-16 12:00"),
    ("tuần vừa rồi", "2026-11-09 00:00", "2026-11-16 00:00"),
    ("tháng vừa rồi", "2026-10-01 00:00", "2026-11-01 00:00"),
    ("tuần này", "2026-11-16 00:00", "2026-11-23 00:00"),
    ("tuần trước", "2026-11-09 00:00", "2026-11-16 00:00"),
    ("tuần rồi", "2026-11-09 00:00", "2026-11-16 00:00"),
    ("tuần qua", "2026-11-14 16:30", "2026-11-21 16:30"),
    ("cuối tuần", "2026-11-21 00:00", "2026-11-23 00:00"),
    ("cuối tuần trước", "2026-11-14 00:00", "2026-11-16 00:00"),
    ("thứ hai", "2026-11-16 00:00", "2026-11-17 00:00"),
    ("thứ năm", "2026-11-19 00:00", "2026-11-20 00:00"),
    ("thứ 6", "2026-11-20 00:00", "2026-11-21 00:00"),
    ("thứ bảy", "2026-11-21 00:00", "2026-11-22 00:00"),
    ("chủ nhật", "2026-11-15 00:00", "2026-11-16 00:00"),
    ("thứ hai tuần trước", "2026-11-09 00:00", "2026-11-10 00:00"),
    ("tháng này", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("tháng trước", "2026-10-01 00:00", "2026-11-01 00:00"),
    ("tháng 11", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("tháng 12", "2025-12-01 00:00", "2026-01-01 00:00"),
    ("tháng 11/2026", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("tháng 2 năm 2024", "2024-02-01 00:00", "2024-03-01 00:00"),
    ("11/2026", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("quý này", "2026-10-01 00:00", "2027-01-01 00:00"),
    ("quý trước", "2026-07-01 00:00", "2026-10-01 00:00"),
    ("năm nay", "2026-01-01 00:00", "2027-01-01 00:00"),
    ("năm ngoái", "2025-01-01 00:00", "2026-01-01 00:00"),
    ("năm 2024", "2024-01-01 00:00", "2025-01-01 00:00"),
    ("ngày 12/11/2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("12-11-2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("12.11.26", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("12/11", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("ngày 25/12", "2025-12-25 00:00", "2025-12-26 00:00"),
    ("ngày 12 tháng 11 năm 2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("ngày 12 tháng 11", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("ngày 12", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("ngày 30", "2026-10-30 00:00", "2026-10-31 00:00"),
    ("2026-11-12", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("7 ngày qua", "2026-11-14 16:30", "2026-11-21 16:30"),
    ("bảy ngày gần đây", "2026-11-14 16:30", "2026-11-21 16:30"),
    ("trong vòng 3 ngày", "2026-11-18 16:30", "2026-11-21 16:30"),
    ("24 giờ qua", "2026-11-20 16:30", "2026-11-21 16:30"),
    ("24h qua", "2026-11-20 16:30", "2026-11-21 16:30"),
    ("30 phút trước", "2026-11-21 16:00", "2026-11-21 16:30"),
    ("2 tuần gần nhất", "2026-11-07 16:30", "2026-11-21 16:30"),
    ("3 ngày trước", "2026-11-18 00:00", "2026-11-19 00:00"),
    ("hai tuần trước", "2026-11-07 00:00", "2026-11-08 00:00"),
    ("từ ngày 5/11 đến ngày 12/11", "2026-11-05 00:00", "2026-11-13 00:00"),
    ("từ 5 đến 12/11", "2026-11-05 00:00", "2026-11-13 00:00"),
    ("từ 05/11/2026 tới hết 12/11/2026", "2026-11-05 00:00", "2026-11-13 00:00"),
    ("từ hôm kia đến hôm qua", "2026-11-19 00:00", "2026-11-21 00:00"),
    ("từ sáng qua đến tối qua", "2026-11-20 05:00", "2026-11-21 00:00"),
    ("từ ngày 15/11 đến nay", "2026-11-15 00:00", "2026-11-21 16:30"),
    ("kể từ hôm qua", "2026-11-20 00:00", "2026-11-21 16:30"),
    ("trước ngày 10/11", None, "2026-11-10 00:00"),
    ("từ 9h đến 10h30 ngày 12/11", "2026-11-12 09:00", "2026-11-12 10:30"),
    ("từ 22h đến 2h ngày 12/11", "2026-11-12 22:00", "2026-11-13 02:00"),
    ("từ 9 giờ đến 11 giờ", "2026-11-21 09:00", "2026-11-21 11:00"),
    ("từ 8h đến 10h sáng nay", "2026-11-21 08:00", "2026-11-21 10:00"),
    ("từ 8 đến 10h sáng nay", "2026-11-21 08:00", "2026-11-21 10:00"),
    ("từ 2h đến 4h30 chiều qua", "2026-11-20 14:00", "2026-11-20 16:30"),
    ("22h-2h đêm qua", "2026-11-20 22:00", "2026-11-21 02:00"),
]
ENGLISH = [
    ("today", "2026-11-21 00:00", "2026-11-22 00:00"),
    ("yesterday", "2026-11-20 00:00", "2026-11-21 00:00"),
    ("the day before yesterday", "2026-11-19 00:00", "2026-11-20 00:00"),
    ("this morning", "2026-11-21 05:00", "2026-11-21 12:00"),
    ("last night", "2026-11-20 18:00", "2026-11-21 06:00"),
    ("tonight", "2026-11-21 18:00", "2026-11-22 06:00"),
    ("on the morning of 12 November", "2026-11-12 05:00", "2026-11-12 12:00"),
    ("this week", "2026-11-16 00:00", "2026-11-23 00:00"),
    ("last week", "2026-11-09 00:00", "2026-11-16 00:00"),
    ("the past week", "2026-11-14 09:30", "2026-11-21 09:30"),
    ("last weekend", "2026-11-14 00:00", "2026-11-16 00:00"),
    ("last Monday", "2026-11-16 00:00", "2026-11-17 00:00"),
    ("last Saturday", "2026-11-14 00:00", "2026-11-15 00:00"),
    ("Tuesday of last week", "2026-11-10 00:00", "2026-11-11 00:00"),
    ("this month", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("last month", "2026-10-01 00:00", "2026-11-01 00:00"),
    ("in November", "2026-11-01 00:00", "2026-12-01 00:00"),
    ("in December 2025", "2025-12-01 00:00", "2026-01-01 00:00"),
    ("May", "2026-05-01 00:00", "2026-06-01 00:00"),
    ("last quarter", "2026-07-01 00:00", "2026-10-01 00:00"),
    ("this year", "2026-01-01 00:00", "2027-01-01 00:00"),
    ("last year", "2025-01-01 00:00", "2026-01-01 00:00"),
    ("in 2024", "2024-01-01 00:00", "2025-01-01 00:00"),
    ("on 12 November 2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("12th of November", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("November 12th, 2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("Nov 12", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("12/11/2026", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("2026-11-12", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("the 12th", "2026-11-12 00:00", "2026-11-13 00:00"),
    ("last 7 days", "2026-11-14 09:30", "2026-11-21 09:30"),
    ("in the past 24 hours", "2026-11-20 09:30", "2026-11-21 09:30"),
    ("last two weeks", "2026-11-07 09:30", "2026-11-21 09:30"),
    ("the last hour", "2026-11-21 08:30", "2026-11-21 09:30"),
    ("an hour ago", "2026-11-21 08:30", "2026-11-21 09:30"),
    ("3 days ago", "2026-11-18 00:00", "2026-11-19 00:00"),
    ("a week ago", "2026-11-14 00:00", "2026-11-15 00:00"),
    ("since 10 November", "2026-11-10 00:00", "2026-11-21 09:30"),
    ("before 5 November", None, "2026-11-05 00:00"),
    ("between 10 and 12 November", "2026-11-10 00:00", "2026-11-13 00:00"),
    ("from 1 Nov to yesterday", "2026-11-01 00:00", "2026-11-21 00:00"),
    ("from 9:00 to 10:30 on 12 November", "2026-11-12 09:00", "2026-11-12 10:30"),
    ("from 8:00 to 10:00 this morning", "2026-11-21 08:00", "2026-11-21 10:00"),
    ("last 3 days", "2026-11-18 09:30", "2026-11-21 09:30"),
]


def moment(text: str | None, language: Language) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=zone_of(language)) if text else None


class TestResolvePeriod:
    def test_reads_vietnamese_in_vietnamese_time_with_and_without_diacritics(self) -> None:
        wrong = [
            written
            for phrase, since, until in VIETNAMESE
            for written in (phrase, fold(phrase))
            if period_in(written, SATURDAY, "vi") != Period(moment(since, "vi"), moment(until, "vi"))
        ]
        assert not wrong

    def test_reads_english_in_utc(self) -> None:
        wrong = [
            phrase
            for phrase, since, until in ENGLISH
            if period_in(phrase, SATURDAY, "en") != Period(moment(since, "en"), moment(until, "en"))
        ]
        assert not wrong

    def test_a_vietnamese_day_begins_seven_hours_before_the_utc_day(self) -> None:
        late = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)  # already Saturday in Vietnam
        found = period_in("hôm nay", late, "vi")
        assert found == Period(datetime(2026, 11, 20, 17, tzinfo=UTC), datetime(2026, 11, 21, 17, tzinfo=UTC))

    def test_gives_none_for_what_is_no_time(self) -> None:
        phrases = [
            "",
            "banana",
            "31/02/2026",
            "32/11",
            "tháng 13",
            "0/0/0000",
            "last 9999 years",
            "ngày 99",
            "30 February",
            "x" * 500,
        ]
        assert [phrase for phrase in phrases if period_in(phrase, SATURDAY, "vi")] == []

    @given(
        text=st.text(max_size=250) | st.text(alphabet="0123456789/- h:từ đến ngày tháng last ago", max_size=80),
        language=LANGUAGES,
    )
    def test_never_raises_and_never_turns_time_around(self, text: str, language: Language) -> None:
        found = period_in(text, SATURDAY, language)
        if found and found.since and found.until:
            assert found.since <= found.until

    @given(
        words=st.lists(
            st.sampled_from(WORDS),
            max_size=8,
        ),
        language=LANGUAGES,
    )
    def test_never_raises_for_odd_orders_of_its_own_words(self, words: list[str], language: Language) -> None:
        found = period_in(" ".join(words), SATURDAY, language)
        if found and found.since and found.until:
            assert found.since <= found.until


class TestReadMoment:
    def test_takes_the_languages_zone_when_none_is_named(self) -> None:
        assert read_moment("2026-11-12", "vi") == datetime(2026, 11, 12, tzinfo=VIETNAM)
        assert read_moment("2026-11-12T08:30", "en") == datetime(2026, 11, 12, 8, 30, tzinfo=UTC)

    def test_keeps_a_named_zone(self) -> None:
        assert read_moment("2026-11-12T08:30:00Z", "vi") == datetime(2026, 11, 12, 8, 30, tzinfo=UTC)

    def test_a_last_day_belongs_to_the_span(self) -> None:
        assert read_moment("2026-11-12", "vi", end=True) == datetime(2026, 11, 13, tzinfo=VIETNAM)
        assert read_moment("2026-11-12T08:00", "vi", end=True) == datetime(2026, 11, 12, 8, tzinfo=VIETNAM)

    def test_gives_none_for_anything_else(self) -> None:
        for text in ("", "yesterday", "9999-12-31", "2026-13-01"):
            assert read_moment(text, "vi", end=True) is None


class TestWritten:
    def test_a_day_a_row_of_days_and_a_span_of_hours(self) -> None:
        noon = datetime(2026, 11, 12, 5, tzinfo=UTC)
        day = datetime(2026, 11, 12, tzinfo=VIETNAM)
        assert Period(day, day + timedelta(days=1)).written("vi") == "ngày 12/11/2026"
        assert Period(day, day + timedelta(days=3)).written("vi") == "từ ngày 12/11/2026 đến hết ngày 14/11/2026"
        assert Period(noon, noon + timedelta(hours=2)).written("vi") == "từ 12/11/2026 12:00 đến 12/11/2026 14:00"
        assert Period(noon, None).written("en") == "from 12 Nov 2026 05:00"
        assert Period(None, noon).written("en") == "until 12 Nov 2026 05:00"
        assert Period().written("en") == ""

    def test_english_days_are_utc_days(self) -> None:
        day = datetime(2026, 11, 12, tzinfo=UTC)
        assert Period(day, day + timedelta(days=1)).written("en") == "on 12 Nov 2026"
        assert Period(day, day + timedelta(days=2)).written("en") == "from 12 Nov 2026 to the end of 13 Nov 2026"


class TestDatesIn:
    def test_tells_where_each_time_stands_and_how_sure_its_year_is(self) -> None:
        text = "Từ 1/3 quy định mới thay quy định tháng 5 năm 2024"
        first, second = dates_in(text, SATURDAY.date())
        assert (text[first.start : first.end], first.first, first.grain, first.is_dated) == (
            "1/3", date(2026, 3, 1), "day", False,
        )  # fmt: skip
        assert (text[second.start : second.end], second.last, second.grain, second.is_dated) == (
            "tháng 5 năm 2024", date(2024, 5, 31), "month", True,
        )  # fmt: skip

    def test_leans_to_the_past_or_the_year(self) -> None:
        [past], [year] = (dates_in("25/12", SATURDAY.date(), lean) for lean in ("past", "year"))
        assert [past.first.year, year.first.year] == [2025, 2026]

    def test_a_month_that_comes_next_is_none_that_has_begun(self) -> None:
        found = [dates_in(f"next {month}", date(2026, 3, 10))[0].first for month in ("March", "April", "February")]
        assert found == [date(2027, 3, 1), date(2026, 4, 1), date(2027, 2, 1)]

    def test_finds_none_in_ordinary_words(self) -> None:
        texts = (
            "you may ask", "máy 12 hỏng", "mấy ngày phép", "5 people", "the second floor", "mười lăm người",
            "ngày một tuần", "mỗi ngày một lần", "theo thứ tự", "thu từ khách", "thư ba trang", "một",
        )  # fmt: skip
        for text in texts:
            assert not dates_in(text, SATURDAY.date()), text

    @given(st.lists(st.sampled_from(WORDS), max_size=10))
    def test_any_row_of_its_own_words_is_read_inside_the_text(self, words: list[str]) -> None:
        text = " ".join(words)
        for one in dates_in(text, SATURDAY.date()):
            assert 0 <= one.start < one.end <= len(text)
            assert one.first <= one.last
