"""Values as claims compare them: number words, lengths of time, marks, polarity, validity."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from app.claims import Validity, claims_in
from app.claims.marks import marks_in
from app.claims.reading import validity_in
from app.claims.record import opposes, polarity_of
from app.text.amounts import amounts_in, length_of_time
from app.text.numbers import read_number

VI = ("không", "một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín")
_ENGLISH = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """
EN = _ENGLISH.split()
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_vietnamese(number: int) -> str:
    hundreds, tens, ones = number // 100, number // 10 % 10, number % 10
    written = [VI[hundreds], "trăm"] if hundreds else []
    if tens == 1:
        written.append("mười")
    elif tens:
        written += [VI[tens], "mươi"]
    elif hundreds and ones:
        written.append("linh")
    if ones:
        written.append("lăm" if ones == 5 and tens else "mốt" if ones == 1 and tens > 1 else VI[ones])
    return " ".join(written)


def in_english(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [EN[hundreds], "hundred"] if hundreds else []
    if rest:
        small = EN[rest] if rest < 20 else "-".join([TENS[rest // 10 - 2], *([EN[rest % 10]] if rest % 10 else [])])
        words += ["and", small] if hundreds else [small]
    return " ".join(words)


def day_values(text: str) -> list[Decimal]:
    return [amount.value for amount in amounts_in(text) if amount.unit == "day"]


class TestNumberWords:
    @given(st.integers(6, 999))
    def test_of_both_languages_come_back_as_the_number_they_spell(self, number: int) -> None:
        assert read_number(in_vietnamese(number), "vi") == number
        assert read_number(in_english(number), "en") == number
        for written in (f"{number}", in_vietnamese(number)):
            assert day_values(f"được nghỉ {written} ngày") == [number]
        assert day_values(f"they get {in_english(number)} days") == [number]

    def test_give_one_value_however_it_is_written(self) -> None:
        rows: list[tuple[str, str]] = [
            ("12 ngày", "mười hai ngày"),
            ("12 days", "twelve days"),
            ("12 ngày", "12 days"),
            ("nửa ngày", "half a day"),
            ("0,5 ngày", "0.5 days"),
            ("1,5 giờ", "one and a half hours"),
            ("1.000.000 đồng", "1,000,000 VND"),
            ("1,5 triệu đồng", "1.500.000 đồng"),
            ("năm ngày làm việc", "5 days"),
            ("8am", "8:00"),
            ("5 giờ chiều", "17:00"),
        ]
        for one, other in rows:
            mine, theirs = ([(a.unit, a.value) for a in amounts_in(text)] for text in (one, other))
            assert mine == theirs != []

    def test_with_one_group_are_read_by_language(self) -> None:
        rows: list[tuple[str, str, str]] = [
            ("1.500 km", "vi", "1500"),
            ("1.500 km", "en", "1.5"),
            ("1,500 km", "vi", "1.5"),
            ("1,500 km", "en", "1500"),
            ("$1,500", "vi", "1500"),
            ("1.000.000 km", "en", "1000000"),
            ("1,5 km", "en", "1.5"),
        ]
        for text, language, value in rows:
            assert [a.value for a in amounts_in(text, "vi" if language == "vi" else "en")] == [Decimal(value)]

    def test_leave_years_and_articles_alone(self) -> None:
        assert [a.value for a in amounts_in("trong một năm ngày phép không đổi")] == []
        assert [a.unit for a in amounts_in("350.000 đồng một ngày")] == ["VND"]


class TestLengths:
    @given(st.integers(1, 500))
    def test_of_weeks_are_those_of_seven_days(self, weeks: int) -> None:
        assert length_of_time("week", Decimal(weeks)) == length_of_time("day", Decimal(7 * weeks))
        assert length_of_time("year", Decimal(weeks)) == length_of_time("month", Decimal(12 * weeks))

    def test_of_months_are_no_days(self) -> None:
        month, days = length_of_time("month", Decimal(1)), length_of_time("day", Decimal(30))
        assert month and days and month[0] != days[0]
        assert length_of_time("VND", Decimal(5)) is None


class TestMarks:
    def test_are_read_in_both_languages(self) -> None:
        rows: list[tuple[str, str, str]] = [
            ("in room B338", "room", "b338"),
            ("tại phòng A205", "room", "a205"),
            ("ở tầng 3", "floor", "3"),
            ("on the third floor", "floor", "3"),
            ("on the 3rd floor", "floor", "3"),
            ("máy nhánh 1900", "extension", "1900"),
            ("form SF-182", "form", "sf-182"),
            ("gửi KT-03", "code", "kt-03"),
            ("write to a.b@c.example.", "email", "a.b@c.example"),
            ("in #admins-zoom", "channel", "#admins-zoom"),
            ("mỗi thứ Sáu", "weekday", "friday"),
            ("on Fridays", "weekday", "friday"),
            ("twice a year", "frequency", "2/year"),
            ("hằng tháng", "frequency", "1/month"),
            ("monthly", "frequency", "1/month"),
            ("every two weeks", "frequency", "1/2 week"),
            ("eleven holidays", "count of holiday", "11"),
        ]
        for text, unit, value in rows:
            assert (unit, value) in [(mark.unit, mark.value) for mark in marks_in(text)]

    @given(st.text(max_size=200) | st.text(alphabet="0123456789 #@.-/tầngphònghevrydoomlST", max_size=200))
    def test_never_fail_and_lie_where_they_say(self, text: str) -> None:
        for mark in marks_in(text):
            assert 0 <= mark.start < mark.end <= len(text)


class TestPolarity:
    def test_is_read_in_both_languages(self) -> None:
        rows: list[tuple[str, str]] = [
            ("Guests may park here.", "allowed"),
            ("Guests may not park here.", "forbidden"),
            ("You don't have to sign.", "exempt"),
            ("You must sign.", "required"),
            ("It is not open.", "denied"),
            ("The office opens at 8:00.", "stated"),
            ("Khách được đỗ xe.", "allowed"),
            ("Khách không được đỗ xe.", "forbidden"),
            ("Không cần ký.", "exempt"),
            ("Phải ký.", "required"),
            ("Cấm hút thuốc.", "forbidden"),
        ]
        for text, polarity in rows:
            assert polarity_of(text) == polarity

    def test_of_what_must_be_done_does_not_oppose_that_it_may(self) -> None:
        assert not opposes("required", "allowed")
        assert not opposes("exempt", "forbidden")
        assert opposes("required", "exempt") and opposes("exempt", "required")


class TestValidity:
    def test_is_what_the_sentence_says(self) -> None:
        rows: list[tuple[str, date | None, date | None]] = [
            ("Từ 01/7/2026 mức phí là 5.000 đồng.", date(2026, 7, 1), None),
            ("The fee is $5 until 2025.", None, date(2025, 12, 31)),
            ("Áp dụng từ ngày 1/1/2025 đến hết ngày 31/12/2025.", date(2025, 1, 1), date(2025, 12, 31)),
            ("From 5 June 2026 the fee is $5.", date(2026, 6, 5), None),
            ("Mức phí là 5.000 đồng.", None, None),
        ]
        for text, begins, ends in rows:
            assert validity_in(text) == Validity(begins, ends)

    def test_of_periods_apart_lets_both_claims_hold(self) -> None:
        [one] = [c for c in claims_in("Phí gửi xe là 100.000 đồng đến hết năm 2025.") if c.unit == "VND"]
        [other] = [c for c in claims_in("Từ năm 2026 phí gửi xe là 120.000 đồng.") if c.unit == "VND"]
        assert not one.excludes(other) and not other.excludes(one)

    @given(st.dates(), st.dates(), st.dates(), st.dates())
    def test_overlaps_the_same_both_ways(self, a: date, b: date, c: date, d: date) -> None:
        one, other = Validity(min(a, b), max(a, b)), Validity(min(c, d), max(c, d))
        assert one.overlaps(other) == other.overlaps(one) == (max(min(a, b), min(c, d)) <= min(max(a, b), max(c, d)))
        assert one.overlaps(Validity()) and one.overlaps(one)
